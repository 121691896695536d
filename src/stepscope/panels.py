"""The parts of a tool's page, which the tool declares: texts, charts and tables of its result.

Texts are templates. ``{step_time_ms}`` is a value with its unit. ``{growth?}`` and
``{verdict=healthy?}`` are conditions. If a value is missing, ``[…]`` is left out, and ``a | b`` is
b. Texts are about the result unless their attribute names a row.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from stepscope.records import dataclass


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer, above all else. ``tone`` names the part of the step that colours it."""

    title: str
    note: str = ""
    tone: str = ""
    _: KW_ONLY
    form: Literal["headline"] = "headline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """An option as a list of what can be chosen.

    Attributes:
        option: The option that is chosen.
        title: What is chosen.
        current: The field with the present choice.
        values: The field or column with the choices.
        labels: The same with their names; the choices themselves by default.
        detail: Said of a row of the choices.
        all: Names the choice of none of them; without it there is no such choice.
        clears: Options that lose their value.
    """

    form: Literal["picker"] = "picker"
    option: str
    title: str
    current: str = ""
    values: str
    labels: str = ""
    detail: str = ""
    all: str = ""
    clears: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One number below the headline; left out if it has no value."""

    title: str
    value: str
    note: str = ""
    _: KW_ONLY
    form: Literal["figure"] = "figure"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence."""

    text: str
    _: KW_ONLY
    form: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Shown:
    """A field under a heading.

    Attributes:
        field: The field of the result.
        title: Heading; the field's label if empty.
        note: Said beside it.
        none: Said if there is nothing to show; the part is left out otherwise.
    """

    field: str
    _: KW_ONLY
    title: str = ""
    note: str = ""
    none: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRows(Shown):
    """Rows of a table. ``noun`` is what a row is, one and several."""

    noun: tuple[str, ...] = ("row", "rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart(ShownRows):
    """Rows as bars.

    Attributes:
        label: Name of a row.
        value: The column that bars are as long as.
        text: Said of a row.
        tip: Said of a row that is pointed at.
        first: Columns that come first in its table.
        several: Whether two rows are needed.
        live: First and last point of what a row is about; those live at the chosen point are shown.
        points: The table over which that point is chosen.
    """

    form: Literal["bar_chart"] = "bar_chart"
    label: str
    value: str
    text: str
    tip: str = ""
    first: tuple[str, ...] = ()
    several: bool = False
    live: tuple[str, ...] = ()
    points: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart(ShownRows):
    """Columns as lines over the first of them.

    Attributes:
        label: Says the chart in a sentence, for those who cannot see it.
        columns: The columns, first the one that they are over.
        tip: Said of a point.
        by: Only rows with the most frequent value of this column.
        marker: Fields with the place and height of a marker.
        marked: Said of the marker.
        stepwise: Whether a value holds until the next.
        chooses: Whether a point can be chosen.
    """

    form: Literal["line_chart"] = "line_chart"
    label: str
    columns: tuple[str, ...]
    tip: str
    by: str = ""
    marker: tuple[str, ...] = ()
    marked: str = ""
    stepwise: bool = False
    chooses: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsChart(Shown):
    """A time, divided into the parts of a step."""

    form: Literal["parts_chart"] = "parts_chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsChart(Shown):
    """The steps of the recording, each divided into its parts."""

    form: Literal["steps_chart"] = "steps_chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChart(Shown):
    """A table as the chart that its columns allow."""

    form: Literal["table_chart"] = "table_chart"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView(ShownRows):
    """A table.

    Attributes:
        first: Columns that come first.
        hidden: Columns that are hidden until asked for.
        main: Whether the page is about this table: more rows in sight, and sums.
        sums: Whether sums are below it; by default where it is the main one.
        constants: Whether columns are shown that say the same in each row.
        several: Whether two rows are needed.
    """

    form: Literal["table_view"] = "table_view"
    first: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    main: bool = False
    sums: bool | None = None
    constants: bool = False
    several: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms(Shown):
    """Names of rows, each with its ``meaning`` and a ``text``."""

    form: Literal["terms"] = "terms"
    name: str
    meaning: str
    text: str


@dataclass(frozen=True, slots=True)
class OwnChart:
    """A chart that the page has for one tool only."""

    form: Literal[
        "roofline",
        "pipeline_graph",
        "pod_step",
        "pod_cost",
        "pod_map",
        "pod_suspects",
        "pod_ribbon",
        "pod_axes",
        "host_stacks",
    ]


Panel = (
    Headline
    | Picker
    | Figure
    | Paragraph
    | BarChart
    | LineChart
    | PartsChart
    | StepsChart
    | TableChart
    | TableView
    | Terms
    | OwnChart
)
