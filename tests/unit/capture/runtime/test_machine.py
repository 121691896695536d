"""Facts of the machine, read from what its kernel says."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from stepscope.capture.runtime import machine

INTEL = """processor\t: {n}
physical id\t: 0
core id\t\t: {core}
cpu MHz\t\t: {mhz}
flags\t\t: fpu sse4_2 avx avx2 {more}
"""


def test_hyper_threads_are_one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_MAX_FREQUENCY", Path("/nowhere"))
    text = "\n\n".join(
        INTEL.format(n=n, core=n // 2, mhz=2000 + n, more="avx512f") for n in range(4)
    )
    assert machine.processor_facts(text) == {
        "cpu_isa": "avx512",
        "core_count": 2,
        "clock_rate": 2_003_000,
    }


@pytest.mark.parametrize(
    ("flags", "isa"), [("sse4_2", "sse4_2"), ("sse4_2 avx", "avx"), ("avx avx2", "avx2")]
)
def test_the_widest_instruction_set_counts(flags: str, isa: str) -> None:
    assert machine.processor_facts(f"flags : {flags}\n")["cpu_isa"] == isa


def test_an_arm_processor_says_features() -> None:
    text = "processor : 0\nFeatures : fp asimd\n\nprocessor : 1\nFeatures : fp asimd\n"
    facts = machine.processor_facts(text)
    assert (facts["cpu_isa"], facts["core_count"]) == ("neon", 2)


def test_what_is_not_known_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_MAX_FREQUENCY", Path("/nowhere"))
    assert machine.processor_facts("vendor : ?\n") == {}


def test_versions_are_those_of_what_is_loaded() -> None:
    loaded = ModuleType("jax")
    loaded.__version__ = "9.9"  # type: ignore[attr-defined]
    facts = machine.software_facts({"jax": loaded, "torch": ModuleType("torch")})
    assert facts["jax_version"] == "9.9"
    assert "torch_version" not in facts
    assert "tensorflow_version" not in facts
