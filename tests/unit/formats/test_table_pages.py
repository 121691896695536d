"""Tables read page by page, against what SQLite says of the same file."""

from __future__ import annotations

import random
import sqlite3
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.formats import table_pages
from stepscope.formats.database import TraceDatabase, opened
from stepscope.formats.packed import NULL
from stepscope.formats.table_pages import _TextsRead
from stepscope.formats.trace_tables import Rows
from stepscope.kernels import core
from tests.kernels import examples

INTEGERS = st.one_of(
    st.none(), st.integers(-300, 300), st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from([0, 1])
)
TEXTS = st.one_of(st.none(), st.sampled_from(["", "a", "名前", "x" * 200]))
ANYTHING = st.one_of(INTEGERS, TEXTS, st.floats(allow_nan=False), st.binary(max_size=3))
WAYS = st.sampled_from(["", "WITHOUT ROWID", "added", "deleted", "utf16", "long"])


def values(rows: Rows) -> dict[str, Any]:
    numbers = {name: rows[name].tolist() for name in ("id", "n", "m", "none")}
    return {**numbers, "t": list(rows.texts["t"]), "count": len(rows)}


def made(path: Path, cells: list[tuple[Any, Any, Any]], way: str, page_bytes: int) -> None:
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA page_size = {page_bytes}")
        if way == "utf16":
            database.execute("PRAGMA encoding = 'UTF-16'")
        last = "" if way == "added" else ", m"
        rowid = way if way.startswith("W") else ""
        database.execute(
            f"CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, t TEXT{last}) {rowid}"
        )
        if way == "long":
            cells = [(n, f"{t}{'y' * 9_000}" if t else t, m) for n, t, m in cells]
        if way == "added":
            database.executemany("INSERT INTO t VALUES (NULL, ?, ?)", [one[:2] for one in cells])
            database.execute("ALTER TABLE t ADD COLUMN m DEFAULT 7")
        else:
            rows = [(number * 3 + 1, *one) for number, one in enumerate(cells)]
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        if way == "deleted":
            database.execute("DELETE FROM t WHERE id % 2")
    database.close()


def both(path: Path) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """The table by its pages and by SQLite, and whether its pages were enough."""
    wanted = ("t", ("id", "n", "m", "none"), ("t",))
    with opened(path, title="", file="") as database:
        known = frozenset(database.tables["t"])
        asked = values(database._asked(*wanted, None, known))
        pages, plain = database._pages, database._plain["t"]
        assert pages is not None
        is_plain = pages.read(plain, ("id", "n", "m"), ("t",)) is not None
        return values(database.rows(*wanted)), asked, is_plain


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(ANYTHING, ANYTHING, ANYTHING), max_size=40),
    WAYS,
    st.sampled_from([512, 4096]),
)
def test_pages_say_what_sqlite_says(
    tmp_path_factory: pytest.TempPathFactory, cells: list[Any], way: str, page_bytes: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.sqlite"
    made(path, cells, way, page_bytes)
    by_pages, asked, _ = both(path)
    assert by_pages == asked


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(INTEGERS, TEXTS, INTEGERS), max_size=40))
def test_plain_rows_need_nothing_but_their_pages(
    tmp_path_factory: pytest.TempPathFactory, cells: list[Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "plain.sqlite"
    made(path, cells, "", 4096)
    by_pages, asked, is_plain = both(path)
    assert is_plain
    assert by_pages == asked
    assert by_pages["n"] == [NULL if n is None else n for n, _, _ in cells]
    assert by_pages["t"] == [t for _, t, _ in cells]


def test_a_deep_table_in_pieces_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "deep.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n, t, m)")
        database.execute("CREATE TABLE amid (x)")
        for n in range(300):
            rows = [(100 * n + i, -i, f"name {i}", 2**40 + n) for i in range(100)]
            database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
            database.execute("INSERT INTO amid VALUES (?)", ("z" * 900,))
    database.close()
    by_pages, asked, is_plain = both(path)
    assert is_plain
    assert by_pages == asked
    assert by_pages["id"] == list(range(30_000))


def test_fractions_and_texts_are_not_integers(tmp_path: Path) -> None:
    path = tmp_path / "odd.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (n)")
        database.executemany("INSERT INTO t VALUES (?)", [(1.5,), ("12",), (3.0,), (4,)])
    database.close()
    with opened(path, title="", file="") as odd:
        assert odd.rows("t", ("n",))["n"].tolist() == [NULL, NULL, 3, 4]
        assert odd.odd_cells == 2


def damaged(data: bytearray, random_: random.Random) -> None:
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(512, len(data))
        data[at] = random_.choice([0, 1, 5, 13, 127, 128, 255])


@pytest.mark.parametrize("harm", [damaged, lambda data, _: data.__delitem__(slice(3000, None))])
def test_broken_pages_end_like_sqlite_or_with_rows(
    tmp_path: Path, harm: Callable[[bytearray, random.Random], None]
) -> None:
    path = tmp_path / "broken.sqlite"
    made(path, [(n, f"text {n}", n * 2**33) for n in range(400)], "", 512)
    whole = path.read_bytes()
    for seed in range(150):
        data = bytearray(whole)
        harm(data, random.Random(seed))
        path.write_bytes(data)
        try:
            with opened(path, title="", file="") as database:
                rows = database.rows("t", ("id", "n", "m", "none"), ("t",))
                assert len(values(rows)["t"]) == len(rows)
        except Exception as error:
            assert type(error).__name__ == "FormatError", error


def test_a_row_that_claims_more_than_memory_has_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "claims.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA page_size = 512")
        database.execute("CREATE TABLE t (n, t)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(n, f"text{n}") for n in range(9)])
    database.close()
    data = bytearray(path.read_bytes())
    begin = data.index(b"text8") - 6
    data[begin : begin + 9] = b"\xff" * 9
    path.write_bytes(data)
    with opened(path, title="", file="") as found:
        assert len(found.rows("t", ("n",), ("t",))) < 9
        assert found.damage == "out of memory"


def test_the_kernel_refuses_pages_beyond_its_buffer() -> None:
    reader = core.page.PageReader(np.zeros(1, np.int32).data, -1, NULL)
    page = np.zeros(512, np.uint8)
    page[0], page[4] = 13, 255  # 255 cells do not fit
    numbers, none = np.zeros((1, 300), np.int64), np.zeros((0, 300), np.int64)
    for begin in (-1, 0, 1, 511, 2**40):
        assert not reader.read(page.data, np.asarray([begin]).data, 512, numbers.data, none.data)
    page[4] = 1
    assert not reader.read(
        page.data, np.zeros(1, np.int64).data, 512, numbers[:, :0].data, none.data
    )


def test_the_kernel_is_the_same_as_plain_python(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "both.sqlite"
    made(path, [(n, f"text {n}", -n * 2**33) for n in range(50)], "", 512)
    native, _, is_plain = both(path)
    monkeypatch.setattr(core, "page", core.plain("page_kernel"))
    assert is_plain
    assert both(path) == (native, native, True)


def test_a_journal_beside_the_file_is_left_to_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE t (n)")
    database.execute("INSERT INTO t VALUES (5)")
    database.commit()
    try:
        with opened(path, title="", file="") as found:
            assert isinstance(found, TraceDatabase)
            assert found._pages is None
            assert found.rows("t", ("n",))["n"].tolist() == [5]
    finally:
        database.close()


def test_pages_that_claim_more_rows_than_fit_get_no_room(tmp_path: Path) -> None:
    """65,535 rows of 512 bytes' pages would be gigabytes for a file of a megabyte."""
    path = tmp_path / "claims.sqlite"
    made(path, [(n, "a", n) for n in range(20_000)], "", 512)
    whole = bytearray(path.read_bytes())
    for begin in range(512, len(whole), 512):
        if whole[begin] == 13:
            whole[begin + 3 : begin + 5] = b"\xff\xff"
    path.write_bytes(whole)
    with opened(path, title="", file="") as database:
        assert database._pages is not None
        tracemalloc.start()
        assert database._pages.read(database._plain["t"], ("id", "n", "m"), ("t",)) is None
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak_bytes < 20 * len(whole)


@pytest.mark.parametrize("kernel", [core.page, core.plain("page_kernel")])
def test_equal_texts_of_a_page_are_found(kernel: ModuleType) -> None:
    words = ["", "a", "b", "ab", "名前", "x" * 90, "x" * 89 + "y"]
    rng = random.Random(3)
    chosen = [rng.choice([None, *words]) for _ in range(200)]
    data = np.frombuffer("".join(one or "" for one in chosen).encode(), np.uint8)
    length = np.asarray([-1 if one is None else len(one.encode()) for one in chosen])
    begin = np.cumsum(np.maximum(length, 0)) - np.maximum(length, 0)
    slots, first = np.full(512, -1, np.int32), np.empty(len(chosen), np.int64)
    columns = (begin.data, length.data, slots.data, first.data)
    assert kernel.find_equal(data.data, *columns)
    assert first.tolist() == [chosen.index(one) for one in chosen]
    assert not kernel.find_equal(data[:-1].data, *columns)


def test_texts_that_fall_on_the_same_slots_are_coded_all_the_same() -> None:
    read = _TextsRead()
    words = [f"{number:04}" for number in range(600)] * 2
    data = np.frombuffer("".join(words).encode(), np.uint8)
    begin = 4 * np.arange(len(words))
    with pytest.MonkeyPatch.context() as patched:
        # Hardly any slots: most texts are not found among the ones before them.
        patched.setattr(table_pages, "_SLOTS_PER_TEXT", 1 / 64)
        read.add(data, begin, np.full(len(words), 4))
    assert list(read.coded()) == words
    assert len(read.coded().distinct) == 600
