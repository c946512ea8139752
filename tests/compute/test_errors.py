import pytest

from posable.compute import FormatError, MissingExtraError, PosableError, Status, UnknownNameError, require
from posable.compute.errors import UnknownOptionError, checked_keywords
from posable.compute.nearest import nearest_names


def test_an_unknown_name_is_answered_with_the_closest_known_one():
    error = UnknownNameError("joint", "LeftHnad", ["LeftHand", "RightFoot", "Hips"])
    assert "LeftHnad" in str(error)
    assert "did you mean 'LeftHand'?" in str(error)
    assert isinstance(error, PosableError)


def test_an_unknown_name_with_nothing_close_lists_what_is_known():
    assert "'Hips'" in str(UnknownNameError("joint", "zzzz", ["Hips"]))
    assert "and 88 more" in str(UnknownNameError("joint", "zzzz", [f"{k}" for k in range(100)]))


def test_a_format_error_names_the_file_and_the_place():
    error = FormatError("walk.bvh", "expected a number, found 'x'", "line 12")
    assert str(error) == "walk.bvh, line 12: expected a number, found 'x'"
    assert error.location == "line 12"


def test_a_missing_extra_tells_the_command_that_installs_it():
    with pytest.raises(MissingExtraError, match=r"pip install 'posable\[studio\]'"):
        require("a_package_nobody_has", "studio")
    assert require("json", "studio").dumps([]) == "[]"


def test_statuses_have_the_documented_values():
    names = ["REACHED", "UNREACHABLE", "LIMITS", "COLLISION", "SINGULAR", "INVALID"]
    assert [Status(k).name for k in range(6)] == names
    assert Status.REACHED.ok and not Status.LIMITS.ok
    assert str(Status.LIMITS) == f"{Status.LIMITS}" == "LIMITS" and f"{Status.LIMITS:d}" == "2"


def test_a_mistyped_keyword_is_answered_with_the_closest_one():
    @checked_keywords
    def scaled(value: float, *, scale: float = 1.0, offset: float = 0.0) -> float:
        return value * scale + offset

    assert scaled(2.0, scale=3.0) == 6.0 and scaled(value=1.0) == 1.0
    with pytest.raises(UnknownOptionError, match="unknown option 'sacle'; did you mean 'scale'\\?"):
        scaled(2.0, sacle=3.0)  # type: ignore[call-arg]
    assert issubclass(UnknownOptionError, PosableError) and issubclass(UnknownOptionError, TypeError)


SIDED = ("shoulder", "upper_arm", "lower_arm", "hand", "upper_leg", "lower_leg", "foot", "toes")
ROLES = ("hips", "spine", "chest", "neck", "head", *(f"{side}_{part}" for side in ("left", "right") for part in SIDED))
COLUMNS = tuple(f"{role}_{axis}" for role in ROLES for axis in "xyz")
LIMBS = ("right_arm", "left_arm", "right_leg", "left_leg")


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("LeftWrist_x", COLUMNS, ["left_hand_x"]),
        ("rwrist_z", COLUMNS, ["right_hand_z"]),
        ("L_Ankle_y", COLUMNS, ["left_foot_y"]),
        ("pelvis_x", COLUMNS, ["hips_x"]),
        ("mixamorig:RightForeArm", ROLES, ["right_lower_arm"]),
        ("LeftElbow2", ROLES, ["left_lower_arm"]),
        ("thigh_l", ROLES, ["left_upper_leg"]),
        ("LeftHip", ROLES, ["left_upper_leg"]),
        ("hip", ROLES, ["hips"]),
        ("ankle", ROLES, ["left_foot", "right_foot"]),
        ("clavicle_r", ROLES, ["right_shoulder"]),
        ("LEFT_HAND", ROLES, ["left_hand"]),
        ("LeftHnad", ROLES, ["left_hand"]),
        ("lefthnad", ROLES, ["left_hand"]),
        ("Root", ROLES, ["hips"]),
        ("right_wrist", LIMBS, ["right_arm"]),
        ("left_foot", LIMBS, ["left_leg"]),
        ("LeftWrist", ["RightWrist", "chest"], []),  # the other side is not meant, and no other part
        ("hand", ["head", "chest"], []),  # three letters of four, and another part
        ("nose_x", COLUMNS, []),
        ("tail", ROLES, []),
        ("", ROLES, []),
        ("sacle", ["scale", "offset"], ["scale"]),
        ("iterations", ["tolerance", "max_iterations"], ["max_iterations"]),
        ("WALK", ["Walking_A", "Walking_B", "Run"], ["Walking_A", "Walking_B"]),
        ("09_99", ["01_03", "09_01", "10_02"], ["09_01"]),
        ("angry", ["normal", "tired", "energetic"], []),
    ],
)
def test_the_nearest_name_is_the_nearest_in_meaning_and_of_the_same_side(name, known, near):
    assert nearest_names(name, known) == near
    told = str(UnknownNameError("name", name, known))
    assert all(repr(one) in told for one in near) and ("did you mean" in told) == bool(near)
