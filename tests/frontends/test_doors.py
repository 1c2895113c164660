"""Front ends reach a session through the service's door: a daemon may be what holds its file."""

from tests.architecture.source import imported, modules

_FILES = {"limnos.store.audit", "limnos.store.records", "limnos.agent.sessions", "limnos.agent.recorded"}
_PLAYS_FILES = "limnos.frontends.cli.commands.replay"  # its operand may be a record file of any place


def test_no_view_reads_a_session_file_itself() -> None:
    readers = {
        module.name for module in modules() if module.folder == "frontends" and imported(module) & _FILES
    }

    assert readers == {_PLAYS_FILES}
