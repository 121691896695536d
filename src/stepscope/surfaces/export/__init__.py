"""Results as files: JSON, CSV, Markdown, Parquet."""

from stepscope.surfaces.export.tables import (
    csv_text,
    main_table,
    markdown_escape,
    markdown_table,
    parquet_bytes,
    table_json,
)
from stepscope.surfaces.export.whole import json_text, markdown_text

__all__ = [
    "csv_text",
    "json_text",
    "main_table",
    "markdown_escape",
    "markdown_table",
    "markdown_text",
    "parquet_bytes",
    "table_json",
]
