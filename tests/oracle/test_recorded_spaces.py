"""Every recorded XSpace decodes, and encodes to an equal message by google.protobuf's judgement."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from stepscope.errors import DecodeError
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from tests.oracle.protobuf_space import canonical

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "xplane"
FILES = sorted(path for path in FOLDER.rglob("*.xplane.pb*") if path.is_file())

if not FILES:
    pytest.skip("no recorded profiles at ../shared/data/xplane", allow_module_level=True)


def read(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_nothing_is_lost(path: Path) -> None:
    data = read(path)
    if "malformed" in path.parts:
        with pytest.raises(DecodeError, match="readable XSpace") as caught:
            decode(data, file=path.name)
        assert "EF BF BD" in caught.value.reason
        return
    found = decode(data)
    assert found.damage is None
    assert len(found.events) > 0
    assert canonical(encode(found)) == canonical(data)


def test_a_recorded_profile_cut_anywhere_shows_what_it_has() -> None:
    path = next(path for path in FILES if "tf-cpu-keras" in path.parts)
    data, whole = read(path), decode(read(path))
    for cut in range(1000, len(data), len(data) // 23):
        found = decode(data[:cut])
        assert found.damage is not None
        count = len(found.events)
        assert found.events.start_ps.tolist() == whole.events.start_ps[:count].tolist()
        assert f"{found.damage.path}".startswith("XSpace")
