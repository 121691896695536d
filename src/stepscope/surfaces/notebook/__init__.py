"""Notebooks: answers drawn in their cells, and the pages in a frame."""

from stepscope.surfaces.notebook.cells import register
from stepscope.surfaces.notebook.frame import Frame, show

__all__ = ["Frame", "register", "show"]
