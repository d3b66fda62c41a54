"""Why packages could not be built."""


class Failed(RuntimeError):
    """A package could not be built; the message says which, and why."""
