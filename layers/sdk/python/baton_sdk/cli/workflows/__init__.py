"""``baton workflows …``: what is registered, and registering it from files."""

from baton_sdk.cli.workflows.command import workflows

__all__ = ["workflows"]
