"""What PyTorch's events are called in an XSpace.

Op names follow the grammar that TensorFlow's viewers parse, ``<path>:<type>``; a plain
``aten::conv2d`` would be no op to them. The name as PyTorch writes it is shown to people.
"""

from __future__ import annotations

import re
from typing import Final

from stepscope.schema import names

_QUALIFIED: Final = re.compile(r"(\w[\w.]*)((?:::\w[\w.]*)+)")
_TEMPLATE: Final = re.compile(r"(\w[\w.]*(?:::\w[\w.]*)+)<(\w+(?:::\w+)*)>")
_PLAIN: Final = re.compile(r"[A-Za-z_]\w*")
_BACKWARD: Final = re.compile(r"\w*Backward\d*")
# "module.py(12): function"
_FRAME: Final = re.compile(r"(.*)\((\d+)\): (.*)", re.DOTALL)
# Directions of copies as Kineto writes them: "Memcpy HtoD (Pageable -> Device)" for CUDA,
# "CopyHostToDevice" for ROCm.
_COPIES: Final = (
    (re.compile(r"HtoD|HostToDevice|H2D|M2D"), "MemcpyH2D"),
    (re.compile(r"DtoH|DeviceToHost|D2H|D2M"), "MemcpyD2H"),
    (re.compile(r"PtoP|P2P|PeerToPeer"), "MemcpyP2P"),
    (re.compile(r"HtoH|HostToHost|H2H|M2M"), "MemcpyH2H"),
    (re.compile(r"DtoD|DeviceToDevice|D2D"), "MemcpyD2D"),
)
_ENDS: Final = re.compile(r"\((\w+) -> (\w+)\)")


def op_name(text: str) -> str:
    """``aten::conv2d`` as ``aten/conv2d:conv2d``; what names no op stays as it is."""
    template = _TEMPLATE.fullmatch(text)
    if template:
        # "torch::autograd::CppNode<LookupFunction>": what it is one of says what it does.
        outer, inner = template.groups()
        return f"{'/'.join(outer.split('::'))}:{inner.rpartition('::')[2]}"
    found = _QUALIFIED.fullmatch(text)
    if found:
        parts = text.split("::")
        return f"{'/'.join(parts)}:{parts[-1]}"
    if _PLAIN.fullmatch(text):
        scope = "autograd" if _BACKWARD.fullmatch(text) else "torch"
        return f"{scope}/{text}:{text}"
    return text


def frame_name(text: str) -> str:
    """``train.py(12): step`` as ``$train.py:12 step``, as Python calls are written everywhere."""
    if text == names.PYTORCH_COLLECTION:
        return names.UNTOLD_COLLECTION  # it has a call's category, and is none
    found = _FRAME.fullmatch(text)
    if found:
        file, line, function = found.groups()
        return f"{names.PYTHON_CALL_MARK}{file}:{line} {function}"
    return names.PYTHON_CALL_MARK + text


def has_direction(text: str) -> bool:
    """Whether a copy's name says from where to where it copies."""
    return any(pattern.search(text) for pattern, _ in _COPIES)


def copy_name(text: str) -> str:
    """A copy's direction in one word: ``MemcpyH2D`` and so on."""
    for pattern, name in _COPIES:
        if pattern.search(text):
            return name
    return "Memset" if "emset" in text else "MemcpyD2D"


def copy_ends(text: str) -> tuple[str, str]:
    """Kinds of memory a copy reads and writes, such as ``("pageable", "device")``."""
    found = _ENDS.search(text)
    if found:
        return found[1].lower(), found[2].lower()
    letters = {"H": "host", "D": "device", "P": "device"}
    name = copy_name(text).removeprefix("Memcpy")
    if len(name) == 3:
        return letters[name[0]], letters[name[2]]
    return "device", "device"
