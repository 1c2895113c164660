"""What the gate is told of a command: parts, reasons, spellings, what may be stored."""

import posixpath

import pytest

from limnos.agent.shell import Inspection, inspect, network_programs, suggestion
from limnos.kernel.findings import Part
from tests.agent.shell.checking import PLACE


def parts(text: str) -> list[tuple[str, ...]]:
    return [part.words for part in inspect(text, PLACE).findings.parts]


def only(text: str) -> Part:
    (part,) = inspect(text, PLACE).findings.parts
    return part


def test_a_wrapper_stands_before_what_it_runs() -> None:
    assert parts("timeout 5 nice -n 3 git status") == [
        ("timeout", "5", "nice", "-n", "3", "git", "status"),
        ("nice", "-n", "3", "git", "status"),
        ("git", "status"),
    ]


def test_a_line_inside_a_word_is_read_as_commands() -> None:
    assert parts("sh -c 'ls; rm \"a b\"'") == [("sh", "-c", 'ls; rm "a b"'), ("ls",), ("rm", "a b")]


def test_a_file_that_is_written_is_a_part_with_its_path_from_the_working_folder() -> None:
    assert parts("echo a > ./build/../build/log.txt") == [("echo", "a"), (">", "build/log.txt")]
    assert only("> /tmp/x").reason == "/tmp/x lies outside the working folder"
    assert only("> .git/hooks/pre-commit").reason.startswith(".git/hooks/pre-commit is protected")


def test_files_that_do_not_matter_are_no_parts() -> None:
    assert parts("ls 2>/dev/null >&2 < /dev/null 2>&-") == [("ls",)]


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("/usr/bin/git push", ("git", "push")),
        ("\\git push", ("git", "push")),
        ("git -C x -c a=b push", ("git", "push")),
        ("docker -H x rm y", ("docker", "rm", "y")),
        ("{git,push}", ("git", "push")),
        ("X=push; git $X", ("git", "push")),
        ("rm ~/x", ("rm", "~/x")),
    ],
)
def test_a_rule_that_denies_meets_every_spelling(text: str, spelling: tuple[str, ...]) -> None:
    found = [words for part in inspect(text, PLACE).findings.parts for words in (part.words, *part.also)]

    assert spelling in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("sort list.txt -o list.txt", "the flag -o of sort writes a file"),
        ("rg --pre x y", "the flag --pre of rg is able to run a program"),
        ("sort --comp=x y", "the flag --comp of sort is able to run a program"),
        ("ls --unheard-of", "the flag --unheard-of of ls is not known"),
        ("nobodys-tool --flag x", "the flag --flag of nobodys-tool is not known"),
        ("uniq a b", "uniq writes b"),
        ("cp a ../b", "cp writes ../b, outside the working folder"),
        ("cd build && rm ../../x", "rm writes ../../x, outside the working folder"),
        ("./git status", "./git names a program by its path"),
    ],
)
def test_a_reason_is_one_plain_sentence(text: str, reason: str) -> None:
    assert reason in [part.reason for part in inspect(text, PLACE).findings.parts]


def test_a_substitution_is_named_as_it_is_written() -> None:
    reasons = inspect("echo $(date)", PLACE).findings.reasons

    assert reasons == ("$(date) runs a command whose words cannot be shown",)


def test_links_are_followed_before_a_path_counts_as_inside() -> None:
    def resolve(path: str) -> str:
        path = posixpath.normpath(path)
        return path.replace("/home/u/project/out", "/etc", 1)

    linked = PLACE._replace(resolve=resolve)

    assert inspect("touch out/x", linked).findings.parts[0].reason
    assert not inspect("touch in/x", linked).findings.parts[0].reason


def test_a_link_to_the_state_does_not_hide_it() -> None:
    linked = PLACE._replace(resolve=lambda path: path.replace("/home/u/project/notes", PLACE.state, 1))

    assert inspect("cat notes/secrets.toml", linked).findings.denied is not None


def test_the_program_of_a_part_is_looked_up() -> None:
    place = PLACE._replace(program=lambda word: f"/usr/bin/{word}")

    assert inspect("git status", place).findings.parts[0].program == "/usr/bin/git"


def test_a_refusal_says_what_to_do_instead() -> None:
    denied = inspect("rm -rf /", PLACE).findings.denied

    assert denied is not None
    assert denied.reason == "refused"
    assert denied.hint


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("git  status  --short", "git status --short"),
        ("sort -o a b", "sort -o a b"),
        ("ls | wc", None),
        ("ls '*'", None),
        ("cd x", None),
        ("echo $x", None),
        ("nice git status", None),
        ("rm -rf /", None),
    ],
)
def test_always_stores_exactly_the_words_of_one_program(text: str, pattern: str | None) -> None:
    assert suggestion(inspect(text, PLACE)) == pattern


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("ls && git log", ()),
        ("git fetch && git -C x push", ("git fetch", "git push")),
        ("timeout 5 curl https://example.org | jq .", ("curl",)),
        ("pip install left; npm ci", ("pip install", "npm ci")),
        ("rsync -a a b", ()),
        ("rsync -a a host:b", ("rsync",)),
    ],
)
def test_programs_that_need_the_network_are_named(text: str, programs: tuple[str, ...]) -> None:
    inspection: Inspection = inspect(text, PLACE)

    assert network_programs(inspection) == programs
