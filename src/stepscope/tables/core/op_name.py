"""Reading a framework op out of an event's name.

Recorders write ``<name scope>/<op>:<type>`` for TensorFlow, ``<jit path>/<primitive>:`` for JAX,
``Iterator::A::B`` for tf.data and ``MEMCPYHtoD`` for copies. The rules are those of
``tf_op_utils`` in the XLA tree (reference §1.6), so names agree with other viewers.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_TF_TYPE = re.compile(r"[A-Z_][a-zA-Z0-9_]*")
_TF_OP = re.compile(rf"({_TF_NAME.pattern}):({_TF_TYPE.pattern})")
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?", re.DOTALL)
_SUFFIX = re.compile(r"_\d+$")
# What XLA calls fusions that do nothing else but change a layout.
_LAYOUTS = re.compile(r"(?:(?:transpose|copy|bitcast)_)+fusion")
# Backends of torch.distributed that leave their mark on threads of the host: "gloo:all_reduce".
_HOST_COLLECTIVE = re.compile(r"(gloo|mpi|ucc)[:/](\w+)")
# What a colon follows that is no op of TensorFlow's.
_OTHER_NAMES = frozenset({"Iterator", "gloo", "mpi", "ucc"})
_MEMCPY = (
    ("MEMCPYHTOD", "MemcpyHToD"),
    ("MEMCPYDTOH", "MemcpyDToH"),
    ("MEMCPYDTOD", "MemcpyDToD"),
    ("MEMCPYHTOH", "MemcpyHToH"),
)

_COLLECTIVE_CALLS = ("c10d/", "c10d::")


class OpCategory(Enum):
    """Which kind of name it is."""

    UNKNOWN = "unknown"
    TENSORFLOW = "tensorflow"
    JAX = "jax"
    TF_DATA = "tf_data"
    MEMCPY = "memcpy"


class OpName(NamedTuple):
    """A parsed op name: ``name`` is the op's full path, ``type`` its kind ("MatMul")."""

    category: OpCategory
    name: str
    type: str


@lru_cache(maxsize=200_000)
def parse_op_name(full: str) -> OpName:
    """The op an event or stat text names; category UNKNOWN when it names none."""
    usual = _TF_OP.fullmatch(full)
    if usual is not None and usual[1] not in _OTHER_NAMES:
        return OpName(OpCategory.TENSORFLOW, usual[1], usual[2])
    name, colon, type_ = full.partition(":")
    if not colon:
        upper = full[:10].upper()
        for prefix, memcpy_type in _MEMCPY:
            if upper.startswith(prefix):
                return OpName(OpCategory.MEMCPY, full, memcpy_type)
        return OpName(OpCategory.UNKNOWN, full, "")
    if (met := _HOST_COLLECTIVE.fullmatch(full)) is not None:
        return OpName(OpCategory.JAX, f"{met[1]}/{met[2]}", met[2])
    if name == "Iterator":
        return OpName(OpCategory.TF_DATA, full, "Dataset")
    jax_type = type_ or _SUFFIX.sub("", name.rpartition("/")[2])
    if _JAX_TYPE.fullmatch(jax_type):
        return OpName(OpCategory.JAX, name, jax_type.partition("[")[0])
    if not type_:
        return OpName(OpCategory.TENSORFLOW, name, _SUFFIX.sub("", name.rpartition("/")[2]))
    return OpName(OpCategory.UNKNOWN, full, "")


def is_host_collective(name: str) -> bool:
    """Whether an event or op of this name is an exchange of processes that no device runs."""
    return _HOST_COLLECTIVE.fullmatch(name) is not None


def is_collective_call(name: str) -> bool:
    """Whether an op of this name asks for a collective; without a device it waits for its end."""
    return name.startswith(_COLLECTIVE_CALLS)


def parse_annotation(text: str) -> OpName:
    """The op in an old ``annotation`` stat: ``<name>:<type>#shape=…#::#edge_name=…#``."""
    return parse_op_name(text.partition("#")[0])


def is_layout_fusion(name: str) -> bool:
    """Whether an instruction, named without its number, only copies into another layout."""
    return _LAYOUTS.fullmatch(name) is not None
