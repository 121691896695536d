"""Answers for the pages bring the short names of what they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stepscope.formats.xspace.decode import decode
from stepscope.result import Column, Result, Row, Table
from stepscope.surfaces.brought_names import bringing, names_in
from stepscope.surfaces.envelope import columnar
from stepscope.surfaces.tiles.meta import LABEL_LENGTH
from stepscope.tables.core.profile import Host, Profile
from tests.profiles import gpu, host, line, space, stream

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


_TWINS = [_KERNEL.replace("<4,", f"<{width},") for width in (2, 4, 8)]


def _profile(*kernels: str) -> Profile:
    ran = [(name, 10 * at, 5) for at, name in enumerate(kernels)]
    recording = space(host(line("python", (_TWINS[0], 0, 5))), gpu(0, stream(7, *ran)))
    return Profile("run", (Host("a", decode(recording)),))


def test_kernels_have_the_same_short_names_in_every_answer() -> None:
    profile = _profile(*reversed(_TWINS))
    every = columnar(_kernels(*_TWINS), profile=profile)["short_names"]
    assert [every[name] for name in _TWINS] == ["add<float>", "add<float> (2)", "add<float> (3)"]
    for name in _TWINS:
        assert columnar(_kernels(name), profile=profile)["short_names"] == {name: every[name]}
        assert bringing({}, [name], profile) == {"short_names": {name: every[name]}}


def test_what_ran_on_the_host_alone_takes_no_number() -> None:
    profile = _profile(_TWINS[1])
    assert bringing({}, [_TWINS[1]], profile)["short_names"] == {_TWINS[1]: "add<float>"}


def test_a_name_that_is_cut_has_the_short_name_of_the_whole() -> None:
    long = [name.replace("(int)", f"({', '.join(['int'] * 300)})") for name in _TWINS]
    cut = long[2][:LABEL_LENGTH]
    assert bringing({}, [cut], _profile(*long))["short_names"] == {cut: "add<float> (3)"}
