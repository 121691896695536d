"""Archives that come out the same each time, with a list of what is bundled in them.

Two builds of one commit give the same bytes: members are sorted, times are ``SOURCE_DATE_EPOCH``
(1980 without it, the first that zip files know), owners are nobody. A wheel also gets an SBOM
(CycloneDX, PEP 770) that names the npm packages inside the pages, which pip cannot see.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any

import web_files

_FIRST_OF_ZIP = 315_532_800  # 1980-01-01
_MODE = 0o644


def epoch() -> int:
    """The time that stands on every member, in seconds since 1970."""
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", _FIRST_OF_ZIP)), _FIRST_OF_ZIP)


def finish_wheel(wheel: Path) -> None:
    """Rewrite a wheel with its SBOM, its members sorted and without their times."""
    with zipfile.ZipFile(wheel) as archive:
        members = {
            info.filename: (archive.read(info), info.external_attr >> 16)
            for info in archive.infolist()
            if not info.is_dir()
        }
    record = next(name for name in members if name.endswith(".dist-info/RECORD"))
    folder = record.rpartition("/")[0]
    name, version = folder.removesuffix(".dist-info").split("-")
    members[f"{folder}/sboms/{name}.cdx.json"] = (sbom(version), _MODE)
    del members[record]
    lines = [
        f"{path},sha256={_digest(data)},{len(data)}" for path, (data, _) in sorted(members.items())
    ]
    members[record] = ("\n".join([*lines, f"{record},,"]).encode() + b"\n", _MODE)
    when = time.gmtime(epoch())[:6]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # By convention what describes a wheel comes last, and its RECORD after that.
        for path in sorted(
            members, key=lambda path: (path.startswith(folder), path == record, path)
        ):
            data, mode = members[path]
            info = zipfile.ZipInfo(path, when)
            info.external_attr = (mode or _MODE) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    wheel.write_bytes(out.getvalue())


def finish_sdist(sdist: Path) -> None:
    """Rewrite a source archive, its members sorted and without times and owners."""
    plain = io.BytesIO()
    with (
        tarfile.open(sdist) as before,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda member: member.name):
            content = before.extractfile(member) if member.isfile() else None
            member.mtime, member.uid, member.gid = epoch(), 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else _MODE
            member.pax_headers = {}
            after.addfile(member, content)
    sdist.write_bytes(gzip.compress(plain.getvalue(), 9, mtime=epoch()))


def sbom(version: str) -> bytes:
    """What is bundled in the pages, as CycloneDX."""
    lock = json.loads((web_files.WEB / "package-lock.json").read_text("utf-8"))
    bundled = [
        _component(path.rpartition("node_modules/")[2], one)
        for path, one in sorted(lock["packages"].items())
        if path and not one.get("dev") and not one.get("devOptional") and not one.get("optional")
    ]
    body = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "stepscope",
                "version": version,
                "purl": f"pkg:pypi/stepscope@{version}",
            }
        },
        "components": bundled,
    }
    return json.dumps(body, indent=1, sort_keys=True).encode() + b"\n"


def _component(name: str, locked: dict[str, Any]) -> dict[str, Any]:
    version = locked["version"]
    found: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": version,
        "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
    }
    if "license" in locked:
        found["licenses"] = [{"license": {"id": locked["license"]}}]
    algorithm, _, digest = str(locked.get("integrity", "")).partition("-")
    if algorithm == "sha512":
        found["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}]
    return found


def _digest(data: bytes) -> str:
    """As RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
