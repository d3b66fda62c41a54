"""``baton demo``: a run's whole life on this machine, played and checked."""

from baton_sdk.cli.demo.command import demo

__all__ = ["demo"]
