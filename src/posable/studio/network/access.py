"""Who may talk to the studio: decided from the first request, before a websocket is opened.

A page from anywhere may try to reach this machine, and the studio reads and writes files. So each request, for the page
and for its websocket, is answered only when

- it asks for this machine by a name of its own (`Host`), which stops a stranger's name from being pointed here (DNS
  rebinding); on loopback that is a loopback name;
- it comes from a page that this server handed out (its `Origin` is the `Host` that it asks), or from no page at all;
- it has the token, where the studio can be reached from other machines: in its query, or in the cookie that the first
  page sets;
- it does not tell the page to connect elsewhere, which viser's page would do.

Anything else is 403, and a websocket is then never opened: nothing that it sent is read.
"""

from __future__ import annotations

import hmac
import http
import inspect
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from ...compute import PosableError

TOKEN = "token"
"""The name of the token in a query."""
ELSEWHERE = ("websocket", "playbackPath")
"""Queries by which viser's page connects to another server, or plays a file of another: both may run programs in it."""
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9._-]*)(?::[0-9]{1,5})?")

Answer = Callable[[Any, Request], Any]
"""Answers a request on a connection: a response, or None where a websocket is to be opened."""


class Access:
    """The rule by which requests are answered.

    Args:
        host: where the studio listens.
        names: other names by which it may be asked for, such as that of a proxy before it.
    """

    def __init__(self, host: str, names: Iterable[str] = ()) -> None:
        given = tuple(_plain(name) for name in names)
        self.is_private = is_loopback(host) and all(is_loopback(name) for name in given)
        """Whether only this machine reaches it."""
        self.names = {_plain(host), *given} if self.is_private else {_plain(host), *given, *own_names()}
        self.token = None if self.is_private else secrets.token_urlsafe(24)

    def refusal(self, path: str, headers: Any, address: str = "", port: int = 0) -> str | None:
        """Return why a request is not answered; None where it is.

        Args:
            path: that it asks for, with its query.
            headers: of the request.
            address: of this machine, that it reached.
            port: that it reached.
        """
        try:
            requested, origin, cookies = (headers.get(name) for name in ("Host", "Origin", "Cookie"))
        except LookupError:  # a header that is there twice: which one is meant, another program may see otherwise
            return "a header is there twice"
        found = _HOST.fullmatch(str(requested or ""))
        if found is None or not self.knows(found["name"], address):
            return f"this studio is not called {requested!r}"
        if origin is not None and _site(str(origin)) != str(requested).lower():
            return f"a page of {origin} may not talk to this studio"
        query = parse_qs(urlsplit(path).query, keep_blank_values=True)
        if any(name in query for name in ELSEWHERE):
            return "the page of this studio connects to this studio only"
        if self.token is not None and not self._has_token(query, str(cookies or ""), port):
            return "the token is missing; open the address that the studio printed when it started"
        return None

    def knows(self, name: str, address: str = "") -> bool:
        """Return whether a name in a request is one of this studio; `address` is the one that the request reached."""
        name = _plain(name)
        if is_loopback(name) or name in self.names:
            return True
        return not self.is_private and bool(address) and name == _plain(address)

    def cookie(self, port: int) -> str:
        """Return the name of the cookie that has the token: browsers keep one for all ports of a host."""
        return f"posable-studio-{port}"

    def guarded(self, answer: Answer) -> Answer:
        """Wrap the function that answers requests, so that only those that may be are answered."""

        async def guard(connection: Any, request: Request) -> Response | None:
            address, port = (*(connection.local_address or ()), "", 0)[:2]
            why = self.refusal(request.path, request.headers, str(address), int(port))
            if why is not None:
                return _refused(why)
            answered: Response | None = answer(connection, request)
            if inspect.isawaitable(answered):
                answered = await answered
            if answered is not None:
                self._complete(answered, request, int(port))
            return answered

        return guard

    def _has_token(self, query: dict[str, list[str]], cookies: str, port: int) -> bool:
        given = query.get(TOKEN, [])
        try:
            jar = SimpleCookie(cookies)
        except CookieError:
            jar = SimpleCookie()
        if self.cookie(port) in jar:
            given = [*given, jar[self.cookie(port)].value]
        expected = (self.token or "").encode()
        return any(hmac.compare_digest(one.encode("utf-8", "replace"), expected) for one in given)

    def _complete(self, response: Response, request: Request, port: int) -> None:
        """Add the headers that keep the page to itself, and the cookie where the token is known to be right."""
        host = request.headers["Host"]
        response.headers.update(
            {
                # In a frame of another page a user could be made to press what is not seen.
                "X-Frame-Options": "SAMEORIGIN",
                "Content-Security-Policy": (
                    f"frame-ancestors 'self'; connect-src 'self' ws://{host} wss://{host} data: blob:"
                ),
                "Referrer-Policy": "no-referrer",
                "X-Content-Type-Options": "nosniff",
                "Cache-Control": "no-store",
            }
        )
        if self.token is not None:
            cookie = f"{self.cookie(port)}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            response.headers["Set-Cookie"] = cookie


def is_loopback(host: str) -> bool:
    """Return whether a host name is this machine talking to itself."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def own_names() -> set[str]:
    """Return the names and addresses of this machine, as far as it knows them itself."""
    name = socket.gethostname()
    try:
        addresses = {str(info[4][0]) for info in socket.getaddrinfo(name, None)}
    except (OSError, UnicodeError):  # a name that no server knows
        addresses = set()
    return {_plain(each) for each in (name, name.partition(".")[0], f"{name.partition('.')[0]}.local", *addresses)}


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of a studio; raise where one is not the name of a host."""
    checked = (names,) if isinstance(names, str) else tuple(names)
    for name in checked:
        found = _HOST.fullmatch(str(name))
        if found is None or found["name"] != name:
            raise PosableError(
                f"{name!r} is no name of a host; give one as it stands in an address: studio.example.org"
            )
    return checked


def _plain(name: str) -> str:
    """Return a name or an address of a host as it is compared."""
    bare = name.strip("[]").lower().rstrip(".").partition("%")[0]
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return bare


def _site(origin: str) -> str | None:
    """Return the host and port of an origin; None where it is none of a page that a server handed out."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") and parts.netloc else None


def _refused(why: str) -> Response:
    body = f"403: {why}\n".encode("utf-8", "replace")  # a header may hold bytes that are no text
    headers = Headers(
        [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("X-Content-Type-Options", "nosniff"),
            ("Connection", "close"),
        ]
    )
    return Response(http.HTTPStatus.FORBIDDEN, "Forbidden", headers, body)
