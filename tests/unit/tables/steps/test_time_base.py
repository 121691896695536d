"""Times per step and of the whole recording, from the same events."""

import re
from pathlib import Path

import pytest

import stepscope
from stepscope.analysis import TOOLS
from stepscope.errors import UsageError
from stepscope.registry import Tool
from stepscope.result import columns_of
from stepscope.session import Session
from stepscope.surfaces.cli.pages.page import Page
from stepscope.surfaces.cli.pages.result import write_result
from stepscope.surfaces.fields import table_fields
from tests.profiles import draw, event, nth, space

# Two steps of 0.9 ms; in each a kernel of 400 µs. Before them 1 ms with a kernel of 300 µs, after
# them 1 ms without any.
LOOP = space(
    *draw(
        """
    /host:CPU
      python      w--------WS--------WS--------Wx--------W
    /device:GPU:0
      Stream #7   .K--.........K---......K---.............
    """,
        unit_us=100,
        w=event("warm up"),
        x=event("save"),
        W=event("print"),
        S=event("train", step_num=nth, _r=1),
        K=event("sgemm", correlation_id=1000 + nth),
    )
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "host.xplane.pb").write_bytes(LOOP)
    return stepscope.open(tmp_path)


def test_sums_are_means_of_the_steps_that_count(session: Session) -> None:
    found = session.per("step").kernel_stats()
    # 400 µs in each of two steps; the kernel of the warm-up is in none.
    assert found.totals.total_duration_us == pytest.approx(400)
    assert found.totals.occurrences == 1
    assert (found.times, found.times_of) == ("Times are per step, the mean of 2.", "step")
    (row,) = found.kernels.records()
    assert (row.avg_duration_us, row.max_duration_us) == (400, 400)


def test_by_itself_a_tool_is_as_ever(session: Session) -> None:
    found = session.kernel_stats()
    assert found.totals.total_duration_us == pytest.approx(1100)
    assert found.totals.occurrences == 3
    assert found.times == "Times are of the whole recording."
    assert session.overview_page().times == "Times are per step, the mean of 2."


def test_idle_shares_of_all_pages_agree(session: Session) -> None:
    # Of a step of 0.9 ms the device works 0.4; of the recording of 4 ms, 1.1.
    for base, idle_frac in (("step", 5 / 9), ("recording", 2.9 / 4)):
        asked = session.per(base)  # type: ignore[arg-type]
        tree, ops = asked.op_profile(), asked.framework_op_stats()
        shares = (
            asked.overview_page().device.idle_frac,
            asked.device_idle().idle_frac,
            tree.idle_time_us / tree.total_time_us,
            ops.device.idle_time_us / (ops.device.idle_time_us + ops.device.op_time_us),
        )
        assert shares == pytest.approx((idle_frac,) * 4, rel=1e-6), base


def test_a_page_that_has_only_one_base_stays_as_it_is(session: Session) -> None:
    assert TOOLS.find("host_activity").times_of == ("step",)
    assert (
        session.per("recording").run("host_activity").times == "Times are per step, the mean of 2."
    )


def test_columns_and_sentences_name_what_times_are_of(session: Session) -> None:
    of_step, of_all = session.per("step").device_idle(), session.per("recording").device_idle()
    # 0.5 of 0.9 ms, 2.9 of 4 ms.
    assert of_step.headline.startswith("Devices are idle 55.6 % of the step, mostly ")
    assert of_all.headline.startswith("Devices are idle 72.5 % of the recording, mostly ")
    column = columns_of(of_all.causes.schema)["step_frac"][1]
    assert column.said_of(of_step.times_of).label == "Share of step"
    assert column.said_of(of_all.times_of).label == "Share of the recording"


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.times_of], ids=lambda t: t.id)
def test_no_column_of_the_recording_is_called_of_a_step(tool: Tool) -> None:
    wrong = re.compile(r"\b(per|(of|in|during)( the| a| a counted| each)?) step\b", re.IGNORECASE)
    found = [
        f"{table}: {text}"
        for table, row in table_fields(tool.result).items()
        for column in (column.said_of("recording") for _, column in columns_of(row).values())
        for text in (column.label, column.help)
        if wrong.search(text)
    ]
    assert found == []


def test_the_terminal_calls_columns_by_what_their_times_are_of(session: Session) -> None:
    page = Page()
    write_result(page, session.per("recording").device_idle(), "Device Idle", 3)
    text = "\n".join("".join(piece for piece, _ in line) for line in page.lines)
    assert "Share of the recording" in text and "Share of step" not in text


def test_the_recording_as_a_whole_is_the_only_step(session: Session) -> None:
    found = session.per("recording").overview_page()
    assert found.steps.source == "window"
    assert found.steps.time_ms.mean == pytest.approx(4.0)
    assert found.times == "Times are of the whole recording."
    assert session.overview_page().steps.time_ms.mean == pytest.approx(0.9)


def test_advice_per_step_is_the_advice(session: Session) -> None:
    assert session.per("step").advice() == session.advice()


def test_one_session_is_made_for_each_base(session: Session) -> None:
    assert session.per("step") is session.per("recording").per("step")
    with pytest.raises(UsageError, match="Times cannot be per 'day'"):
        session.per("day")  # type: ignore[arg-type]


def test_without_steps_sums_are_of_the_recording_and_say_so(tmp_path: Path) -> None:
    data = space(
        *draw(
            """
        /host:CPU
          python      w--------.
        /device:GPU:0
          Stream #7   .K--......
        """,
            unit_us=100,
            w=event("once"),
            K=event("sgemm", correlation_id=1),
        )
    )
    (tmp_path / "host.xplane.pb").write_bytes(data)
    found = stepscope.open(tmp_path).per("step").kernel_stats()
    assert found.totals.total_duration_us == pytest.approx(300)
    assert found.times == "Times are of the whole recording: no step was found."
    assert found.times_of == "recording"


@pytest.mark.parametrize(
    ("tool", "whose"),
    [
        ("overview_page", "each as on the slowest of 2 hosts in it"),
        ("step_account", "of that one of 2 hosts whose steps take longest"),
        ("device_idle", "and the mean over 2 hosts"),
        ("host_activity", "and the mean over 2 hosts"),
        ("kernel_stats", "summed over 2 hosts"),
    ],
)
def test_the_sentence_says_whose_steps_they_are(tmp_path: Path, tool: str, whose: str) -> None:
    for host in ("a", "b"):
        (tmp_path / f"{host}.xplane.pb").write_bytes(LOOP)
    found = stepscope.open(tmp_path).per("step").run(tool)
    assert found.times == f"Times are per step, the mean of 2, {whose}."


def test_ops_that_ran_outside_of_the_steps_are_no_rows_of_a_step(tmp_path: Path) -> None:
    drawn = draw(
        """
    /host:CPU
      python      w---S----S----
      "           .a..............b...
    """,
        unit_us=100,
        w=event("warm up"),
        S=event("train", step_num=nth, _r=1),
        a=event("before/Add:AddV2"),
        b=event("after/Mul:Mul"),
    )
    (tmp_path / "host.xplane.pb").write_bytes(space(*drawn))
    found = stepscope.open(tmp_path)
    assert found.framework_op_stats().ops["operation"] == ["after/Mul", "before/Add"]
    assert found.per("step").framework_op_stats().ops["operation"] == []
