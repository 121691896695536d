"""``synth://``: the recordings of a simulated job, thousands of different files without a disk.

``synth://hosts=10000,fault=gpu_throttled,size=0.4,seed=1/`` lists a PyTorch trace for each rank of
a fully sharded job. A file is written when it is read: kernels and collectives as the simulation
(``bench.pods.job``) has them, on the rank's own clock. Numbers have a fixed width, so that the list
knows the sizes of files that nobody has written yet.

Importing this module is what makes fsspec know the name; ``summary_of`` does so in any process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import fsspec
import numpy as np
from fsspec.spec import AbstractFileSystem
from numpy.typing import NDArray

from bench.pods.faults import FAULTS, Truth
from bench.pods.job import Layout, Simulation, no_fault
from stepscope.session import pod
from stepscope.store import Source

F64 = NDArray[np.float64]
_SUFFIX: Final = ".pt.trace.json"
_SETTINGS: Final = {"hosts": "100", "fault": "", "size": "0.4", "seed": "1", "steps": "5"}
_OFFSET_MS: Final = 50.0
_KINDS: Final = {"all_gather": "AllGather", "reduce_scatter": "ReduceScatter_Sum_bf16"}
_OTHER: Final = '{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%%20.3f,"dur":%%14.3f%s}'
_KERNEL: Final = ',"args":{"device":0,"stream":7,"correlation":%d}'
_MEETING: Final = (
    ',"args":{"device":0,"stream":7,"correlation":%d,"Collective name":"%s","Process Group Name":'
    '"0","Process Group Description":"default_pg","Process Group Ranks":"[0, 1, ...]",'
    '"Group size":%d,"Seq":%d}'
)


class SyntheticJob:
    """One job, simulated once a process.

    Args:
        settings: As in the URL: "hosts=10,fault=slow_rack,size=0.4,seed=1,steps=5".

    Attributes:
        truth: Whom the fault has; None without one.
        step_ms: Mean step of the simulation.
    """

    def __init__(self, settings: str) -> None:
        chosen = dict(one.split("=", 1) for one in settings.split(",") if one)
        if unknown := chosen.keys() - _SETTINGS.keys():
            raise FileNotFoundError(f"synth:// has no setting {', '.join(sorted(unknown))}")
        chosen = {**_SETTINGS, **chosen}
        seed, steps = int(chosen["seed"]), int(chosen["steps"])
        self.layout = Layout(
            1, int(chosen["hosts"]), 1, devices=1, layers=2, batches=2, steps=steps
        )
        fault = no_fault(self.layout)
        self.truth: Truth | None = None
        if name := chosen["fault"]:
            random = np.random.default_rng(seed)
            fault, self.truth = FAULTS[name](self.layout, float(chosen["size"]), random)
        self._run = Simulation(self.layout, fault, seed).simulate()
        self.step_ms = self._run.step_ms
        random = np.random.default_rng(seed + 1)
        self._offset_ms = random.uniform(0, _OFFSET_MS, self.layout.hosts)
        self._begin = np.stack(self._run.begin).reshape(steps + 1, -1)
        self._parts = {
            part: self._run.parts[part].reshape(steps, -1) for part in ("compute", "memory")
        }
        self._start = np.stack([one.start.ravel() for one in self._run.events])
        self._end = np.stack([one.end.ravel() for one in self._run.events])
        self._step = np.asarray([one.step for one in self._run.events])
        self._template = self._events()
        self.size_bytes = len(self.trace(0))

    def _events(self) -> str:
        """A trace with places for the times of its events, in the order of ``_times``."""
        events = [
            _OTHER % ("user_annotation", f"ProfilerStep#{step}", 1, 1, "")
            for step in range(self.layout.steps)
        ]
        for place, event in enumerate(self._run.events):
            for number, name in enumerate(("gemm", "layer_norm")):
                tail = _KERNEL % (3 * place + number)
                events.append(_OTHER % ("kernel", name, 0, 7, tail))
            said = event.kind, self.layout.hosts, place
            tail = _MEETING % (3 * place + 2, *said)
            name = f"ncclDevKernel_{_KINDS[event.kind]}"
            events.append(_OTHER % ("kernel", name, 0, 7, tail))
        head = '{"schemaVersion":1,"distributedInfo":{"rank":%%6d,"world_size":%d},"traceEvents":['
        return head % self.layout.hosts + ",\n".join(events) + "]}"

    def trace(self, rank: int) -> bytes:
        """The recording of one rank; all have the same length."""
        times = self._times(rank) * 1e3
        times[:, 0] += 1e9 + self._offset_ms[rank] * 1e3
        return (self._template % (rank, *times.ravel().tolist())).encode()

    def _times(self, rank: int) -> F64:
        """Begin and length of each event, ms."""
        begin, start, end = self._begin[:, rank], self._start[:, rank], self._end[:, rank]
        before = np.append(begin[0], end[:-1])
        stretch = start - before
        own = np.bincount(self._step, stretch, self.layout.steps)
        # A stretch is kernels in the parts that the step has of them; the rest of it is gaps.
        parts = [self._parts[part][:, rank] / own for part in ("compute", "memory")]
        length = [stretch * part[self._step] for part in parts]
        events = np.empty((len(start), 3, 2))
        events[:, 0] = np.stack([start - length[1] - length[0], length[0]], axis=1)
        events[:, 1] = np.stack([start - length[1], length[1]], axis=1)
        events[:, 2] = np.stack([start, end - start], axis=1)
        steps = np.stack([begin[:-1], np.diff(begin)], axis=1)
        return np.concatenate([steps, events.reshape(-1, 2)])


@lru_cache(maxsize=2)
def job(settings: str) -> SyntheticJob:
    """The job of these settings."""
    return SyntheticJob(settings)


class SyntheticFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of simulated jobs, read only."""

    protocol = "synth"
    cachable = False

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """A job's files, or the one file."""
        settings, _, name = self._strip_protocol(path).strip("/").partition("/")
        found = job(settings)
        ranks = range(found.layout.hosts) if not name else [_rank(name, found)]
        files = [
            {
                "name": f"{settings}/rank{rank:05d}{_SUFFIX}",
                "size": found.size_bytes,
                "type": "file",
                "etag": f"{settings}/{rank}",
            }
            for rank in ranks
        ]
        return files if detail else [one["name"] for one in files]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Of a file, or of a job as a folder."""
        inside = self._strip_protocol(path).strip("/")
        if "/" not in inside:
            return {"name": inside, "size": 0, "type": "directory"}
        (found,) = self.ls(inside)
        return dict(found)

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        """Bytes of a file."""
        settings, _, name = self._strip_protocol(path).strip("/").partition("/")
        found = job(settings)
        return found.trace(_rank(name, found))[start:end]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        from io import BytesIO

        if mode != "rb":
            raise OSError("synth:// cannot be written")
        return BytesIO(self.cat_file(path))


def _rank(name: str, found: SyntheticJob) -> int:
    text = name.removeprefix("rank").removesuffix(_SUFFIX)
    if not text.isdigit() or int(text) >= found.layout.hosts:
        raise FileNotFoundError(name)
    return int(text)


def summary_of(source: Source) -> bytes:
    """As ``stepscope.session.pod.summary_of``, in a process that knows ``synth://``."""
    return pod.summary_of(source)


fsspec.register_implementation("synth", SyntheticFiles, clobber=True)
