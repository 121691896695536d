"""The op profile on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.analysis import device_idle, op_profile
from stepscope.formats.xspace import decode
from stepscope.quantities import share_words
from stepscope.tables.core.profile import Host, Profile, TimeBase
from stepscope.tables.steps.time_base import with_times_of
from tests.profiles import draw, event, nth, space, worked_example
from tests.unit.analysis.compiled import check_contract, on_gpu


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(op_profile.TOOL)


def test_wasted_time_is_what_the_peak_would_not_need() -> None:
    nodes = list(op_profile.op_profile(on_gpu()).nodes.rows())
    assert (nodes[0]["time_us"], nodes[0]["wasted_frac"]) == (
        40,
        pytest.approx(1 - nodes[0]["utilisation_frac"]),
    )
    dot = next(row for row in nodes if row["name"] == "dot.1")
    peak = 108 * 1.41e9 * 2048
    assert dot["utilisation_frac"] == pytest.approx(2 * 64**3 / 10e-6 / peak)
    assert dot["wasted_us"] == pytest.approx(10 * (1 - dot["utilisation_frac"]))
    assert [row["name"] for row in nodes[:2]] == ["Program", "jit_f(7)"]


def test_provenance_follows_the_scopes_of_the_model() -> None:
    options = op_profile.Options(group_by="provenance", include_idle=False)
    nodes = list(op_profile.op_profile(on_gpu(), options).nodes.rows())
    names = [row["name"] for row in nodes if row["kind"] == "scope"]
    assert names == ["jit(f)", "rematted_computation", "add", "mul"]


def test_a_program_without_xla_still_has_a_tree() -> None:
    made = Profile("s", (Host("h", decode(worked_example(gpu=True))),))
    found = op_profile.op_profile(made)
    assert found.total_time_us > 0
    ran = [row for row in found.nodes.rows() if row["kind"] != "idle"]
    assert all(row["utilisation_frac"] is None for row in ran)


def test_idle_time_is_wasted() -> None:
    nodes = list(op_profile.op_profile(on_gpu()).nodes.rows())
    (idle,) = (row for row in nodes if row["kind"] == "idle")
    assert (idle["time_us"], idle["wasted_us"], idle["utilisation_frac"]) == (10, 10, 0)


def test_utilisation_is_of_what_limits_a_part() -> None:
    nodes = list(op_profile.op_profile(on_gpu()).nodes.rows())
    add = next(row for row in nodes if row["name"] == "add.1")
    # 3 · 64² floats in 20 µs: 0.16 % of 1,555 GB/s, more than of the FLOP peak.
    assert add["bound_by"] == "HBM"
    assert add["roofline_efficiency_frac"] == add["hbm_bw_frac"] > add["utilisation_frac"]
    made = Profile("s", (Host("h", decode(worked_example(gpu=True))),))
    ran = [row for row in op_profile.op_profile(made).nodes.rows() if row["kind"] != "idle"]
    assert {row["bound_by"] for row in ran} == {"Unknown"}


def test_a_recording_of_a_cpu_has_no_idle_devices() -> None:
    made = Profile("s", (Host("h", decode(worked_example(gpu=False))),))
    said = op_profile.op_profile(made).headline
    assert "evices" not in said
    assert "o op runs for" in said


def test_the_headline_names_the_largest_part_without_the_programs_number() -> None:
    found = op_profile.op_profile(on_gpu())
    assert found.headline == (
        "75.0 % of the time goes to jit_f; "
        "devices are idle for 25.0 % of the time from first to last op."
    )
    options = op_profile.Options(include_idle=False)
    assert op_profile.op_profile(on_gpu(), options).headline == "100.0 % of the time goes to jit_f."
    by_category = op_profile.op_profile(on_gpu(), op_profile.Options(group_by="category"))
    assert by_category.headline.startswith("50.0 % of the time goes to non-fusion elementwise;")


@pytest.mark.parametrize("base", ["step", "recording"])
def test_idle_time_is_the_share_that_device_idle_shows(base: TimeBase) -> None:
    # Ops of 40 and 40 µs at once, and 60 µs idle, in each step of 100 µs.
    planes = draw(
        """
        /host:CPU
          python      S---------S---------S---------
        /device:GPU:0
          Stream #7   K---......K---......K---......
          Stream #8   K---......K---......K---......
        """,
        unit_us=10,
        S=event("train", step_num=nth, _r=1),
        K=event("sgemm"),
    )
    profile = with_times_of(Profile("s", (Host("h", decode(space(*planes))),)), base)
    found, idle = op_profile.op_profile(profile), device_idle.device_idle(profile)
    assert found.idle_frac == pytest.approx(idle.idle_frac)
    assert f"idle for {share_words(idle.idle_frac, 1)} of the {base}" in found.headline
