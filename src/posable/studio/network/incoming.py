"""Messages of windows are checked before any handler sees them.

A page is a program of somebody else: it may be old, broken or hostile. Only kinds of messages are taken that the page
sends, and only with values that the control they are for can have. Else one wrong value stays in the control, is sent
to all windows and those to come, and is what every moment from then on is drawn with.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

import viser

from .uploads import RefusedError, Uploads
from .viser_parts import messages

log = logging.getLogger("posable.studio")

LARGEST_NUMBER = 1e9
"""The largest number that a control without a range of its own takes."""
FARTHEST = 1e6
"""How far from the origin a handle or a camera may be [m]."""
NEAREST = 1e-6
"""How near a camera may be to what it looks at [m]."""
LONGEST_TEXT = 10_000
"""Characters of a text at most."""
MOST_VALUES = 256
"""Numbers, texts and lists in the value of an action of the page's own script, together."""
SAID = 10
"""Refusals of a window that are said: the messages are not for a window that sends nothing but wrong values."""


class Incoming:
    """Decides which messages of windows are taken.

    Args:
        server: whose messages they are.
        uploads: those that are under way.
        refuse: called with the window's number and the reason, once for each control and window.
    """

    def __init__(self, server: viser.ViserServer, uploads: Uploads, refuse: Callable[[int, str], None]) -> None:
        self._server, self._uploads, self._refuse = server, uploads, refuse
        self._said: set[tuple[int, str]] = set()
        kinds = messages()
        self._checks: dict[type, Callable[[int, Any], None]] = {
            kinds.GuiUpdateMessage: self._check_value,
            kinds.TransformControlsUpdateMessage: self._check_handle,
            kinds.TransformControlsDragStartMessage: self._check_drag,
            kinds.TransformControlsDragEndMessage: self._check_drag,
            kinds.ScenePointerMessage: self._check_pointer,
            kinds.ViewerCameraMessage: self._check_camera,
            kinds.FileTransferStartUpload: lambda client, message: self._uploads.start(client, message),
            kinds.FileTransferPart: lambda client, message: self._uploads.add_part(client, message),
            kinds.FileTransferPartAck: lambda client, message: None,  # of a download; nobody listens
            kinds.CommandTriggerMessage: lambda client, message: _text(message.uuid, "a command"),
            kinds.GetRenderResponseMessage: lambda client, message: None,  # taken where a picture was asked for
        }

    def add_kind(self, kind: type, check: Callable[[int, Any], None]) -> None:
        """Take a kind of messages that viser's page does not send."""
        self._checks[kind] = check

    def takes(self, client: int, message: Any) -> bool:
        """Return whether a window's message is taken; the reason is reported where it is not."""
        check = self._checks.get(type(message))
        if check is None:
            return False
        try:
            check(client, message)
        except RefusedError as error:
            self._report(client, message, str(error))
            return False
        except Exception:  # a kind of wrong that nobody thought of
            log.exception("checking a message of a window")
            return False
        return True

    def forget(self, client: int) -> None:
        """Forget a window that has gone."""
        self._said = {each for each in self._said if each[0] != client}
        self._uploads.forget(client)

    def _report(self, client: int, message: Any, why: str) -> None:
        about = str(getattr(message, "uuid", getattr(message, "name", type(message).__name__)))[:100]
        said = sum(each[0] == client for each in self._said)
        if why and (client, about) not in self._said and said < SAID:
            self._said.add((client, about))
            self._refuse(client, why)

    def _control(self, client: int, uuid: object) -> Any:
        """Return the control with an identity, of all windows or of this one; None where there is none."""
        window = self._server.get_clients().get(client)
        for gui in (self._server.gui, None if window is None else window.gui):
            if gui is not None and isinstance(uuid, str) and uuid in gui._gui_input_handle_from_uuid:
                return gui._gui_input_handle_from_uuid[uuid]
        return None

    def _check_value(self, client: int, message: Any) -> None:
        control = self._control(client, message.uuid)
        if control is None:
            raise RefusedError("")  # it has been removed meanwhile
        if not isinstance(message.updates, dict) or list(message.updates) != ["value"]:
            raise RefusedError("a window tried to change more of a control than its value; nothing was changed")
        try:
            check_value(control, message.updates["value"])
        except RefusedError:
            self._put_back(client, control, message.uuid)
            raise

    def _put_back(self, client: int, control: Any, uuid: str) -> None:
        """Tell a window the value that its control has."""
        window = self._server.get_clients().get(client)
        if window is not None and not isinstance(control, viser.GuiUploadButtonHandle):
            window._websock_connection.queue_message(messages().GuiUpdateMessage(uuid, {"value": control.value}))

    def _check_handle(self, _: int, message: Any) -> None:
        self._check_drag(_, message)
        _numbers(message.position, 3, "the position of a handle", FARTHEST)
        _unit(message.wxyz, "the orientation of a handle")

    def _check_drag(self, _: int, message: Any) -> None:
        _text(message.name, "a handle")
        _text(message.owner, "a handle")  # one that was removed meanwhile is known to viser until its drag ends

    def _check_pointer(self, _: int, message: Any) -> None:
        count = {"click": 1, "rect-select": 2}.get(message.event_type if isinstance(message.event_type, str) else "")
        if not isinstance(message.screen_pos, (tuple, list)) or len(message.screen_pos) != count:
            raise RefusedError("a window sent a click at no position")
        for position in message.screen_pos:
            _numbers(position, 2, "the position of a click", LARGEST_NUMBER)
        if count == 1:
            _numbers(message.ray_origin, 3, "the origin of a click", FARTHEST)
            _unit(message.ray_direction, "the direction of a click", 3)
        if message.modifier is not None:
            _text(message.modifier, "a key held with a click")

    def _check_camera(self, _: int, message: Any) -> None:
        _unit(message.wxyz, "the orientation of a camera")
        for value in (message.position, message.look_at, message.up_direction):
            _numbers(value, 3, "the position of a camera", FARTHEST)
        _numbers((message.near, message.far, message.image_width, message.image_height), 4, "a camera", LARGEST_NUMBER)
        if not (_is_number(message.fov) and 0.0 < message.fov < math.pi):
            raise RefusedError("a window sent an angle of view that no camera has")
        if math.dist(message.position, message.look_at) < NEAREST or not any(message.up_direction):
            raise RefusedError("a window sent a camera that looks nowhere; it was not taken")


def check_value(control: Any, value: object) -> None:
    """Raise a RefusedError where a control of viser's cannot have a value."""
    name = f"{getattr(control, 'label', '') or 'a control'!s}"
    if getattr(control, "disabled", False):
        raise RefusedError("")  # switched off meanwhile; the window hears its value
    if isinstance(control, (viser.GuiCheckboxHandle, viser.GuiButtonHandle)):
        if not isinstance(value, bool):
            raise RefusedError(f"{name} is on or off; {_shown(value)} was not taken")
    elif isinstance(control, (viser.GuiDropdownHandle, viser.GuiButtonGroupHandle)):
        if not isinstance(value, str) or value not in control.options:
            raise RefusedError(f"{name} does not offer {_shown(value)}; choose one of those that it lists")
    elif isinstance(control, (viser.GuiSliderHandle, viser.GuiNumberHandle)):
        _in_range([value], control.min, control.max, name)
    elif isinstance(control, viser.GuiMultiSliderHandle):
        _in_range(_listed(value, len(control.value), name), control.min, control.max, name)
    elif isinstance(control, (viser.GuiVector2Handle, viser.GuiVector3Handle)):
        numbers = _listed(value, len(control.value), name)
        for k, number in enumerate(numbers):
            least, most = (None if bound is None else bound[k] for bound in (control.min, control.max))
            _in_range([number], least, most, name)
    elif isinstance(control, (viser.GuiRgbHandle, viser.GuiRgbaHandle)):
        _in_range(_listed(value, len(control.value), name), 0, 255, name)
    elif isinstance(control, viser.GuiTextHandle):
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise RefusedError(f"{name} takes a text of {LONGEST_TEXT} characters at most; the value was not taken")
    else:
        raise RefusedError(f"{name} has no value that a window may change")


def check_action(_: int, message: Any) -> None:
    """Raise a RefusedError where an action of the page's own script is none that JSON could hold, or is too much."""
    _text(message.action, "an action")
    left, waiting = MOST_VALUES, [message.value]
    while waiting:
        value = waiting.pop()
        left -= 1
        known = value is None or isinstance(value, bool) or _is_number(value)
        if isinstance(value, (list, tuple)) and len(value) <= left:
            waiting.extend(value)
        elif left < 0 or not (known or (isinstance(value, str) and len(value) <= LONGEST_TEXT)):
            raise RefusedError("a window sent an action with a value that is no action's; it was not done")


def _in_range(values: Sequence[object], least: Any, most: Any, name: str) -> None:
    low = -LARGEST_NUMBER if least is None else least
    high = LARGEST_NUMBER if most is None else most
    slack = 1e-9 * max(abs(low), abs(high))  # a page counts steps from the least value
    for value in values:
        if not _is_number(value) or not low - slack <= value <= high + slack:
            raise RefusedError(f"{name} is a number from {low:g} to {high:g}; {_shown(value)} was not taken")


def _listed(value: object, count: int, name: str) -> Sequence[object]:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise RefusedError(f"{name} has {count} numbers; {_shown(value)} was not taken")
    return value


def _numbers(values: Any, count: int, name: str, most: float) -> None:
    if (
        not isinstance(values, (list, tuple))
        or len(values) != count
        or not all(_is_number(value) and abs(value) <= most for value in values)
    ):
        raise RefusedError(f"a window sent {name} that is none; it was not taken")


def _unit(values: Any, name: str, count: int = 4) -> None:
    _numbers(values, count, name, 2.0)
    if not 0.5 < math.sqrt(sum(value * value for value in values)) < 2.0:
        raise RefusedError(f"a window sent {name} that is none; it was not taken")


def _text(value: object, name: str) -> None:
    if not isinstance(value, str) or len(value) > 1000:
        raise RefusedError(f"a window sent the name of {name} that is none")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300 and value == value


def _shown(value: object) -> str:
    text = repr(value) if not isinstance(value, (bytes, bytearray)) else f"{len(value)} bytes"
    return text if len(text) <= 60 else f"{text[:50]}…"
