"""Calls of the operating system, known by their names."""

from __future__ import annotations

import pytest

from stepscope.tables.core.system_calls import is_system_call, is_system_wait


@pytest.mark.parametrize(
    "name",
    [
        "ioctl",
        "mmap64",
        "mprotect",
        "fopen64",
        "openat64",
        "fputs_unlocked",
        "fseek",
        "putc",
        "dup2",
    ],
)
def test_these_work(name: str) -> None:
    assert is_system_call(name) and not is_system_wait(name)


@pytest.mark.parametrize("name", ["poll", "pthread_mutex_lock", "pthread_rwlock_rdlock", "waitpid"])
def test_these_wait(name: str) -> None:
    assert is_system_wait(name) and not is_system_call(name)


@pytest.mark.parametrize("name", ["sigmoid", "stack", "map", "cudaMalloc", "dup_rows", "sort"])
def test_ops_are_none(name: str) -> None:
    assert not is_system_call(name) and not is_system_wait(name)
