"""A serial bus of servos: joint angles of `posable live --robot robot.urdf --out udp://127.0.0.1:5005`.

Needs pyserial and the bus; not run in our tests. Written for servos that take a line of text, `#ID P MICROSECONDS`;
exchange `line` for yours. 500 to 2500 microseconds are half a revolution.
"""

import json
import math
import socket

import serial

IDS = {"neck_yaw": 1, "neck_pitch": 2}  # the names of your robot's joints to the numbers of their servos


def line(joint: str, angle: float) -> bytes:
    """The command of a servo for an angle [rad]."""
    return f"#{IDS[joint]} P{round(1500 + 2000 * angle / math.pi)}\r".encode()


receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 5005))
with serial.Serial("/dev/ttyUSB0", 115200) as bus:
    while True:
        joints = json.loads(receiver.recv(65536))["joints"]
        bus.write(b"".join(line(joint, angle) for joint, angle in joints.items() if joint in IDS))
