"""Names of calls that wait, by what ends them, and names that resemble them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.tables.core.waits import (
    _BY_NAME,
    Wait,
    is_system_call,
    is_system_wait,
    is_wait_for_device,
    wait_of,
)

WAITS = {
    Wait.DEVICE: (
        "cudaStreamSynchronize",
        "cuStreamSynchronize",
        "hipDeviceSynchronize",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cuMemcpyHtoD_v2",
        "cudaMemcpy2D",
        "cudaMemcpyFromSymbol",
        "hipMemcpyWithStream",
        "hipMemcpyDtoH",
        "CommonPjRtBuffer::Await",
        "$api.py:2901 block_until_ready",
        "$array.py:615 _value",
        "$/site-packages/jax/_src/array.py:288 ArrayImpl.__float__",
    ),
    Wait.RUNTIME: (
        "ThunkExecutor::Execute (wait for completion)",
        "BufferSequencingEvent::Execute",
        "SlinkyThreadPool::Await",
        "Wait for usage holds",
        "std::condition_variable::wait",
        "_c10d_functional/wait_tensor:wait_tensor",
    ),
    Wait.PYTHON: (
        "$queue.py:154 get",
        "$/usr/lib/python3.11/queue.py:154 Queue.get",
        "$threading.py:637 wait",
        "$threading.py:1053 _wait_for_tstate_lock",
        "$selectors.py:402 select",
        "$futures/_base.py:428 Future.result",
        "$multiprocessing/connection.py:243 _ConnectionBase.poll",
        "$time sleep",
        "$<built-in function sleep>",
        "$<built-in method acquire of _thread.lock object at 0x7f0>",
    ),
    Wait.SYSTEM: ("poll", "futex", "pthread_cond_timedwait", "sem_clockwait", "nanosleep"),
}
COMPUTES = (
    "cudaMemcpyAsync",
    "hipMemcpyDtoHAsync",
    "cudaStreamWaitEvent",
    "BufferSequencingEvent::ExecuteOrAddToFutureTasks",
    "aten/select:select",
    "autograd/All2All_Pooled_WaitBackward:All2All_Pooled_WaitBackward",
    "SynchronizedBatchNorm",
    "$train.py:12 get",
    "$posixpath.py:71 join",
    "$queue.py:40 Queue.__init__",
    "$cache.py:9 Cache.result",
)


@pytest.mark.parametrize(
    ("name", "wait"), [(name, wait) for wait, listed in WAITS.items() for name in listed]
)
def test_waits_by_what_ends_them(name: str, wait: Wait) -> None:
    assert wait_of(name) is wait


@pytest.mark.parametrize("name", COMPUTES)
def test_names_that_resemble_waits(name: str) -> None:
    assert wait_of(name) is None
    assert not is_wait_for_device(name)


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
def test_calls_of_the_system_that_work(name: str) -> None:
    assert is_system_call(name) and not is_system_wait(name)


@pytest.mark.parametrize("name", ["poll", "pthread_mutex_lock", "pthread_rwlock_rdlock", "waitpid"])
def test_calls_of_the_system_that_wait(name: str) -> None:
    assert is_system_wait(name) and not is_system_call(name)


@pytest.mark.parametrize("name", ["sigmoid", "stack", "map", "cudaMalloc", "dup_rows", "sort"])
def test_ops_are_no_calls_of_the_system(name: str) -> None:
    assert not is_system_call(name) and not is_system_wait(name)


PIECES = [name[begin : begin + 9] for names in WAITS.values() for name in names for begin in (0, 5)]


@given(st.lists(st.sampled_from([*PIECES, "::", "Async", "$", " ", "x", "WAIT"]), max_size=5))
def test_words_rule_out_only_names_that_no_pattern_matches(pieces: list[str]) -> None:
    name = "".join(pieces)
    if not name.startswith("$"):
        matched = [wait for wait, pattern in _BY_NAME.items() if pattern.search(name)]
        assert wait_of(name) == (matched[0] if matched else None)
