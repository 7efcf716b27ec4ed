"""Who works at a session: names, what each may do, and the links that they come by.

A link has a token that cannot be guessed. It is shown when it is made and kept nowhere: the cookie
that a browser gets follows from the token, and the journal has a hash of the cookie. So whoever
reads the journal can open nothing, and a link works until it is revoked, also after a restart.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from semisvm.labelling.journal import LOST
from semisvm.labelling.records import FINISH, LABEL, ROLES, LabelingError, Person
from semisvm.text import did_you_mean

PERSON, REVOKED = "person", "revoked"
"""Kinds of lines of a journal."""
TOKEN_BYTES = 32
LONGEST_NAME = 60
MOST_PEOPLE = 1000


def new_token() -> str:
    """Return a token that cannot be guessed."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def cookie_of(token: str) -> str:
    """Return the cookie for a token, which does not give the token away."""
    return hmac.new(token.encode(), b"session", hashlib.sha256).hexdigest()


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


class People:
    """The people of a session.

    Parameters
    ----------
    keep : callable
        Brings a line to the journal.

    Attributes
    ----------
    lost : int
        Links that ended because lines of the journal are damaged.
    """

    def __init__(self, keep: Callable[[dict[str, Any]], Any]) -> None:
        self._keep = keep
        self.lost = 0
        self._known: dict[str, Person] = {}
        self._keys: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Person]:
        return iter(self._known.values())

    def get(self, name: str) -> Person | None:
        """Return a person whose link is valid."""
        return self._known.get(name)

    def replay(self, line: Mapping[str, Any]) -> None:
        """Read a line of the journal."""
        if line["kind"] == PERSON:
            self._forget(line["name"])
            self._known[line["name"]] = Person(line["name"], line["role"])
            self._keys[line["key"]] = line["name"]
        elif line["kind"] == REVOKED:
            self._forget(line["name"])
        elif line["kind"] == LOST:  # perhaps what ended a link
            self.lost += len(self._known)
            self._known.clear()
            self._keys.clear()

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._keys = {key: other for key, other in self._keys.items() if other != name}

    def invite(self, person: Person) -> str:
        """Make a link for a person, in place of one they may have; return its token."""
        token = new_token()
        key = _hash(cookie_of(token))
        line = {"kind": PERSON, "name": person.name, "role": person.role, "key": key}
        self._keep(line)
        self.replay(line)
        return token

    def revoke(self, name: str) -> None:
        """End a link; the answers of the person stay."""
        if name not in self._known:
            known = ", ".join(self._known) or "nobody"
            hint = did_you_mean(name, self._known)
            raise LabelingError(f"{name!r} has no link to be revoked.{hint} Links have: {known}.")
        line = {"kind": REVOKED, "name": name}
        self._keep(line)
        self.replay(line)

    def of_cookie(self, cookie: str) -> Person | None:
        """Return whose cookie this is; None if the link is unknown, or was revoked."""
        # the hash of a guess says nothing about how near the guess is
        name = self._keys.get(_hash(cookie))
        return None if name is None else self._known[name]


def read_people(given: str, others: Iterable[Person] = ()) -> list[Person]:
    """Read names such as "anna:finish,ben,carl", or a number of people.

    Those without a role label; but if nobody may do everything, the first of them may.

    Parameters
    ----------
    given : str
    others : iterable of Person
        Those who have a link already.
    """
    if given.strip().isdecimal():
        n = int(given)
        if not 1 <= n <= MOST_PEOPLE:
            raise LabelingError(f"There can be 1 to {MOST_PEOPLE} people, not {n}.")
        given = ",".join(f"person {k}" for k in range(1, n + 1))
    found = [_person(part) for part in given.split(",")]
    names = [person.name for person in found]
    for name in names:
        if names.count(name) > 1:
            raise LabelingError(f"There are two people named {name!r}: give each another name.")
    if not any(person.may(FINISH) for person in [*others, *found]):
        bare = (k for k, part in enumerate(given.split(",")) if ":" not in part)
        for first in islice(bare, 1):
            found[first] = Person(names[first], FINISH)
    return found


def _person(given: str) -> Person:
    name, colon, role = (part.strip() for part in given.partition(":"))
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise LabelingError(
            f"A person needs a name of 1 to {LONGEST_NAME} printable characters, not {name!r}."
        )
    if colon and role not in ROLES:
        raise LabelingError(f"{name!r} can have the role {', '.join(ROLES)}, not {role!r}.")
    return Person(name, role if colon else LABEL)
