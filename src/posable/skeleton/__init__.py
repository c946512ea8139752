"""One skeleton for every method: joints and their DoF, poses, motions, forward kinematics and Jacobians."""

from ..compute.arguments import explain_mistakes
from .character import Character, SkinnedMesh
from .dofs import KINDS, Dofs
from .motion import Motion
from .pose import Pose
from .robot import MeshFile, Mimic, Robot, Shape, Site
from .skeleton import Frames, Skeleton, topological_order
from .solution import MotionSolution, PoseSolution, Solution

__all__ = [
    "KINDS",
    "Character",
    "Dofs",
    "Frames",
    "MeshFile",
    "Mimic",
    "Motion",
    "MotionSolution",
    "Pose",
    "PoseSolution",
    "Robot",
    "Shape",
    "Site",
    "Skeleton",
    "SkinnedMesh",
    "Solution",
    "topological_order",
]

explain_mistakes(__name__)
