"""What every command shares: the global options, before the verb or after it, and how an error ends a
command."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from baton_sdk.cli.output import Output
from baton_sdk.client import Client
from baton_sdk.errors import BatonError
from baton_sdk.retry import RetryPolicy

REFUSED = 1
USAGE = 2
INTERRUPTED = 130
PROMPT = RetryPolicy(attempts=4, patience_seconds=15.0)
"""For someone who waits at a prompt: outlasts a hiccup, and tells of an outage soon."""
PANEL = "Global options (before or after the verb)"


@dataclass(frozen=True)
class GlobalOptions:
    """Where the service is, who asks, and for whom the output is."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    namespace: str | None = None
    json: bool = False

    def over(self, outer: GlobalOptions | None) -> GlobalOptions:
        """These options, and what they leave open as ``outer`` has it."""
        if outer is None:
            return self
        return GlobalOptions(
            url=self.url or outer.url,
            token=self.token or outer.token,
            namespace=self.namespace or outer.namespace,
            json=self.json or outer.json,
        )


class Session:
    """One command's run: its options, its output, and clients made from them."""

    def __init__(self, options: GlobalOptions) -> None:
        self.options = options
        self.out = Output(as_json=options.json)

    def client(self, retry: RetryPolicy = PROMPT, timeout: float = 30.0) -> Client:
        """A client for the service the options name; use it as a context manager."""
        options = self.options
        return Client(options.url, options.token, options.namespace, retry=retry, timeout=timeout)


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The service. [env: BATON_URL]", rich_help_panel=PANEL),
]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Your token. [env: BATON_TOKEN]", rich_help_panel=PANEL),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", metavar="NAME", help="The tenant. [env: BATON_NAMESPACE]", rich_help_panel=PANEL
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON (JSON lines for streams).", rich_help_panel=PANEL),
]


def take_globals(
    ctx: typer.Context,
    url: Url = None,
    token: Token = None,
    namespace: Namespace = None,
    json: Json = False,
) -> None:
    """The callback of the program and of each noun: keeps the options given before the verb."""
    ctx.obj = GlobalOptions(url, token, namespace, json).over(ctx.obj)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give ``function(session, …)`` the global options after its own, and an end for every error."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    shared = list(inspect.signature(take_globals, eval_str=True).parameters.values())
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *shared)]

    def run(**values: Any) -> None:
        context = values.pop("ctx")
        given = GlobalOptions(**{p.name: values.pop(p.name) for p in shared[1:]})
        session = Session(given.over(context.obj))
        with ending(session.out):
            function(session, **values)

    run.__name__ = function.__name__
    run.__doc__ = function.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


@contextmanager
def ending(out: Output) -> Iterator[None]:
    """A refusal ends with 1 and says why, an interruption with 130, a reader who left in silence."""
    try:
        yield
        sys.stdout.flush()
    except BatonError as error:
        out.error(error)
        raise typer.Exit(REFUSED) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever read us has had enough; the interpreter's own flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
