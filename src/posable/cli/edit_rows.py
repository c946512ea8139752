"""The check of edits before they are made: what cannot be meant is refused before weights are fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compute import PosableError, UnknownNameError
from .distance import check_displacement, check_target

if TYPE_CHECKING:
    from ..body import Humanoid
    from ..skeleton import Motion


def check_row(body: Humanoid, motion: Motion, row: dict[str, Any], where: str) -> None:
    """Refuse frames and parts that do not exist, other settings that cannot be, and targets far outside the size of the
    figure: before the weights are fitted, which takes long.
    """
    from ..edit.clip import frame_of, joint_of
    from ..edit.dragging import MODES
    from ..edit.edits import bell
    from ..edit.repair import read_pins
    from ..edit.scopes import SCOPES

    if not len(motion):
        raise PosableError("the motion has no frames; there is nothing to edit")
    row = {name: value for name, value in row.items() if value is not None}
    try:
        for name, known in (("mode", MODES), ("scope", SCOPES)):
            if name in row and row[name] not in known:
                raise UnknownNameError(name, row[name], known)
        read_pins(body, row.get("pins", ()), len(motion))
        for part in (*row.get("stretch", {}), *row.get("key", {})):
            joint_of(body, part)
        for one in row.get("warp", [row]):
            frame = frame_of(one["frame"], len(motion))
            joint = joint_of(body, one["part"]) if "part" in one else None
            if "warp" not in row:
                fades = (row.get("spread", 0.5), row.get("ease", "cosine"), row.get("frames"))
                bell(len(motion), motion.fps, frame, *fades)
            if one.get("displacement") is not None:
                check_displacement(f"a displacement of {_text(one['displacement'])}", one["displacement"], body.height)
            if one.get("target") is not None and joint is not None:
                position = body.skeleton.forward(motion[frame]).positions[joint]
                check_target(f"the target {_text(one['target'])}", one["target"], one["part"], position, body.height)
    except PosableError as error:
        raise PosableError(f"{where}{error}") from None


def _text(values: list[float]) -> str:
    return ",".join(f"{value:g}" for value in values)
