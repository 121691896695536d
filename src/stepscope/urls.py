"""Paths that are URLs (``gs://``, ``s3://``, ``memory://`` …): fsspec knows the way there."""

from __future__ import annotations

from typing import Any, cast

from stepscope.errors import StepscopeError


def is_url(path: str) -> bool:
    """Whether a path leads through fsspec rather than to this machine's files."""
    return "://" in path


def file_system(url: str, error_class: type[StepscopeError]) -> tuple[Any, str]:
    """The fsspec file system of a URL, and the path in it.

    Args:
        url: Where a recording is, or goes.
        error_class: What is raised: it tells reading a recording from writing one.

    Raises:
        StepscopeError: fsspec, or what it needs for this kind of URL, is not installed.
    """
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise error_class(
            "A URL needs the package fsspec.",
            where=url,
            why=str(error),
            hint='pip install "stepscope[remote]" (and gcsfs for gs://, s3fs for s3://).',
            slug="remote-extra",
        ) from error
    try:
        return cast("tuple[Any, str]", url_to_fs(url))
    except (ImportError, ValueError) as error:
        raise error_class(
            "There is no file system for this URL.",
            where=url,
            why=str(error),
            hint="Install the package it names: gcsfs for gs://, s3fs for s3://, adlfs for az://.",
            slug="remote-scheme",
        ) from error
    except Exception as error:  # back ends may connect at once, and raise kinds of their own
        raise error_class(
            "The file system of this URL cannot be reached.",
            where=url,
            why=f"{type(error).__name__}: {error}",
            hint="Check the network, the name and the credentials.",
            slug="remote-unreachable",
        ) from error
