"""What recording costs: against the frameworks' own profilers, and against what is wanted.

python3 dev.py bench --capture [--quick]

Each framework runs in a process of its own, windows with and without recording alternating in it.
What is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.machine import machine, say
from bench.recordings import ROOT
from bench.report import aligned, verdict

FOLDER: Final = ROOT / ".stepscope" / "bench"
VIZTRACER: Final = "viztracer>=1.0"
# What issue 5 asks for.
WANTED_RATIO: Final = 1.02
WANTED_SAMPLER: Final = 1.02
WANTED_ANNOTATION_NS: Final = 150.0
# One thread for the arithmetic: what else the machine's cores do then shows less.
QUIET: Final = {
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
FRAMEWORKS: Final = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}


def main() -> int:
    """Measure, print the tables, keep the numbers."""
    rounds = 3 if parse().quick else 9
    where = machine()
    measured = {
        name: answer("bench.capture_windows", name, str(rounds))
        for name in (*installed(), "python")
    }
    stops = {
        name: answer("bench.capture_windows", name, "0")
        for name in installed()
        if name != "jax"  # its stop is TensorFlow's
    }
    costs = {name: answer("bench.capture_calls", name) for name in ("annotations", "calls")}
    viztracer = ask_viztracer()
    print("\n".join(render(where, measured, stops, costs, viztracer)))
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = FOLDER / f"capture-{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
    numbers = {"machine": where, "windows": measured, "stop": stops, "costs": costs}
    kept.write_text(json.dumps(numbers | {"viztracer": viztracer}, indent=1), "utf-8")
    print(f"\nnumbers: {kept.relative_to(ROOT)}")
    return 0


def parse() -> argparse.Namespace:
    """The flags."""
    parser = argparse.ArgumentParser(prog="dev.py bench --capture")
    parser.add_argument("--capture", action="store_true", help="this")
    parser.add_argument("--quick", action="store_true", help="three rounds instead of nine")
    return parser.parse_args()


def installed() -> list[str]:
    """Frameworks that are here."""
    found = [name for name, module in FRAMEWORKS.items() if find_spec(module)]
    for name in FRAMEWORKS:
        if name not in found:
            say(f"{name} is not installed: left out")
    return found


def answer(module: str, *arguments: str) -> dict[str, Any]:
    """What a process of its own measures."""
    say(" ".join((module, *arguments)))
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"✗ {module} {' '.join(arguments)} failed\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ask_viztracer() -> dict[str, float]:
    """Viztracer's cost of a call, in an environment of its own; nothing where it cannot be had."""
    environment = FOLDER / "viztracer"
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    quiet: dict[str, Any] = {"check": True, "capture_output": True}
    try:
        if not (environment / "made").exists():
            say(f"installing {VIZTRACER}")
            subprocess.run([sys.executable, "-m", "venv", str(environment)], **quiet)
            subprocess.run([str(python), "-m", "pip", "install", VIZTRACER], **quiet)
            (environment / "made").touch()
        program = [str(python), str(Path(__file__).with_name("capture_calls.py")), "viztracer"]
        done = subprocess.run(program, **quiet)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"viztracer is left out: {error}")
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def render(
    where: dict[str, Any],
    measured: dict[str, Any],
    stops: dict[str, Any],
    costs: dict[str, Any],
    viztracer: dict[str, float],
) -> list[str]:
    """The tables."""
    lines = [f"Python {where['python']}, {where['system']}, load {where['load']:.1f}", ""]
    head = ["program", "step", "theirs", "ours", "ours/theirs", "wanted", "with all tracks"]
    rows = [head, *(framework_row(name, measured[name]) for name in FRAMEWORKS if name in measured)]
    lines += [*aligned(rows, 1), ""]
    ratio = measured["python"]["ratio"]
    rows = [["what", "cost", "wanted"]]
    rows.append(
        [
            "sampler, 100 Hz",
            f"{ratio['sampler']:.3f}×",
            verdict(ratio["sampler"] <= WANTED_SAMPLER, f"≤ {WANTED_SAMPLER:.2f}×"),
        ]
    )
    rows.append(["telemetry, 10 Hz", f"{ratio['telemetry']:.3f}×", ""])
    off, on = costs["annotations"]["off"], costs["annotations"]["on"]
    met = verdict(off <= WANTED_ANNOTATION_NS, f"≤ {WANTED_ANNOTATION_NS:.0f} ns")
    rows += [["annotation, off", f"{off:.0f} ns", met], ["annotation, on", f"{on:.0f} ns", ""]]
    rows += [[f"call, {name}", f"{value:.0f} ns", ""] for name, value in costs["calls"].items()]
    rows += [[f"call, {name}", f"{value:.0f} ns", ""] for name, value in viztracer.items()]
    lines += [*aligned(rows, 1), ""]
    rows = [["stop(), per million events", "time", "memory", "file"]]
    for name, found in stops.items():
        seconds, megabytes = found["seconds_per_million"], found["megabytes_per_million"]
        size = f"{found['file_bytes_per_event']:.0f} B an event"
        rows.append(
            [f"{name} ({found['events']:,})", f"{seconds:.1f} s", f"{megabytes:.0f} MB", size]
        )
    return [*lines, *aligned(rows, 1)]


def framework_row(name: str, found: dict[str, Any]) -> list[str]:
    """A framework's line: ratios to the same steps without recording."""
    ratio = found["ratio"]
    relative = ratio["ours"] / ratio["theirs"]
    return [
        name,
        f"{found['step_ms']:.2f} ms",
        f"{ratio['theirs']:.3f}×",
        f"{ratio['ours']:.3f}×",
        f"{relative:.3f}",
        verdict(relative <= WANTED_RATIO, f"≤ {WANTED_RATIO:.2f}"),
        f"{ratio['ours, all tracks']:.3f}×",
    ]


if __name__ == "__main__":
    sys.exit(main())
