"""Answers for the pages bring the short names of what they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stepscope.result import Column, Result, Row, Table
from stepscope.surfaces.brought_names import bringing, names_in
from stepscope.surfaces.envelope import columnar

_KERNEL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)"
)


class _Kernel(Row):
    name: Annotated[str, Column("Kernel", kind="name")]
    kind: Annotated[str, Column("Kind", kind="category")]


@dataclass(frozen=True, kw_only=True)
class _Kernels(Result):
    tool = "kernels"
    kernels: Table[_Kernel]


def _kernels(*names: str) -> _Kernels:
    columns = {"name": list(names), "kind": [_KERNEL] * len(names)}
    return _Kernels(kernels=Table(_Kernel, columns))


def test_a_table_brings_the_short_names_of_its_column_of_names() -> None:
    assert columnar(_kernels(_KERNEL, "MatMul"))["short_names"] == {_KERNEL: "add<float>"}
    assert "short_names" not in columnar(_kernels("MatMul"))


def test_names_are_found_at_any_depth_and_nothing_else_is() -> None:
    body = {
        "first": 0,
        "names": ["a", {"name": "b", "track": "c"}],
        "parent": {"name": "d", "stats": [{"name": "e", "value": "f"}]},
    }
    assert sorted(names_in(body)) == ["a", "b", "d", "e"]


def test_an_answer_without_kernels_stays_as_it_is() -> None:
    assert bringing({"name": "MatMul"}, ["MatMul"]) == {"name": "MatMul"}
