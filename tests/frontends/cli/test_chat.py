"""The chat on a real pseudo-terminal: keys, queue, questions, stops."""

import signal
from pathlib import Path
from typing import Any

import pytest

from limnos.frontends.cli.clipboard import OSC_LIMIT, copy
from tests.frontends.cli.support import Tty, limnos, script, strip

WRITE = {"calls": [{"name": "run_command", "arguments": {"command": "echo made > made.txt"}}]}
SLOW_TEXT = {"text": "word " * 200, "delay": 0.05}


def _start(folder: Path, *steps: dict[str, object], **options: Any) -> Tty:
    chat = Tty.start(folder, LIMNOS_MODEL=script(folder, *steps), **options)
    chat.wait_for("›")
    return chat


def _ids(folder: Path) -> list[str]:
    return [row.split("\t")[0] for row in limnos(folder, "sessions").stdout.splitlines()]


def _leave(chat: Tty) -> None:
    chat.send("\x04")
    chat.wait_for("kept  next: limnos open")
    assert chat.end() == 0


def test_a_message_is_answered_in_column_3(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "Hello **there**."})
    chat.send("hi\r")
    chat.wait_for("› hi")
    chat.wait_for("\r\n  Hello there.")
    _leave(chat)


def test_the_cooked_mode_is_back_after_the_chat(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "x"})
    assert "\x1b[?2004h" in chat.output
    _leave(chat)
    assert chat.output.rindex("\x1b[?2004l") > chat.output.rindex("\x1b[?2004h")
    assert chat.output.rindex("\x1b[?25h") > chat.output.rfind("\x1b[?25l")


def test_enter_while_it_works_queues_and_up_takes_the_line_back(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT)
    chat.send("first\r")
    chat.wait_for("word")
    chat.send("also this\r")
    chat.wait_for("› queued 1  also this")
    chat.send("\x1b[A")
    chat.send("!\x03\x03")
    chat.wait_for("stopping")
    chat.end()


def test_a_line_that_the_full_queue_refuses_stays_in_the_composer(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "word " * 5000, "delay": 0.05})
    chat.send("first\r")
    chat.wait_for("word")
    for number in range(256):
        chat.send(f"{number}\r")
        chat.wait_for(f"› queued {number + 1}  {number}" if number < 4 else f"› queued  {number - 2} more")
    chat.send("one too many\r")
    chat.wait_for("error: 256 inputs are waiting already")
    chat.wait_for("your line is kept below")
    chat.wait_for("› one too many")
    chat.send("\x03\x03")
    assert chat.end() == 130


def test_a_queued_line_is_sent_when_the_turn_ends(tmp_path: Path) -> None:
    chat = _start(
        tmp_path,
        {"text": "one two three four five", "delay": 0.1},
        {"text": "second answer", "expect": ["also this"]},
    )
    chat.send("first\r")
    chat.wait_for("one")
    chat.send("also this\r")
    chat.wait_for("second answer")
    _leave(chat)


def test_alt_enter_injects_into_the_running_turn(tmp_path: Path) -> None:
    steps = (
        {**WRITE, "text": "one two three four", "delay": 0.1},
        {"text": "heard", "expect": ["use staging"]},
    )
    chat = _start(tmp_path, *steps)
    chat.send("first\r")
    chat.wait_for("one")
    chat.send("use staging\x1b\r")
    assert "taken in at the next step" in chat.wait_for("four")
    chat.wait_for("› 1 line queued; answer with n, y")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("\x1bn")
    chat.wait_for("› now: use staging")
    chat.wait_for("heard")
    _leave(chat)


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_escape_and_ctrl_c_stop_the_turn_at_once(tmp_path: Path, key: str) -> None:
    chat = _start(tmp_path, SLOW_TEXT)
    chat.send("go\r")
    chat.wait_for("word")
    chat.send(key)
    chat.wait_for("stopping; Ctrl-C again ends it without clean-up", seconds=0.5)
    chat.wait_for("stopped after step")
    _leave(chat)


def test_a_second_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT)
    chat.send("go\r")
    chat.wait_for("word")
    chat.send("\x03\x03")
    chat.wait_for("kept  next: limnos open")
    assert chat.end() == 130


def test_sigterm_closes_the_turn_and_gives_the_terminal_back(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT)
    chat.send("go\r")
    chat.wait_for("word")
    chat.signal(signal.SIGTERM)
    chat.wait_for("kept  next: limnos open")
    assert chat.end() == 143
    assert chat.output.rindex("\x1b[?2004l") > chat.output.rindex("\x1b[?2004h")
    assert "terminated" in limnos(tmp_path, "replay", *_ids(tmp_path), "--json").stdout


def test_continue_goes_on_with_the_queue_that_a_stop_left(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT, {"text": "second answer", "expect": ["also this"]})
    chat.send("go\r")
    chat.wait_for("word")
    chat.send("also this\r")
    chat.wait_for("› queued 1  also this")
    chat.send("\x1b")
    chat.wait_for("stopped after step")
    chat.send("/continue\r")
    chat.wait_for("second answer")
    _leave(chat)


def test_what_a_stop_left_is_shown_with_the_ways_on_until_it_is_dropped(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT, {"text": "second answer", "expect": ["next"]})
    chat.send("go\r")
    chat.wait_for("word")
    chat.send("queued line\r")
    chat.wait_for("› queued 1  queued line")
    chat.send("injected line\x1b\r")
    chat.wait_for("› now: injected line")
    chat.send("\x1b")
    chat.wait_for("stopped after step")
    chat.wait_for("› queued 1  injected line")
    chat.wait_for("› queued 2  queued line")
    chat.wait_for("? 2 lines queued; /continue goes on, /drop 1 takes back")
    chat.send("/drop 1\r")
    chat.wait_for("dropped: injected line")
    chat.wait_for("› queued 1  queued line")
    chat.wait_for("? 1 line queued; /continue goes on, /drop 1 takes back")
    chat.send("\x1b[A")
    chat.wait_for("› queued line")
    chat.send("\x15next\r")
    chat.wait_for("› next")
    assert "queued" not in chat.wait_for("second answer")
    _leave(chat)


def test_the_model_can_be_changed_and_a_wrong_name_changes_nothing(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "first"}, {"text": "second"})
    chat.send("go\r")
    chat.wait_for("  first")
    chat.send("/model nope\r")
    chat.wait_for("error: no model is called 'nope'")
    chat.wait_for("›")
    (tmp_path / "other").mkdir()
    chat.send(f"/model {script(tmp_path / 'other', {'text': 'from the other'})}\r")
    chat.wait_for("✓ model is")
    chat.wait_for("›")
    chat.send("go on\r")
    chat.wait_for("  from the other")
    _leave(chat)


def test_an_arrow_that_arrives_in_two_pieces_stops_nothing(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "one two three four five", "delay": 0.1})
    chat.send("go\r")
    chat.wait_for("one")
    chat.send("\x1b")
    chat.send("[D")
    chat.wait_for("five")
    assert "stopping" not in chat.output
    _leave(chat)


def test_a_letter_and_enter_on_an_empty_line_answer(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "done now"})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("y")
    chat.wait_for("? Enter: allow once")
    chat.send("\r")
    chat.wait_for("✓ allowed by you, once")
    chat.wait_for("done now")
    assert (tmp_path / "work" / "made.txt").exists()
    _leave(chat)


def test_a_half_typed_line_is_kept_and_never_an_answer(tmp_path: Path) -> None:
    steps = (
        {**WRITE, "text": "one two three four", "delay": 0.1},
        {"text": "first end"},
        {"text": "second end"},
    )
    chat = _start(tmp_path, *steps)
    chat.send("go\r")
    chat.wait_for("one")
    chat.send("y")
    chat.wait_for("? Enter queues your line   Alt-N no   Alt-Y once   Ctrl-U first to answer")
    chat.let_question_be_read()
    chat.send("\r")
    chat.wait_for("? n no   y once")
    assert not (tmp_path / "work" / "made.txt").exists()
    chat.send("\x1bn")
    chat.wait_for("- denied by you")
    chat.wait_for("› y")
    chat.wait_for("second end")
    _leave(chat)


def test_a_word_that_is_no_answer_says_that_it_waits_and_yes_answers(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "first end"}, {"text": "second end", "expect": ["x"]})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("x\r")
    chat.wait_for("› 1 line queued; answer with n, y")
    chat.send("yes\r")
    chat.wait_for("✓ allowed by you, once")
    chat.wait_for("second end")
    assert (tmp_path / "work" / "made.txt").exists()
    _leave(chat)


def test_alt_y_answers_in_the_middle_of_typing_and_the_line_stays(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "done now"})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.send("half typed")
    chat.let_question_be_read()
    chat.send("\x1by")
    chat.wait_for("✓ allowed by you, once")
    chat.wait_for("› half typed")
    chat.wait_for("done now")
    chat.send("\x15")
    _leave(chat)


def test_a_line_typed_after_an_edit_was_laid_aside_is_a_message(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "first end"}, {"text": "second end", "expect": ["touch wrong"]})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("e\r")
    chat.wait_for("? Enter: run your edited version")
    chat.send("\x15")
    chat.wait_for("? n no   y once")
    chat.send("touch wrong")
    chat.wait_for("? Enter queues your line")
    chat.send("\rn\r")
    chat.wait_for("- denied by you")
    chat.wait_for("second end")
    assert list((tmp_path / "work").iterdir()) == []
    _leave(chat)


def test_chat_and_replay_show_the_edited_command_that_ran(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "done now"})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("e\r")
    chat.wait_for("? Enter: run your edited version")
    chat.send("\x7f" * len("made.txt") + "other.txt\r")
    chat.wait_for("✓ allowed by you, edited")
    chat.wait_for("✓ run_command  echo made > other.txt")
    chat.wait_for("done now")
    _leave(chat)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["other.txt"]
    assert "✓ run_command  echo made > other.txt" in limnos(tmp_path, "replay", *_ids(tmp_path)).stdout


def test_alt_keys_wait_until_the_question_could_be_read(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "done now"})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.send("\x1by")
    chat.wait_for("? that came before the question could be read; press it again")
    chat.let_question_be_read()
    assert not (tmp_path / "work" / "made.txt").exists()
    chat.send("\x1by")
    chat.wait_for("✓ allowed by you, once")
    chat.wait_for("done now")
    _leave(chat)


def test_a_paste_never_submits_and_is_sent_whole(tmp_path: Path) -> None:
    pasted = "\r\n".join(f"line {n}" for n in range(2000))
    chat = _start(tmp_path, {"text": "got it", "expect": ["line 0\nline 1\n", "line 1999"]})
    chat.send("\x1b[200~" + pasted[:9000])
    chat.send(pasted[9000:] + "\x1b[201~")
    chat.wait_for("› [pasted 2,000 lines]")
    chat.send("\r")
    chat.wait_for("got it")
    _leave(chat)


def test_lines_are_made_with_ctrl_j_and_with_a_backslash(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "got it", "expect": ["one\ntwo\nthree"]})
    chat.send("one\ntwo\\\rthree\r")
    chat.wait_for("got it")
    _leave(chat)


def test_unknown_sequences_are_neither_typed_nor_taken_as_escape(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "got it", "expect": ["ab"]})
    chat.send("a\x1b[13;5u\x1b]11;rgb:0000/0000/0000\x07b\r")
    chat.wait_for("› ab\r\n")
    chat.wait_for("got it")
    _leave(chat)


def test_text_of_the_model_cannot_send_sequences(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "x\x1b]52;c;cm0gLXJmIHg=\x07y \x1b[2Jz"})
    chat.send("go\r")
    chat.wait_for("x\\x1b]52;c;cm0gLXJmIHg=\\x07y \\x1b[2Jz")
    assert "\x1b]52" not in chat.output
    assert "\x1b[2J" not in chat.output
    _leave(chat)


def test_copy_puts_the_source_on_the_clipboard(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "**bold**"}, {"text": "the end"})
    chat.send("go\r")
    chat.wait_for("  bold")
    chat.send("go on\r")
    chat.wait_for("  the end")
    chat.send("/copy 1\r")
    chat.wait_for("✓ copied answer 1, 8 characters of source")
    assert "\x1b]52;c;Kipib2xkKio=\x07" in chat.output
    chat.send("/copy 99\r")
    chat.wait_for("error: there is no answer 99, only 2 answers")
    chat.wait_for("fix: /copy 2")
    _leave(chat)


def test_a_large_copy_lies_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    written: list[str] = []
    path = copy("x" * (OSC_LIMIT + 1), written.append, "xterm", tmp_path / "home" / "run")
    assert path is not None
    assert (path.stat().st_size, written) == (OSC_LIMIT + 1, [])
    places = (path, path.parent, tmp_path / "home")
    assert [place.stat().st_mode & 0o777 for place in places] == [0o600, 0o700, 0o700]


def test_slash_commands_say_what_they_do_and_unknown_ones_are_no_message(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "never asked"})
    chat.send("/help\r")
    chat.wait_for("/continue")
    chat.send("/hlep\r")
    chat.wait_for("error: no command `/hlep`")
    chat.send("/drop 4\r")
    chat.wait_for("nothing is queued at 4")
    chat.send("/sessions\r")
    chat.wait_for("next: limnos open ID")
    chat.send("/quit\r")
    assert chat.end() == 0
    assert "never asked" not in chat.output


def test_show_prints_a_result_and_names_the_numbers_that_exist(tmp_path: Path) -> None:
    listing = {"calls": [{"name": "list_dir", "arguments": {"path": "."}}]}
    chat = _start(tmp_path, listing, {"text": "done now"})
    chat.send("/show 1\r")
    chat.wait_for("error: no call has a result yet")
    (tmp_path / "work" / "found.txt").touch()
    chat.send("go\r")
    chat.wait_for("done now")
    chat.send("/show 99\r")
    chat.wait_for("error: event 99 is no result of a call; the newest are ")
    number = chat.wait_for("\r\n").strip()
    chat.wait_for(f"fix: /show {number}")
    chat.send(f"/show {number}\r")
    chat.wait_for("\r\n  found.txt")
    _leave(chat)


def test_an_opened_session_shows_what_was_said(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "the old answer"})
    chat.send("the old question\r")
    chat.wait_for("the old answer")
    chat.send("\x04")
    opened = chat.wait_for("kept  next: limnos open ") + chat.wait_for("\r\n")
    identity = opened.rsplit("limnos open ", 1)[1].split()[0]
    assert chat.end() == 0
    again = Tty.start(tmp_path, "open", identity, LIMNOS_MODEL=script(tmp_path, {"text": "new"}))
    again.wait_for("› the old question")
    again.wait_for("the old answer")
    _leave(again)


def test_no_row_is_wider_than_a_narrow_terminal(tmp_path: Path) -> None:
    chat = _start(
        tmp_path,
        {"text": "A long answer of many words, 中文字符也在其中，而且很长很长。"},
        columns=40,
        rows=20,
    )
    chat.send("a question that is longer than the narrow terminal is wide\r")
    chat.wait_for("很长。")
    _leave(chat)


def test_a_new_chat_names_the_session_that_a_crash_cut_short_in_its_folder(tmp_path: Path) -> None:
    killed = _start(tmp_path, SLOW_TEXT)
    killed.send("go\r")
    killed.wait_for("word")
    killed.signal(signal.SIGKILL)
    killed.end()
    (name,) = _ids(tmp_path)
    chat = _start(tmp_path, {"text": "something else"})
    assert f"? session {name} was interrupted  next: limnos open {name}" in strip(chat.output)
    chat.send("another task\r")
    chat.wait_for("something else")
    _leave(chat)
    told = strip(_start_and_leave(tmp_path))
    assert "was interrupted" not in told


def test_a_session_of_another_folder_is_not_named(tmp_path: Path) -> None:
    killed = _start(tmp_path, SLOW_TEXT)
    killed.send("go\r")
    killed.wait_for("word")
    killed.signal(signal.SIGKILL)
    killed.end()
    (tmp_path / "work").rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "elsewhere")
    assert "was interrupted" not in strip(_start_and_leave(tmp_path))


def _start_and_leave(folder: Path) -> str:
    chat = _start(folder, {"text": "never asked"})
    _leave(chat)
    return chat.output


def test_continue_in_a_fresh_chat_sends_nothing(tmp_path: Path) -> None:
    chat = _start(tmp_path, {"text": "never asked"})
    chat.send("/continue\r")
    chat.wait_for("- nothing to continue")
    _leave(chat)
    assert "never asked" not in chat.output


def test_continue_goes_on_after_a_stop_that_left_no_queue(tmp_path: Path) -> None:
    chat = _start(tmp_path, SLOW_TEXT, {"text": "second answer", "expect": ["continue"]})
    chat.send("go\r")
    chat.wait_for("word")
    chat.send("\x1b")
    chat.wait_for("stopped after step")
    chat.send("/continue\r")
    chat.wait_for("second answer")
    _leave(chat)


def test_a_no_to_the_only_question_is_no_error(tmp_path: Path) -> None:
    chat = _start(tmp_path, WRITE, {"text": "I did not."})
    chat.send("go\r")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("n\r")
    chat.wait_for("- denied by you")
    chat.wait_for("next: say what should be done instead")
    _leave(chat)
    assert "error:" not in chat.output
