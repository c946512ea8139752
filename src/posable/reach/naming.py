"""The names of what touches in a reach: from contacts of the bent body, and of an arm that found no clear way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..body.collision.clearance import SelfCollision, limb_links
from ..collision.bodies import body_depth_rows
from ..compute import Status
from ..compute.types import Bools, Ints, Records
from .behaviour import ARMS
from .packed import Body, Rows

if TYPE_CHECKING:
    from .reacher import Reacher

MESH = "a mesh of the scene"
COLLISION = int(Status.COLLISION)  # a name looked up in an enumeration takes a microsecond


def contacts_of(reacher: Reacher, body: Body, rows: Rows) -> list[tuple[str, str] | None]:
    """Return, a row, the names of the two that touch, or that lowered the weight; None where nothing did."""
    result = rows.result
    found: list[tuple[str, str] | None] = [None] * len(result)
    if COLLISION not in result["reason"].tolist() and COLLISION not in result["status"].tolist():
        return found
    lowered, touching = result["reason"] == COLLISION, result["status"] == COLLISION
    for i in np.flatnonzero(lowered).tolist():
        found[i] = body_contact(reacher, body, int(result["contact"][i]))
    for side in range(2):
        hit = (result["hand_status"][:, side] == COLLISION) & touching
        if hit.any():
            for i, pair in zip(np.flatnonzero(hit).tolist(), _arm_contacts(reacher, body, rows, side, hit)):
                found[i] = pair
    return found


def body_contact(reacher: Reacher, body: Body, k: int) -> tuple[str, str]:
    """Return the names of contact k of a bent body; -1 is one with a mesh."""
    names, own, scene = reacher.body.volumes.names, len(body.pairs), reacher.scene
    if 0 <= k < own:
        return names[body.pairs[k, 0]], names[body.pairs[k, 1]]
    if k < 0 or scene is None:
        return "the body", MESH
    volume, obstacle = divmod(k - own, len(body.around))
    return names[body.outside[volume]], scene.names[int(body.around["source"][obstacle])]


def as_array(found: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the only entry of a single reach, else an array of objects (...)."""
    if not shape:
        return found[0]
    out = np.full(len(found), None, dtype=object)
    for i, pair in enumerate(found):
        out[i] = pair
    return out.reshape(shape)


def _arm_contacts(reacher: Reacher, body: Body, rows: Rows, side: int, hit: Bools) -> list[tuple[str, str]]:
    """Return the names of the deepest contact of an arm in some rows."""
    person, learned, links = reacher.body, SelfCollision.of(reacher.body), limb_links(reacher.body, ARMS[side])
    arm = np.zeros(len(person.volumes), np.bool_)
    arm[links.volumes] = True
    pairs = learned.pairs if reacher.self_collision else np.zeros((0, 2), np.int64)
    pairs = np.ascontiguousarray(pairs[arm[pairs].sum(axis=-1) == 1])
    outside = np.ascontiguousarray(links.volumes.astype(np.int64))
    positions, orientations = (np.ascontiguousarray(a[1][hit]) for a in (rows.positions, rows.orientations))
    n, around = len(positions), body.around
    spared = np.zeros((n, len(pairs) + len(outside) * len(around)), np.bool_)
    spared[:, len(pairs) :] = _spared(reacher, side, around, outside, links.groups)
    depth, contact = np.empty(n), np.empty(n, np.int64)
    body_depth_rows(
        *(n, person.volumes.packed, pairs, outside, positions, orientations, around, reacher.margin + 0.01),
        *(learned.softness, spared, np.empty((n, len(person.volumes), 4)), depth, contact),
    )
    names, scene = person.volumes.names, reacher.scene
    out = []
    for k in contact.tolist():
        if k < 0 or (k >= len(pairs) and scene is None):
            out.append((ARMS[side], MESH if scene is not None and scene.has_meshes else "the body"))
        elif k < len(pairs):
            mine, other = pairs[k] if arm[pairs[k, 0]] else pairs[k][::-1]
            out.append((names[mine], names[other]))
        else:
            assert scene is not None
            volume, obstacle = divmod(k - len(pairs), len(around))
            out.append((names[outside[volume]], scene.names[int(around["source"][obstacle])]))
    return out


def _spared(reacher: Reacher, side: int, around: Records, outside: Ints, groups: Records) -> Bools:
    """Return (K O,) which contacts of the arm's volumes and the obstacles are allowed: those of the hand."""
    scene = reacher.scene
    out = np.zeros((len(outside), len(around)), np.bool_)
    if scene is not None and reacher.allowed_contacts:
        named = [scene.names.index(name) for name in reacher.allowed_contacts]
        hand = np.array([bool(int(groups[2]["bits"]) >> k & 1) for k in range(len(outside))])
        out = hand[:, None] & np.isin(around["source"], named)[None]
    return out.ravel()
