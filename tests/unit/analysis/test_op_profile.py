"""The op profile on a compiled program whose answers can be worked out by hand."""

from __future__ import annotations

import pytest

from stepscope.analysis import op_profile
from stepscope.formats.xspace import decode
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import worked_example
from tests.unit.analysis.compiled import check_contract, on_gpu


def test_it_answers_on_every_device_and_says_what_is_missing() -> None:
    check_contract(op_profile.TOOL)


def test_wasted_time_is_what_the_peak_would_not_need() -> None:
    nodes = list(op_profile.op_profile(on_gpu()).nodes.rows())
    assert (nodes[0]["time_us"], nodes[0]["wasted_frac"]) == (
        40, pytest.approx(1 - nodes[0]["utilisation_frac"]),
    )  # fmt: skip
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
