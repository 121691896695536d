"""The law of comparison: at every level the parts sum to the difference of the step."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepscope
from stepscope.comparison import Comparison, Side, compare, side_of
from stepscope.errors import StepscopeError
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from stepscope.tables.steps.attribution import PARTS
from stepscope.tables.steps.session import aligned_steps
from stepscope.tables.workers.exposed_time import exposed
from tests.kernels import examples
from tests.profiles import gpu, host, line, space, stream
from tests.profiles.model import Event

LEVELS = ("parts", "step_parts", "modules", "kernels")
REAL = (
    "jax-cpu",
    "jax-mi300x/jax08_gemm",
    "jax-mi300x/jax_conv_minimal_08",
    "jax-mi300x/jax_conv_minimal_legacy",
    "jax-tpu-v6e-4",
    "tf-cpu-keras",
    "tf-cpu-python-tracer",
    "tf-v100-8gpu",
)
NAMES = (
    "model/dense/MatMul:MatMul",
    "model/dense_1/MatMul:MatMul",
    "model/act/Relu:Relu",
    "IteratorGetNext",
    "cuLaunchKernel",
    "backend_compile",
    "ExecutorState::Process",
    "other call",
)
KERNELS = ("sgemm", "relu_kernel", "ncclDevKernel_AllReduce", "MemcpyH2D", "MemcpyD2H", "MemcpyD2D")


def assert_sums(found: Comparison) -> None:
    for level in LEVELS:
        total = sum(getattr(found, level)["delta_ms"])
        assert total == pytest.approx(found.delta_ms, rel=1e-3, abs=1e-9), level
    assert found.delta_ms == pytest.approx(
        found.candidate.step_time_ms - found.baseline.step_time_ms
    )


@st.composite
def events(draw: st.DrawFn, names: tuple[str, ...]) -> list[Event]:
    """Events of any kind anywhere, overlapping as they like."""
    made = []
    for _ in range(draw(st.integers(0, 25))):
        begin, length = draw(st.integers(0, 950)), draw(st.integers(0, 300))
        made.append(Event(draw(st.sampled_from(names)), begin, length))
    return made


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """One or two hosts, each with up to nine steps, two threads and perhaps a device."""
    steps = draw(st.integers(1, 9))
    hosts = []
    for index in range(draw(st.integers(1, 2))):
        markers = [
            Event("train", 100 * step, draw(st.integers(1, 100)), {"step_num": step, "_r": 1})
            for step in range(steps)
        ]
        planes = [
            host(
                line("python", *markers, *draw(events(NAMES))),
                line("tf_Compute/1", *draw(events(NAMES))),
            )
        ]
        if draw(st.booleans()):
            planes.append(
                gpu(0, stream(7, *draw(events(KERNELS))), stream(8, *draw(events(KERNELS))))
            )
        hosts.append(Host(f"host-{index}", decode(space(*planes))))
    return Profile("random", tuple(hosts))


@settings(max_examples=examples(60))
@given(profiles(), profiles())
def test_parts_of_any_two_runs_sum_to_the_difference(before: Profile, after: Profile) -> None:
    assert_sums(compare([side_of("before", before), side_of("after", after)]))


@settings(max_examples=examples(60))
@given(profiles())
def test_exposed_times_sum_to_every_part_of_the_step(profile: Profile) -> None:
    """The sweep over kinds of work, which sees no single event, is the independent answer."""
    for one, aligned in zip(exposed(profile), aligned_steps(profile), strict=True):
        kept = np.all([other.steps.kept[other.rows] for other in aligned_steps(profile)], axis=0)
        rows = aligned.rows[kept]
        for part, works in PARTS.items():
            swept = aligned.steps.parts_ps[part][rows].sum()
            own = np.isin(one.work, [int(work) for work in works])
            ours = one.nothing_ps.sum() if part == "other" else one.exposed_ps[own].sum()
            assert ours == pytest.approx(swept, rel=1e-9, abs=1), part


@settings(max_examples=examples(30))
@given(profiles())
def test_a_run_compared_with_itself_has_not_changed(profile: Profile) -> None:
    found = compare([side_of("same", profile), side_of("same again", profile)])
    assert found.delta_ms == 0
    assert not found.significant
    assert set(found.parts["delta_ms"]) <= {0.0}


@pytest.fixture(scope="module")
def real_runs(real_profiles: Path) -> dict[str, Side]:
    return {name: side_of(name, stepscope.open(real_profiles / name).profile) for name in REAL}


@pytest.mark.parametrize(("first", "second"), list(combinations(REAL, 2)))
def test_parts_of_real_runs_sum_to_the_difference(
    real_runs: dict[str, Side], first: str, second: str
) -> None:
    found = compare([real_runs[first], real_runs[second]])
    assert_sums(found)
    assert found.to_dict()["parts"]


def test_every_real_run_compares_or_says_why_not(real_profiles: Path) -> None:
    for folder in sorted(real_profiles.rglob("*.xplane.pb*")):
        try:
            run = side_of(folder.name, stepscope.open(folder).profile)
        except StepscopeError as error:
            assert error.anchor in ("no-steps", "malformed-xspace"), error
            continue
        assert compare([run, run]).delta_ms == 0
