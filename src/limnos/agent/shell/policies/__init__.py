"""What each program may be told without a question; one table per family of programs."""
