from __future__ import annotations

import httpx
import pytest
from rich.console import Console
from typer.testing import CliRunner

from baton_sdk import Client
from baton_sdk.cli import output as cli_output
from baton_sdk.cli import session as cli_session
from baton_sdk.cli.app import app


@pytest.fixture
def requests():
    return []


@pytest.fixture
def run(monkeypatch, requests):
    """Run a command line against an answer, or what a function answers to each request; ``requests`` are what
    was asked. ``terminal`` shows it to a person."""
    for name in ("BATON_URL", "BATON_TOKEN", "BATON_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)

    def run(*args, answer=None, stdin=None, terminal=False):
        def handler(request):
            requests.append(request)
            said = answer(request) if callable(answer) else answer
            return said if isinstance(said, httpx.Response) else httpx.Response(200, json=said)

        def client(self, **_):
            options = self.options
            return Client(
                options.url, options.token, options.namespace, transport=httpx.MockTransport(handler)
            )

        monkeypatch.setattr(cli_session.Session, "client", client)
        if terminal:
            monkeypatch.setattr(cli_output, "Console", _terminal)
        return CliRunner().invoke(app, list(args), input=stdin)

    return run


def _terminal(**options):
    return Console(**options, force_terminal=True, color_system=None, width=200)
