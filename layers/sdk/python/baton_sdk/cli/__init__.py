"""The command line ``baton``: one module per noun, nothing the client library can't do."""

from baton_sdk.cli.app import main

__all__ = ["main"]
