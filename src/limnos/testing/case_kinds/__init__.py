"""One module for each kind of case file; each has `check(case)`: None, or what came instead."""
