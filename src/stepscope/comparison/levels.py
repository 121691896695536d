"""The levels at which two runs are compared, and how each names and matches what it finds there.

A level gives every item of a breakdown a ``Label``. Items of one run with equal labels are one
row; rows of two runs are matched by the label's keys, from the finest to the coarsest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from stepscope.comparison.breakdown import COMMUNICATION, OP, WAITING, Item
from stepscope.comparison.names import kernel_stem, leaf_stem, module_of, op_class, stem
from stepscope.tables.device.kernel_classes import OTHER, kernel_class

Key = tuple[str, ...]

PART_NAMES: Final[dict[str, str]] = {
    "device_compute_16": "Device compute, 16-bit",
    "device_compute_32": "Device compute, 32-bit or unknown",
    "device_to_device": "Copies on and between devices",
    "collectives": "Communication",
    "input": "Waiting for input",
    "host_to_device": "Copies to the device",
    "output": "Copies to the host",
    "kernel_launch": "Launching kernels",
    "host_compute": "Host compute",
    "compilation": "Compilation",
    "host_wait": "Waiting on the host",
    "other": "Nothing recorded",
}


class Label(NamedTuple):
    """What a row of a level stands for.

    Attributes:
        kind: ``OP`` where the change decides (slower, added …), else the row's kind.
        where, name, type: As the row shows them.
        keys: What to match by, finest first; each is tried on what the one before left over.
    """

    kind: str
    where: str
    name: str
    type: str
    keys: tuple[Key, ...]


Level = Callable[[Item], Label]


def whole(kind: str, name: str, where: str = "") -> Label:
    """The label of what is compared as one."""
    return Label(kind, where, name, "", ((kind, where, name),))


def op_level(*, same_framework: bool) -> Level:
    """Op by op: by path and type, by path, by own name and type, between frameworks by class."""

    def label(item: Item) -> Label:
        kind, where, name, type_ = item.kind, item.side, item.name, item.type
        if kind not in (OP, COMMUNICATION) or name == WAITING:
            return whole(kind, name)
        keys: list[Key] = [
            (kind, where, stem(name), type_),
            (kind, where, stem(name)),
            (kind, where, leaf_stem(name), type_),
        ]
        known = op_class(name, type_)
        if not same_framework and known != OTHER:
            keys.append((kind, known))
        return Label(kind, where, name, type_, tuple(keys))

    return label


def step_level(item: Item) -> Label:
    """The parts of a step; waiting for a slower host is one of its own."""
    if item.name == WAITING:
        return whole(COMMUNICATION, WAITING)
    return whole(item.part, PART_NAMES[item.part])


def module_level(item: Item) -> Label:
    """By module of the model; everything but ops is compared as a whole."""
    if item.kind != OP:
        return whole(item.kind, item.kind if item.kind == COMMUNICATION else item.name)
    if not item.type:
        return whole(OP, f"({item.side.lower()}: no op of the model)", item.side)
    module = module_of(item.name) or "(top level)"
    keys = ((OP, item.side, stem(module)), (OP, item.side, leaf_stem(module)))
    return Label(OP, item.side, module, "", keys)


def kernel_level(*, same_device: bool) -> Level:
    """By kernel of the devices: by name, by name without templates, between devices by class."""

    def label(item: Item) -> Label:
        if not item.kernel:
            return whole("host", "ops on the host") if item.kind == OP else _lump(item)
        keys: list[Key] = [(item.kind, kernel_stem(item.kernel))]
        known = kernel_class(item.kernel, item.name)
        if not same_device and known != OTHER:
            keys.append((item.kind, known))
        return Label(item.kind, item.side, item.kernel, "", tuple(keys))

    return label


def _lump(item: Item) -> Label:
    return whole(item.kind, item.name)
