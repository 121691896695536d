"""The recipe of the collection: runs programs as their authors would, and keeps what they record.

python -m tests.collection.record [--environments FOLDER] [--only TEXT] [--again] [--first]
python -m tests.collection.record --savings [--part score] [--pairs 3]

Each line of ``takes.txt`` is a program and the ways it is recorded: environment, way, "busy" for
two loops beside it that take a core each. Every other Python and framework gets an environment of
its own in FOLDER, which is made when it is missing. A recording is kept as
``recordings/<framework>/<program>/<environment>-<way>.xplane.pb.gz`` with a ``label.json`` beside
it: what is planted and where, and what the program itself measured with and without the fault.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.collection.labels import SAMPLE, collection

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
# Runs with and without the fault, the fastest of which counts: other programs only add.
PAIRS: Final = 2
_SECONDS: Final = 240.0
_QUIET: Final = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "PYTHONPATH": str(ROOT / "src"),
    "PYTHONHASHSEED": "0",
    # PyTorch's threads spin for each other: on a machine that is shared they measure nothing else.
    "OMP_NUM_THREADS": "1",
}
# Name → Python and packages; those without are the project's own environment.
ENVIRONMENTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "tf2.4": ("3.8", ("tensorflow-cpu==2.4.4", "protobuf<3.21")),
    "tf2.8": ("3.9", ("tensorflow-cpu==2.8.4", "protobuf<3.21", "numpy<1.24")),
    "tf2.12": ("3.10", ("tensorflow-cpu==2.12.1",)),
    "tf2.15": ("3.11", ("tensorflow-cpu==2.15.1", "protobuf<5")),
    "tf2.16": ("3.12", ("tensorflow-cpu==2.16.2",)),
    "tf2.18": ("3.12", ("tensorflow-cpu==2.18.1",)),
    "tf2.20": ("3.13", ("tensorflow-cpu==2.20.0",)),
    "jax0.4.30": ("3.10", ("jax==0.4.30", "jaxlib==0.4.30", "numpy<2")),
    "jax0.5.3": ("3.12", ("jax==0.5.3",)),
    "jax0.6.2": ("3.13", ("jax==0.6.2",)),
    "jax0.8.0": ("3.13", ("jax==0.8.0",)),
    "flax0.10": ("3.12", ("jax==0.6.2", "flax==0.10.6", "optax==0.2.5")),
    "torch1.12": ("3.10", ("torch==1.12.1", "numpy<1.24")),
    "tf2.21": ("", ()),
    "jax0.10": ("", ()),
    "torch2.13": ("", ()),
    "gpu-torch2.11": ("", ()),
    "gpu-jax0.11": ("", ()),
}
# What environments with a GPU get in place of the above: the program has the machine as it is.
_WITH_GPU: Final = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "PYTHONPATH": os.pathsep.join(
        part for part in (str(ROOT / "src"), os.environ.get("PYTHONPATH", "")) if part
    ),
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Take:
    """One recording to make.

    Attributes:
        program: Its path below ``programs``, without the ending.
        environment, way: See ``ENVIRONMENTS`` and ``WAYS`` of ``programs/clock.py``.
        is_busy: Whether two other programs take a core each meanwhile.
    """

    program: str
    environment: str
    way: str
    is_busy: bool

    @property
    def stem(self) -> str:
        """Its file's name without endings."""
        return f"{self.environment}-{self.way}" + ("-busy" if self.is_busy else "")


def needs_gpu(take: Take) -> bool:
    """Whether it is recorded on the GPU that its environment is named after."""
    return take.environment.startswith("gpu-")


def takes() -> list[Take]:
    """All recordings of ``takes.txt``."""
    found = []
    for line in (HERE / "takes.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            program, ways = line.split(":")
            for way in ways.split(","):
                environment, name, *rest = way.split()
                found.append(Take(program.strip(), environment, name, rest == ["busy"]))
    return found


def planted_places(source: str) -> dict[str, Any]:
    """Functions and lines that carry the comment "# planted"."""
    lines = [at for at, line in enumerate(source.splitlines(), 1) if line.endswith("# planted")]
    functions = []

    def visit(node: ast.AST, name: str, line: int) -> str:
        for child in ast.iter_child_nodes(node):
            first, last = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
            if first <= line <= last:
                is_named = isinstance(child, ast.FunctionDef | ast.ClassDef)
                inner = child.name if is_named else name  # type: ignore[attr-defined]
                return visit(child, inner, line)
        return name

    tree = ast.parse(source)
    for line in lines:
        function = visit(tree, "", line)
        if function and function not in functions:
            functions.append(function)
    return {"lines": lines, "functions": functions}


def label_of(program: str) -> dict[str, Any]:
    """What the program says of itself."""
    source = (HERE / "programs" / f"{program}.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "LABEL":
            said: dict[str, Any] = ast.literal_eval(node.value)
            return {"program": program, **said, **planted_places(source)}
    raise SystemExit(f"{program} has no LABEL")


def python_of(environment: str, folder: Path) -> str:
    """The Python of an environment, which is made when it is missing."""
    version, packages = ENVIRONMENTS[environment]
    if not packages:
        return sys.executable
    python = folder / environment / "bin" / "python"
    if not python.exists():
        print(f"making {environment}", flush=True)
        base = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
        own = sorted(Path(base).glob(f"versions/{version}.*/bin/python"))
        command = [str(own[-1]) if own else f"python{version}", "-m", "venv"]
        subprocess.run([*command, str(folder / environment)], check=True)
        install = [str(python), "-m", "pip", "install", "-q", *packages]
        subprocess.run(install, check=True)
    return str(python)


@contextlib.contextmanager
def beside(count: int) -> Iterator[None]:
    """So many loops that take a core each."""
    loops = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(take: Take, python: str, folder: Path, pairs: int = PAIRS) -> dict[str, Any]:
    """Run the program of a take; what it measured.

    Raises:
        SystemExit: It failed; the end of its output is the message.
    """
    program = [f"programs/{take.program}.py", "--folder", str(folder)]
    answer = folder / "answer.json"
    timed = [*program, "--pairs", str(pairs), "--json", str(answer)]
    measured: dict[str, Any] = {}
    commands = [[python, *timed, "--way", take.way]]
    if take.way == "stepscope-record":
        start = [python, "-m", "stepscope", "record", "-q", "-o", str(folder / "log")]
        recorded = [*program, "--json", str(answer), "--way", take.way]
        commands = [[*start, *recorded], [python, *timed]]
    with beside(2 if take.is_busy else 0):
        for command in commands:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                cwd=HERE,
                env=os.environ | (_WITH_GPU if needs_gpu(take) else _QUIET),
            )
            if done.returncode:
                raise SystemExit((done.stderr or done.stdout)[-600:])
            measured = json.loads(answer.read_text("utf-8")) | measured
    return measured


def keep(take: Take, measured: dict[str, Any], folder: Path) -> int:
    """Put the recording and its facts into ``recordings`` of the tree; return its bytes."""
    kineto = take.way.startswith("kineto")
    ending = ".pt.trace.json" if kineto else ".xplane.pb"
    (written,) = (folder / "log").rglob("*" + ending + (".gz" if kineto else ""))
    data = written.read_bytes()
    packed = gzip.compress(gzip.decompress(data) if kineto else data, 9, mtime=0)
    home = SAMPLE / take.program
    home.mkdir(parents=True, exist_ok=True)
    file = home / f"{take.stem}{ending}.gz"
    file.write_bytes(packed)
    fixed, faulty = (min(measured[name]) for name in ("fixed_ms", "faulty_ms"))
    path = home / "label.json"
    known = json.loads(path.read_text("utf-8"))["recordings"] if path.exists() else {}
    known[file.name] = {
        "environment": take.environment,
        "way": take.way,
        "busy": take.is_busy,
        "load": measured["load"],
        "versions": measured["versions"],
        **measured["recorded"],
        "faulty_ms": faulty,
        "fixed_ms": fixed,
        "saving_ms": round(faulty - fixed, 4),
    }
    write_label(path, known)
    return len(packed)


def part_of(take: Take) -> str:
    """The part of the collection that its program belongs to."""
    return str(label_of(take.program)["part"])


def time_again(take: Take, measured: dict[str, Any]) -> str:
    """Put a later measurement of a take's saving into its label; before and after, in words.

    For what was recorded while other programs ran, which takes nothing from the recording but
    makes its two measured durations a matter of luck.
    """
    for path in label_files():
        known = json.loads(path.read_text("utf-8"))["recordings"]
        named = [name for name in known if name.startswith(f"{take.stem}.")]
        if named and "/".join(path.parent.parts[-2:]) == take.program:
            break
    else:
        raise SystemExit(f"{take.program} {take.stem} has no label")
    file = named[0]
    fixed, faulty = (min(measured[name]) for name in ("fixed_ms", "faulty_ms"))
    saving = {"faulty_ms": faulty, "fixed_ms": fixed, "saving_ms": round(faulty - fixed, 4)}
    before = known[file]["saving_ms"] / known[file]["faulty_ms"]
    known[file] |= saving
    write_label(path, known)
    return f"{faulty:.2f} → {fixed:.2f} ms, saves {1 - fixed / faulty:.2f} of it, was {before:.2f}"


def label_files() -> list[Path]:
    """Return the labels of the collection, where it is here, and of the tree."""
    folders = [folder for folder in (collection(), SAMPLE) if folder is not None]
    return [path for folder in folders for path in sorted(folder.glob("*/*/label.json"))]


def write_label(path: Path, known: dict[str, Any]) -> None:
    """Write the label of a program: what it says of itself, and its recordings."""
    program = "/".join(path.parent.parts[-2:])
    label = label_of(program) | {"recordings": dict(sorted(known.items()))}
    path.write_text(json.dumps(label, indent=1, ensure_ascii=False) + "\n", "utf-8")


def go_first() -> None:
    """Go before the other programs of the machine: for Linux, root and a machine of one's own.

    A take that is not meant to be busy should not be, and its loops share our rank.
    """
    with contextlib.suppress(OSError):
        os.setsid()
    with contextlib.suppress(OSError):
        os.nice(-10)
        Path("/proc/self/autogroup").write_text("-10", "ascii")


def wanted(given: argparse.Namespace) -> Iterator[Take]:
    """The takes that the command line asks for, of those that this machine can record."""
    has_gpu = shutil.which("nvidia-smi") is not None
    share, shares = (int(part) for part in given.share.split("/"))
    able = [take for take in takes() if needs_gpu(take) == has_gpu]
    recorded = {
        ("/".join(path.parent.parts[-2:]), name.split(".xplane")[0].split(".pt.")[0])
        for path in label_files()
        for name in json.loads(path.read_text("utf-8"))["recordings"]
    }
    for take in able[share::shares]:
        is_there = (take.program, take.stem) in recorded
        is_asked = given.only in f"{take.program} {take.stem}"
        is_asked &= is_there if given.savings else given.again or not is_there
        if is_asked and given.part in ("", part_of(take)):
            yield take


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", default=str(ROOT / ".stepscope" / "collection"))
    parser.add_argument("--only", default="", help="programs or takes with this text")
    parser.add_argument("--again", action="store_true", help="also what is there already")
    parser.add_argument("--savings", action="store_true", help="only time what is recorded again")
    parser.add_argument("--part", default="", choices=("", "develop", "score"))
    parser.add_argument("--labels", action="store_true", help="only rewrite the labels")
    parser.add_argument("--first", action="store_true", help="go before other programs")
    parser.add_argument("--share", default="0/1", help="every so manieth, to start several at once")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="more on a busy machine")
    given = parser.parse_args()
    if given.labels:
        for path in label_files():
            write_label(path, json.loads(path.read_text("utf-8"))["recordings"])
        return
    if given.first:
        go_first()
    for take in wanted(given):
        name = f"{take.program} {take.stem}"
        with tempfile.TemporaryDirectory(prefix="collection-") as folder:
            try:
                python = python_of(take.environment, Path(given.environments))
                if given.savings:
                    take_of_time = replace(take, way="none")
                    measured = run(take_of_time, python, Path(folder), given.pairs)
                    print(f"{name}: {time_again(take, measured)}", flush=True)
                    continue
                measured = run(take, python, Path(folder), given.pairs)
                size = keep(take, measured, Path(folder))
            except (SystemExit, subprocess.TimeoutExpired, ValueError) as error:
                print(f"FAILED {name}: {error}", flush=True)
                continue
        faulty, fixed = min(measured["faulty_ms"]), min(measured["fixed_ms"])
        recorded = measured["recorded"]
        print(
            f"{name}: {size / 1e3:.0f} kB, {recorded['steps']} x {recorded['step_ms']:.2f} ms, "
            f"{faulty:.2f} → {fixed:.2f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
