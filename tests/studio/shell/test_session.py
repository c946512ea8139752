"""The session: what is on the stage, undone, selected, held, clicked and told."""

import numpy as np
import pytest

from posable.compute import PosableError
from posable.skeleton import Motion
from posable.studio import Session

from .conftest import chain_motion


class TestSession:
    def test_opening_can_be_undone_and_redone(self, session: Session):
        first = session.actors
        actor = session.add(chain_motion(name="other"))
        assert session.actors == (*first, actor) and session.active is actor
        assert session.undo() == "Open other"
        assert session.actors == first and session.active is first[0]
        assert session.redo() == "Open other"
        assert session.actors == (*first, actor) and session.active is actor

    def test_closing_can_be_undone(self, session: Session):
        actor = session.actors[0]
        session.close_actor(actor)
        assert session.actors == () and session.active is None and session.pose is None
        assert session.clock.duration == 0.0
        session.undo()
        assert session.actors == (actor,) and session.clock.duration == actor.motion.duration

    def test_replacing_a_motion_keeps_its_name_and_can_be_undone(self, session: Session):
        before = session.motion
        session.replace(chain_motion(61), "Stretch")
        assert len(session.motion) == 61 and session.active.name == "chain"
        assert session.undo() == "Stretch" and session.motion is before

    def test_tabs_can_undo_what_the_session_does_not_know(self, session: Session):
        seen = []
        session.run("Mark", lambda: seen.append(1), seen.clear)
        assert seen == [1]
        session.undo()
        assert seen == []

    def test_the_timeline_lasts_as_long_as_the_longest_motion(self, session: Session):
        session.add(chain_motion(91))
        assert session.clock.duration == pytest.approx(3.0)

    def test_names_of_tracks_differ(self, session: Session):
        for _ in range(3):
            session.add(chain_motion())
        assert [actor.name for actor in session.actors] == ["chain", "chain 2", "chain 3", "chain 4"]

    def test_arranged_motions_do_not_touch_and_over_each_other_stay_where_their_files_have_them(self, session: Session):
        session.add(chain_motion())
        session.arrange("beside")
        spans = [actor.frames(0.0).positions[:, 0] for actor in session.actors]
        assert spans[0].max() < spans[1].min()
        session.arrange("over")
        for actor in session.actors:
            np.testing.assert_array_equal(actor.position, 0.0)
        session.arrange("beside")

    def test_what_hangs_below_the_ground_is_lifted_onto_it(self, session: Session):
        motion = chain_motion()
        sunk = motion.pose.replace(translation=motion.pose.translation - np.array([0.0, 3.0, 0.0]))
        actor = session.add(motion.replace(pose=sunk), keep=False)
        lowest = min(actor.frames(time).positions[:, 1].min() for time in actor.motion.times)
        assert lowest == pytest.approx(0.0, abs=1e-9)

    def test_the_ground_suits_giants_and_dwarfs(self, session: Session):
        cells = {}
        for size in (0.05, 1.0, 40.0):
            motion = chain_motion()
            large = Motion(
                motion.skeleton.scaled(size), motion.pose.replace(translation=motion.pose.translation * size), 30
            )
            session.add(large, keep=False)
            cells[size] = session.stage._floor.grid.cell_size
        assert cells[0.05] < cells[1.0] < cells[40.0]

    def test_unknown_words_are_refused_with_the_known_ones(self, session: Session):
        with pytest.raises(PosableError, match="beside, over"):
            session.arrange("under")
        with pytest.raises(PosableError, match="body, bones, both"):
            session.set_look("fog")
        with pytest.raises(PosableError, match="walk"):
            session.open_sample("swim")

    def test_an_overriding_pose_is_shown_until_it_is_removed(self, session: Session):
        rest = session.motion.skeleton.rest
        session.override_pose(rest)
        np.testing.assert_array_equal(session.pose.rotations, rest.rotations)
        session.override_pose(None)
        np.testing.assert_array_equal(session.pose.rotations, session.motion[0].rotations)

    def test_a_moment_is_stale_when_time_or_anything_else_moved_on(self, session: Session):
        session.draw(0.25)
        assert not session.stale(0.25)
        assert session.stale(0.5)
        session.override_pose(session.motion[3])
        assert session.stale(0.25)

    def test_clicking_a_bone_selects_its_joint_and_clicking_the_air_none(self, session: Session):
        class Click:
            client = object()
            ray_origin = (0.45, 1.0, 5.0)
            ray_direction = (0.0, 0.0, -1.0)

        session.clock.seek(0.0)
        session.draw(session.time)
        session.guarded(session._clicked)(Click())
        assert session.selection is not None and session.selection.name == "middle"
        Click.ray_origin = (4.0, 4.0, 5.0)
        session.guarded(session._clicked)(Click())
        assert session.selection is None

    def test_a_selection_goes_with_its_track(self, session: Session):
        session.select(session.actors[0], "tip")
        session.close_actor(session.actors[0])
        assert session.selection is None

    def test_an_error_in_an_action_becomes_a_message_and_not_an_exception(self, session: Session):
        class Event:
            client = object()

        def known(_):
            raise PosableError("the value is 3; expected 4")

        def unknown(_):
            raise KeyError("surprise")

        session.guarded(known)(Event())
        assert session.message == ("error", "the value is 3; expected 4")
        session.guarded(unknown)(Event())
        assert session.message[0] == "error" and "surprise" in session.message[1]

    def test_values_the_program_assigns_call_nothing(self, session: Session):
        class Event:
            client = None

        session.guarded(lambda _: pytest.fail("called"))(Event())

    def test_listeners_hear_until_they_leave(self, session: Session):
        topics = []
        leave = session.subscribe(topics.append)
        session.add(chain_motion())
        assert "actors" in topics and "history" in topics
        leave()
        topics.clear()
        session.undo()
        assert topics == []

    def test_gizmos_of_one_name_replace_each_other(self, session: Session):
        first = session.add_gizmo("target", np.zeros(3), scale=0.2)
        second = session.add_gizmo("target", np.ones(3), scale=0.2)
        assert session.gizmos == {"target": second} and first is not second
        session.remove_gizmo("target")
        session.remove_gizmo("target")
        assert session.gizmos == {}
