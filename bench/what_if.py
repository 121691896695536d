"""What stragglers cost a job, from a table of its operations.

python -m bench.what_if TRACE.parquet

Prints JSON: S, M_W, M_S and the top coordinate, as :mod:`stepscope.pod.what_if` defines them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl

from stepscope.errors import StepscopeError
from stepscope.pod.what_if import StragglerCost, what_if


def answer(found: StragglerCost) -> dict[str, Any]:
    """The result under the names of the literature."""
    top = found.top
    return {
        "S": found.slowdown,
        "M_W": found.by_workers,
        "M_S": found.by_last_stage,
        "top": top and {"dp_rank": top.replica, "stage": top.stage, "rank": top.rank},
        "T_s": found.step_s,
        "T_ideal_s": found.ideal_s,
        "S_dp": {str(name): value for name, value in found.by_replica.items()},
        "S_stage": {str(name): value for name, value in found.by_stage.items()},
        "S_t": found.by_type,
        "steps": found.steps,
        "left_out": list(found.left_out),
    }


def read(path: Path) -> pl.DataFrame:
    """The table of a Parquet file.

    Raises:
        StepscopeError: There is none.
    """
    try:
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StepscopeError(
            "This is not a Parquet file that can be read.",
            where=str(path),
            why=str(error).splitlines()[0],
            hint="Give a Parquet table with one row per operation.",
            slug="no-operations",
        ) from error


def main(arguments: list[str]) -> int:
    """Print the answer, or on standard error why there is none."""
    parser = argparse.ArgumentParser(prog="python -m bench.what_if", description=__doc__)
    parser.add_argument("trace", type=Path, help="a Parquet table with one row per operation")
    path = parser.parse_args(arguments).trace
    try:
        found = what_if(read(path), str(path))
    except StepscopeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(answer(found), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
