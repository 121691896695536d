"""Fragments become a section of the changelog; archives say what is bundled."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import stepscope

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "build_backend"))

import archives  # noqa: E402  (the build backend is not a package)
import release_notes  # noqa: E402


def _repository(folder: Path, **files: str) -> Path:
    (folder / "changes").mkdir()
    (folder / "changes" / "README.md").write_text("how")
    for name, text in files.items():
        (folder / "changes" / f"{name.replace('__', '.')}.md").write_text(text)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n{release_notes.MARK}\n## 0.1.0\n")
    return folder


def test_numbers_come_first_and_fragments_are_used_up(tmp_path: Path) -> None:
    root = _repository(tmp_path, report__added="A report.", idle__numbers="Idle time\nis lower.")
    release_notes.release(root, "0.2.0", "2026-12-01")
    text = (root / "CHANGELOG.md").read_text()
    order = [
        "## 0.2.0 (2026-12-01)",
        "### Numbers changed",
        "- Idle time is lower.",
        "### Added",
        "- A report.",
        "## 0.1.0",
    ]
    places = [text.index(one) for one in order]
    assert places == sorted(places)
    assert [path.name for path in (root / "changes").iterdir()] == ["README.md"]


@pytest.mark.parametrize("name", ["report", "report__news"])
def test_a_fragment_of_no_kind_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="KIND"):
        release_notes.fragments(_repository(tmp_path, **{name: "text"}))


def test_our_own_fragments_are_of_a_kind() -> None:
    release_notes.fragments(ROOT)


def test_the_current_version_has_its_entry() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    _, mark, releases = text.partition(release_notes.MARK)
    assert mark
    assert f"\n## {stepscope.__version__}" in releases


def test_the_list_of_what_is_bundled_has_the_packages_of_the_pages_alone() -> None:
    listed = json.loads(archives.sbom("1.2.3"))
    names = {one["name"] for one in listed["components"]}
    wanted = json.loads((ROOT / "web" / "package.json").read_text("utf-8"))
    assert set(wanted["dependencies"]) <= names
    assert not names & set(wanted["devDependencies"])
    third_party = (ROOT / "THIRD_PARTY.md").read_text("utf-8")
    assert all(f"## {name}\n" in third_party for name in names)
    assert all(one["purl"].startswith("pkg:npm/") and one["hashes"] for one in listed["components"])
