"""debug-mode, and the precision of products: what was noted and recorded, by hand."""

from __future__ import annotations

import pytest

from stepscope.formats.xspace import decode
from stepscope.result import Finding
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import Plane, draw, event, nth, space
from tests.profiles.model import Event, line
from tests.profiles.model import host as host_plane
from tests.unit.advice.asking import Asked

STEP = event("train", step_num=nth, _r=1)
LETTERS = {
    "S": STEP,
    "M": event("aten/mm:mm"),
    "B": event("autograd/MmBackward0:MmBackward0"),
    "N": event("aten/isnan:isnan"),
    "I": event("aten/item:item"),
    "C": event("a/CheckNumericsV2:CheckNumericsV2"),
}


def asked(thread: str, **settings: str) -> Asked:
    picture = f"""
        /host:CPU
          python   S---------S---------S---------S---------
          "        {thread * 4}
    """
    planes = draw(picture, unit_us=100, **LETTERS)
    noted = {f"setting_{name}": value for name, value in settings.items()}
    data = space(*planes, Plane("Task Environment", (), stats=noted))
    return Asked(Profile("s", (Host("host", decode(data)),)))


def test_a_check_of_every_gradient_is_anomaly_mode() -> None:
    found = asked("MMBNIBNI..").finding("debug-mode")
    # At least the checks; at most all but the two products.
    assert found.saving_low_ms == pytest.approx(0.4)
    assert found.saving_high_ms == pytest.approx(0.8)
    assert found.severity == "high"


def test_a_switch_that_was_noted_is_enough() -> None:
    found = asked("MM........", jax_debug_nans="on").finding("debug-mode")
    assert found.saving_high_ms == pytest.approx(0.8)


def types_of_ops(found: Asked) -> dict[str, str]:
    parts = found.result("step_account").part_list()
    return {one.name: one.text("data_type") for one in parts if one.kind == "op"}


def causes_of_parts(found: Asked) -> list[str]:
    return [one.cause for one in found.answers("largest-part") if isinstance(one, Finding)]


def test_the_policy_of_a_model_is_before_its_variables() -> None:
    found = asked("MM........", parameters="float64", keras_dtype_policy="mixed_float16")
    assert types_of_ops(found)["matmul"] == "f16"
    assert "part-float16" in causes_of_parts(found)


@pytest.mark.parametrize(
    ("held", "said"), [("half", "f16"), ("float", ""), ("double", "f64"), ("bfloat16", "")]
)
def test_products_are_of_the_type_that_they_allocate(held: str, said: str) -> None:
    """A loop of TensorFlow without Keras: one product and one sum a step, on the CPU."""
    marks, ops, memory = [], [], []
    for step in range(4):
        start = 1000 * step
        marks.append(Event("train", start, 1000, {"step_num": step, "_r": 1}))
        ops.append(Event("head/MatMul:MatMul", start + 10, 900))
        ops.append(Event("head/Sum:Sum", start + 920, 30))
        for op, kind, size in (("head/MatMul", held, 4096), ("head/Sum", "int64", 9000)):
            stats = {"allocator_name": "cpu", "data_type": kind, "tf_op": op,
                     "allocation_bytes": size}  # fmt: skip
            memory.append(Event("MemoryAllocation", start + 20, 0, stats))
    recorded = space(host_plane(line("python", *marks), line("tf_pool", *ops, *memory)))
    found = Asked(Profile("s", (Host("host", decode(recorded)),)))
    assert types_of_ops(found)["MatMul"] == said
    cause = {"f16": "part-float16", "f64": "part-double"}.get(said, "part-product")
    assert causes_of_parts(found)[0] == cause
