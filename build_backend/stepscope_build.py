"""The build backend: setuptools, plus the web files before any archive or installation.

``STEPSCOPE_SKIP_WEB=1`` leaves the web files as they are; ``STEPSCOPE_REQUIRE_WEB=1`` makes it an
error when they cannot be built. Without either, an installation never fails for want of Node:
the command line and the Python API work, and the page says how to build the rest.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import archives
import web_files
from setuptools import build_meta
from setuptools.build_meta import (
    get_requires_for_build_editable as _requires_editable,
)
from setuptools.build_meta import (
    get_requires_for_build_sdist as _requires_sdist,
)
from setuptools.build_meta import (
    get_requires_for_build_wheel as _requires_wheel,
)
from setuptools.build_meta import (
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _say(text: str) -> None:
    print(f"stepscope: {text}", file=sys.stderr, flush=True)


def _flag(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


def _node_requirement() -> list[str]:
    """Node's wheel (61 MB), asked for only when files must be built and the machine has none."""
    if _flag("STEPSCOPE_SKIP_WEB") or web_files.is_fresh() or web_files.node_on_path():
        return []
    return [web_files.NODE_REQUIREMENT]


def _ensure_web_files() -> None:
    if web_files.is_fresh():
        _say("the web files are up to date")
        return
    if _flag("STEPSCOPE_SKIP_WEB"):
        if _flag("STEPSCOPE_REQUIRE_WEB"):
            raise web_files.WebBuildError("the web files are old or missing, and may not be built")
        _say("STEPSCOPE_SKIP_WEB is set: the web files are NOT built; pages may be old or missing")
        return
    try:
        _say("building the web files")
        web_files.build()
    except (web_files.WebBuildError, OSError) as error:
        if _flag("STEPSCOPE_REQUIRE_WEB"):
            raise
        _say(f"the web files are NOT built: {error}")
        _say("everything but the web pages works; the page itself says how to build it")


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a wheel needs at build time."""
    return [*_requires_wheel(config_settings), *_node_requirement()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """What an editable installation needs at build time."""
    return [*_requires_editable(config_settings), *_node_requirement()]


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """What a source distribution needs at build time: it carries the built web files."""
    return [*_requires_sdist(config_settings), *_node_requirement()]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """A wheel with the web files and, where a compiler is found, the compiled kernels."""
    _ensure_web_files()
    name = str(build_meta.build_wheel(wheel_directory, config_settings, metadata_directory))
    archives.finish_wheel(Path(wheel_directory, name))
    return name


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """An editable installation: kernels are compiled beside their sources."""
    _ensure_web_files()
    return str(build_meta.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    """A source distribution that installs without Node."""
    _ensure_web_files()
    name = str(build_meta.build_sdist(sdist_directory, config_settings))
    archives.finish_sdist(Path(sdist_directory, name))
    return name
