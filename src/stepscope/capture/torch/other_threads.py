"""Threads of the program beside the one that starts a recording: they may run ops, too.

A server's model often runs on a thread of its own, made before the recording, and requests come in
on others. PyTorch records either the ops of all threads, or those of one with its allocations.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Final

from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.thread_frames import is_ours, stacks

# Where threads of a pool, and loops of a server's, wait for what the program gives them.
_POOLS: Final = (
    "concurrent/futures/thread.py",
    "asyncio/base_events.py",
    "socketserver.py",
    "multiprocessing/pool.py",
    "anyio/_backends/_asyncio.py",
)
# Whose loops and pools run nothing of the program's: a notebook's, a debugger's, those of logs.
_ASIDE: Final = ("/ipykernel/", "/debugpy/", "/wandb/", "/mlflow/", "/comet_ml/", "/neptune/")


def others_may_run_ops() -> tuple[str, ...]:
    """Names of the other threads whose stacks have code of the program's, or are a pool's."""
    here = {threading.get_ident(), threading.main_thread().ident}
    named = {one.ident: one.name for one in threading.enumerate()}
    beside = {thread: chain for thread, chain in stacks().items() if thread not in here}
    return tuple(named.get(thread, f"thread {thread}") for thread in may_run_ops(beside))


def may_run_ops(chains: Mapping[int, Sequence[FrameType]]) -> list[int]:
    """Those of these threads, by their stacks; threads of Stepscope's and of libraries are none."""
    names = FrameNames()
    found = []
    for thread, chain in chains.items():
        if any(is_ours(frame) for frame in chain):
            continue
        files = [frame.f_code.co_filename.replace("\\", "/") for frame in chain]
        if any(aside in file for file in files for aside in _ASIDE):
            continue
        is_pool = any(file.endswith(_POOLS) for file in files)
        if is_pool or any(names.is_own(frame.f_code) for frame in chain):
            found.append(thread)
    return found
