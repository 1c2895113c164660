"""How a hard denial is said."""

from limnos.kernel.messages import ToolError


def refuse(what: str, instead: str) -> ToolError:
    """A denial that nothing lifts."""
    return ToolError("refused", what, instead)
