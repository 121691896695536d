"""Where a recording goes: ``<logdir>/plugins/profile/<run>/<host>_<pid>[_rank<r>].xplane.pb``."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from stepscope.errors import CaptureError
from stepscope.urls import file_system, is_url

SUFFIX: Final = ".xplane.pb"
_SPARE_PREFIX: Final = "stepscope-"
# How launchers tell a process its number among all, in the order they are asked.
_RANKS: Final = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JAX_PROCESS_ID")


def run_name(seconds: float | None = None) -> str:
    """The name of a run that begins now: local time, as TensorBoard orders runs by it."""
    return time.strftime("%Y_%m_%d_%H_%M_%S", time.localtime(seconds))


def rank(environment: Mapping[str, str] | None = None) -> int | None:
    """This process's number in a job of several, from what its launcher set; None if alone."""
    source = rank_source(environment)
    return None if source is None else source[1]


def rank_source(environment: Mapping[str, str] | None = None) -> tuple[str, int] | None:
    """The variable that a launcher set, and the rank in it; None for a process on its own.

    Child processes inherit the variable, so a process with the same source as its parent is the
    parent's child and not a rank of the job.
    """
    found = os.environ if environment is None else environment
    for name in _RANKS:
        if found.get(name, "").isdecimal():
            return name, int(found[name])
    try:
        index = json.loads(found.get("TF_CONFIG", ""))["task"]["index"]
        return "TF_CONFIG", int(index)
    except (ValueError, KeyError, TypeError):
        return None


def host_name() -> str:
    """This machine's name, safe in a file name."""
    return re.sub(r"[^\w.-]", "_", socket.gethostname()) or "host"


def file_stem() -> str:
    """Name of this process's file: two processes never share one."""
    number = rank()
    return f"{host_name()}_{os.getpid()}" + ("" if number is None else f"_rank{number}")


def run_folder(logdir: str, run: str) -> str:
    """The folder of a run in a log directory."""
    return f"{logdir.rstrip('/')}/plugins/profile/{run}"


def create(folder: Path, stem: str) -> Path:
    """A new, empty file of this process in a run's folder; never one that exists.

    Raises:
        OSError: The folder or the file cannot be made.
    """
    nth = 1
    while True:
        # A second recording within the same second is a separate run.
        place = folder if nth == 1 else folder.with_name(f"{folder.name}_{nth}")
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{stem}{SUFFIX}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            nth += 1
        else:
            return path


def create_spare(run: str, stem: str) -> Path:
    """A new, empty file in the system's temporary folder, for a recording without another place.

    Raises:
        OSError: There is no room for it either; nothing is left behind.
    """
    top = Path(tempfile.mkdtemp(prefix=_SPARE_PREFIX))
    try:
        return create(Path(run_folder(str(top), run)), stem)
    except OSError:
        shutil.rmtree(top, ignore_errors=True)
        raise


def remove(path: Path) -> None:
    """Remove a recording's file, and the folders made for it if they are empty."""
    top = path.parents[3]
    is_spare = top.name.startswith(_SPARE_PREFIX) and str(top.parent) == tempfile.gettempdir()
    with contextlib.suppress(OSError):
        path.unlink()
        for folder in path.parents[: 4 if is_spare else 1]:
            folder.rmdir()


def upload(path: Path, url: str) -> None:
    """Copy a file to a URL; raises what the file system raises, ``CaptureError`` without one."""
    system, place = file_system(url, CaptureError)
    parent = place.rsplit("/", 1)[0]
    system.makedirs(parent, exist_ok=True)
    system.put_file(str(path), place)
    size = int(system.info(place).get("size") or 0)
    if size != path.stat().st_size:
        raise OSError(f"{size} of {path.stat().st_size} bytes arrived")


def exists(url: str) -> bool:
    """Whether a URL names a file; raises what the file system raises."""
    system, place = file_system(url, CaptureError)
    return bool(system.exists(place))


def read_bytes(path: str) -> bytes:
    """The bytes of a recording, local or remote."""
    if not is_url(path):
        return Path(path).read_bytes()
    system, place = file_system(path, CaptureError)
    return cast(bytes, system.cat_file(place))
