"""The files that are measured: one real recording, and the same repeated in time."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import stepscope

ROOT = Path(__file__).resolve().parent.parent
TWO_MILLION = ROOT.parent / "shared/data/xplane/tf-cpu-custom-loop-2M/vm.xplane.pb.gz"
# Of the package that is measured, which need not be that of this checkout.
SAMPLE = Path(stepscope.__file__).parent / "surfaces/sample/slow_input_cnn.xplane.pb.gz"
SAMPLE_TIMES = 100  # makes about as many events as the real one has
LARGE_TIMES = 4


@dataclass(frozen=True)
class Recordings:
    """A base recording; ``large`` is it ``LARGE_TIMES`` over, made when first asked for.

    Attributes:
        source: What they are, for the report.
    """

    source: str
    base: Path

    @property
    def large(self) -> Path:
        """The base repeated in time."""
        return repeated(self.base, LARGE_TIMES)


def prepare(folder: Path) -> Recordings:
    """The base recording, made once and kept in ``folder``.

    Without the project's collection of real profiles the bundled sample is repeated instead:
    then the numbers are comparable between the two programs, not with published ones.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if TWO_MILLION.is_file():
        source, base = "tf-cpu-custom-loop-2M", folder / "2M.xplane.pb"
        _once(base, lambda target: _unpack(TWO_MILLION, target))
    else:
        source, base = f"the sample, {SAMPLE_TIMES} times", folder / "sample.xplane.pb"
        print(f"{TWO_MILLION.name} is not here; measuring {source}", flush=True)
        unpacked = folder / "sample-once.xplane.pb"
        _once(unpacked, lambda target: _unpack(SAMPLE, target))
        _once(base, lambda target: _repeat(unpacked, target, SAMPLE_TIMES))
    return Recordings(source, base)


def repeated(base: Path, times: int) -> Path:
    """The recording ``times`` times, one after the other; made once."""
    if times == 1:
        return base
    target = base.with_name(f"{base.name.split('.')[0]}-x{times}.xplane.pb")
    _once(target, lambda unfinished: _repeat(base, unfinished, times))
    return target


def _once(path: Path, make: Callable[[Path], None]) -> None:
    """Make a file unless it is there; a file half made never takes its name."""
    if not path.exists():
        print(f"making {path.name} …", flush=True)
        unfinished = path.with_suffix(".unfinished")
        make(unfinished)
        unfinished.replace(path)


def _unpack(packed: Path, target: Path) -> None:
    with gzip.open(packed) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)


def _repeat(source: Path, target: Path, times: int) -> None:
    # In a process of its own: the memory it takes must not count for what is measured later.
    command = [sys.executable, "-m", "bench.repeat", str(source), str(target), str(times)]
    subprocess.run(command, check=True, cwd=ROOT)
