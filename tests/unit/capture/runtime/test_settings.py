"""Which settings of the frameworks a recording notes."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from stepscope.capture.runtime.settings import settings_facts


class Tensor:
    def __init__(self, dtype: str, count: int) -> None:
        self.dtype, self._count = dtype, count

    def numel(self) -> int:
        return self._count


class Parameter(Tensor):
    pass


def torch(*, anomaly: bool = False, deterministic: bool = False) -> Any:
    return SimpleNamespace(
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


@pytest.mark.parametrize("name", ["torch", "tensorflow", "jax"])
def test_a_framework_that_is_half_imported_says_nothing(name: str) -> None:
    assert settings_facts({name: ModuleType(name)}) == {}
