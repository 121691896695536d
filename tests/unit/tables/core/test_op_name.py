"""Op names of every recorder, old and new, and names that are none."""

import pytest

from stepscope.tables.core.op_name import OpCategory, OpName, parse_annotation, parse_op_name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "model/dense/MatMul:MatMul",
            OpName(OpCategory.TENSORFLOW, "model/dense/MatMul", "MatMul"),
        ),
        ("gloo:_reduce", OpName(OpCategory.JAX, "gloo/_reduce", "_reduce")),
        ("Iterator:Map", OpName(OpCategory.TF_DATA, "Iterator:Map", "Dataset")),
        ("truediv:RealDiv", OpName(OpCategory.TENSORFLOW, "truediv", "RealDiv")),
        ("n/_1:_HostRecv", OpName(OpCategory.TENSORFLOW, "n/_1", "_HostRecv")),
        ("MatMul_1:", OpName(OpCategory.TENSORFLOW, "MatMul_1", "MatMul")),
        ("jit(f)/jit(main)/add:", OpName(OpCategory.JAX, "jit(f)/jit(main)/add", "add")),
        ("jit(f)/while/scan_12:", OpName(OpCategory.JAX, "jit(f)/while/scan_12", "scan")),
        ("a/pjit:pjit[name=f]", OpName(OpCategory.JAX, "a/pjit", "pjit")),
        (
            "Iterator::Root::Prefetch",
            OpName(OpCategory.TF_DATA, "Iterator::Root::Prefetch", "Dataset"),
        ),
        ("MEMCPYHtoD", OpName(OpCategory.MEMCPY, "MEMCPYHtoD", "MemcpyHToD")),
        ("MemcpyH2D", OpName(OpCategory.UNKNOWN, "MemcpyH2D", "")),
        ("IteratorGetNext", OpName(OpCategory.UNKNOWN, "IteratorGetNext", "")),
        (
            "ThreadpoolListener::Record",
            OpName(OpCategory.UNKNOWN, "ThreadpoolListener::Record", ""),
        ),
        ("XlaModule:", OpName(OpCategory.TENSORFLOW, "XlaModule", "XlaModule")),
        ("", OpName(OpCategory.UNKNOWN, "", "")),
    ],
)
def test_parses_as_the_recorders_mean_it(text: str, expected: OpName) -> None:
    assert parse_op_name(text) == expected


def test_annotations_of_old_tensorflow_end_at_the_first_hash() -> None:
    text = "a/random/RandomUniform:RandomUniform#shape=(int32[4])#::#edge_name=x#"
    assert parse_annotation(text) == OpName(
        OpCategory.TENSORFLOW, "a/random/RandomUniform", "RandomUniform"
    )
