"""What is installed: the right files, with or without a compiler, with or without Node."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.architecture.tree import STATIC, copy_to
from tests.profiles import worked_example

pytestmark = pytest.mark.slow

SOURCES = (
    "src", "build_backend", "web/index.html", "web/src", "web/public", "web/package.json",
    "web/package-lock.json", "web/vite.config.mjs", "pyproject.toml", "setup.py", "MANIFEST.in",
    "README.md", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "dev.py", "docs",
)  # fmt: skip
LIMIT_WHEEL_BYTES = 3_000_000


def archive_of(root: Path, kind: str) -> bytes:
    return build(root, kind, STEPSCOPE_SKIP_WEB="1", CC="false", LDSHARED="false").read_bytes()


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    """Of the same files at different times and places; compiled ones are compared in CI."""
    trees = [copy_to(tmp_path / name, *SOURCES) for name in ("here", "there")]
    for path in trees[1].rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    assert archive_of(trees[0], kind) == archive_of(trees[1], kind)


def build(root: Path, kind: str, **env: str) -> Path:
    """Build one archive from ``root`` without network; the archive."""
    hook = f"import stepscope_build; print(stepscope_build.build_{kind}('dist'))"
    command = [sys.executable, "-c", hook]
    (root / "dist").mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(root / "build_backend"), **env}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return root / "dist" / done.stdout.splitlines()[-1]


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = copy_to(tmp_path_factory.mktemp("wheel"), *SOURCES)
    return build(root, "wheel", STEPSCOPE_SKIP_WEB="1")


def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = names_in(wheel)
    assert "stepscope/py.typed" in names
    assert "stepscope/kernels/_kernels.txt" in names
    strays = [
        name for name in names if not name.startswith("stepscope/") and ".dist-info/" not in name
    ]
    assert strays == []
    assert [
        name for name in names if name.endswith((".c", ".html", ".pyc")) and "static" not in name
    ] == []
    assert wheel.stat().st_size < LIMIT_WHEEL_BYTES


def test_it_holds_no_tool_of_developers(wheel: Path) -> None:
    assert [name for name in names_in(wheel) if re.search(r"\b(generate|lint)/", name)] == []


def test_it_holds_the_web_files(wheel: Path) -> None:
    if not (STATIC / "index.html").is_file():
        pytest.skip("the web files are not built: python3 dev.py web")
    built = {path.name for path in STATIC.rglob("*") if path.is_file()}
    held = {Path(name).name for name in names_in(wheel) if "/static/" in name}
    assert {"index.html"} <= held
    assert held == built


def test_it_holds_the_sample_the_skill_and_a_list_of_what_is_bundled(wheel: Path) -> None:
    names = names_in(wheel)
    assert "stepscope/surfaces/sample/slow_input_cnn.xplane.pb.gz" in names
    assert "stepscope/surfaces/agent/SKILL.md" in names
    with zipfile.ZipFile(wheel) as archive:
        (sbom,) = (name for name in names if "/sboms/" in name)
        listed = {one["name"] for one in json.loads(archive.read(sbom))["components"]}
        record = archive.read(next(name for name in names if name.endswith("RECORD"))).decode()
        for line in record.splitlines():
            path, digest, size = line.rsplit(",", 2)
            if digest:
                data = archive.read(path)
                told = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
                assert (digest, int(size)) == (f"sha256={told.decode()}", len(data)), path
    assert {"preact", "@preact/signals"} <= listed
    assert not listed & {"vite", "typescript", "axe-core"}


def test_a_release_fails_without_its_kernels_or_its_pages(tmp_path: Path) -> None:
    root = copy_to(tmp_path / "tree", *SOURCES)
    shutil.rmtree(root / "src" / "stepscope" / "surfaces" / "static", ignore_errors=True)
    with pytest.raises(AssertionError, match="may not be built"):
        build(root, "wheel", STEPSCOPE_SKIP_WEB="1", STEPSCOPE_REQUIRE_WEB="1")
    with pytest.raises(AssertionError, match="false"):
        build(root, "wheel", STEPSCOPE_SKIP_WEB="1", STEPSCOPE_REQUIRE_KERNELS="1", CC="false")


def test_no_dependency_has_an_upper_bound(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith("METADATA"))
        metadata = archive.read(name).decode()
    required = re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE)
    assert len(required) >= 6
    assert [line for line in required if re.search(r"<|==|~=", line.partition(";")[0])] == []
    runtime = [line for line in required if "extra ==" not in line]
    frameworks = ("protobuf", "tensorflow", "jax", "torch", "pandas", "grpcio")
    assert [line for line in runtime if line.startswith(frameworks)] == []


def test_kernels_are_compiled_where_there_is_a_compiler(wheel: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler on this machine")
    compiled = [name for name in names_in(wheel) if name.endswith((".so", ".pyd"))]
    with zipfile.ZipFile(wheel) as archive:
        kernels = archive.read("stepscope/kernels/_kernels.txt").decode().split()
    assert len(compiled) == len(kernels) + 1 > 1  # and what they share


def test_without_a_compiler_it_still_installs_and_answers(tmp_path: Path) -> None:
    root = copy_to(tmp_path / "tree", *SOURCES)
    made = build(root, "wheel", STEPSCOPE_SKIP_WEB="1", CC="false", LDSHARED="false")
    assert [name for name in names_in(made) if name.endswith((".so", ".pyd"))] == []
    with zipfile.ZipFile(made) as archive:
        archive.extractall(tmp_path / "installed")
    recording = tmp_path / "host.xplane.pb"
    recording.write_bytes(worked_example())
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    command = [sys.executable, "-m", "stepscope", "show", "overview_page", str(recording)]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "input" in done.stdout


def test_a_source_archive_installs_without_node(tmp_path: Path) -> None:
    if not (STATIC / "sources.sha256").is_file():
        pytest.skip("the web files are not built: python3 dev.py web")
    root = copy_to(tmp_path / "tree", *SOURCES)
    sdist = build(root, "sdist", STEPSCOPE_SKIP_WEB="1")
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):  # not in Debian 12's Python 3.11.2
            archive.extraction_filter = tarfile.data_filter
        archive.extractall(tmp_path / "unpacked")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    # No PATH at all: neither node nor npm nor a compiler; a web build would be an error.
    made = build(unpacked, "wheel", STEPSCOPE_REQUIRE_WEB="1", PATH="", CC="false")
    assert any(name.endswith("static/index.html") for name in names_in(made))


def test_the_installed_command_runs(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, with the packages of this one, from another directory."""
    venv.create(tmp_path / "env", with_pip=False, system_site_packages=False)
    binaries = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    here = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    command = [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "install"]
    command += ["--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    env = {**os.environ, "PYTHONPATH": str(here), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [str(binaries / "stepscope"), "version"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"\d+\.\d+\.\d+", done.stdout)
