"""Facts of the machine, read from what its kernel says."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.runtime import machine
from stepscope.capture.runtime.machine import settings_facts

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


class Tensor:
    def __init__(self, dtype: str, count: int) -> None:
        self.dtype, self._count = dtype, count

    def numel(self) -> int:
        return self._count


class Parameter(Tensor):
    pass


def torch(
    *,
    anomaly: bool = False,
    deterministic: bool = False,
    threads: int = 64,
    is_fast: tuple[bool, bool] = (True, True),
) -> Any:
    mkldnn = SimpleNamespace(
        _is_mkldnn_bf16_supported=lambda: is_fast[0],
        _is_mkldnn_fp16_supported=lambda: is_fast[1],
    )
    return SimpleNamespace(
        ops=SimpleNamespace(mkldnn=mkldnn),
        get_num_threads=lambda: threads,
        is_anomaly_enabled=lambda: anomaly,
        are_deterministic_algorithms_enabled=lambda: deterministic,
        nn=SimpleNamespace(Parameter=Parameter),
    )


def test_nothing_is_noted_of_defaults_and_of_what_is_not_loaded() -> None:
    jax = SimpleNamespace(config=SimpleNamespace(jax_enable_x64=False))
    assert settings_facts({"torch": torch(), "jax": jax}) == {}  # type: ignore[dict-item]
    assert settings_facts({}) == {}


def test_switches_that_are_on_are_noted() -> None:
    jax = SimpleNamespace(config=SimpleNamespace(jax_enable_x64=True, jax_debug_nans=True))
    loaded: Any = {"torch": torch(anomaly=True), "jax": jax}
    assert settings_facts(loaded) == {
        "setting_torch_anomaly_mode": "on",
        "setting_jax_enable_x64": "on",
        "setting_jax_debug_nans": "on",
    }


@pytest.mark.parametrize(
    ("cores", "processes", "noted"),
    [(8, None, {"setting_torch_threads": "1 of 8"}), (8, "2", {"setting_torch_threads": "1 of 4"}),
     (8, "8", {}), (1, None, {})],
)  # fmt: skip
def test_threads_are_noted_where_they_leave_half_of_the_cores_idle(
    monkeypatch: pytest.MonkeyPatch, cores: int, processes: str | None, noted: dict[str, str]
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(machine, "_read", lambda _path: "")
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    if processes is not None:
        monkeypatch.setenv("LOCAL_WORLD_SIZE", processes)
    loaded: Any = {"torch": torch(threads=1)}
    assert settings_facts(loaded) == noted


def test_types_are_noted_that_pytorch_has_no_fast_code_for_here() -> None:
    loaded: Any = {"torch": torch(is_fast=(False, False))}
    assert settings_facts(loaded) == {"setting_torch_emulates": "bfloat16, float16"}
    loaded = {"torch": torch(is_fast=(True, False))}
    assert settings_facts(loaded) == {"setting_torch_emulates": "float16"}


def test_the_type_that_most_parameters_have_is_noted_unless_it_is_the_usual_one() -> None:
    kept = [Parameter("torch.float64", 1000), Parameter("torch.float32", 10), Tensor("x", 10**6)]
    loaded: Any = {"torch": torch()}
    assert settings_facts(loaded) == {"setting_parameters": "float64"}
    kept[0].dtype = "torch.float32"
    assert settings_facts(loaded) == {}


def test_keras_says_what_it_computes_in() -> None:
    config = SimpleNamespace(functions_run_eagerly=lambda: True)
    loaded: Any = {
        "tensorflow": SimpleNamespace(config=config),
        "keras": SimpleNamespace(backend=SimpleNamespace(floatx=lambda: "float64")),
    }
    assert settings_facts(loaded) == {
        "setting_tf_run_functions_eagerly": "on",
        "setting_parameters": "float64",
    }


def test_keras_policy_of_the_loops_thread_is_noted_on_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = threading.local()
    own.name = "mixed_float16"

    def policy() -> object:
        return SimpleNamespace(name=getattr(own, "name", "float32"))

    keras = SimpleNamespace(config=SimpleNamespace(dtype_policy=policy))
    for name, module in (("keras", keras), ("tensorflow", None), ("torch", None), ("jax", None)):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(machine, "_loop_settings", {})
    found: list[dict[str, int | str]] = []

    def ask() -> None:
        thread = threading.Thread(target=lambda: found.append(settings_facts()))
        thread.start()
        thread.join()

    ask()
    machine.remember_settings()
    ask()
    assert found == [{}, {"setting_keras_dtype_policy": "mixed_float16"}]


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_a_framework_that_is_half_imported_says_nothing(name: str) -> None:
    assert settings_facts({name: ModuleType(name)}) == {}
