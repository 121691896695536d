"""Names of kernels as people call them: ``greater_equal<half>`` for four lines of C++.

Templates of C++ name a kernel by everything it is made of. What it computes is the functor among
the arguments of a library's wrapper, or the name itself without return type, parameters and
namespaces. Names of other kinds (framework ops, HLO, Python) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from stepscope.tables.core.planes import DEVICE_KINDS, planes
from stepscope.tables.core.profile import Profile, derived

_LONGEST: Final = 64
_SHORT: Final = 24
# What follows in a longer name no longer says what it computes.
_READ: Final = 4096

# "void a::b<c>(d)".
_CPLUSPLUS: Final = re.compile(r"(?:(?:void|__global__)\s+)?(?:\w+::)*\w+[<(]", re.ASCII)
# What a program calls its parts may look like a call, as "enumerate(DataLoader)#…" of PyTorch's.
_TYPED: Final = re.compile(r"^void |^__global__ |::|[<*&]")
_UNNAMED: Final = "(anonymous namespace)::"
_RETURNS: Final = re.compile(r"(?:void|__global__)\s+")
_TENSILE: Final = re.compile(r"Cijk_\w*?MT\d+x\d+x\d+", re.ASCII)
# Kernels of libraries that wrap any operation; what they run is in their arguments.
_WRAPPERS: Final = re.compile(
    r"EigenMetaKernel|(?:un|vectorized_|unrolled_|legacy_)?elementwise_kernel(?:_\w+)?|"
    r"reduce_kernel|multi_tensor_apply_kernel|index_elementwise_kernel|Kernel2?|device_kernel|cuApplyLayerNorm\w*"
)
# What an operation is called in the arguments of a wrapper, as the last word of the group; or its
# name, where there is no group. The first that fits counts.
_OPERATIONS: Final[tuple[tuple[str, str], ...]] = (
    (r"\b(cutlass\w*_\d+x\d+\w*)", ""),
    (r"\bscalar_(?:left|right)<([^<>]*)<", ""),
    (r"\bTensorConversionOp<", "convert"),
    (r"\bTensorBroadcastingOp<", "broadcast"),
    (r"\bTensorReductionOp<(?:Eigen::internal::)?(\w+)", ""),
    (r"\bTensorCwise\w+Op<(?:\w+::)*(\w+)", ""),
    (r"\bTensor(?!AssignOp|Map|Evaluator)(\w+)Op<", ""),
    (r"\b(?:CUDAFunctor|AUnaryFunctor|BUnaryFunctor|BinaryFunctor)_?(\w*)<", ""),
    (r"\b(\w+?)_kernel_(?:cuda|impl)\b(?<!gpu_kernel_impl)", ""),
    (r"\b(\w+?)Functor<", ""),
    (r"\bReduceOp<([^<>]*?)(?:Ops|Functor)<", "reduce "),
)
_TYPE: Final = re.compile(
    r"(?:\bTensor<(?:Eigen::)?|Functor\w{0,60}<(?:c10::|at::)?|\bReduceOp<(?:c10::)?)(\w+)",
    re.ASCII,
)
_TYPES: Final = {"Half": "half", "BFloat16": "bf16", "bfloat16": "bf16"}


@lru_cache(maxsize=100_000)
def short_name(name: str) -> str:
    """A kernel's name without what does not tell what it computes; any other name as it is."""
    if len(name) <= _SHORT or "/" in name:
        return name
    if tensile := _TENSILE.match(name):
        return tensile[0]
    plain = name.removesuffix(".kd")
    read = plain[:_READ].replace(_UNNAMED, "")
    if not (_CPLUSPLUS.match(read) and _TYPED.search(read)):
        return plain
    path, arguments = _parts(_RETURNS.sub("", read, count=1) if _RETURNS.match(read) else read)
    base = path.rpartition("::")[2] or plain
    if _WRAPPERS.fullmatch(base) and (operation := _operation(arguments)):
        return _cut(_typed(operation, arguments))
    return _cut(f"{base}<{_first_type(arguments)}>" if arguments else base)


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Short names by name, of those names that have one."""
    return {name: short for name in set(names) if (short := short_name(name)) != name}


@derived
def called(profile: Profile) -> Mapping[str, str]:
    """What each kernel of a profile is called wherever it is listed, by name.

    Of kernels with one short name all but the first have a number. It follows from their names
    alone, not from times or from what else a list has, so that all pages agree.
    """
    found: set[str] = set()
    for host in profile.hosts:
        entries, kinds = host.space.event_metadata, planes(host).plane_kind
        on_device = [plane for plane, kind in enumerate(kinds) if kind in DEVICE_KINDS]
        listed = zip(entries.name, entries.plane.tolist(), strict=True)
        found |= {name for name, plane in listed if plane in on_device}
    return told_apart(found)


def told_apart(names: Iterable[str]) -> dict[str, str]:
    """Short names by name, of those names that have one; of equal ones all but one numbered."""
    listed = sorted(set(names))
    taken = set(listed)
    used: dict[str, int] = {}
    found = {}
    for name in listed:
        short = title = short_name(name)
        if short == name:
            continue
        while title in taken:
            used[short] = used.get(short, 1) + 1
            title = f"{short} ({used[short]})"
        taken.add(title)
        found[name] = title
    return found


def _parts(text: str) -> tuple[str, str]:
    """Qualified name and template arguments, both without what follows the arguments."""
    while True:
        opening = re.search(r"[<(]", text)
        if opening is None:
            return text, ""
        start = opening.start()
        if opening[0] == "(":
            return text[:start], ""
        depth, end = 0, len(text)
        for bracket in re.finditer(r"[<>]", text):
            depth += 1 if bracket[0] == "<" else -1
            if depth == 0:
                end = bracket.start()
                break
        if not text.startswith("::", end + 1):
            return text[:start], text[start + 1 : end]
        text = text[end + 3 :]  # a namespace with arguments of its own: the name comes after them


def _operation(arguments: str) -> str:
    """What a wrapper runs, "" where its arguments do not say."""
    for pattern, called in _OPERATIONS:
        found = re.search(pattern, arguments, re.ASCII)
        if found is None:
            continue
        if not found.re.groups:
            return called
        word = re.split(r"\W", found[1])[-1]
        if word:
            word = word.removeprefix("scalar_").removesuffix("_op")
            return called + (word.lower() if pattern.startswith(r"\bTensor(?!") else word)
    return ""


def _first_type(arguments: str) -> str:
    """Last part of the first argument: ``UniformDistribution`` of ``a::UniformDistribution<b>``."""
    first = re.match(r"\s*(?:\w+::)*(\w+)", arguments, re.ASCII)
    return _TYPES.get(first[1], first[1]) if first else "…"


def _typed(operation: str, arguments: str) -> str:
    """The operation with the type of what it computes on."""
    if operation.startswith("cutlass"):
        return operation
    types = [_TYPES.get(name, name) for name in _TYPE.findall(arguments)]
    if not types:
        return operation
    to = types[0]
    if operation == "convert":
        return f"convert<{next((one for one in types if one != to), to)}→{to}>"
    # A comparison gives bool; what it compares tells more.
    return f"{operation}<{types[1] if to == 'bool' and len(types) > 1 else to}>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
