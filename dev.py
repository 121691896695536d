#!/usr/bin/env python3
"""Everything a developer or a first user runs: ``python3 dev.py demo | test | check | bench …``.

Standard library only, so that a machine with Python and nothing else can start here. The first
call makes ``.venv`` beside this file (with uv where it is installed, else with venv and pip);
later calls find its stamp and start at once.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WORK = ROOT / ".stepscope"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
OLDEST_PYTHON = (3, 10)

# What each runs and needs: CONTRIBUTING.md. tests/conftest.py sorts the tests into them.
# All of a tier's tests lie below its paths; without paths, anywhere.
TIERS = {
    "quick": [
        f"tests/{name}"
        for name in (
            "unit",
            "property",
            "oracle",
            "labelled",
            "architecture",
            "collection",
            "golden",
        )
    ],
    "browser": ["tests/e2e/browser"],
    "frameworks": [],
    "live": [],
    "collection": ["tests/collection"],
    "all": [],
}

# How the tests of a tier share the processors. Those of a file of the last two share a recording.
TOGETHER = {
    "quick": ["-n", "auto", "--dist", "worksteal"],
    "browser": ["-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"],
    "frameworks": ["-n", "2", "--dist", "loadscope"],
    "live": ["-n", "2", "--dist", "loadscope"],
}
# The tier with tests that measure running programs: these come last, without neighbours.
MEASURED = "frameworks"
NO_TESTS = 5  # pytest's exit code

# Python compiles a module when it is first imported: most never are.
INSTALLING = {"STEPSCOPE_SKIP_WEB": "1", "PIP_NO_COMPILE": "1"}
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Trainers for PyTorch, with what they need to train.
TRAINERS = ("lightning", "transformers", "accelerate")
# Without windows first: it draws pages with half of the processor time.
CHROMIUM_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


class Trouble(Exception):
    """Something a person must fix: what happened, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


# ------------------------------------------------------------------------------ processes


def say(text: str) -> None:
    """One line of progress, on stderr so that output can be piped."""
    print(f"▸ {text}", file=sys.stderr, flush=True)


def quietly(
    label: str, command: list[str], *, hint: str = "", env: dict[str, str] | None = None
) -> None:
    """Run a command that only talks when it fails; on a terminal the seconds count up.

    Raises:
        Trouble: It failed; its last lines are printed first.
    """
    WORK.mkdir(exist_ok=True)
    log = WORK / "dev.log"
    began = time.monotonic()
    live = sys.stderr.isatty()
    if not live:
        say(f"{label} …")
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        while True:
            try:
                code = child.wait(timeout=1)
                break
            except subprocess.TimeoutExpired:
                if live:
                    seconds = time.monotonic() - began
                    print(f"\r▸ {label} … {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    if live:
        print("\r\033[K", end="", file=sys.stderr)
    if code:
        for line in log.read_text("utf-8", "replace").splitlines()[-30:]:
            print(f"    {line}", file=sys.stderr)
        raise Trouble(f"{label}: `{' '.join(command)}` ended with {code}.", hint or f"See {log}.")
    say(f"{label}: done in {time.monotonic() - began:.0f} s")


def run(command: list[str], *, env: dict[str, str] | None = None) -> int:
    """Run a command in the foreground; its exit code. SIGTERM ends the command, then us."""
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(env or {})}) as child:
        before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
        try:
            code = child.wait()
        finally:
            signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code


# ---------------------------------------------------------------------------- environment


def web_files() -> ModuleType:
    """``build_backend/web_files.py``: it needs no environment either."""
    folder = str(ROOT / "build_backend")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("web_files")


def fingerprint() -> str:
    """What the environment depends on: this Python, the declared packages, the kernels."""
    digest = hashlib.sha256(f"{sys.version}\0{ROOT}".encode())
    folder = ROOT / "src" / "stepscope" / "kernels"
    listed = (folder / "_kernels.txt").read_text("utf-8").split()
    kernels = [folder / name for name in listed if name.endswith(".py")]
    for path in [ROOT / "pyproject.toml", ROOT / "setup.py", *kernels]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_venv() -> None:
    """An empty ``.venv`` with pip in it."""
    if VENV.exists():
        shutil.rmtree(VENV)
    if shutil.which("uv"):
        quietly("making .venv", ["uv", "venv", "--seed", "--python", sys.executable, str(VENV)])
        return
    try:
        quietly("making .venv", [sys.executable, "-m", "venv", str(VENV)])
    except Trouble:
        # Debian and Ubuntu cut ensurepip out of their Python; any pip of the machine will do.
        shutil.rmtree(VENV, ignore_errors=True)
        lend = [sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "-q", "pip"]
        hint = "Install the venv package (Debian, Ubuntu: apt install python3-venv), or uv."
        quietly(
            "making .venv without ensurepip",
            [sys.executable, "-m", "venv", "--without-pip", str(VENV)],
            hint=hint,
        )
        quietly("lending it this machine's pip", lend, hint=hint)


def install(label: str, *requirements: str) -> None:
    """Install requirements into ``.venv``."""
    if shutil.which("uv"):
        command = ["uv", "pip", "install", "--python", str(PYTHON), *requirements]
    else:
        command = [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            *requirements,
        ]
    hint = f"Check the network and {WORK / 'dev.log'}, then run this again."
    quietly(label, command, hint=hint, env=INSTALLING)


def ensure_environment(extra: str = "dev") -> None:
    """Make or refresh ``.venv``; nothing to do takes milliseconds.

    Args:
        extra: The packages beside Stepscope: "" none (a first look), "test" those of the quick
            tests, "dev" all, and the web files.
    """
    stamp = VENV / "stepscope.sha256"
    made = stamp.read_text("utf-8").split() if stamp.is_file() else []
    extras = ["", "test", "dev"]
    has = extras.index(made[1] if len(made) > 1 else "") if made[:1] == [fingerprint()] else -1
    if has < extras.index(extra):
        if not PYTHON.exists() or not same_python():
            make_venv()
        extra = max(extra, made[1] if len(made) > 1 else "", key=extras.index)
        suffix = f"[{extra}]" if extra else ""
        if has < 0:
            label = "Stepscope" + (f" with the packages of its extra {extra}" if extra else "")
            install(f"installing {label}", "-e", f"{ROOT}{suffix}")
        else:
            install(f"installing the packages of the extra {extra}", f"stepscope{suffix}")
        stamp.write_text(f"{fingerprint()} {extra}".strip(), "utf-8")
    if extra == "dev" and not web_files().is_fresh():
        build_web()


def same_python() -> bool:
    """Whether ``.venv`` is of the Python that runs this file."""
    ask = "import sys; print(sys.version)"
    answer = subprocess.run([str(PYTHON), "-c", ask], capture_output=True, text=True, check=False)
    return answer.stdout.strip() == sys.version.strip()


def ensure_node() -> Any:
    """Node of this machine, else Node's wheel in ``.venv``."""
    files = web_files()
    found = files.node_on_path()
    if found is None:
        site = next(iter(VENV.glob("lib/python*/site-packages")), VENV / "Lib" / "site-packages")
        found = files.node_from_wheel(site)
        if found is None:
            install("installing Node (61 MB, once)", files.NODE_REQUIREMENT)
            found = files.node_from_wheel(site)
    return found


def build_web() -> None:
    """Build the web files; without them everything but the pages still works."""
    files = web_files()
    say("building the web files")
    try:
        files.build(ensure_node())
    except (files.WebBuildError, Trouble, OSError) as error:
        if os.environ.get("STEPSCOPE_REQUIRE_WEB", "") not in ("", "0"):
            raise Trouble(f"The web files could not be built: {error}", "See above.") from error
        say(f"the web files are NOT built: {error}")


def has_module(name: str) -> bool:
    """Whether ``.venv`` can import a module (without importing it)."""
    ask = f"import importlib.util as u, sys; sys.exit(u.find_spec({name!r}) is None)"
    return subprocess.run([str(PYTHON), "-c", ask], check=False).returncode == 0


def ensure_torch(wanted: str) -> None:
    """Install PyTorch's build for the CPU into ``.venv`` unless it is there.

    Args:
        wanted: "1": from PyTorch's own index, whose Linux files are a tenth of PyPI's, which bring
            CUDA. Else a requirement for pip, for places whose index has the small build.

    Raises:
        Trouble: It cannot be had here.
    """
    if has_module("torch"):
        return
    asked = ["torch", "--index-url", TORCH_CPU_INDEX] if wanted == "1" else wanted.split()
    # pip, also where there is uv: they disagree about which of several builds a version is.
    pip = [str(PYTHON), "-m", "pip"]
    if not has_module("pip"):
        pip = [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    command = [*pip, "install", "--disable-pip-version-check", *asked]
    quietly(
        "installing PyTorch for the CPU (200 MB, once)",
        command,
        hint="Set STEPSCOPE_TORCH=0 to go on without it.",
        env=INSTALLING,
    )


def ensure_trainers() -> None:
    """Install the trainers for PyTorch that are missing into ``.venv``.

    Raises:
        Trouble: They cannot be had here, or PyTorch is not there: they would bring their own.
    """
    if not has_module("torch"):
        raise Trouble("PyTorch is not installed.", "Set STEPSCOPE_TORCH=1.")
    missing = [name for name in TRAINERS if not has_module(name)]
    if missing:
        install(f"installing {', '.join(missing)}", *missing)


def ensure_framework(framework: str) -> None:
    """Install a framework into ``.venv`` unless it is there.

    Raises:
        Trouble: It cannot be had here.
    """
    if has_module(framework):
        return
    packages = {"tensorflow": "tensorflow", "jax": "jax[cpu]"}
    package = packages[framework]
    if framework == "tensorflow" and sys.platform == "linux" and os.uname().machine == "x86_64":
        package = "tensorflow-cpu"  # a quarter of the size; only published for this system
    install(f"installing {package} (some hundred MB, once)", package)


# ------------------------------------------------------------------------------- commands


def demo(arguments: argparse.Namespace) -> int:
    """Explain a recording: a bundled one, one of your own, or a run recorded now."""
    ensure_environment(extra="")
    sample = ROOT / "src" / "stepscope" / "surfaces" / "sample"
    if arguments.record:
        path = record(arguments.record)
    elif arguments.path:
        path = Path(arguments.path).absolute()
    else:
        path = sample
        say("the bundled recording of examples/slow_input_cnn.py (TensorFlow on a CPU)")
    code = run([str(PYTHON), "-m", "stepscope", "advise", str(path)])
    if code or not arguments.serve:
        return code
    if not web_files().is_fresh():
        build_web()
    return run([str(PYTHON), "-m", "stepscope", "serve", str(path)])


def record(framework: str) -> Path:
    """Run the example of a framework under its profiler; the folder of the recording."""
    ensure_framework(framework)
    name = {"tensorflow": "slow_input_cnn.py", "jax": "slow_input_jax.py"}[framework]
    logdir = WORK / "demo" / time.strftime("%Y-%m-%d_%H-%M-%S")
    say(f"recording examples/{name} ({framework} on the CPU)")
    command = [str(PYTHON), str(ROOT / "examples" / name), "--logdir", str(logdir)]
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}
    # Frameworks greet on stderr with lines that no setting stops; they matter only in failure.
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **quiet}, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        print(done.stderr.decode("utf-8", "replace")[-4000:], file=sys.stderr)
        raise Trouble(
            f"{name} ended with {done.returncode}.",
            "Read its output above, or explain the bundled recording: `python3 dev.py demo`.",
        )
    return logdir


def test(arguments: argparse.Namespace) -> int:
    """Run a tier of tests (quick, unless --tier names another); the rest goes to pytest."""
    tier, rest = tier_of(arguments.rest)
    named = any((ROOT / word.split("::")[0]).exists() for word in rest)
    ensure_environment(extra="test" if tier in ("quick", "collection") else "dev")
    if tier in ("frameworks", "all"):
        ensure_frameworks()
    if tier in ("browser", "all"):
        look_for_chromium()
    command = [str(PYTHON), "-m", "pytest"]
    if named:
        return run([*command, *([] if tier == "quick" else ["--tier", tier]), *rest])
    command += ["--tier", tier]
    wanted = [*rest, *TIERS[tier]]
    if tier not in TOGETHER:
        return run([*command, *wanted])
    command.append("-rfE")
    if tier != MEASURED:
        return run([*command, *TOGETHER[tier], *wanted])
    together = run([*command, "--measured", "no", *TOGETHER[tier], *wanted])
    say("the tests that measure, one after the other")
    alone = run([*command, "--measured", "only", *wanted])
    return max({together, alone} - {NO_TESTS}, default=NO_TESTS)


def tier_of(words: list[str]) -> tuple[str, list[str]]:
    """Split ``--tier NAME`` from the words for pytest."""
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--tier", choices=TIERS, default="quick")
    given, rest = options.parse_known_args(words)
    return given.tier, rest


def ensure_frameworks() -> None:
    """Install TensorFlow and JAX, and PyTorch if ``STEPSCOPE_TORCH`` asks for it."""
    wanted: dict[str, Callable[[], None]] = {
        name: partial(ensure_framework, name) for name in ("tensorflow", "jax")
    }
    torch = os.environ.get("STEPSCOPE_TORCH", "")
    if torch not in ("", "0"):
        wanted["torch"] = partial(ensure_torch, torch)
        wanted["trainers"] = ensure_trainers
    for name, ensure in wanted.items():
        try:
            ensure()
        except Trouble as trouble:
            say(f"tests that record with {name} will be skipped: {trouble}")


def look_for_chromium() -> None:
    """Say how to install the browser of the browser tests, where it is not on this system."""
    if not any(shutil.which(name) for name in CHROMIUM_NAMES):
        say(
            "tests marked `browser` will be skipped: no Chromium on PATH "
            "(Debian, Ubuntu: sudo apt-get install chromium-headless-shell)"
        )


def check(_: argparse.Namespace) -> int:
    """Style, types and the import contracts, of the Python and of the web sources."""
    ensure_environment()
    python = [str(PYTHON), "-m"]
    commands = [
        [*python, "mypy"],  # the longest by far: the others run beside it
        [*python, "ruff", "check", "."],
        [*python, "ruff", "format", "--check", "."],
        [str(PYTHON.with_name("lint-imports")), "--no-cache"],
        [*python, "generate", "--check"],
        [str(PYTHON), "lint/prose.py"],
    ]
    failed = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        running = [pool.submit(output_of, command) for command in commands]
        say("web: types, lint, unit tests")
        files = web_files()
        try:
            node = ensure_node()
            files.install_packages(node)
            files.run_node(node, node.npm, "run", "check")
        except (files.WebBuildError, Trouble) as error:
            failed.append(f"web: {error}")
        for command, one in zip(commands, running, strict=True):
            label = " ".join(command).removeprefix(" ".join(python)).strip()
            code, output = one.result()
            say(label)
            print(output, end="", flush=True)
            if code:
                failed.append(label)
    for label in failed:
        say(f"FAILED {label}")
    return 1 if failed else 0


def output_of(command: list[str]) -> tuple[int, str]:
    """Run a command; its exit code and all it printed."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def web(arguments: argparse.Namespace) -> int:
    """Build the web files, once or at every change."""
    ensure_environment()
    files = web_files()
    node = ensure_node()
    try:
        if arguments.watch:
            files.install_packages(node)
            files.run_node(node, "node_modules/vite/bin/vite.js", "build", "--watch")
        else:
            files.build(node)
    except files.WebBuildError as error:
        raise Trouble(f"The web files could not be built: {error}", "Fix what it names.") from error
    return 0


def bench(arguments: argparse.Namespace) -> int:
    """Measure Stepscope against the incumbent, in the same run on the same files."""
    in_browser = "--timeline" in arguments.rest
    ensure_environment(extra="dev" if in_browser else "")
    if in_browser:
        look_for_chromium()
    return run([str(PYTHON), "-m", "bench", *arguments.rest])


def fuzz(arguments: argparse.Namespace) -> int:
    """Throw broken input at everything that takes strangers' bytes, on a sanitized build."""
    ensure_environment()
    return run([str(PYTHON), "-m", "fuzz.campaign", *arguments.rest])


def collection(arguments: argparse.Namespace) -> int:
    """Fetch, check or pack the recordings that are kept outside the tree."""
    ensure_environment(extra="test")
    return run([str(PYTHON), "-m", "tests.collection.store", *arguments.rest])


def generate(arguments: argparse.Namespace) -> int:
    """Refresh the files that are derived from the list of tools."""
    ensure_environment()
    return run([str(PYTHON), "-m", "generate", *arguments.rest])


def parser() -> argparse.ArgumentParser:
    """The commands and their flags."""
    top = argparse.ArgumentParser(prog="dev.py", description=__doc__.splitlines()[0])
    commands = top.add_subparsers(dest="command", required=True)
    for function in (demo, test, check, web, bench, fuzz, collection, generate):
        text = (function.__doc__ or "").splitlines()[0]
        made = commands.add_parser(function.__name__, help=text, description=text)
        made.set_defaults(function=function)
        if function is demo:
            made.add_argument("path", nargs="?", help="a recording (default: the bundled one)")
            made.add_argument("--record", choices=["tensorflow", "jax"], help="record a run first")
            made.add_argument("--serve", action="store_true", help="serve the pages afterwards")
        if function is web:
            made.add_argument("--watch", action="store_true", help="build again at every change")
    return top


def fail(trouble: Trouble) -> NoReturn:
    """End with what happened and what to do."""
    print(f"✗ {trouble}\n  hint: {trouble.hint}", file=sys.stderr)
    sys.exit(1)


def main() -> int:
    """Parse and run; tests, bench, fuzz and generate hand their remaining arguments on."""
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        fail(
            Trouble(f"This is Python {sys.version.split()[0]}.", f"Run it with Python >= {wanted}.")
        )
    # Tests start hundreds of interpreters: without bytecode each compiles the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # All that runs here is this tree's: another's modules on the path would be tested in its place.
    os.environ.pop("PYTHONPATH", None)
    passing = ("test", "bench", "fuzz", "collection", "generate")
    if len(sys.argv) > 1 and sys.argv[1] in passing and sys.argv[2:] != ["--help"]:
        arguments = parser().parse_args(sys.argv[1:2])
        arguments.rest = [item for item in sys.argv[2:] if item != "--"]
    else:
        arguments = parser().parse_args()
        arguments.rest = []
    try:
        return int(arguments.function(arguments))
    except Trouble as trouble:
        fail(trouble)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
