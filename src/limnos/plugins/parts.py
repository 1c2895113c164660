"""The stages and channels of a `plugin.toml`."""

from typing import Final, Literal, cast, get_args

from limnos.kernel.stages import StageName
from limnos.plugins.manifest import ChannelDeclaration, StageDeclaration
from limnos.plugins.tables import Table

SENDS: Final = "output_send__"  # with the name of a channel the tool that sends to it
STAGES: Final[tuple[str, ...]] = get_args(StageName)
GUARDED: Final = ("on_input", "before_toolcall", "after_toolcall")  # a handler there decides what may pass
_TOOL = r"[A-Za-z0-9_-]{1,64}"
_TOOL_SAYS = "up to 64 letters, digits, - and _"
_MOST_CHANNEL = 64 - len(SENDS)
_CHANNEL = f"[A-Za-z0-9_-]{{1,{_MOST_CHANNEL}}}"


def read_stage(table: Table) -> StageDeclaration:
    """One `[[stages]]`; handlers of a guarded stage fail closed unless they say something else."""
    usual = StageDeclaration("", "on_input")
    name = table.text("name", form=_TOOL, says=_TOOL_SAYS)
    stage = table.choice("stage", STAGES, None)
    policy = "fail_closed" if stage in GUARDED else usual.policy
    declared = StageDeclaration(
        name=name,
        stage=cast("StageName", stage),
        scope=cast(
            "Literal['global', 'own_tools']", table.choice("scope", ("own_tools", "global"), usual.scope)
        ),
        priority=int(table.number("priority", usual.priority, 0, 1000) or 0),
        policy=cast(
            "Literal['fail_open', 'fail_closed']",
            table.choice("policy", ("fail_open", "fail_closed"), policy),
        ),
        rewrites=table.flag("rewrites", usual.rewrites),
        timeout_s=float(table.number("timeout_s", usual.timeout_s, 0.05, 60.0) or 0),
    )
    table.finish()
    return declared


def read_channel(table: Table) -> ChannelDeclaration:
    """One `[[channels]]`."""
    says = f"up to {_MOST_CHANNEL} letters, digits, - and _"
    declared = ChannelDeclaration(
        name=table.text("name", form=_CHANNEL, says=says), description=table.text("description")
    )
    table.finish()
    return declared
