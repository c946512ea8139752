"""Where points come from and bodies go to, as people type it: `vmc`, `vrchat://192.168.0.7:9000`, `take.bvh`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from ..compute import PosableError, UnknownNameError
from .vmc import PERFORMERS, RENDERERS
from .vrchat import PORT

LOOPBACK = "127.0.0.1"
LINES_IN, LINES_OUT = 39550, 39551
IN_PORTS = {"vmc": PERFORMERS, "vrchat": PORT, "udp": LINES_IN}
OUT_PORTS = {"vmc": RENDERERS, "vmc-trackers": RENDERERS, "vrchat": PORT, "udp": LINES_OUT}


@dataclass(frozen=True)
class Address:
    """A protocol, and the host and port that it is spoken at."""

    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.protocol}://{host}:{self.port}"

    @property
    def is_private(self) -> bool:
        """Whether it is reached from this machine only."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # a name: who answers to it is not known, whatever it begins with
            return self.host.lower() == "localhost"


def parse(text: str, ports: dict[str, int]) -> Address | None:
    """Return the address that a text says; None where it names a file.

    Args:
        text: "vmc", "vmc://host", "vmc://host:port", "vmc://:port".
        ports: protocols, with the port of each where none is said.
    """
    protocol, mark, rest = text.partition("://")
    if not mark and protocol not in ports:
        return None
    if protocol not in ports:
        raise UnknownNameError("protocol", protocol, ports)
    host, port = LOOPBACK, ports[protocol]
    if rest:
        rest = rest.rstrip("/")
        named, colon, number = rest.rpartition(":")
        if (rest.startswith("[") and rest.endswith("]")) or not colon:
            named, number = rest, ""
        if ":" in named and not named.startswith("["):
            raise PosableError(
                f"{text}: expected brackets around an address with colons, as in {protocol}://[::1]:{port}"
            )
        if number:
            if not number.isdecimal() or not 0 <= int(number) < 65536:
                raise PosableError(f"{text}: the port is {number!r}; expected 1 to 65535, or 0 for a free one")
            port = int(number)
        host = named.strip("[]") or LOOPBACK
    return Address(protocol, host, port)
