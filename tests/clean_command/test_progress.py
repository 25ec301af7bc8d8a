"""What a person sees while it runs, and a pipe does not."""

import io
import re
import subprocess
import sys
import time

from tables import csv_text
from unmuddle.file_commands import stage_bars
from unmuddle.jobs.stages import STAGES, Pace, Stages


class Terminal(io.StringIO):
    """Where a person looks on."""

    def isatty(self):
        return True


def test_a_person_sees_every_stage_and_a_pipe_sees_nothing(monkeypatch):
    for screen, seen in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        with stage_bars() as stages:
            for stage in STAGES:
                stages.reach(stage)
        assert all((stage in screen.getvalue()) is seen for stage in STAGES)
        assert set(stages.end()) == set(STAGES)


def test_time_left_is_that_of_equal_steps_and_unknown_without_them(monkeypatch):
    """A clock that we set: 3 s before the steps, then four steps of 5 s each."""
    clock, told = [100.0], []
    monkeypatch.setattr("unmuddle.jobs.stages.perf_counter", lambda: clock[0])
    stages = Stages(lambda stage, pace: told.append(pace.left(since=1.0)))
    stages.reach("tune")
    clock[0] += 3.0
    for step in range(5):
        stages.reach("tune", step / 4)
        clock[0] += 5.0
    assert [left and round(left, 6) for left in told] == [None, None, 14.0, 9.0, 4.0, None]
    assert Pace(0.5, 10.0).left(since=10.5) is None  # it takes longer than was thought: nothing is known any more
    assert stages.end() == {"tune": 28.0}


def test_a_person_is_told_the_time_left_where_it_is_known(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    with stage_bars() as stages:
        stages.reach("recover")
        stages.reach("tune")
        stages._counted_from -= 60.0  # as if the first third had taken a minute
        stages.reach("tune", 1 / 3)
        time.sleep(0.3)  # until the bars are drawn again
    assert re.search(r"tune .* about 1(19|20) s left", screen.getvalue())
    assert not re.search(r"recover [^\n]*left", screen.getvalue())


def test_a_reader_that_has_read_enough_is_no_error(tmp_path):
    """As `head -1` does: it closes its end before all is said."""
    (tmp_path / "trees.csv").write_text(csv_text(), newline="")
    words = [sys.executable, "-m", "unmuddle", "clean", "trees.csv", "--label", "species", "--id", "tag"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, "")
    assert (tmp_path / "trees-cleaned" / "cleaned.csv").exists()
