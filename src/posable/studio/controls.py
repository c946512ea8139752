"""Small helps for viser's controls."""

from __future__ import annotations

from typing import Any


def assign(control: Any, value: object) -> None:
    """Set a control's value in every window. (Type checkers take viser's `value` for read-only.)"""
    control.value = value
