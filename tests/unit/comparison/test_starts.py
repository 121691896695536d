"""Several starts on each side: the spread between starts is the noise of the difference."""

from __future__ import annotations

from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pytest

import stepscope
from stepscope.comparison import compare_starts
from stepscope.comparison.starts import difference_of_starts
from stepscope.errors import UsageError
from stepscope.surfaces.cli.main import run
from stepscope.tables.steps.statistics import student_quantile
from tests.profiles.loops import Kernel, Loop, record


def test_the_interval_is_welchs() -> None:
    """Means 10 and 13; variances of the means 1 and 4, so 25/17 degrees of freedom."""
    before, after = np.asarray([9.0, 11.0]), np.asarray([11.0, 15.0])
    found = difference_of_starts(before, after)
    half = student_quantile(25 / 17) * sqrt(5)
    assert found.delta == pytest.approx(3.0)
    # No step can get shorter than 0.
    assert (found.low, found.high) == pytest.approx((-10, 3 + half))
    assert found.significant is False


def test_starts_that_agree_show_a_small_change() -> None:
    found = difference_of_starts(np.full(3, 10.0), np.full(2, 10.5))
    assert (found.low, found.high, found.significant) == (0.5, 0.5, True)
    # Below 1 % of the step nothing is worth a verdict.
    assert difference_of_starts(np.full(3, 10.0), np.full(2, 10.05)).significant is False


def test_one_start_on_a_side_shows_no_spread() -> None:
    found = difference_of_starts(np.asarray([10.0]), np.asarray([12.0, 12.0]))
    assert found.significant is None
    assert isnan(found.low)


def kernel_of(us: float) -> bytes:
    product = Kernel("sgemm", us, "dense/MatMul:MatMul")
    return record(Loop(kernels=(product,), steps=10, wait="cuSync"))["host-0"]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name, us in {"a1": 400, "a2": 440, "b1": 700, "b2": 740, "c1": 420, "c2": 430}.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "host.xplane.pb").write_bytes(kernel_of(us))
    return tmp_path


def test_sides_are_compared_by_all_their_starts(logs: Path) -> None:
    found = stepscope.compare(logs / "b1", logs / "b2", baselines=(logs / "a1", logs / "a2"))
    starts = found.starts
    assert starts is not None
    assert starts.delta_ms == pytest.approx(0.3)
    assert starts.spread_ms == pytest.approx(0.04 / sqrt(2))
    assert list(starts.runs["side"]) == ["baseline"] * 2 + ["candidate"] * 2
    # The parts are of one start of each side, and sum to their difference.
    assert (found.baseline.name, found.candidate.name) == ("a1", "b1")
    assert sum(found.parts["delta_ms"]) == pytest.approx(found.delta_ms)
    assert found.headline.startswith("Over 2 starts before and 2 after: ")


def test_what_starts_differ_by_is_no_change(logs: Path) -> None:
    """Within the recordings every step is equal, so without the others any change would be one."""
    alone = stepscope.compare(logs / "a1", logs / "c1")
    assert alone.significant
    found = stepscope.compare(logs / "c1", logs / "c2", baselines=(logs / "a1", logs / "a2"))
    assert found.starts is not None
    assert found.starts.significant is False
    assert found.outcome == "unknown"
    assert "Cannot tell" in found.headline


def test_a_side_without_a_start_is_refused() -> None:
    with pytest.raises(UsageError, match="each side"):
        compare_starts([], [])


def test_the_command_takes_starts(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {one: str(logs / one) for one in ("a1", "a2", "b1", "b2")}
    arguments = ["--baseline", names["a1"], "--baseline", names["a2"], names["b1"], names["b2"]]
    assert run(["compare", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "Over 2 starts before and 2 after" in shown
    assert "The starts" in shown
    assert run(["compare", "--format", "md", *arguments]) == 0
    assert "## Starts" in capsys.readouterr().out
