"""A report says what the server says: the same questions to both, tile for tile."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest
from werkzeug.test import Client

from stepscope.session import open
from stepscope.session.workspace import Workspace
from stepscope.store import find
from stepscope.surfaces.http.app import STATIC_FOLDER, Application
from stepscope.surfaces.http.security import Guard
from stepscope.surfaces.http.settings import Settings
from stepscope.surfaces.report import make_report
from tests.profiles import Event, host, line, parse, space, worked_example
from tests.profiles.ready import async_gpu, overlapping_streams, pytorch_like

WEB = Path(__file__).resolve().parents[2] / "web"


def backwards(recording: bytes) -> bytes:
    """The same recording with the events of every line last to first."""
    space = parse(recording)
    for plane in space.planes:
        for each in plane.lines:
            events = list(each.events)[::-1]
            del each.events[:]
            each.events.extend(events)
    return bytes(space.SerializeToString())


def memory_in_use() -> bytes:
    """A counter that rises, falls, and has two values at the same time."""
    values = ((10, 100), (10, 900), (20, 300), (35, 300), (90, 50))
    stats = [(at, {"allocator_name": "GPU_0", "bytes_allocated": used}) for at, used in values]
    return space(
        host(line("python", ("op", 0, 80), *(Event("Alloc", at, 0, own) for at, own in stats)))
    )


PROFILES = {
    "memory": memory_in_use(),
    "gpu": worked_example(gpu=True, steps=12),
    "asynchronous": async_gpu(),
    "overlapping": overlapping_streams(),
    "pytorch": pytorch_like(),
    "backwards": backwards(overlapping_streams()),
}
# Of these a report says less: what an event was given is not inside. Short names of kernels it
# has once, for all answers.
LEFT_OUT = ("stats", "full_name", "short_names")
pytestmark = [
    pytest.mark.skipif(
        not (WEB / "node_modules" / "vite").is_dir() or shutil.which("node") is None,
        reason="needs Node and web/node_modules: python dev.py web",
    ),
    pytest.mark.skipif(
        not (STATIC_FOLDER / "index.html").is_file(), reason="the web files are not built"
    ),
]


def _questions(meta: dict[str, Any]) -> list[str]:
    """Random views of all tracks, and every kind of question over them."""
    dice = Random(17)
    tracks = ",".join(str(track["id"]) for track in meta["tracks"])
    begin, end = meta["begin_ps"], meta["end_ps"]
    views = [(begin, end)]
    while len(views) < 12:
        length = int((end - begin) * 10 ** -dice.uniform(0, 4)) + 1
        left = begin + int(dice.random() * (end - begin - length + 1))
        views.append((left, left + length))
    asked = ["timeline/names?page=0"]
    for left, right in views:
        view = f"start_ps={left}&end_ps={right}"
        asked += [
            f"timeline/tile?tracks={tracks}&{view}&width_px=512&max_slices={most}"
            for most in (24_000, 60)
        ]
        asked += [
            f"timeline/density?columns=100&{view}",
            f"timeline/range?limit=500&{view}",
            f"timeline/range?limit=500&{view}&tracks={tracks}",
            f"timeline/flows?{view}&tracks={tracks}",
            f"timeline/search?q=e&columns=64&limit=50&{view}&at_ps={(left + right) // 2}",
        ]
    asked += [f"timeline/search?q=%5E.%2Ba&mode=regex&limit=9&tracks={tracks}"]
    for event in range(0, meta["events"], max(meta["events"] // 60, 1)):
        asked += [f"timeline/event?id={event}", f"timeline/flows?id={event}&depth=3"]
    return [f"api/v1/{question}" for question in asked]


@pytest.mark.parametrize("name", PROFILES)
def test_report_and_server_agree(name: str, tmp_path: Path) -> None:
    recording = tmp_path / "host.xplane.pb"
    recording.write_bytes(PROFILES[name])
    client = Client(Application(Workspace(find(recording)), Guard(Settings(mounted=True), 0)))
    meta = client.get("/api/v1/timeline/meta").get_json()
    questions = [*_questions(meta), "api/v1/tool/overview_page?layout=columns", "api/v1/advice"]
    html = tmp_path / "report.html"
    with open(recording) as session:
        html.write_bytes(make_report(session).html)

    script = ["node", str(WEB / "scripts" / "ask_report.mjs"), str(html)]
    told = subprocess.run(
        script, input="\n".join(questions), capture_output=True, text=True, check=False, cwd=WEB
    )
    assert told.returncode == 0, told.stderr
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(answers) == len(questions)
    for question, answer in zip(questions, answers, strict=True):
        served = client.get("/" + question)
        if served.status_code != 200:  # an id that is not on the timeline
            assert answer["status"] == 404, question
            continue
        if "timeline/tile" in question:
            assert answer["body"] == served.data.hex(), question
            continue
        body = served.get_json()
        for field in LEFT_OUT:
            body.pop(field, None), answer["body"].pop(field, None)
        assert _rounded(answer["body"]) == _rounded(body), question


def _rounded(value: Any) -> Any:
    """Fractions to nine digits: two languages need not round the last one alike."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(f"{value:.9g}")
    return value
