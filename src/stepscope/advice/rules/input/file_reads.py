"""A file is opened for every element.

What it checks: the share of op time spent reading files, in the map that the step waits for.
Why it matters: small reads pay for the opening and the latency of each file again and again.
What to do: pack the elements into a few large files, or cache them.
When it is wrong: the files are in the page cache and decoding is what takes the time.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.evidence.input_stage import STARVED, InputStage, input_stage, stage_finding
from stepscope.advice.parts.changes import SUPPLIED
from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence


def file_reads(results: Results) -> Iterator[Answer]:
    """Fires when the step waits ≥ 5 % for a map that spends ≥ 30 % of its op time reading files."""
    found = input_stage(results)
    if not isinstance(found, InputStage):
        yield found
        return
    stage = found.stage
    if stage.kind != "map" or not found.reads_files:
        yield Silence(f"Reading files is {stage.read_frac:.0%} of the functions' op time.")
        return
    yield from stage_finding(
        RULE,
        found,
        found.knobs.get("packed_files", 0.0),
        f"{found.leaf} reads a file for each element ({stage.read_frac:.0%} of its op time), and "
        f"the step waits {found.wait_ms:.3g} of {found.step_ms:.3g} ms for it.",
        confidence=0.55,
        actions=(
            "Pack the elements into a few TFRecord files of 100 MB or more and read those.",
            "cache() the contents if they fit in memory.",
        ),
        code="tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)",
        measured={"read_frac": stage.read_frac},
    )


RULE = Rule(
    id="file-reads",
    check=file_reads,
    needs=("overview_page", "tf_data_bottleneck_analysis"),
    parts=("input",),
    doc=__doc__ or "",
    change=SUPPLIED,
    title="A file is opened for every element",
    threshold="the step waits ≥ 5 % for a map that spends ≥ 30 % of its op time reading files",
    cause_of=STARVED,
)
