"""Exports that are folders of tables hold what the same tables in a database hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import stepscope
from stepscope.columns.space import Space
from stepscope.errors import FormatError, StepscopeError
from stepscope.formats import FORMATS
from stepscope.store import find, read_pieces
from stepscope.surfaces.cli.main import run
from tests.unit.formats.layout import lines
from tests.unit.formats.nsight import test_nsight as of_databases
from tests.unit.formats.nsight.export import call, export, kernel, range_
from tests.unit.formats.nsight.folder import KINDS, folder_of, write

DATA = Path(__file__).parents[5] / "shared" / "data" / "nsight"
CHECKS = (
    of_databases.test_a_kernel_has_its_launch_its_op_and_its_shape,
    of_databases.test_launches_of_two_processes_with_one_number_stay_apart,
    of_databases.test_ranges_become_the_path_of_what_is_launched_in_them,
    of_databases.test_jax_tells_the_instruction_and_program_of_a_kernel,
    of_databases.test_a_range_that_never_ended_lasts_to_the_end_and_is_counted,
    of_databases.test_copies_sets_waits_and_replays_have_their_words,
    of_databases.test_metrics_memory_and_system_calls_are_there,
    of_databases.test_of_several_versions_of_a_table_the_highest_counts,
    of_databases.test_times_are_on_the_wall_clock_where_the_file_knows_it,
)


def opened(folder: Path) -> Space:
    return FORMATS["nsight-tables"].open(read_pieces(str(folder)), str(folder))


def training(path: Path) -> Path:
    version = {"name": "EXPORT_PRODUCT_VERSION", "value": "2026.2.1"}
    schema = {"name": "EXPORT_SCHEMA_VERSION", "value": "3.25.0"}
    return export(
        path,
        ("gemm", "cudaLaunchKernel_v7000", "step"),
        kernels=[kernel(300 + 100 * n, 350 + 100 * n, 1, n) for n in range(1, 20)],
        calls=[call(200 + 100 * n, 220 + 100 * n, 2, n) for n in range(1, 20)],
        ranges=[range_(100 * n + 190, 100 * n + 280, f"step {n}") for n in range(1, 20)],
        META_DATA_EXPORT=[version, schema],
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_holds_for_a_database(
    check: Callable[[Path], None], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def from_folder(path: Path) -> Space:
        return opened(folder_of(path, tmp_path / f"{path.stem}_pqtdir", kind))

    monkeypatch.setattr(of_databases, "opened", from_folder)
    check(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_equal(kind: str, tmp_path: Path) -> None:
    path = training(tmp_path / "a.sqlite")
    one, other = of_databases.opened(path), opened(folder_of(path, tmp_path / "d", kind))
    assert lines(one) == lines(other)
    assert (one.warnings, one.origin_ns) == (other.warnings, other.origin_ns)


@pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data/nsight is not here")
@pytest.mark.parametrize("name", ["h100_2gpu_1s", "minimal"])
def test_columns_of_a_real_export_are_equal(name: str, tmp_path: Path) -> None:
    path = DATA / f"{name}.sqlite"
    one, other = of_databases.opened(path), opened(folder_of(path, tmp_path / "d"))
    assert lines(one) == lines(other)
    assert one.warnings == other.warnings


def test_a_folder_is_one_run_wherever_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "logs" / "first_pqtdir")
    for path in (folder, folder.parent, folder / "StringIds.parquet"):
        (one,) = find(path).runs
        assert (one.hosts, one.sources[0].path) == (("first",), str(folder))
        assert one.size_bytes == sum(table.stat().st_size for table in folder.iterdir())
    with stepscope.open(folder) as session:
        assert next(iter(session.kernel_stats().kernels.records())).name == "gemm"
    assert run(["ls", str(folder.parent)]) == 0
    assert "Nsight Systems 2026.2.1 (export schema 3.25.0)" in capsys.readouterr().out
    assert run(["doctor", str(folder)]) == 0
    assert "kernel_stats" in capsys.readouterr().out


def test_a_table_that_is_broken_or_missing_leaves_the_others(tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    broken = folder / "NVTX_EVENTS.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    space = opened(folder)
    assert any("NVTX_EVENTS.parquet" in one for one in space.warnings)
    assert len(lines(space)["/device:GPU:0", "Stream #7(Compute)"]) == 19
    (folder / "StringIds.parquet").unlink()
    names = {one["name"] for one in lines(opened(folder))["/device:GPU:0", "Stream #7(Compute)"]}
    assert names == {"kernel 1"}


def test_a_folder_without_a_sound_table_says_why(tmp_path: Path) -> None:
    for name in ("StringIds.parquet", "NVTX_EVENTS.arrow"):
        (tmp_path / name).write_bytes(b"PAR1 nothing of the kind PAR1")
    with pytest.raises(FormatError, match="NVTX_EVENTS"):
        opened(tmp_path)


@pytest.mark.parametrize(
    "odd", [["a", "b"], [1.5, 2.0], [b"\xff", b"x"], [None, None], [[1], [2]], [True, False]]
)
@pytest.mark.parametrize("column", ["start", "end", "demangledName", "correlationId", "gridX"])
def test_a_column_may_hold_anything(column: str, odd: list[object], tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    table = {**kernel(1, 2, 1, 1), "gridX": 1}
    frame = pl.DataFrame({**{key: [one, one] for key, one in table.items()}, column: odd})
    write(frame, folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    space = opened(folder)
    assert len(space.events) >= 19


def test_numbers_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    rows = {key: [one, one] for key, one in kernel(1, 2, 1, 1).items()}
    frame = pl.DataFrame(rows).with_columns(
        correlationId=pl.Series([7, 2**64 - 1], dtype=pl.UInt64), streamId=pl.Series([7.0, 7.5])
    )
    write(frame, folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet")
    assert any("2 cells hold something else" in one for one in opened(folder).warnings)


def test_a_small_file_that_claims_a_billion_rows_is_refused(tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    rows = {key: [one] for key, one in kernel(1, 2, 1, 1).items()}
    many = pl.DataFrame(rows).select(pl.all().repeat_by(2_000_000).explode())
    path = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    write(many, path)
    assert path.stat().st_size < 200_000
    assert any("claims 2,000,000 rows" in one for one in opened(folder).warnings)


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    away = tmp_path / "away.parquet"
    (folder / "NVTX_EVENTS.parquet").rename(away)
    (folder / "NVTX_EVENTS.parquet").symlink_to(away)
    assert not any(
        one["name"].startswith("step") for some in lines(opened(folder)).values() for one in some
    )


def test_a_cut_table_never_raises_anything_else(tmp_path: Path) -> None:
    folder = folder_of(training(tmp_path / "a.sqlite"), tmp_path / "d")
    path = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    data = path.read_bytes()
    for at in range(0, len(data), 97):
        broken = bytearray(data)
        broken[at] ^= 0x5A
        path.write_bytes(bytes(broken))
        try:
            opened(folder)
        except StepscopeError as error:
            assert error.hint is not None
