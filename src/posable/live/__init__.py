"""Tracked points in, bodies out, while somebody moves: VMC, VRChat, MediaPipe, recorded files, JSON lines, robots.

`run` does all of it in one call; `Live` is the loop; every source, sink, codec and driver can be used alone.
"""

from ..compute.arguments import explain_mistakes
from .addresses import Address
from .bones import UNITY_NAMES, Bones
from .calibrating import LiveCalibration, calibrated
from .capture import CaptureReader
from .following import BodyFrame
from .landmarks import landmark_points, read_landmarks
from .loop import Live, run
from .osc import Message, OscError, bundle, decode, encode, packets
from .report import Report
from .robots import ChainDriver, HumanoidDriver, robot_driver
from .sinks import CsvSink, LinesSink, Sending, VmcSink, VrchatSink
from .sources import FramesSource, IterableSource, UdpSource, file_source, points_source
from .vmc import Status, VmcWriter
from .vrchat import VrchatWriter

__all__ = [
    "UNITY_NAMES",
    "Address",
    "BodyFrame",
    "Bones",
    "CaptureReader",
    "ChainDriver",
    "CsvSink",
    "FramesSource",
    "HumanoidDriver",
    "IterableSource",
    "LinesSink",
    "Live",
    "LiveCalibration",
    "Message",
    "OscError",
    "Report",
    "Sending",
    "Status",
    "UdpSource",
    "VmcSink",
    "VmcWriter",
    "VrchatSink",
    "VrchatWriter",
    "bundle",
    "calibrated",
    "decode",
    "encode",
    "file_source",
    "landmark_points",
    "packets",
    "points_source",
    "read_landmarks",
    "robot_driver",
    "run",
]

explain_mistakes(__name__)
