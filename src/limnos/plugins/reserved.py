"""Names that only limnos itself may have: rules, rights and the order of the catalogue hang on them."""

from typing import Final

# Whose output is trusted, who speaks in a record, and the groups of the kernel's own tools.
NAMES: Final = frozenset({
    "kernel", "limnos", "person", "persona", "agent", "agents", "mcp", "blocks", "jobs", "files", "search",
    "shell",
})  # fmt: skip
# A stored rule for one of these would hold for a tool of a stranger with the same name.
TOOLS: Final = frozenset({
    "block_read", "edit_file", "find_files", "job_output", "job_stop", "list_dir", "now", "plan_update",
    "read_file", "run_command", "search_text", "spawn_agent", "tools_open", "write_file",
})  # fmt: skip
