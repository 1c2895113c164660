"""Shell commands for the gate: read, judged by what their programs do with their words, rebuilt to run."""
