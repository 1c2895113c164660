"""Names that only limnos itself may have: rules, rights and the order of the catalogue hang on them."""

from typing import Final

# Whose output is trusted, who speaks in a record, and the groups of the kernel's own tools.
NAMES: Final = frozenset({
    "kernel", "limnos", "person", "persona", "agent", "agents", "mcp", "blocks", "jobs", "files", "search",
    "shell", "code", "git", "health", "rate_limit", "redact", "terminals",
})  # fmt: skip
# A stored rule for one of these would hold for a tool of a stranger with the same name.
TOOLS: Final = frozenset({
    "block_read", "edit_file", "git_blame", "git_branch", "git_commit", "git_diff", "git_log", "git_show",
    "git_status", "health", "run_node", "run_python", "terminal_close", "terminal_open", "terminal_read",
    "terminal_resize", "terminal_write", "find_files", "job_output", "job_stop", "list_dir", "now",
    "plan_update", "read_file", "run_command", "search_text", "spawn_agent", "tools_open", "write_file",
})  # fmt: skip


def spelled(name: str) -> str:
    """A name as people read it: `READ-FILE` and `read_file` are one."""
    return name.casefold().replace("-", "_")
