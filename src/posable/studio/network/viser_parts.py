"""The parts of viser that the studio uses and that viser does not promise to keep.

They are named here, each with what it is for; `check_parts` says in one sentence what is missing in a version of viser
that has changed, before anything is started. Who may talk to the studio and what it takes from a window depend on
them, so there is no way to go on without.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import viser

from ...compute import PosableError

TRIED = "1.1"
"""The version of viser that the studio was tried with."""
PARTS = {
    "viser.infra:WebsockServer.__init__": ("http_server_root",),
    "viser.infra:WebsockServer._background_worker": (),
    "viser.infra:WebsockServer._handle_incoming_message": ("client_id", "message"),
    "viser.infra:WebsockServer.get_message_buffer": (),
    "viser.infra:WebsockServer.on_client_connect": (),
    "viser.infra:WebsockServer.on_client_disconnect": (),
    "viser.infra:WebsockClientConnection._handle_incoming_message": ("client_id", "message"),
    "viser.infra:Message._subclass_from_type_string": (),
    "viser.infra._async_message_buffer:AsyncMessageBuffer.remove_from_buffer": ("match_fn",),
    "viser._messages:Message": (),
    "viser._messages:RunJavascriptMessage": ("source",),
    "viser._messages:GuiUpdateMessage": ("uuid", "updates"),
    "viser._messages:TransformControlsUpdateMessage": ("name", "wxyz", "position", "owner"),
    "viser._messages:TransformControlsDragStartMessage": ("name", "owner"),
    "viser._messages:TransformControlsDragEndMessage": ("name", "owner"),
    "viser._messages:ScenePointerMessage": ("event_type", "ray_origin", "ray_direction", "screen_pos", "modifier"),
    "viser._messages:ViewerCameraMessage": ("wxyz", "position", "fov", "near", "far", "look_at", "up_direction"),
    "viser._messages:FileTransferStartUpload": ("source_component_uuid", "transfer_uuid", "part_count", "size_bytes"),
    "viser._messages:FileTransferPart": ("transfer_uuid", "part_index", "content"),
    "viser._messages:FileTransferPartAck": ("transfer_uuid",),
    "viser._messages:CommandTriggerMessage": ("uuid",),
    "viser._messages:GetRenderResponseMessage": ("payload",),
}
"""Where each part is, and the arguments that it takes."""
OF_A_SERVER = (
    "_websock_server",
    "_thread_executor",
    "gui._gui_input_handle_from_uuid",
    "gui._current_file_upload_states",
)
"""What a running server has."""


def check_parts() -> None:
    """Raise a PosableError where viser has changed, with what is missing and the version to install."""
    for where, arguments in PARTS.items():
        module, _, path = where.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for name in path.split("."):
                found = inspect.getattr_static(found, name) if inspect.isclass(found) else getattr(found, name)
        except (ImportError, AttributeError):
            raise missing(f"{module}.{path}") from None
        found = getattr(found, "__func__", found)
        takes = inspect.signature(found).parameters if arguments else {}
        for argument in arguments:
            if argument not in takes:
                raise missing(f"the argument {argument!r} of {module}.{path}")


def check_server(server: Any) -> None:
    """Raise a PosableError where a running server lacks what the studio uses of it."""
    for path in OF_A_SERVER:
        found = server
        for name in path.split("."):
            found = inspect.getattr_static(found, name, None) and getattr(found, name)
            if found is None:
                raise missing(f"ViserServer.{path}")


def missing(what: str) -> PosableError:
    """Return the error for a part of viser that is not there."""
    return PosableError(
        f"viser {viser.__version__} lacks {what}, by which the studio decides who may talk to it and what it takes; "
        f"it was tried with viser {TRIED}: pip install 'viser>={TRIED},<2'"
    )


def messages() -> Any:
    """Return viser's module of messages."""
    return importlib.import_module("viser._messages")


def infra() -> Any:
    """Return viser's module of connections."""
    return importlib.import_module("viser.infra")
