"""Advice against profiles whose fault is known: the confusion matrix.

python3 dev.py bench --advice [--built-only] [--collection]

Profiles are built (GPUs, TPUs, many hosts) and recorded now from scripted TensorFlow and JAX
programs, each with one planted fault or none. Then come the recordings of tests/collection, the
part to develop on and the part that is only scored apart, with all rules and with the rules taken
away that know the fault; ``--collection``: only these.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from bench.machine import say
from tests.collection import score
from tests.collection.labels import recordings
from tests.labelled import Labelled, live
from tests.labelled.confusion import judge, matrix
from tests.labelled.synthetic import PROFILES


def main() -> int:
    """Print the matrix and the scores; 1 when the planted cause is not first often enough."""
    code = 0 if "--collection" in sys.argv else built_and_scripted()
    if "--built-only" not in sys.argv:
        collection()
    return code


def collection() -> None:
    """Print what advice says about the recordings that are kept."""
    say("asking advice about the collection")
    judged = [score.judge(recorded) for recorded in recordings()]
    print("\n".join(score.line_of(one) for one in judged))
    print("\n" + score.report(judged))
    print("\n" + score.report_without_rules())


def built_and_scripted() -> int:
    """Print the matrix of the profiles that are made now."""
    folder = Path(tempfile.mkdtemp(prefix="stepscope-labelled-"))
    try:
        labels: list[Labelled] = list(PROFILES)
        if "--built-only" not in sys.argv:
            say("recording the programs of TensorFlow and JAX")
            begin = time.perf_counter()
            labels += live.record(folder)
            print(
                f"recorded {len(labels) - len(PROFILES)} programs "
                f"in {time.perf_counter() - begin:.0f} s"
            )
        say(f"asking advice about {len(labels)} profiles")
        judged = [judge(label) for label in labels]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(matrix(judged))
    faults = [one for one in judged if one.label.expected is not None]
    quiet = all(one.is_right for one in judged if one.label.expected is None)
    return int(not (quiet and sum(one.is_right for one in faults) >= 0.95 * len(faults)))
