"""Launch details in the four dialects that recorders write."""

import pytest

from stepscope.tables.device.kernel_launch import (
    UNKNOWN_LAUNCH,
    Dim,
    KernelLaunch,
    parse_kernel_details,
)


def test_cupti() -> None:
    text = "regs:32 static_shared:512 dynamic_shared:16384 grid:2,1,1 block:32,4,1 occ_pct:37.5"
    assert parse_kernel_details(text) == KernelLaunch(
        registers=32,
        static_shared_bytes=512,
        dynamic_shared_bytes=16384,
        shared_bytes=16896,
        block=Dim(32, 4, 1),
        grid=Dim(2, 1, 1),
        occupancy_frac=0.375,
    )


def test_cupti_before_2021() -> None:
    launch = parse_kernel_details("regs:38 shm:96 grid:160,1,1 block:1024,1,1")
    assert (launch.registers, launch.shared_bytes, launch.static_shared_bytes) == (38, 96, None)
    assert launch.occupancy_frac is None


def test_rocm_says_nothing_of_registers_and_writes_no_occupancy_as_zero() -> None:
    launch = parse_kernel_details(
        " grid:4,64,1 block:256,1,1 private_mem:16 group_mem:8704 occ_pct:0"
    )
    assert (launch.registers, launch.shared_bytes, launch.private_bytes) == (None, 8704, 16)
    assert (launch.grid, launch.occupancy_frac) == (Dim(4, 64, 1), None)


def test_uninitialised_function_records_are_not_believed() -> None:
    launch = parse_kernel_details(
        "regs:2191500840 static_shared:32462 dynamic_shared:0 grid:9,1,1 block:256,1,1 occ_pct:0"
    )
    assert (launch.registers, launch.static_shared_bytes, launch.shared_bytes) == (None, None, None)
    assert (launch.grid, launch.block) == (Dim(9, 1, 1), Dim(256, 1, 1))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "regs: grid:a,b block:1,2,3,4 occ_pct:x",
        "::",
        "grid:-1,2 block:1,,2",
        "grid:0 block:" + "9" * 5000,
    ],
)
def test_nonsense_is_nothing_known(text: str) -> None:
    assert parse_kernel_details(text) == UNKNOWN_LAUNCH


def test_missing_dimensions_are_one() -> None:
    assert parse_kernel_details("grid:7 block:3,2").grid == Dim(7, 1, 1)
    assert str(parse_kernel_details("grid:7 block:3,2").block) == "3,2,1"


def test_words_may_be_split_by_newlines() -> None:
    assert parse_kernel_details("regs:8\nshared:1\ngrid:1,2,3").grid == Dim(1, 2, 3)


def test_a_long_word_is_read_once() -> None:
    """Linear: what was quadratic took 27 s for a fifth of this, and half an hour for it."""
    word = "a" * 400_000
    assert parse_kernel_details(word) == UNKNOWN_LAUNCH
    assert parse_kernel_details(f"{word} regs:32").registers == 32
