"""Files are read one after the other.

What it checks: whether the stage that the step waits for reads or opens files, and no interleave
reads several at once.
Why it matters: one stream uses one core to decompress and pays every latency in turn.
What to do: interleave(open, num_parallel_calls=tf.data.AUTOTUNE) over several files.
When it is wrong: there is one file, or the disk itself is the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence
from stepscope.verdicts.tf_data_changes import MANY_DATASETS

_READERS = ("TFRecord", "TextLine", "FixedLengthRecord", "CSV", "SSTable", "RecordIO", "FlatMap")


def _inputs(leaf: str) -> str:
    """What it reads: a flat_map joins whatever datasets its function makes."""
    return "datasets" if leaf.startswith("FlatMap") else "files"


def no_interleave(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a reader of files outside of a parallel interleave."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    is_reader = found.leaf.startswith(_READERS) and not stage.datasets >= MANY_DATASETS
    if not is_reader or "ParallelInterleave" in stage.long_name:
        yield Silence(f"{found.leaf}, which the step waits for, reads no files in sequence.")
        return
    saving = found.knobs.get("interleave", 0.0)
    yield from stage_finding(
        RULE,
        found,
        saving,
        f"{found.leaf} reads its {_inputs(found.leaf)} one after the other, and the step waits "
        f"{found.wait_ms:.3g} of {found.step_ms:.3g} ms for it; {stage.cores or 2} at once would "
        f"save about {saving:.3g} ms.",
        confidence=0.6,
        actions=(
            "Read several files at once with interleave.",
            "Write the data as a few files of 100 MB or more instead of one, or of thousands.",
        ),
        code="files.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)",
    )


RULE = Rule(
    id="no-interleave",
    check=no_interleave,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="Files are read one by one",
    threshold="the step waits ≥ 5 % for a reader of files outside of a parallel interleave",
    cause_of=STARVED,
)
