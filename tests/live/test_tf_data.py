"""The bottleneck of real TensorFlow pipelines whose slow stage is known."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from stepscope.analysis.input_pipeline_analyzer import input_pipeline_analyzer
from stepscope.analysis.tf_data_bottleneck_analysis import (
    TfDataBottleneckAnalysis,
    tf_data_bottleneck_analysis,
)
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.live.tf_data_pipelines import SCENARIOS

pytestmark = [
    pytest.mark.measured,
    pytest.mark.framework_tf,
    pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]
ROOT = Path(__file__).parents[2]
# This tree, whatever is installed.
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
SLOW = {name: stage for name, stage in SCENARIOS.items() if stage is not None}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tf_data")
    environment = os.environ | {"PYTHONPATH": PATHS, "TF_CPP_MIN_LOG_LEVEL": "3"}
    subprocess.run(
        [sys.executable, "-m", "tests.live.tf_data_pipelines", str(folder)],
        check=True,
        cwd=ROOT,
        env=environment,
        timeout=240,
        capture_output=True,
    )
    return folder


def opened(recordings: Path, name: str) -> Profile:
    data = (recordings / f"{name}.xplane.pb").read_bytes()
    return Profile(name, (Host("h", decode(data)),))


def analyze(recordings: Path, name: str) -> TfDataBottleneckAnalysis:
    return tf_data_bottleneck_analysis(opened(recordings, name))


@pytest.mark.parametrize("name", sorted(SLOW))
def test_the_slow_stage_is_named(recordings: Path, name: str) -> None:
    found = analyze(recordings, name)
    assert found.verdict == "input_bound"
    assert found.bottleneck is not None
    assert found.bottleneck.long_name.startswith("Iterator::Root::")
    assert found.bottleneck.long_name.endswith(SLOW[name])
    assert found.bottleneck.iterator == SLOW[name].rpartition("::")[2]
    assert any(knob.gain_us for knob in found.knobs)
    (pipeline,) = found.pipelines.rows()
    assert all((knob.gain_us or 0) <= pipeline["max_us"] for knob in found.knobs)


@pytest.mark.parametrize("name", sorted(SLOW))
def test_waits_inside_a_call_sum_to_the_call(recordings: Path, name: str) -> None:
    graph = analyze(recordings, name).graph
    assert graph is not None
    assert sum(graph.nodes["critical_us"]) == pytest.approx(graph.duration_us)


def test_a_healthy_pipeline_is_called_healthy(recordings: Path) -> None:
    found = analyze(recordings, "healthy")
    assert (found.verdict, found.bottleneck, found.knobs) == ("healthy", None, ())
    assert "Healthy" in found.summary[0]


@pytest.mark.parametrize(
    ("before", "knob", "after"),
    [
        ("without_prefetch", "prefetch", "map_alone"),
        ("map_then_batch", "num_parallel_calls", "parallel_map_then_batch"),
    ],
)
def test_a_predicted_gain_is_what_the_change_gains(
    recordings: Path, before: str, knob: str, after: str
) -> None:
    """Both pipelines were recorded: the same one before and after the change."""
    found = analyze(recordings, before)
    predicted = next(one.gain_us for one in found.knobs if one.knob == knob)
    assert predicted is not None
    assert found.graph is not None
    changed = analyze(recordings, after).graph
    assert changed is not None
    gained = found.graph.duration_us - changed.duration_us
    assert predicted == pytest.approx(gained, rel=0.4)


def test_the_analyzer_agrees(recordings: Path) -> None:
    slow = input_pipeline_analyzer(opened(recordings, "map_then_batch"))
    assert slow.verdict == "highly_input_bound"
    healthy = input_pipeline_analyzer(opened(recordings, "healthy"))
    assert healthy.verdict == "not_input_bound"
