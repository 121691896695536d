"""Which threads beside the main one may run ops."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from stepscope.capture.recorders.torch import may_run_ops, others_may_run_ops
from stepscope.capture.runtime.ticker import Ticker


@contextmanager
def running(target: Callable[..., Any], *arguments: Any, name: str) -> Iterator[None]:
    thread = threading.Thread(target=target, args=arguments, name=name, daemon=True)
    thread.start()
    yield


def serve(requests: queue.Queue[int], began: threading.Event) -> None:
    began.set()
    requests.get()


def test_a_thread_in_the_programs_code_may() -> None:
    requests: queue.Queue[int] = queue.Queue()
    began = threading.Event()
    with running(serve, requests, began, name="model-worker"):
        began.wait(10)
        assert "model-worker" in others_may_run_ops()
        requests.put(1)


def test_threads_of_a_pool_may_whatever_they_do_now() -> None:
    with ThreadPoolExecutor(1, thread_name_prefix="pool") as pool:
        pool.submit(int).result()
        assert any(one.startswith("pool") for one in others_may_run_ops())


def test_a_librarys_thread_and_our_own_do_not() -> None:
    """A queue's feeder, and a sampler of ours."""
    requests: queue.Queue[int] = queue.Queue()
    with running(requests.get, name="a library's"):
        sampler = Ticker("test", 1000, lambda _now, _late: None)
        sampler.start()
        found = others_may_run_ops()
        sampler.stop()
        requests.put(1)
    assert "a library's" not in found
    assert "stepscope-test" not in found
    assert "MainThread" not in found


def test_a_notebooks_loop_does_not() -> None:
    """Its kernel has an event loop on a thread of its own, whatever the program does."""

    def chain(*files: str) -> list[Any]:
        codes = [SimpleNamespace(co_filename=file, co_name="f") for file in files]
        return [SimpleNamespace(f_code=code) for code in codes]

    library = "/venv/lib/python3.11/site-packages"
    loop = "/usr/lib/python3.11/asyncio/base_events.py"
    served = chain(loop, f"{library}/uvicorn/server.py")
    notebook = chain(loop, f"{library}/ipykernel/iostream.py")
    assert may_run_ops({1: served, 2: notebook}) == [1]
