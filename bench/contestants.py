"""The two programs that are measured, as commands."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INCUMBENT = "xprof==2.24.2"

# The incumbent's own entry point below its server: file in, the page's data out.
_ASK_INCUMBENT = """
import sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], sys.argv[2], {})
print(len(data or ""), "characters")
if not data:
    sys.exit("the incumbent answered with nothing")
"""

# The whole trace as its offline viewer gets it, and what its page asks for first, twice: cold and
# with what the first answer left on the disk. 8000 is its server's own default.
_ASK_INCUMBENT_TRACE = """
import json, sys, time
from xprof.convert import raw_to_tool_data
tool = sys.argv[2]
answers = []
for _ in range(1 if tool == "trace_viewer" else 2):
    began = time.perf_counter()
    options = {"trace_viewer_options": {"resolution": 8000, "full_dma": False}}
    data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], tool, options)
    answers.append({"bytes": len(data or ""), "seconds": time.perf_counter() - began})
if not answers[-1]["bytes"]:
    sys.exit("the incumbent answered with nothing")
print(json.dumps(answers))
"""


@contextmanager
def alone(recording: Path) -> Iterator[Path]:
    """The recording linked into a folder of its own, so that no cache of an earlier run helps."""
    with tempfile.TemporaryDirectory(dir=recording.parent, prefix="run-") as folder:
        link = Path(folder, "host.xplane.pb")
        os.link(recording, link)
        yield link


def ours(recording: Path, tool: str) -> list[str]:
    """Stepscope: decode, analyse, print JSON."""
    return [sys.executable, "-m", "stepscope", "show", tool, str(recording), "--format", "json"]


@dataclass(frozen=True)
class Incumbent:
    """xprof in an environment of its own."""

    python: Path

    def command(self, recording: Path, tool: str) -> list[str]:
        """xprof: the same file to the same tool's data."""
        return [str(self.python), "-c", _ASK_INCUMBENT, str(recording), tool]

    def trace_command(self, recording: Path, tool: str) -> list[str]:
        """xprof: the same file to its timeline's data; the last line printed is JSON."""
        return [str(self.python), "-c", _ASK_INCUMBENT_TRACE, str(recording), tool]


def install_incumbent(folder: Path) -> Incumbent:
    """Make the incumbent's environment, or find it made.

    Raises:
        subprocess.CalledProcessError: It cannot be installed on this machine.
    """
    environment = folder / INCUMBENT.replace("==", "-")
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = environment / "installed"
    if not done.exists():
        print(f"installing {INCUMBENT} into {environment.name} (once) …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", INCUMBENT], check=True)
        done.touch()
    return Incumbent(python)
