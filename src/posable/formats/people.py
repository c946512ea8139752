"""People: the body of a skeleton, for formats that hold a person and nothing else."""

from __future__ import annotations

from typing import Any

from ..compute import PosableError
from ..compute.lazy import later_room
from ..skeleton import Skeleton


def person_of(skeleton: Skeleton, what: str) -> Any:
    """Return the person of a skeleton, a `Humanoid`; raise where it is nobody, or a robot.

    Args:
        skeleton: of a motion that shall be written.
        what: the kind of file, for the message: "a file of AMASS".
    """
    try:
        body = later_room("body").Humanoid(skeleton)
        body.require_person(what)
    except PosableError as error:
        raise PosableError(f"{what} holds the motion of a person, and here is none: {error}") from None
    return body
