"""ROS 2: joint angles of `posable live --robot g1.xml --out udp://127.0.0.1:5005` as sensor_msgs/JointState.

Needs ROS 2 (rclpy); not run in our tests. Limits are those of the robot's file, held by Posable; let your controllers
hold theirs too.
"""

import json
import socket

import rclpy
from sensor_msgs.msg import JointState

rclpy.init()
node = rclpy.create_node("posable_live")
publisher = node.create_publisher(JointState, "joint_commands", 10)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 5005))
while rclpy.ok():
    joints = json.loads(receiver.recv(65536))["joints"]
    message = JointState(name=list(joints), position=list(joints.values()))
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)
