"""Results as files: JSON, CSV, Markdown, Parquet."""

from stepscope.surfaces.export.tables import (
    csv_text,
    json_text,
    main_table,
    markdown_escape,
    markdown_table,
    markdown_text,
    parquet_bytes,
    table_json,
)

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
