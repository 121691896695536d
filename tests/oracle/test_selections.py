"""One selection, three surfaces: Python, the terminal and HTTP give the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from werkzeug.test import Client

import stepscope
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.cli.group import build
from stepscope.surfaces.http import Application, Settings
from stepscope.surfaces.http.security import Guard

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
TOKEN = "selections"

RANKS, DLRM = "kineto/v100-torchrec-4rank/before_qcomm", "kineto/v100-dlrm-8rank"
JAX, NSIGHT = "xplane/jax-tpu-v6e-4", "nsight/h100_2gpu_1s.sqlite"
TF = "xplane/tf-v100-8gpu"

SELECTIONS: list[tuple[str, str, dict[str, str]]] = [
    (RANKS, "kernel_stats", {"steps": "5"}),
    (RANKS, "kernel_stats", {"steps": "5-6", "device": "2"}),
    (RANKS, "framework_op_stats", {"range": "500ms-502.3ms", "device": "rank 3"}),
    (RANKS, "step_account", {"steps": "5-6"}),
    (RANKS, "overview_page", {"range": "0.5s-0.7s"}),
    (DLRM, "kernel_stats", {"device": "1-3"}),
    (DLRM, "pod_viewer", {"device": "0,5"}),
    (DLRM, "device_idle", {"device": "5"}),
    (DLRM, "overview_page", {"range": "10-20ms"}),
    (JAX, "op_profile", {"steps": "10-20"}),
    (JAX, "hlo_stats", {"steps": "10-20", "device": "TPU:1"}),
    (JAX, "framework_op_stats", {"steps": "10-20", "device": "0,2"}),
    (JAX, "overview_page", {"steps": "10-20"}),
    (NSIGHT, "kernel_stats", {"range": "0-200ms"}),
    (NSIGHT, "kernel_stats", {"device": "GPU:1", "range": "100ms-0.3s"}),
    (NSIGHT, "step_account", {"range": "100ms-0.3s"}),
    (TF, "kernel_stats", {"device": "4"}),
    (TF, "framework_op_stats", {"device": "GPU:4,GPU:6"}),
    (TF, "trace_viewer", {"range": "2570-2580"}),
    (TF, "step_account", {"steps": "0", "device": "1"}),
]


@pytest.mark.parametrize(("path", "tool", "selection"), SELECTIONS)
def test_surfaces_agree_to_the_digit(
    path: str, tool: str, selection: dict[str, str], tmp_path: Path
) -> None:
    recording = SHARED / path
    if not recording.exists():
        pytest.skip(f"{recording} is not here.")
    with stepscope.open(recording) as session:
        python: dict[str, Any] = session.select(**selection).run(tool).to_dict()
    assert python["selection"]
    flags = [word for name, text in selection.items() for word in (f"--{name}", text)]
    ran = CliRunner().invoke(build(), ["show", tool, str(recording), *flags, "--format", "json"])
    terminal = json.loads(ran.stdout)
    guard = Guard(Settings(token=TOKEN), 8790)
    client = Client(Application(Workspace(find(str(recording))), guard, tmp_path))
    asked = client.get(
        f"/api/v1/tool/{tool}",
        query_string=selection,
        headers={"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1:1"},
    )
    answers = [json.loads(json.dumps(python)), terminal, asked.get_json()]
    if tool == "overview_page":  # the terminal runs all rules, the others the quick ones
        for answer in answers:
            answer.pop("findings")
    assert answers[0] == answers[1]
    assert answers[0] == answers[2]


def test_there_are_twenty_selections() -> None:
    assert len(SELECTIONS) == 20


@pytest.mark.parametrize(("begin_ms", "end_ms"), [(2570, 2580), (2571.3, 2575.7), (2500, 2600)])
def test_launches_of_a_range_are_those_of_the_timeline(begin_ms: float, end_ms: float) -> None:
    """The timeline looks at a range of the whole, a selection at what was recorded in it."""
    recording = SHARED / TF
    if not recording.exists():
        pytest.skip(f"{recording} is not here.")
    with stepscope.open(recording) as session:
        seen = session.trace_viewer(from_=f"{begin_ms}ms", to=f"{end_ms}ms")
        chosen = session.select(range=f"{begin_ms}ms-{end_ms}ms").trace_viewer()
    assert seen.launches.count > 50
    assert seen.launches == chosen.launches
