"""Tokens made and revoked. What a maker was never told of is nobody's: a retry makes another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from baton.domain.audit import Action
from baton.domain.roles import Role
from baton.domain.tokens import Minted, Wish
from baton.errors import NotFound
from tests.faults.crash import Scenario
from tests.faults.world import NAMESPACE, Container

WISH = Wish(namespace=NAMESPACE, role=Role.DRIVER)
BY = "admin"


@dataclass
class Minting(Scenario):
    """A token is made: what was answered counts, and each that is there was audited with its making."""

    def prepare(self, world: object) -> Container:
        return self.world.container()

    def act(self, container: Container) -> Minted:
        return container.runtime.tokens.create(WISH, by=BY)

    def verify(self, answer: Minted) -> None:
        runtime = self.world.container().runtime
        assert runtime.tokens.authenticate(answer.text) == answer.token
        self.verify_unretried()

    def verify_unretried(self) -> None:
        runtime = self.world.container().runtime
        there = {token.id for token in runtime.tokens.list(NAMESPACE, limit=100, after=None).tokens}
        assert there == set(self.audited(Action.TOKEN_CREATED))

    def audited(self, action: Action) -> list[str]:
        """Whom an action was done to, as the audit has it."""
        done = self.world.container().runtime.audit.list(NAMESPACE, limit=100, after=None).done
        return [each.subject for each in done if each.action is action]


@dataclass
class Revoking(Minting):
    """A token is revoked: it counts no more once that is acknowledged, and the audit tells of it once."""

    asked: bool = False

    def prepare(self, world: object) -> Container:
        container = self.world.container()
        self.made = container.runtime.tokens.create(WISH, by=BY)
        return container

    def act(self, container: Container) -> Minted:
        # A repeat is told that nothing is there: it is the truth.
        with suppress(*[NotFound] * self.asked):
            self.asked = True
            container.runtime.tokens.revoke(self.made.token.id, within=(NAMESPACE,), by=BY)
        return self.made

    def verify(self, answer: Minted) -> None:
        runtime = self.world.container().runtime
        assert runtime.tokens.authenticate(answer.text) is None
        assert not runtime.tokens.still_good(answer.token.id)
        assert self.audited(Action.TOKEN_REVOKED) == [answer.token.id]

    def verify_unretried(self) -> None:
        gone = not self.world.container().runtime.tokens.still_good(self.made.token.id)
        assert self.audited(Action.TOKEN_REVOKED) == [self.made.token.id] * gone


class Using(Revoking):
    """A token is used while it is noted: it counts before and after, whatever becomes of the note."""

    def act(self, container: Container) -> Minted:
        assert container.runtime.tokens.authenticate(self.made.text) is not None
        return self.made

    def verify(self, answer: Minted) -> None:
        assert self.world.container().runtime.tokens.authenticate(answer.text) is not None

    def verify_unretried(self) -> None:
        self.verify(self.made)


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "make a token": Minting,
    "revoke a token": Revoking,
    "use a token": Using,
}
