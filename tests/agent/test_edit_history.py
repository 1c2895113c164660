"""Changes of files are taken back one by one, also after a restart, and never over somebody else's work."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.agent.edit_history import History, UndoError
from limnos.kernel.events import FileChanged
from limnos.sdk.files import Files
from limnos.store.blobs import BlobStore


class Session:
    """A folder with its door, and what a session's log would hold."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        self.root.mkdir()
        self.blobs = BlobStore(folder / "blobs")
        self.log: list[FileChanged] = []
        self.cause = "call-1"
        self.restart()

    def restart(self) -> None:
        self.history = History(self.blobs, self.log.append, tuple(self.log))
        self.files = Files(self.root, on_change=self._note)

    def _note(self, name: str, before: bytes | None, after: bytes | None) -> None:
        self.history.record(name, before, after, self.cause)

    def content(self) -> dict[str, bytes]:
        return {str(path.relative_to(self.root)): path.read_bytes() for path in self.root.rglob("*.txt")}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def test_a_replaced_file_gets_its_bytes_and_rights_back(session: Session) -> None:
    path = session.root / "a.txt"
    path.write_bytes(b"one\r\n\xff")
    path.chmod(0o750)
    session.files.write("a.txt", b"two")

    undone = session.history.undo(session.files)

    assert (undone.path, undone.removed, undone.left) == ("a.txt", False, 0)
    assert path.read_bytes() == b"one\r\n\xff"
    assert path.stat().st_mode & 0o777 == 0o750


def test_a_new_file_is_removed_and_a_removed_one_is_there_again(session: Session) -> None:
    session.files.write("sub/a.txt", b"one")
    session.files.remove("sub/a.txt")

    assert not session.history.undo(session.files).removed
    assert session.content() == {"sub/a.txt": b"one"}
    assert session.history.undo(session.files).removed
    assert session.content() == {}


def test_two_undos_go_two_changes_back_and_a_third_says_that_nothing_is_left(session: Session) -> None:
    for data in (b"one", b"two", b"three"):
        session.files.write("a.txt", data)

    session.history.undo(session.files)
    assert session.content() == {"a.txt": b"two"}
    session.history.undo(session.files)
    assert session.content() == {"a.txt": b"one"}
    session.history.undo(session.files)
    with pytest.raises(UndoError, match="no change of a file"):
        session.history.undo(session.files)


def test_an_undo_is_recorded_with_what_it_replaced(session: Session) -> None:
    session.files.write("a.txt", b"one")
    session.files.write("a.txt", b"two")
    session.history.undo(session.files)

    first, second, undone = session.log
    assert (undone.path, undone.cause) == ("a.txt", "undo")
    assert (undone.before, undone.after) == (second.after, first.after)
    assert (first.cause, first.before) == ("call-1", None)


def test_after_a_restart_the_way_back_is_the_same(session: Session) -> None:
    for data in (b"one", b"two", b"three"):
        session.files.write("a.txt", data)
    session.history.undo(session.files)

    session.restart()
    session.history.undo(session.files)

    assert session.content() == {"a.txt": b"one"}
    assert len(session.history) == 1


def test_a_file_that_somebody_else_changed_is_left_alone_and_named(session: Session) -> None:
    session.files.write("a.txt", b"one")
    (session.root / "a.txt").write_bytes(b"mine")

    with pytest.raises(UndoError, match=r"a\.txt") as caught:
        session.history.undo(session.files)

    assert caught.value.fix
    assert session.content() == {"a.txt": b"mine"}
    assert len(session.history) == 1


def test_a_file_that_somebody_removed_is_not_made_again(session: Session) -> None:
    session.files.write("a.txt", b"one")
    session.files.write("a.txt", b"two")
    (session.root / "a.txt").unlink()

    with pytest.raises(UndoError, match=r"a\.txt"):
        session.history.undo(session.files)
    assert session.content() == {}


def test_an_undo_whose_record_a_crash_took_is_recorded_by_the_next_one(session: Session) -> None:
    session.files.write("a.txt", b"one")
    session.files.write("a.txt", b"two")
    session.files.restore("a.txt", b"one", instead_of=b"two")

    assert session.history.undo(session.files).left == 1
    assert session.content() == {"a.txt": b"one"}


def test_lost_content_is_said_and_nothing_is_touched(session: Session) -> None:
    session.files.write("a.txt", b"one")
    session.files.write("a.txt", b"two")
    for block in (session.root.parent / "blobs").rglob("b*"):
        if block.is_file():
            block.unlink()

    with pytest.raises(UndoError, match=r"a\.txt cannot be undone"):
        session.history.undo(session.files)
    assert session.content() == {"a.txt": b"two"}


def test_the_same_bytes_again_are_no_change(session: Session) -> None:
    session.files.write("a.txt", b"one")
    session.files.write("a.txt", b"one")

    assert len(session.history) == 1


@settings(deadline=None)  # the disk decides how long a write takes
@given(
    st.lists(
        st.tuples(st.sampled_from(["a.txt", "b/c.txt"]), st.none() | st.binary(max_size=6) | st.just("undo")),
        max_size=14,
    )
)
def test_any_changes_and_undos_lead_back_through_every_state(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bytes | str | None]]
) -> None:
    session = Session(tmp_path_factory.mktemp("steps"))
    states = [session.content()]
    for name, step in steps:
        before = session.content()
        if step == "undo":
            if len(states) > 1:
                session.history.undo(session.files)
                states.pop()
        elif isinstance(step, bytes):
            session.files.write(name, step)
        elif name in before:
            session.files.remove(name)
        session.restart()
        if step != "undo" and session.content() != before:
            states.append(session.content())
        assert session.content() == states[-1]
    while len(states) > 1:
        session.history.undo(session.files)
        states.pop()
        assert session.content() == states[-1]


def test_a_link_that_was_put_in_the_place_of_a_folder_is_not_followed_by_undo(session: Session) -> None:
    (session.root / "other").mkdir()
    (session.root / "other" / "a.txt").write_bytes(b"two")
    (session.root / "sub").mkdir()
    (session.root / "sub" / "a.txt").write_bytes(b"one")
    session.files.write("sub/a.txt", b"two")
    (session.root / "sub" / "a.txt").unlink()
    (session.root / "sub").rmdir()
    (session.root / "sub").symlink_to("other")

    with pytest.raises(UndoError):
        session.history.undo(session.files)
    assert (session.root / "other" / "a.txt").read_bytes() == b"two"
