"""``baton worker MODULE``: serve the workflows of a module."""

from baton_sdk.cli.worker.command import worker

__all__ = ["worker"]
