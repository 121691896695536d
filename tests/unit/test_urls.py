"""URLs go through fsspec, and the caller reports where it is absent."""

from __future__ import annotations

import sys

import pytest

from stepscope.errors import CaptureError, StepscopeError, StoreError
from stepscope.urls import file_system, is_url

EITHER = pytest.mark.parametrize("error_class", [CaptureError, StoreError])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("gs://bucket/logs", True),
        ("memory://logs", True),
        ("/logs", False),
        ("logs:/old", False),
        (r"C:\logs", False),
    ],
)
def test_a_url_is_told_from_a_path(path: str, expected: bool) -> None:
    assert is_url(path) is expected


def test_a_url_is_a_file_system_and_a_path_in_it() -> None:
    pytest.importorskip("fsspec")
    system, path = file_system("memory://logs/run/a.xplane.pb", StoreError)
    assert system.protocol == "memory"
    assert path == "/logs/run/a.xplane.pb"


@EITHER
def test_an_unknown_scheme_names_what_to_install(error_class: type[StepscopeError]) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(error_class, match="no file system") as caught:
        file_system("nosuchscheme://bucket/logs", error_class)
    assert caught.value.anchor == "remote-scheme"
    assert caught.value.where == "nosuchscheme://bucket/logs"
    assert "nosuchscheme" in caught.value.why
    assert "gcsfs" in caught.value.hint


@EITHER
def test_without_fsspec_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, error_class: type[StepscopeError]
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(error_class, match="fsspec") as caught:
        file_system("memory://logs", error_class)
    assert caught.value.anchor == "remote-extra"
    assert "stepscope[remote]" in caught.value.hint
