"""The closed door: what strangers' queries may not do."""

from __future__ import annotations

import polars as pl
import pytest

from stepscope.errors import UsageError
from stepscope.sql.door import LONGEST_QUERY, check_query

_READING = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "select * from READ_CSV('/etc/passwd')",
    "SELECT * FROM scan_parquet('s3://bucket/key')",
    "SELECT * FROM \"read_csv\"('/etc/passwd')",
    "SELECT * FROM read_csv /* '*/ ('/etc/passwd') -- '",
    "WITH t AS (SELECT * FROM read_ipc('x')) SELECT * FROM t",
    "SELECT (SELECT max(a) FROM read_json('x')) FROM steps",
    "SELECT name FROM steps UNION ALL SELECT b FROM read_csv('x')",
    # Where a text ends depends on more than its quotes.
    "SELECT \"it's\" FROM read_csv('x') WHERE a = 'b'",
    "SELECT 1 -- it's\n FROM read_csv('x')",
    "SELECT $$ ' $$ FROM read_csv('/etc/passwd')",
    "SELECT E'\\'' FROM read_csv('x')",
    "SELECT `a'` FROM read_csv('x') WHERE b = ''",
]
_WRITING = [
    "DROP TABLE steps",
    "DELETE FROM steps",
    "TRUNCATE TABLE steps",
    "CREATE TABLE x AS SELECT 1",
    "COPY steps TO '/tmp/x'",
    "INSERT INTO steps VALUES (1)",
    "/* select */ DROP TABLE steps",
    "-- select\nDROP TABLE steps",
    "",
    "   ",
]


@pytest.mark.parametrize("query", [*_READING, *_WRITING])
def test_what_reads_files_or_changes_tables_is_refused(query: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_query(query)
    assert caught.value.anchor == ("sql-closed" if query in _READING else "sql")
    assert caught.value.why and caught.value.hint


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM events",
        "  (select 1)",
        "WITH t AS (SELECT * FROM steps) SELECT * FROM t",
        "-- my query\nSELECT 1",
        "/* two */ /* comments */ SELECT 1",
        "FROM steps SELECT name",
        "SELECT * FROM events WHERE name LIKE '%read_csv(%'",
        "SELECT * FROM events WHERE name = 'it''s scan_files'",
    ],
)
def test_what_reads_the_tables_passes(query: str) -> None:
    check_query(query)


def test_a_query_has_a_length() -> None:
    with pytest.raises(UsageError):
        check_query("SELECT " + "1," * LONGEST_QUERY + "1")


def test_polars_has_no_function_for_files_of_another_name() -> None:
    """The door knows them by their names: a new family of them must be seen here."""
    functions = ("csv", "parquet", "ipc", "json", "ndjson", "delta", "iceberg", "excel", "avro")
    context = pl.SQLContext(eager=True)
    for form in functions:
        for name in (form, f"{form}_scan", f"{form}_read", f"load_{form}", f"from_{form}"):
            with pytest.raises(pl.exceptions.PolarsError):
                context.execute(f"SELECT * FROM {name}('/etc/passwd')")
    for source in ("'/etc/passwd'", '"/etc/passwd"', "'file.csv'"):
        with pytest.raises(pl.exceptions.PolarsError):
            context.execute(f"SELECT * FROM {source}")


def test_the_name_of_a_function_does_not_begin_the_sentence() -> None:
    """Where the sentence begins with a capital letter, the name would be another one."""
    with pytest.raises(UsageError, match="It names read_csv, which could read files"):
        check_query("SELECT * FROM read_csv('x')")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT '\ud800'",
        "SELECT lpad('x', 2000000000)",
        "SELECT repeat(name, 100000) FROM events",
        "SELECT lpad('x', start_ns, 'y') FROM events",
        "SELECT lpad(repeat('x', 9999), 99999)",
    ],
)
def test_texts_without_bound_and_halves_of_characters_are_refused(query: str) -> None:
    with pytest.raises(UsageError):
        check_query(query)


def test_short_texts_are_made() -> None:
    check_query("SELECT lpad(name, 20, ' '), repeat('-', 10) FROM events WHERE name = 'repeat'")
