"""Files of Stepscope's are never taken for the program's."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import FrameType

import pytest

from stepscope.capture.launch import site
from stepscope.capture.recorders.start_up import _Looks
from stepscope.capture.runtime.frame_names import FrameNames
from stepscope.capture.runtime.start_spans import StartSpans
from stepscope.tables.steps.recorder_work import is_recorder_frame, is_wrapper

SITE = Path(str(site.__file__)).with_name("sitecustomize.py")


def test_file_on_our_search_path_is_a_recorders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE.parent))
    names = FrameNames()
    assert not names.is_own_file(str(SITE))
    assert names.is_own_file(str(SITE.parents[5] / "train.py"))
    assert is_recorder_frame(f"${names.file(str(SITE))}:22 _run_the_hidden_one")


def test_timed_calls_are_wrappers() -> None:
    assert is_wrapper("$stepscope/capture/runtime/start_spans.py:110 StartSpans.call")


def test_imports_of_the_launcher_are_the_recorders_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look may fall into a library that our start file calls: no line of the program is there."""
    frames: list[FrameType] = []
    monkeypatch.setattr(
        importlib.machinery.PathFinder,
        "find_spec",
        lambda *_: frames.append(sys._getframe()),  # None: there is no other such file
    )
    monkeypatch.delenv("STEPSCOPE_RECORD", raising=False)
    spec = importlib.util.spec_from_file_location("launched", SITE)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    looks = _Looks(StartSpans())
    own = looks._names.is_own_file
    outer = (__file__, "<string>")  # this test's callers, the latter in a worker of xdist
    monkeypatch.setattr(looks._names, "is_own_file", lambda name: name not in outer and own(name))
    (frame,) = frames
    kind, _name, place, _hint = looks._site(frame)
    looks.close()
    assert (kind, place) == ("recorder", "")
