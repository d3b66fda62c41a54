"""What clients carry for us, signed so that it can be nothing else: a log's tail, a list's next place."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from itsdangerous import BadData, Signer
from itsdangerous.encoding import base64_decode, base64_encode

from baton.domain.log import Header, Tail
from baton.domain.states import State
from baton.errors import InvalidRequest
from baton.services.starts import Started

MAX_TAIL = 4096
"""Characters of a token that a header may hold."""

_tail = msgspec.msgpack.Decoder(tuple[str, int, Header, bool, int, int])


class Signatures:
    """Signs with the newest key, believes all of them (oldest first, so that keys can be rotated).

    What is signed is bound to what it is about by signing that with it, unsaid: moved elsewhere it is a
    forgery.
    Raises ValueError without a key.
    """

    def __init__(self, keys: Iterable[bytes]) -> None:
        known = list(keys)
        if not known or not all(known):
            raise ValueError("signing keys: at least one is needed, and none may be empty")
        self._tails = _signer(known, b"baton.tail")
        self._cursors = _signer(known, b"baton.cursor")

    def of_start(self, done: Started) -> dict[str, str]:
        """The header that lets the first append go without a read: where the log is open to one."""
        run = done.detail.run
        if done.tail is None or run.state is not State.RUNNING:
            return {}
        return self.tail(run.namespace, run.id, done.tail)

    def tail(self, namespace: str, run_id: str, tail: Tail) -> dict[str, str]:
        """The header that gives a client a log's tail; none where it would be too long."""
        packed = msgspec.msgpack.encode(
            (tail.birth, tail.next, tail.header, tail.fenced, tail.newest_ts, tail.seen_at)
        )
        token = _sign(self._tails, packed, namespace, run_id)
        return {"Baton-Tail": token} if len(token) <= MAX_TAIL else {}

    def echoed(self, namespace: str, run_id: str, token: str | None) -> Tail | None:
        """The tail in a token that is ours and this run's, else None: a tail is only a hint."""
        packed = None if token is None else _verified(self._tails, token, namespace, run_id)
        if packed is None:
            return None
        try:
            birth, next_, header, fenced, newest_ts, seen_at = _tail.decode(packed)
        except msgspec.DecodeError:
            return None  # of another version of ours
        return Tail(
            birth=birth, next=next_, header=header, fenced=fenced, newest_ts=newest_ts, seen_at=seen_at
        )

    def pages(self, *about: str) -> Pages:
        """The places of a list about something."""
        return Pages(self._cursors, about)


class Pages(NamedTuple):
    """A list's places, between its pages, and the tokens that stand for them."""

    signer: Signer
    about: tuple[str, ...]

    def token(self, place: str) -> str:
        """The token with which the list goes on from a place."""
        return _sign(self.signer, place.encode(), *self.about)

    def after(self, token: str | None, *, where: str = "query") -> str | None:
        """Where the list goes on; None, without a token: it begins. Raises InvalidRequest, at ``where`` the
        token came, for one of any other use."""
        if token is None:
            return None
        place = _verified(self.signer, token, *self.about)
        if place is None:
            raise InvalidRequest.at([where, "next_token"], "not a token that this list, so filtered, gave")
        return place.decode()


def _signer(keys: list[bytes], salt: bytes) -> Signer:
    return Signer(keys, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)


def _sign(signer: Signer, value: bytes, *about: str) -> str:
    text = base64.urlsafe_b64encode(value).rstrip(b"=")
    return (text + b"." + signer.get_signature(_bound(text, about))).decode()


def _verified(signer: Signer, token: str, *about: str) -> bytes | None:
    text, dot, signature = token.encode("utf-8", "replace").partition(b".")
    if not dot or not _ours(signature) or not signer.verify_signature(_bound(text, about), signature):
        return None
    try:
        return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except binascii.Error:
        return None


def _ours(signature: bytes) -> bool:
    """Whether it is spelt as we spell it: base64 is read past characters that are none of its own, and past
    bits that its last one has to spare, so one signature would have many spellings."""
    try:
        return base64_encode(base64_decode(signature)) == signature
    except BadData:
        return False


def _bound(text: bytes, about: tuple[str, ...]) -> bytes:
    return "\0".join((*about, "")).encode() + text
