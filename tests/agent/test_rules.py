"""Stored rules: kept, read again, checked against their examples, and never wider than they were meant."""

import threading
from pathlib import Path

import pytest

from limnos.agent.rules import Reading, StoredRules, short_name
from limnos.agent.shell import Place, inspect
from limnos.kernel.errors import SettingsError, UsageError
from limnos.kernel.seams import Rule

PLACE = Place("/home/u/project", "/home/u", "/home/u/.limnos", "u")
GIT = Rule("allow", "run_command", "git status*", "persona", "/home/u/project", "/usr/bin/git")


def book(home: Path, programs: dict[str, str] | None = None) -> StoredRules:
    known = programs or {}
    reading = Reading(lambda text: inspect(text, PLACE).findings, lambda word: known.get(word, ""))
    return StoredRules(home, "default", reading)


def written(home: Path, text: str) -> StoredRules:
    path = home / "personas" / "default" / "rules.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return book(home)


def test_a_kept_rule_is_there_for_another_session_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    book(tmp_path).keep(GIT)

    assert book(tmp_path).rules() == [GIT]
    path = tmp_path / "personas" / "default" / "rules.toml"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_rule_for_everywhere_lies_beside_the_personas(tmp_path: Path) -> None:
    everywhere = Rule("deny", "run_command", "git push*", "everywhere")
    book(tmp_path).keep(everywhere)

    assert book(tmp_path).rules() == [everywhere]
    assert (tmp_path / "rules.toml").exists()


def test_the_same_rule_is_kept_once(tmp_path: Path) -> None:
    stored = book(tmp_path)
    stored.keep(GIT)
    stored.keep(GIT)

    assert stored.rules() == [GIT]


def test_what_another_process_stores_or_removes_counts_at_once(tmp_path: Path) -> None:
    mine, other = book(tmp_path), book(tmp_path)
    assert mine.rules() == []
    other.keep(GIT)
    assert mine.rules() == [GIT]
    assert other.remove(short_name(GIT)).rule == GIT
    assert mine.rules() == []


def test_comments_of_a_person_survive(tmp_path: Path) -> None:
    stored = written(
        tmp_path, '# mine\n[[rule]]\neffect = "deny"\ntool = "run_command"\nmatch = "git push*"\n'
    )
    stored.keep(GIT)
    stored.remove(short_name(GIT))

    text = (tmp_path / "personas" / "default" / "rules.toml").read_text()
    assert text.startswith("# mine\n")
    assert [rule.match for rule in stored.rules()] == ["git push*"]


def test_an_allow_rule_stands_for_the_program_that_its_word_names_now(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\neffect = "allow"\ntool = "run_command"\nmatch = "git status*"\n')

    assert book(tmp_path, {"git": "/usr/bin/git"}).rules()[0].program == "/usr/bin/git"


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('effect = "permit"\ntool = "t"\nmatch = "x"', "effect is 'permit'"),
        ('effect = "allow"\nmatch = "x"', "tool is missing"),
        ('effect = "allow"\ntool = "t"\nmatch = ""', "match is missing"),
        ('effect = "allow"\ntool = "t"\nmatch = "x"\nscope = "session"', "unknown key 'scope'"),
        ('effect = "allow"\ntool = "t"\nmatch = "x"\nexamples = "x"', "examples is no list"),
        ('effect = "allow"\ntool = "t"\nmatch = "x"\nfolder = 3', "folder is no text"),
        (
            'effect = "allow"\ntool = "run_command"\nmatch = "git status*"\nexamples = ["git push"]',
            "does not cover its example 'git push'",
        ),
        (
            'effect = "allow"\ntool = "run_command"\nmatch = "git *"\ncounter_examples = ["git log"]',
            "covers its counter-example 'git log'",
        ),
        (
            'effect = "allow"\ntool = "run_command"\nmatch = "rg *"\nexamples = ["rg --pre ./x TODO"]',
            "does not cover its example",
        ),
    ],
)
def test_a_rule_that_cannot_be_what_was_meant_is_an_error_with_its_place(
    tmp_path: Path, entry: str, says: str
) -> None:
    stored = written(tmp_path, f"[[rule]]\n{entry}\n")

    with pytest.raises(SettingsError) as raised:
        stored.rules()
    assert says in raised.value.what
    assert "rule 1" in raised.value.what
    assert raised.value.fix


def test_examples_of_a_deny_rule_reach_behind_wrappers(tmp_path: Path) -> None:
    stored = written(
        tmp_path,
        '[[rule]]\neffect = "deny"\ntool = "run_command"\nmatch = "git push*"\n'
        'examples = ["env git push", "sh -c \'git push -f\'"]\ncounter_examples = ["echo git push"]\n',
    )

    assert len(stored.rules()) == 1


def test_a_rule_that_fails_its_example_is_not_stored(tmp_path: Path) -> None:
    stored = book(tmp_path)

    with pytest.raises(SettingsError):
        stored.add(GIT, ["git push"])
    assert stored.rules() == []


def test_removing_what_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="r-none"):
        book(tmp_path).remove("r-none")


def test_a_file_that_is_no_list_of_rules_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        written(tmp_path, 'rules = "all"\n').rules()


def test_rules_that_two_processes_store_at_once_are_all_kept(tmp_path: Path) -> None:
    def store(effect: str) -> None:
        stored = book(tmp_path)
        for number in range(25):
            stored.keep(Rule(effect, "run_command", f"make {effect} {number}", "persona"))

    writers = [threading.Thread(target=store, args=(effect,)) for effect in ("allow", "deny")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)

    assert len(book(tmp_path).rules()) == 50


def test_a_rule_whose_star_touches_the_program_is_bound_to_it(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\neffect = "allow"\ntool = "run_command"\nmatch = "ls*"\n')

    assert book(tmp_path, {"ls": "/usr/bin/ls"}).rules()[0].program == "/usr/bin/ls"


def test_a_rule_can_be_added_after_the_last_one_was_removed(tmp_path: Path) -> None:
    reading = Reading(lambda text: inspect(text, PLACE).findings, lambda word: "")
    stored = StoredRules(tmp_path, "default", reading)
    for match in ("git status*", "git log*"):
        stored.add(Rule("deny", "run_command", match, "everywhere"))
        (kept,) = stored.listed()
        stored.remove(kept.id)
        assert StoredRules(tmp_path, "default", reading).listed() == []
    (tmp_path / "rules.toml").write_text("rule = []\n")
    stored.add(Rule("deny", "run_command", "ls*", "everywhere"))

    assert [kept.rule.match for kept in StoredRules(tmp_path, "default", reading).listed()] == ["ls*"]
