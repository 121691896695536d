"""Nothing opens a path because a recording names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.profiles import parse, worked_example
from tests.unit.formats.nccl.dumps import dump, entry
from tests.unit.formats.stacks import files as stacks
from tests.unit.formats.torch_memory.snapshot import training, written

# Run in a process of its own: an audit hook cannot be taken away.
_PROGRAM = """
import os, sys
recording, canary = sys.argv[1:]
touched = []
def hook(event, arguments):
    if any(canary in os.fsdecode(one) for one in arguments if isinstance(one, (str, bytes))):
        touched.append((event, *map(str, arguments)))
sys.addaudithook(hook)
def watched(function):
    def call(path, *more, **named):
        hook(function.__name__, (os.fspath(path),) if not isinstance(path, int) else ())
        return function(path, *more, **named)
    return call
for name in ("stat", "lstat", "access", "readlink"):
    setattr(os, name, watched(getattr(os, name)))
from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.session import open
from stepscope.surfaces.agent.questions import QUESTIONS, question
from stepscope.surfaces.agent.recordings import Recordings
with open(recording) as session:
    actions = [lambda tool=tool: session.run(tool.id) for tool in TOOLS]
    for action in (session.advice, *actions):
        try:
            action()
        except StepscopeError:
            pass
recordings = Recordings([recording])
for name in QUESTIONS:
    try:
        question(name).ask(recordings, {}).text(0)
    except StepscopeError:
        pass
recordings.close()
print(touched)
"""


def _recordings(folder: Path, canary: str) -> dict[str, Path]:
    """Recordings of several formats that name a file which exists."""
    message = parse(worked_example(gpu=True, steps=3))
    plane = message.planes[0]
    for metadata in plane.event_metadata.values():
        metadata.name = f"{canary}:3 {metadata.name}"
    number = max(plane.stat_metadata, default=0) + 1
    plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, "source"
    for line in plane.lines:
        for event in line.events:
            event.stats.add(metadata_id=number).str_value = f"{canary}:3"
    found = {"xspace": folder / "host.xplane.pb"}
    found["xspace"].write_bytes(message.SerializeToString())
    snapshot = json.loads(json.dumps(training()).replace("/home/me/work/train.py", canary))
    found["snapshot"] = written(folder / "a.pickle", snapshot)
    flight = json.dumps(dump([entry(1, 1)])).replace("/home/me/work/train.py", canary)
    found["flight"] = folder / "nccl_trace_rank_0"
    found["flight"].write_text(flight)
    found["stacks"] = folder / "a.speedscope.json"
    profile = json.dumps(stacks.speedscope()).replace(f"{stacks.HOME}/train.py", canary)
    found["stacks"].write_text(profile)
    return found


@pytest.mark.slow
def test_no_path_is_opened_because_a_recording_names_it(tmp_path: Path) -> None:
    canary = tmp_path / "strangers" / "canary.py"
    canary.parent.mkdir()
    canary.write_text("import time\nwhile True:\n    time.sleep(1)\n")
    recordings = _recordings(tmp_path, str(canary))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for kind, path in recordings.items():
        assert str(canary).encode() in path.read_bytes(), kind
        command = [sys.executable, "-c", _PROGRAM, str(path), str(canary)]
        ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), (kind, ran.stdout, ran.stderr)


def test_a_path_that_is_opened_is_noticed(tmp_path: Path) -> None:
    program = f"{_PROGRAM}\nfrom pathlib import Path\nPath(canary).stat()\nprint(touched)"
    (tmp_path / "canary").write_text("")
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(worked_example(gpu=True, steps=3))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(path), str(tmp_path / "canary")]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert "stat" in ran.stdout.splitlines()[-1], ran.stderr
