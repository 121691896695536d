"""The recording lacks something that the numbers need.

What it checks: the verdict of completeness: damaged files, dropped events, launches without
kernels, steps cut at the edges.
Why it matters: a number over half of the events is half a number; advice from it may be wrong.
What to do: record again, shorter or with larger buffers, as the notes say.
When it is wrong: what is missing does not affect the numbers you look at.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.advice.results import Results
from stepscope.registry import Answer, Rule, Silence
from stepscope.result import Finding, Ref
from stepscope.tables.recording.completeness import NO_DEVICE_EVENTS


def incomplete_profile(results: Results) -> Iterator[Answer]:
    """Fires when the profile is not complete; above "info" when numbers of it are void."""
    found = results.overview_page.completeness
    if found.verdict == "complete":
        yield Silence("The recorder reports no loss, and no plane or line is cut or empty.")
        return
    # No statement about a device holds where work went to one of which nothing was recorded.
    is_void = any(one.slug == NO_DEVICE_EVENTS for one in results.overview_page.diagnostics)
    notes = " ".join(found.notes[:3])
    rest = len(found.notes) - 3
    more = f" {rest} more note{'s' * (rest > 1)} with the recording." if rest > 0 else ""
    yield Finding(
        rule=RULE.id,
        severity="low" if found.verdict == "damaged" or is_void else "info",
        saving_ms=None,
        no_saving="a whole recording shows what is there to save",
        confidence=1.0,
        message=f"The recording is {found.verdict}: {notes}{more}",
        measured={"verdict": found.verdict, "notes": len(found.notes)},
        evidence=(Ref("overview_page", "completeness"),),
        actions=(
            "Record again: fewer steps, or only the tracers you need, keep buffers from running "
            "over; stop before the program ends.",
        ),
    )


RULE = Rule(
    id="incomplete-profile",
    check=incomplete_profile,
    needs=("overview_page",),
    doc=__doc__ or "",
    title="The recording is not whole",
    threshold="completeness is not “complete”",
)
