"""``baton exec``: any command as a run. Its output is the log, its exit the ending, a cancel reaches it as a
signal."""
