"""Devices as their planes describe them."""

import pytest

from stepscope.formats.xspace import decode
from stepscope.tables.core.devices import device_type, devices
from stepscope.tables.core.planes import PlaneKind
from stepscope.tables.core.profile import Host
from tests.profiles.model import gpu, host, line, plane, space, stream


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ({"compute_cap_major": 7, "compute_cap_minor": 0}, "NVIDIA GPU (Volta)"),
        ({"compute_cap_major": 8, "compute_cap_minor": 0}, "NVIDIA GPU (Ampere)"),
        ({"compute_cap_major": 8, "compute_cap_minor": 9}, "NVIDIA GPU (Ada Lovelace)"),
        ({"compute_cap_major": 9, "compute_cap_minor": 0}, "NVIDIA GPU (Hopper)"),
        ({"compute_cap_major": 10, "compute_cap_minor": 0}, "NVIDIA GPU (Blackwell)"),
        ({"compute_cap_major": 12, "compute_cap_minor": 0}, "NVIDIA GPU (Blackwell)"),
        (
            {
                "gpu_device_name": "NVIDIA GeForce GTX 1080 Ti",
                "compute_cap_major": 6,
                "compute_cap_minor": 1,
            },
            "NVIDIA GeForce GTX 1080 Ti (Pascal)",
        ),
        (
            {"device_vendor": "AMD", "compute_cap_major": 9, "compute_cap_minor": 4},
            "AMD GPU (gfx94x)",
        ),
        (
            {
                "device_vendor": "AMD",
                "compute_cap_major": 9,
                "compute_cap_minor": 0,
                "core_count": 60,
            },
            "AMD GPU (Vega, gfx90x)",
        ),
        ({}, "GPU"),
        (
            {
                "device_vendor": "AMD",
                "compute_cap_major": 9,
                "compute_cap_minor": 4,
                "core_count": 304,
                "memory_size": 206_141_652_992,
            },
            "AMD Instinct MI300X (gfx94x)",
        ),
        (
            {
                "device_vendor": "AMD",
                "compute_cap_major": 9,
                "compute_cap_minor": 4,
                "core_count": 304,
                "memory_size": 274_877_906_944,
            },
            "AMD Instinct MI325X (gfx94x)",
        ),
        (
            {
                "device_vendor": "AMD",
                "gpu_device_name": "AMD Radeon RX 7900 XTX",
                "compute_cap_major": 11,
                "compute_cap_minor": 0,
            },
            "AMD Radeon RX 7900 XTX (gfx110x)",
        ),
        (
            {
                "compute_cap_major": 7,
                "compute_cap_minor": 0,
                "core_count": 80,
                "memory_size": 16_945_512_448,
            },
            "NVIDIA V100 (Volta)",
        ),
        (
            {
                "compute_cap_major": 9,
                "compute_cap_minor": 0,
                "core_count": 132,
                "memory_size": 150_000_000_000,
            },
            "NVIDIA H200 (Hopper)",
        ),
        # Half a chip, as a virtual machine may have it, is not a model of its own.
        (
            {"compute_cap_major": 8, "compute_cap_minor": 0, "core_count": 54},
            "NVIDIA GPU (Ampere)",
        ),
    ],
)
def test_gpu_types(stats: dict[str, object], expected: str) -> None:
    assert device_type(PlaneKind.GPU, stats) == expected


@pytest.mark.parametrize(
    ("memory_bytes", "expected"),
    [
        (85_520_809_984, "NVIDIA H100"),
        # 94 and 96 GB: H100 NVL, H100 and GH200 all have 132 units.
        (100_485_038_080, "NVIDIA GPU"),
        (102_625_181_696, "NVIDIA GPU"),
        (150_109_880_320, "NVIDIA H200"),
        (153_008_209_920, "NVIDIA GH200 144G HBM3e"),
        (200_000_000_000, "NVIDIA GPU"),
    ],
)
def test_of_devices_with_the_same_units_the_memory_tells(memory_bytes: int, expected: str) -> None:
    stats = {"compute_cap_major": 9, "compute_cap_minor": 0, "core_count": 132}
    told = device_type(PlaneKind.GPU, {**stats, "memory_size": memory_bytes})
    assert told == f"{expected} (Hopper)"


def test_tpus_name_themselves() -> None:
    assert device_type(PlaneKind.TPU, {"device_type_string": "TPU v4"}) == "TPU v4"
    assert device_type(PlaneKind.TPU, {}) == "TPU"


@pytest.mark.parametrize(
    ("recorded", "name"), [("v4 Lite", "v4i"), ("v5 Lite", "v5e"), ("v6 Lite", "v6e")]
)
def test_small_tpus_have_the_names_that_people_know(recorded: str, name: str) -> None:
    stats = {"device_type_string": f"TPU {recorded}"}
    assert device_type(PlaneKind.TPU, stats) == f"TPU {name}"
    assert device_type(PlaneKind.SPARSE_CORE, stats) == f"TPU {name} SparseCore"


def test_devices_of_a_host() -> None:
    data = space(
        host(line("python", ("e", 0, 1))),
        gpu(0, stream(7, ("k", 0, 1))),
        gpu(1),
        plane("/device:TPU:0", stats={"device_type_string": "TPU v4"}),
    )
    found = devices(Host("h", decode(data)))
    assert [(one.name, one.has_events) for one in found] == [
        ("/device:GPU:0", True),
        ("/device:GPU:1", False),
        ("/device:TPU:0", False),
    ]
    assert found[0].capabilities["core_count"] == 108
