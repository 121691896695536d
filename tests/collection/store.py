"""The collection as one archive: fetched, checked against the manifest, packed.

python -m tests.collection.store fetch URL    # an https address or the path of a .tar archive
python -m tests.collection.store check        # every file of the collection against the manifest
python -m tests.collection.store pack FILE    # the archive and the manifest of a new release

``manifest.txt`` holds the SHA-256 of each file, in the format of ``sha256sum``. Nothing enters the
folder before its hash is checked.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from tests.collection.labels import HERE, SAMPLE, collection

MANIFEST: Final = HERE / "manifest.txt"
# Ten times the largest recording: a member beyond it is not read.
MAX_MEMBER_BYTES: Final = 32_000_000


def manifest() -> dict[str, str]:
    """Return the SHA-256 of each file of the collection, by its path below the folder."""
    lines = MANIFEST.read_text("utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def target() -> Path:
    """Return the folder that ``fetch`` fills: ``$STEPSCOPE_COLLECTION`` or one in the checkout."""
    given = os.environ.get("STEPSCOPE_COLLECTION", "")
    return Path(given) if given else HERE.parents[1] / ".stepscope" / "recordings"


def fetch(address: str) -> int:
    """Fill the folder from an archive; return the number of files written.

    Raises:
        SystemExit: A file has another hash than the manifest's, or files are missing.
    """
    expected, folder = manifest(), target()
    missing, written = set(expected), 0
    with _opened(address) as stream, tarfile.open(fileobj=stream, mode="r|*") as archive:
        for member in archive:
            name = member.name.removeprefix("./")
            if name not in missing or not member.isfile():
                continue
            if member.size > MAX_MEMBER_BYTES:
                raise SystemExit(f"{name} has {member.size:,} bytes: more than any recording")
            content = archive.extractfile(member)
            data = content.read() if content else b""
            if hashlib.sha256(data).hexdigest() != expected[name]:
                raise SystemExit(f"{name} is not the file of the manifest (its SHA-256 differs)")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.part")
            temporary.write_bytes(data)
            temporary.replace(path)
            missing.discard(name)
            written += 1
    if missing:
        raise SystemExit(f"{len(missing)} files are not in {address}, among them {min(missing)}")
    return written


def faults(folder: Path) -> Iterator[str]:
    """Yield one line for each file that is missing, altered or not in the manifest."""
    expected = manifest()
    present = {name: path for name, path in _files(folder)}
    for name in sorted(expected.keys() | present.keys()):
        if name not in present:
            yield f"{name}: missing"
        elif name not in expected:
            yield f"{name}: not in the manifest"
        elif hashlib.sha256(present[name].read_bytes()).hexdigest() != expected[name]:
            yield f"{name}: its SHA-256 differs from the manifest's"


def pack(archive: Path) -> int:
    """Write the collection, new recordings of the tree included, and its manifest.

    Returns:
        The number of files packed.
    """
    folders = [folder for folder in (SAMPLE, collection()) if folder is not None]
    files: dict[str, list[Path]] = {}
    for folder in folders:
        for name, path in _files(folder):
            files.setdefault(name, []).append(path)
    lines = []
    with tarfile.open(archive, "w") as made:
        for name in sorted(files):
            data = (
                _merged_label(files[name]) if len(files[name]) > 1 else files[name][0].read_bytes()
            )
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            made.addfile(entry, io.BytesIO(data))
            lines.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
    MANIFEST.write_text("".join(lines), "utf-8")
    return len(files)


def _merged_label(paths: list[Path]) -> bytes:
    """Return the collection's file, a label with the recordings that only the tree has as well."""
    if paths[-1].name != "label.json":
        return paths[-1].read_bytes()
    labels = [json.loads(path.read_text("utf-8")) for path in paths]
    known = {name: facts for label in labels for name, facts in label["recordings"].items()}
    label = labels[-1] | {"recordings": dict(sorted(known.items()))}
    return (json.dumps(label, indent=1, ensure_ascii=False) + "\n").encode()


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path


def _opened(address: str) -> IO[bytes]:
    if "://" in address:
        if not address.startswith("https://"):
            raise SystemExit(f"{address}: only https addresses and paths of files are fetched")
        response: IO[bytes] = urllib.request.urlopen(address, timeout=60)
        return response
    return Path(address).open("rb")


def main() -> int:
    """Run one of the three commands."""
    parser = argparse.ArgumentParser(prog="tests.collection.store", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("fetch", help="fill the folder, checking every hash").add_argument("url")
    commands.add_parser("check", help="compare the folder with the manifest")
    commands.add_parser("pack", help="write the archive and its manifest").add_argument("file")
    given = parser.parse_args()
    if given.command == "fetch":
        try:
            print(f"{fetch(given.url)} files in {target()}, every hash as in the manifest")
        except (OSError, tarfile.TarError) as error:
            raise SystemExit(f"{given.url}: {error}; fetch it again") from error
        return 0
    if given.command == "pack":
        print(f"{pack(Path(given.file))} files in {given.file} and in {MANIFEST.name}")
        return 0
    folder = collection()
    if folder is None:
        print("the collection is not on this machine", file=sys.stderr)
        return 1
    lines = list(faults(folder))
    print("\n".join(lines) or f"{folder}: every file as in the manifest")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
