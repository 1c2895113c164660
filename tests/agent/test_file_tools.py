"""Reading, writing, listing, finding and searching files, also where there is nothing to find."""

import asyncio
import os
import random
import re
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.agent.toolbox.diffs import MAX_COMPARED, MAX_LINE, MAX_LINES, unified
from limnos.builtin.files import tools as files_plugin
from limnos.builtin.search import tools as search
from limnos.kernel.approvals import approval_hash
from limnos.kernel.tools import findings_of, preview_of
from limnos.sdk.edits import EditError, replace_exactly
from limnos.sdk.files import Files
from limnos.sdk.texts import line_count
from limnos.testing.doubles import FixedFolder
from tests.agent.tools import Toolbox, file_tools


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    box = Toolbox(tmp_path / "work")
    (box.root / "a.txt").write_text("one\ntwo\nthree\n")
    (box.root / "src").mkdir()
    (box.root / "src" / "main.py").write_text("def main():\n    return 'Needle'\n")
    return box


def test_a_file_is_read_whole_or_in_parts(box: Toolbox) -> None:
    assert box.text("read_file", path="a.txt") == "one\ntwo\nthree\n"
    assert box.text("read_file", path="a.txt", start_line=2, lines=1) == "[lines 2 to 2 of 3]\ntwo\n"
    assert box.text("read_file", path="a.txt", start_line="3") == "[lines 3 to 3 of 3]\nthree\n"


def test_a_file_is_read_from_its_end(box: Toolbox) -> None:
    assert box.text("read_file", path="a.txt", start_line=-2) == "[lines 2 to 3 of 3]\ntwo\nthree\n"
    assert box.text("read_file", path="a.txt", start_line=-2, lines=1) == "[lines 2 to 2 of 3]\ntwo\n"
    assert box.text("read_file", path="a.txt", start_line=-9) == "one\ntwo\nthree\n"
    assert "start_line is 0" in box.fault("read_file", path="a.txt", start_line=0).detail


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        (b"a\n", {"start_line": -1.0}, "[lines 2000000 to 2000000 of 2000000]\na\n"),
        (b"\n", {"lines": 2.0}, "[lines 1 to 2 of 2000000]\n\n\n"),
        (b"b\n", {"start_line": 1_999_999}, "[lines 1999999 to 2000000 of 2000000]\nb\nb\n"),
    ],
)
def test_a_few_lines_of_a_long_file_take_no_room_for_all_of_them(
    box: Toolbox, text: bytes, asked: dict[str, object], said: str
) -> None:
    (box.root / "long").write_bytes(text * 2_000_000)

    with _most_memory() as peak:
        assert box.text("read_file", path="long", **asked) == said
        most = peak()

    assert most < 40_000_000  # as a list of lines: 100 million


@contextmanager
def _most_memory() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_loop_is_free_while_a_file_is_taken_apart(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def count(text: str) -> int:
        threads.append(threading.current_thread())
        return line_count(text)

    monkeypatch.setattr(files_plugin, "line_count", count)
    box.text("read_file", path="a.txt")

    assert len(threads) == 1
    assert threading.main_thread() not in threads


def test_an_empty_file_and_a_place_behind_the_end_say_so(box: Toolbox) -> None:
    (box.root / "empty").touch()

    assert "is empty" in box.text("read_file", path="empty")
    assert "only 3 lines" in box.fault("read_file", path="a.txt", start_line=9).detail


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfhi\n", "hi\n"),
        ("hé\n".encode("utf-16"), "hé\n"),
        (b"caf\xe9\n", "caf\ufffd\n"),
        (b"a\x0cb\x85c\r\nd", "a\x0cb\ufffdc\r\nd"),
    ],
)
def test_text_of_any_encoding_is_shown_as_well_as_can_be(box: Toolbox, data: bytes, text: str) -> None:
    (box.root / "odd").write_bytes(data)

    assert box.text("read_file", path="odd") == text


def test_a_binary_file_is_refused(box: Toolbox) -> None:
    (box.root / "b").write_bytes(b"\x7fELF\x00\x00")

    assert box.fault("read_file", path="b").reason == "refused"
    assert box.fault("edit_file", path="b", old="E", new="F").reason == "failed"


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("read_file", {"path": "none"}, "not_found"),
        ("read_file", {"path": "src"}, "failed"),
        ("read_file", {"path": "../x"}, "refused"),
        ("read_file", {"path": ".limnos/secrets.toml"}, "refused"),
        ("read_file", {}, "invalid_arguments"),
        ("read_file", {"path": "a.txt", "start_line": 0}, "invalid_arguments"),
        ("read_file", {"path": "a.txt", "x": 1}, "invalid_arguments"),
        ("write_file", {"path": "src", "content": ""}, "failed"),
        ("write_file", {"path": "/etc/limnos-test", "content": ""}, "refused"),
        ("write_file", {"path": "x", "content": "\udc80"}, "invalid_arguments"),
        ("edit_file", {"path": "none", "old": "a", "new": "b"}, "not_found"),
        ("edit_file", {"path": "a.txt", "old": "four", "new": "b"}, "not_found"),
        ("edit_file", {"path": "a.txt", "old": "", "new": "b"}, "invalid_arguments"),
        ("edit_file", {"path": "a.txt", "old": "t", "new": "b"}, "invalid_arguments"),
        ("list_dir", {"path": "none"}, "not_found"),
        ("find_files", {"pattern": "*", "path": "none"}, "not_found"),
        ("search_text", {"query": "(", "regex": True}, "invalid_arguments"),
        ("search_text", {"query": "\ud800", "regex": True}, "invalid_arguments"),
        ("find_files", {"pattern": "\ud800"}, "invalid_arguments"),
        ("search_text", {"query": ""}, "invalid_arguments"),
        ("search_text", {"query": "x", "path": ".."}, "refused"),
    ],
)
def test_what_cannot_be_done_is_a_failure_with_its_reason(
    box: Toolbox, name: str, arguments: dict[str, object], reason: str
) -> None:
    before = sorted(path.name for path in box.root.rglob("*"))

    assert box.fault(name, **arguments).reason == reason
    assert sorted(path.name for path in box.root.rglob("*")) == before


def test_a_name_that_is_not_there_is_answered_with_those_it_may_have_meant(box: Toolbox) -> None:
    (box.root / "conf").mkdir()
    (box.root / "conf" / "server.ini").write_text("port=1")

    assert "conf/server.ini" in str(box.fault("read_file", path="server.ini").hint)
    assert "conf/server.ini" in str(box.fault("read_file", path="conf/servre.ini").hint)
    assert "conf?" in str(box.fault("list_dir", path=" config").hint)
    assert "find_files" in str(box.fault("list_dir", path="zzz/yyy").hint)


def test_a_question_about_a_new_file_looks_for_no_other_name(tmp_path: Path) -> None:
    class Still(Files):
        def near(self, path: str) -> tuple[str, ...]:
            raise AssertionError(f"looked for names like {path}")

    write = next(tool for tool in file_tools(Still(tmp_path)) if tool.name == "write_file")
    given = {"path": "new.txt", "content": "x"}

    assert preview_of(write, given).reasons == ("creates new.txt, 1 byte",)
    assert approval_hash(write, given, FixedFolder(str(tmp_path)), findings_of(write, given))


def test_a_file_is_listed_as_itself(box: Toolbox) -> None:
    (box.root / "one.txt").write_text("12345")

    assert box.text("list_dir", path="one.txt").startswith("one.txt  5 bytes")


def test_a_search_also_tells_of_names_that_hold_the_query(box: Toolbox) -> None:
    (box.root / "invoices").mkdir()
    (box.root / "invoices" / "may.csv").write_text("a,b")

    assert box.text("search_text", query="invoices").endswith(
        "Names that hold it: invoices/may.csv (read_file and list_dir show what they have)"
    )


def test_a_search_in_vain_tells_which_files_were_looked_at(box: Toolbox) -> None:
    for number in range(14):
        (box.root / f"f{number:02}.txt").write_text("milk")

    said = box.text("search_text", query="shopping list")

    assert "Files looked at: " in said
    assert "f00.txt" in said
    assert "more (read_file shows one)" in said


def test_a_search_in_vain_shows_the_lines_that_hold_its_rarest_parts(box: Toolbox) -> None:
    (box.root / "calendar.txt").write_text("".join(f"meeting {n}\n" for n in range(20)) + "Dentist, 14:00\n")
    (box.root / "日程.txt").write_text("周三 会议\n周五 牙医 14:00\n")

    english = box.text("search_text", query="the dentist meetings").splitlines()
    chinese = box.text("search_text", query="牙医预约")

    assert english[0] == "No line holds 'the dentist meetings': nothing was found."
    assert english[1:3] == ["Lines that hold a part of it:", "calendar.txt:21: Dentist, 14:00"]
    assert len(english) == 10
    assert chinese.endswith("part of it:\n日程.txt:2: 周五 牙医 14:00")


def test_no_parts_are_looked_for_where_the_query_is_one_word_or_a_pattern(box: Toolbox) -> None:
    (box.root / "a.txt").write_text("the cat\n")

    for query, regex in (
        ("catx", False),
        ("the", False),
        ("cat dog", True),
        ("what was that", False),
        ("?", False),
    ):
        assert "part of it" not in box.text("search_text", query=query + "!", regex=regex)


def test_a_search_for_parts_is_bounded_and_says_so(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    (box.root / "many.txt").write_text("milk\n" * 6000)
    wordy = " ".join(f"word{number}" for number in range(20_000))

    assert "a part of it (not all files were looked at" in box.text("search_text", query="milk powder")
    assert "nothing was found" in box.text("search_text", query=wordy)[-500_000:]
    monkeypatch.setattr("limnos.builtin.search.tools.SECONDS", -1.0)
    assert "parts was not finished" in box.text("search_text", query="milk powder")


def test_a_plural_finds_its_singular(box: Toolbox) -> None:
    (box.root / "a.txt").write_text("invoice 7\n")

    assert "a.txt:1: invoice 7" in box.text("search_text", query="Invoices")


def test_a_short_file_searched_in_vain_is_shown_whole(box: Toolbox) -> None:
    (box.root / "trip.txt").write_text("back: 18:40\n")
    (box.root / "long.txt").write_text("x" * 2001)

    assert box.text("search_text", query="departure", path="trip.txt").endswith("\nback: 18:40\n")
    assert "xxx" not in box.text("search_text", query="departure", path="long.txt")
    assert "back" not in box.text("search_text", query="departure")


def test_writing_and_editing_say_what_they_did(box: Toolbox) -> None:
    assert box.text("write_file", path="n/new.txt", content="é\n") == "created n/new.txt, 3 bytes"
    assert box.text("write_file", path="n/new.txt", content="") == "replaced n/new.txt, 0 bytes"
    assert (
        box.text("edit_file", path="a.txt", old="two\n", new="2\n")
        == "changed 1 place in a.txt, the first in line 2"
    )
    assert box.text("edit_file", path="a.txt", old="e", new="E", replace_all=True).startswith(
        "changed 3 places"
    )
    assert (box.root / "a.txt").read_text() == "onE\n2\nthrEE\n"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"one\n", "two", b"one\ntwo\n"),
        (b"one", "two\nthree\n", b"one\ntwo\nthree\n"),
        (b"one\r\n", "two\n", b"one\r\ntwo\r\n"),
        (b"", "two", b"two\n"),
        ("\ufeffone\n".encode(), "\u4e8c", "\ufeffone\n\u4e8c\n".encode()),
        ("one\n".encode("utf-16"), "two", "one\ntwo\n".encode("utf-16")),
        (b"caf\xe9\n", "tea", b"caf\xe9\ntea\n"),
    ],
)
def test_lines_are_added_to_the_end_of_a_file(
    box: Toolbox, before: bytes, content: str, after: bytes
) -> None:
    (box.root / "list.txt").write_bytes(before)
    shown = box.preview("write_file", path="list.txt", content=content, append=True)

    said = box.text("write_file", path="list.txt", content=content, append=True)

    assert (box.root / "list.txt").read_bytes() == after
    assert (
        said
        == f"added {2 if 'three' in content else 1} line{'s' * ('three' in content)} to the end of list.txt"
    )
    assert shown.reasons[0].startswith("adds to the end" if before else "creates")
    assert "-one" not in shown.text or not before.endswith(b"\n")


def test_a_file_that_is_not_there_is_made_by_what_is_added(box: Toolbox) -> None:
    shown = box.preview("write_file", path="new/list.txt", content="one", append=True)
    box.text("write_file", path="new/list.txt", content="one", append=True)

    assert shown.reasons == ("creates new/list.txt, 4 bytes",)
    assert "No newline" not in shown.text
    assert (box.root / "new" / "list.txt").read_bytes() == b"one\n"


def test_nothing_is_added_to_what_is_no_text(box: Toolbox) -> None:
    (box.root / "data").write_bytes(b"\0\1")
    (box.root / "old").write_bytes(b"caf\xe9\n")

    assert "binary" in box.fault("write_file", path="data", content="x", append=True).detail
    assert "not valid utf-8" in box.fault("write_file", path="old", content="\u00e9", append=True).detail
    assert (box.root / "old").read_bytes() == b"caf\xe9\n"


def test_previews_show_what_would_change_and_change_nothing(box: Toolbox) -> None:
    before = (box.root / "a.txt").read_text()

    edit = box.preview("edit_file", path="a.txt", old="two", new="2")
    assert "-two\n+2\n" in edit.text
    assert edit.rule.match == "a.txt"
    made = box.preview("write_file", path="src/../new.txt", content="x\n")
    assert made.reasons == ("creates src/../new.txt, 2 bytes",)
    assert made.text.endswith("+x\n")
    assert made.rule.match == "new.txt"
    assert box.preview("write_file", path="a.txt", content="x").reasons == ("replaces a.txt",)
    for wrong in (
        box.preview("edit_file", path="a.txt", old="none", new="x"),
        box.preview("edit_file", path="none", old="none", new="x"),
        box.preview("write_file", path="src", content="x"),
        box.preview("write_file", path="../x", content="x"),
        box.preview("write_file", path="x", content="\ud800"),
    ):
        assert wrong.fault is not None
        assert wrong.rule is None
    assert (box.root / "a.txt").read_text() == before


def test_a_listing_has_kinds_sizes_and_a_sum(box: Toolbox) -> None:
    os.mkfifo(box.root / "pipe")
    (box.root / "link").symlink_to("a.txt")
    (box.root / "two\nlines").touch()

    rows = box.text("list_dir").split("\n")

    assert rows[0] == "src/"
    assert {"a.txt  14 bytes", "pipe  (special)", "link  (link)", "two\\nlines  0 bytes"} <= set(rows)
    assert rows[-1].startswith("2 files, 1 folder")
    assert rows[-1].endswith("the largest file is a.txt with 14 bytes")


def test_nothing_is_said_to_be_nothing(box: Toolbox) -> None:
    (box.root / "empty").mkdir()

    assert "is empty: nothing was found" in box.text("list_dir", path="empty")
    assert "nothing was found" in box.text("find_files", pattern="*.rs")
    assert "nothing was found" in box.text("find_files", pattern="*", path="empty")
    assert "nothing was found" in box.text("search_text", query="needles")
    assert "nothing was found" in box.text("search_text", query="x", path="empty")


@pytest.mark.parametrize("pattern", ["main.py", "*.py", "src/*.py", "**/main.py", "mai?.py", "*/src/*"])
def test_files_are_found_by_name(box: Toolbox, pattern: str) -> None:
    assert box.text("find_files", pattern=pattern).startswith("src/main.py  32 bytes\n")


@pytest.mark.parametrize(
    "pattern",
    [
        *("./src/*.py", "././main.py", "src/**/*.py", "**/src/**/main.py", "/src/main.py", "{root}/src/*.py"),
        *("*.{{py,md}}", "{{src,docs/x}}/*.p{{y,{{x,z}}}}", "*.PY", "SRC/*", "m[!b-z]in.py", "[l-n]ain.py"),
    ],
)
def test_a_pattern_may_be_written_as_shells_and_people_do(box: Toolbox, pattern: str) -> None:
    found = box.text("find_files", pattern=pattern.format(root=box.root))

    assert found == "src/main.py  32 bytes\n1 found"


def test_a_name_in_the_case_asked_for_comes_before_others(box: Toolbox) -> None:
    (box.root / "MAIN.py").touch()

    assert box.text("find_files", pattern="MAIN.*") == "MAIN.py  0 bytes\n1 found"
    assert box.text("find_files", pattern="Main.*").endswith("2 found")


@pytest.mark.parametrize("name", ["a[1].txt", "a{b,c", "a}{b", "{{name}}.txt", "a^b.txt", "a[", "a\\d"])
def test_a_name_with_signs_of_a_pattern_is_found_as_it_is(box: Toolbox, name: str) -> None:
    (box.root / name).touch()

    assert box.text("find_files", pattern=name) == f"{name}  0 bytes\n1 found"


def test_a_pattern_that_can_fit_no_name_is_refused_with_the_reason(box: Toolbox) -> None:
    assert "[z-a]" in box.fault("find_files", pattern="[z-a]").detail


def test_a_part_of_a_name_finds_the_names_that_hold_it(box: Toolbox) -> None:
    (box.root / "Main street.txt").touch()

    assert box.text("find_files", pattern="main").startswith(
        "Main street.txt  0 bytes\nsrc/main.py  32 bytes"
    )
    assert box.text("find_files", pattern="main.py").startswith("src/main.py  32 bytes\n1 found")
    assert "search_text looks for a word inside" in box.text("find_files", pattern="keyboard")


def test_the_files_that_hold_a_text_are_named_together(box: Toolbox) -> None:
    (box.root / "b.txt").write_text("Needle\n")

    assert box.text("search_text", query="Needle").endswith("2 lines in 2 files: b.txt, src/main.py")


def test_text_is_found_with_place_and_line(box: Toolbox) -> None:
    assert box.text("search_text", query="needle") == "src/main.py:2: return 'Needle'\n1 line in 1 file"
    assert "0" not in box.text("search_text", query="NEEDLE").split("nothing")[0]
    assert box.text("search_text", query="^def .*:$", regex=True).startswith("src/main.py:1: def main():")
    assert box.text("search_text", query="two", path="a.txt").startswith("a.txt:2: two")
    assert "nothing was found" in box.text("search_text", query="n.edle")


def test_line_numbers_are_those_of_the_other_tools(box: Toolbox) -> None:
    (box.root / "odd.c").write_text("a\x0cb\x1cc\u2028d\r\nneedle\r\n")

    assert "odd.c:2: needle" in box.text("search_text", query="needle", path="odd.c")
    assert box.text("read_file", path="odd.c", start_line=2) == "[lines 2 to 2 of 2]\nneedle\r\n"
    assert box.text("edit_file", path="odd.c", old="needle", new="thread").endswith("the first in line 2")


def test_what_a_search_did_not_look_at_is_said(box: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    (box.root / "binary").write_bytes(b"needle\x00")
    (box.root / "large").write_text("needle" + "x" * 100)
    monkeypatch.setattr(search, "MAX_FILE", 100)

    said = box.text("search_text", query="nothing like it")

    assert "2 files not looked at: binary, unreadable or too large" in said


def test_folders_that_a_search_does_not_enter_are_named_and_can_be_searched(box: Toolbox) -> None:
    for name in ("node_modules", ".venv"):
        (box.root / name).mkdir()
        (box.root / name / "dep.js").write_text("needle\n")

    for said in (box.text("search_text", query="needle"), box.text("find_files", pattern="dep.js")):
        assert "left out: .venv, node_modules; name such a folder" in said
    assert box.text("search_text", query="two").endswith("name such a folder to look into it)")
    assert "dep.js:1: needle" in box.text("search_text", query="needle", path="node_modules")


@pytest.mark.parametrize("codec", ["utf-16", "utf-8-sig"])
def test_what_can_be_read_can_be_searched(box: Toolbox, codec: str) -> None:
    (box.root / "odd.txt").write_text("first\nthe needle 针\n", encoding=codec)

    assert box.text("read_file", path="odd.txt") == "first\nthe needle 针\n"
    assert box.text("search_text", query="needle 针").startswith("odd.txt:2: the needle 针\n")


def test_a_search_with_too_many_hits_stops_and_says_so(box: Toolbox) -> None:
    (box.root / "many").write_text("hit\n" * 5000)

    said = box.text("search_text", query="hit")

    assert said.count("many:") == 200
    assert "stopped at 200 lines" in said


def test_many_names_are_counted_and_the_first_listed(box: Toolbox) -> None:
    for number in range(250):
        (box.root / f"{number}.log").touch()

    said = box.text("find_files", pattern="*.log")

    assert said.count("bytes\n") == 200
    assert said.endswith("250 found (the first 200 are listed)")


@pytest.mark.parametrize("query", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(a*)*b", "a{1,500}{1,100}x"])
def test_a_catastrophic_pattern_ends_at_once_or_is_refused(box: Toolbox, query: str) -> None:
    (box.root / "trap").write_text("a" * 50_000 + "!\n")
    began = time.process_time()

    box.call("search_text", query=query, regex=True, path="trap")
    box.call("find_files", pattern="*a" * 30 + "b")

    assert time.process_time() - began < 5


def test_a_very_long_line_is_cut(box: Toolbox) -> None:
    (box.root / "long").write_text("x" * 1_000_000 + "needle")

    assert len(box.text("search_text", query="needle", path="long")) < 500


def test_of_a_long_line_the_part_with_the_hit_is_shown(box: Toolbox) -> None:
    (box.root / "long").write_text(
        "  " + "x" * 5_000 + "the needle" + "y" * 5_000 + "\n" + "z" * 400 + "needle"
    )

    first, second, _ = box.text("search_text", query="needle", path="long").splitlines()

    assert first == f"long:1: …{'x' * 96}the needle{'y' * 194}…"
    assert second == f"long:2: …{'z' * 294}needle"


HEAVY = "(a|b)*a(a|b){900}c"


@pytest.fixture
def heavy(box: Toolbox) -> Toolbox:
    """A folder in whose one long file, and in each line of another, a heavy pattern has much to do."""
    line = "".join(random.Random(1).choices("ab", k=10_000))
    (box.root / "many").write_text(f"{line}\n" * 400)
    (box.root / "one").write_text(line * 100 + "b")
    return box


def test_a_heavy_pattern_gets_the_beginning_of_a_long_line_and_that_is_said(heavy: Toolbox) -> None:
    began = time.process_time()

    said = heavy.text("search_text", query=HEAVY, regex=True, path="one")

    assert time.process_time() - began < 3  # the whole line: 24 s
    assert re.search(r"\(only the first \d{4} characters of 1 line were looked at\)", said)
    assert "one:1: …" in heavy.text("search_text", query="b$", regex=True, path="one")


@pytest.mark.parametrize("asked", [{"query": HEAVY, "regex": True}, {"query": "no such thing"}])
def test_the_time_of_a_search_ends_inside_of_a_file_too(
    heavy: Toolbox, monkeypatch: pytest.MonkeyPatch, asked: dict[str, object]
) -> None:
    (heavy.root / "blank").write_text("\n" * 4_000_000)
    monkeypatch.setattr(search, "SECONDS", 0.2)
    began = time.monotonic()

    said = heavy.text("search_text", **asked)

    assert "stopped at 200 lines or 0.2 s" in said
    assert time.monotonic() - began < 5


def test_a_cancelled_search_ends_its_thread(heavy: Toolbox) -> None:
    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(heavy.start("search_text", query=HEAVY, regex=True, path="many"), 0.3)

    began = time.monotonic()
    asyncio.run(cancelled())  # waits for the thread, which has work for the whole 20 s

    assert time.monotonic() - began < 5


def test_a_walk_ends_when_it_is_told_to(box: Toolbox) -> None:
    assert list(Files(box.root).walk(".", over=lambda: True)) == []


def test_names_that_are_no_text_can_be_written_down(box: Toolbox) -> None:
    with open(os.path.join(os.fsencode(box.root), b"bad\xff.txt"), "wb") as file:
        file.write(b"needle\n")

    for said in (
        box.text("list_dir"),
        box.text("find_files", pattern="bad*"),
        box.text("search_text", query="needle"),
    ):
        assert "bad\\xff.txt" in said
        said.encode()


def test_a_diff_of_any_size_is_made_at_once_and_is_right() -> None:
    one = "".join(f"{n % 97}\n" for n in range(60_000)).encode()
    other = "".join(f"{n * 7 % 97}\n" for n in range(60_000)).encode()
    began = time.process_time()

    lines = unified("f", one, other).splitlines()

    assert time.process_time() - began < 2
    assert lines[0] == "--- f"
    [note] = [line for line in lines if line.startswith("[... ")]
    hidden = int(note.split()[1])
    assert len(lines) == MAX_LINES + 3
    assert hidden + MAX_LINES >= 60_000
    assert lines[-1][0] in "+- "


def test_a_small_change_in_a_long_file_is_a_small_diff() -> None:
    before = "".join(f"line {n}\n" for n in range(MAX_COMPARED * 3))
    after = before.replace("line 6000\n", "changed\n")

    said = unified("f", before.encode(), after.encode())

    shown = said.splitlines()
    assert shown[:3] == ["--- f", "+++ f", "@@ -5998,7 +5998,7 @@"]
    assert shown[5:9] == [" line 5999", "-line 6000", "+changed", " line 6001"]
    assert len(shown) == 11


def test_a_long_line_shows_both_its_ends() -> None:
    said = unified("f", b"", b"begin" + b"x" * 300_000 + b"end")

    assert "+begin" in said
    assert said.endswith("end\n")
    assert len(said) < 3 * MAX_LINE
    assert unified("f", b"same\n", b"same\n") == ""


def test_an_edit_whose_file_changed_since_it_was_shown_is_refused(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (tmp_path / "b.txt").write_text("foo bar")
    edit = next(tool for tool in file_tools(files) if tool.name == "edit_file")
    asked = {"path": "b.txt", "old": "bar", "new": "EVIL", "replace_all": True}
    shown = approval_hash(edit, asked, FixedFolder(), findings_of(edit, asked))

    (tmp_path / "b.txt").write_text("bar bar bar")

    assert approval_hash(edit, asked, FixedFolder(), findings_of(edit, asked)) != shown


def test_a_name_that_a_rule_would_read_as_a_pattern_gets_no_rule(tmp_path: Path) -> None:
    write = next(tool for tool in file_tools(Files(tmp_path)) if tool.name == "write_file")

    assert preview_of(write, {"path": "src/*", "content": ""}).rule is None
    assert preview_of(write, {"path": "src/a", "content": ""}).rule is not None


def test_the_question_names_what_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "NOTES.md").symlink_to(tmp_path / "hooks" / "pre-commit")
    write = next(tool for tool in file_tools(Files(tmp_path)) if tool.name == "write_file")

    assert "hooks/pre-commit" in preview_of(write, {"path": "NOTES.md", "content": "x"}).reasons[0]


def test_many_places_in_one_long_line_are_replaced_at_once() -> None:
    began = time.process_time()

    replace_exactly(b"a" * 2_000_000, "a", "c\nd", replace_all=True)

    assert time.process_time() - began < 5


@pytest.mark.parametrize("encoding", ["punycode", "idna", "zlib_codec", "unicode_escape", "nope", "\x00"])
def test_only_encodings_of_text_are_taken(encoding: str) -> None:
    with pytest.raises(EditError, match="no known encoding"):
        replace_exactly(b"abc", "a", "b", encoding=encoding)
