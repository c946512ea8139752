"""A wrong argument of any public callable is a PosableError, and a right one is not."""

import inspect
import warnings

import numpy as np
import pytest

import posable as ps
from tests import wrong_arguments as fuzz

CALLS = {name: (make, arguments) for name, make, arguments in fuzz.calls()}
# What no annotation and no check of one's own foresees as surely as these; the others in `make soak`.
USUAL = ("None", "text", "nan", "ragged", "another shape", "an object")
SLOW = ("MotionEditor", "Player", "strip", "portrait", "retarget", "fit", "reconstruct", "evaluate", "samples", "Chain")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    """A path that happens to be good is written to."""
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore", RuntimeWarning)


@pytest.mark.skipif(not hasattr(__import__("signal"), "SIGALRM"), reason="a call that hangs is stopped by SIGALRM")
def test_a_wrong_argument_of_any_public_callable_is_named():
    rng = np.random.default_rng(0)
    found = []
    for name, (make, arguments) in CALLS.items():
        slow = any(word in name for word in SLOW)
        for argument in arguments:
            for word in rng.choice(USUAL, 1 if slow else 3, replace=False):
                raised = fuzz.leak(name, make, argument, fuzz.WRONG[str(word)])
                if raised:
                    found.append(f"{name}({argument}={word}): {raised}")
    assert not found, "\n".join(found)


@pytest.mark.soak
@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_argument_of_a_public_callable_is_named(name, drawn):
    make, arguments = CALLS[name]
    drawn(len(arguments) * len(fuzz.WRONG), least=len(arguments) * len(fuzz.WRONG))
    for argument in arguments:
        for word, wrong in fuzz.WRONG.items():
            assert fuzz.leak(name, make, argument, wrong) is None, (argument, word)


def test_every_public_callable_explains_its_mistakes():
    """One that is added to a room joins by its name in `__all__`."""
    assert len(CALLS) > 250
    silent = [
        name
        for name, value in fuzz.public().items()
        if not hasattr(value.__init__ if inspect.isclass(value) else value, "__explains__")
        and not (inspect.isclass(value) and "__init__" not in vars(value))
    ]
    assert not silent


MISTAKES = {
    "weight is x": lambda b: ps.Reacher(b, ps.Behaviour.default(b, "right_arm")).solve(right=[0, 1, 0], weight="x"),
    "end_parents are": lambda b: ps.Skeleton(["a"], [-1], [[0, 0, 0]], end_parents=[np.nan], end_offsets=[[0, 0, 0]]),
    "parents are": lambda b: ps.Skeleton(["a"], [-0.5], [[0, 0, 0]]),
    "offsets are": lambda b: ps.Skeleton(["a"], [-1], [["x", 0, 0]]),
    "order is 3": lambda b: ps.math.from_euler(3, [0, 0, 0]),
    "pose is a str": lambda b: b.clamp("here"),
}


@pytest.mark.parametrize("says", MISTAKES)
def test_the_message_names_the_argument_and_what_came(says):
    with pytest.raises(ps.PosableError, match=says):
        MISTAKES[says](ps.figure())


def test_what_a_skeleton_of_one_fixed_joint_is_asked_it_answers():
    one = ps.Skeleton(["a"], [-1], [[0, 0, 0]], kinds=["fixed"])
    pose = one.from_values(np.zeros((3, 0)))
    assert pose.shape == (3,) and one.values(pose).shape == (3, 0) and one.jacobian(pose, 0).shape == (3, 6, 0)
    assert one.integrate(one.rest, np.zeros(0)).shape == () and "1 joints" in repr(one)
    solution = ps.classic.DLS(one, [ps.classic.Effector("a")]).solve([[0.0, 1.0, 0.0]])
    assert solution.status == ps.Status.UNREACHABLE
    assert ps.render.portrait(one, size=(24, 32), samples=1).shape == (32, 24, 3)


def test_errors_of_the_callers_own_code_and_of_python_stay_what_they_are():
    body = ps.figure()

    def broken(values, swivel):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        body.place(body.neutral_pose, "right_hand", [-0.3, 1.2, 0.3], collides=broken)
    with pytest.raises(TypeError, match="missing"):
        ps.Limb("right_arm")
    with pytest.raises(TypeError, match="nothing"):
        ps.Limb("right_arm", 0.3, 0.3, nothing=1)


def test_a_wrapped_function_is_still_found_by_pickle_and_by_help():
    import pickle

    assert pickle.loads(pickle.dumps(ps.joint_angles)) is ps.joint_angles
    assert "fps" in inspect.signature(ps.SequentialIK.track).parameters
    assert "def solve" in inspect.getsource(ps.Limb.solve)
