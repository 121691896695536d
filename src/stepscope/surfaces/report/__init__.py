"""The pages of a run as one file that opens from a disk, without a server and without a request."""

from __future__ import annotations

from stepscope.surfaces.report.report import Choice, Report, make_report

__all__ = ["Choice", "Report", "make_report"]
