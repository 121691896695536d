"""Disk space and permissions where recordings go."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path

from stepscope.doctor.check import Check
from stepscope.doctor.system import System
from stepscope.quantities import size_words
from stepscope.urls import is_url

_NEEDED_BYTES = 1 << 30
_COMFORTABLE_BYTES = 5 << 30
# PyTorch's events pass through files here; Docker's default is 64 MiB.
_SHARED_MEMORY = "/dev/shm"
_SHARED_BYTES = 256 << 20
_DRIVERS = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3fs", "az": "adlfs", "abfs": "adlfs"}


def disk(system: System, logdir: str) -> Iterator[Check]:
    """The log directory, the temporary folder, and shared memory."""
    if is_url(logdir):
        yield _url(system, logdir)
    else:
        yield _folder(system, str(Path(logdir).expanduser().absolute()), "log-directory")
    temporary = system.environment.get("TMPDIR") or "/tmp"
    if system.exists(temporary):
        yield _folder(system, temporary, "temporary-folder")
    free = system.free_bytes(_SHARED_MEMORY)
    if system.version("torch") and free is not None and free < _SHARED_BYTES:
        yield Check(
            "shared-memory",
            "warning",
            f"{_SHARED_MEMORY} has {size_words(free)} free.",
            "PyTorch's events and the batches of loader workers pass through it; with too "
            "little, recordings use the disk, which is slower.",
            "docker run --shm-size=2g …; in Kubernetes mount an emptyDir with medium Memory there.",
        )


def _folder(system: System, path: str, what: str) -> Check:
    there = path
    while not system.exists(there) and there != posixpath.dirname(there):
        there = posixpath.dirname(there)
    if not system.may_use(there):
        return Check(
            what,
            "problem",
            f"This user cannot write to {there}.",
            "A recording would be kept in the temporary folder instead.",
            f"chmod u+w {there}, or use another folder.",
        )
    free = system.free_bytes(there)
    if free is None:
        return Check(what, "warning", f"The free space at {there} is not known.")
    said = f"{path} is writable; {size_words(free)} free."
    if free >= _COMFORTABLE_BYTES:
        return Check(what, "ok", said)
    return Check(
        what,
        "problem" if free < _NEEDED_BYTES else "warning",
        said,
        "A million events take about 30 MB; a long GPU recording has hundreds of millions.",
        "Free some space, or use another folder.",
    )


def _url(system: System, logdir: str) -> Check:
    scheme = logdir.partition("://")[0]
    driver = _DRIVERS.get(scheme)
    lacking = [name for name in ("fsspec", driver) if name and system.version(name) is None]
    if lacking:
        return Check(
            "log-directory",
            "problem",
            f"Writing to {scheme}:// needs {' and '.join(lacking)}.",
            "A recording would be kept in the temporary folder instead.",
            f"pip install {' '.join(lacking)}",
        )
    return Check("log-directory", "ok", f"fsspec can write to {scheme}://.")
