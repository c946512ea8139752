"""Joints that follow others, in the order in which their values can be set."""

from __future__ import annotations

from collections.abc import Mapping

from ...skeleton import Mimic


def leaders_first(mimics: Mapping[int, Mimic]) -> tuple[Mimic, ...]:
    """Return mimics, given by their DoF, each after the one it follows, without those that follow in a circle."""
    followers: dict[int, list[int]] = {}
    for dof, mimic in mimics.items():
        followers.setdefault(mimic.leader, []).append(dof)
    ready = [dof for dof, mimic in mimics.items() if mimic.leader not in mimics]
    for dof in ready:  # which grows: who follows a joint comes after it
        ready += followers.get(dof, [])
    return tuple(mimics[dof] for dof in ready)
