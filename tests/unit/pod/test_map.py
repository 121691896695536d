"""Where each device is drawn, by which byte it is coloured, what proves a suspect."""

from __future__ import annotations

import numpy as np
import pytest

from bench.pods.faults import FAULTS
from bench.pods.job import Layout, Simulation, no_fault
from bench.pods.recorded import Damage, summaries
from stepscope.pod.analyse import analyse
from stepscope.pod.map import MEASURES, NOTHING, colours
from stepscope.pod.report import Pod

WHOLE = Damage()
SHAPES = [Layout(2, 4, 2, devices=2), Layout(1, 16, 1, devices=4), Layout(1, 5, 1, devices=1)]


def pod_of(layout: Layout, size: float = 0.0, damage: Damage = WHOLE) -> Pod:
    made = no_fault(layout)
    if size:
        made, _ = FAULTS["gpu_throttled"](layout, size, np.random.default_rng(1))
    return analyse(summaries(Simulation(layout, made, 1).simulate(), 1, damage))


@pytest.mark.parametrize("layout", SHAPES, ids=[str(one.shape) for one in SHAPES])
def test_every_device_has_a_cell_of_its_own_and_its_own_name(layout: Layout) -> None:
    pod = pod_of(layout)
    cells = np.cumsum(pod.map.steps["cell"])
    assert len(set(cells.tolist())) == layout.world
    assert cells.min() >= 0 and cells.max() < pod.map.rows * pod.map.columns
    host = np.cumsum(pod.map.steps["host"])
    name = np.cumsum(pod.map.steps["name"])
    assert [pod.map.hosts[one] for one in host] == pod.devices["host"]
    assert [pod.map.names[one] for one in name] == pod.devices["device"]


def test_coordinates_are_rows_and_columns() -> None:
    pod = pod_of(Layout(2, 4, 2, devices=2))
    assert (pod.map.rows, pod.map.columns) == (4, 4)
    assert "stage" in pod.map.down
    # Devices of a row share all coordinates but those of the columns' axis.
    row = np.cumsum(pod.map.steps["cell"]) // 4
    across = pod.map.across
    for one in range(4):
        places = [pod.devices["place"][at] for at in np.flatnonzero(row == one)]
        rest = {" · ".join(p for p in place.split(" · ") if across not in p) for place in places}
        assert len(rest) == 1


def test_the_slow_device_has_the_last_colour_and_the_median_the_middle_one() -> None:
    pod = pod_of(Layout(1, 16, 1, devices=4), 0.4)
    charged = next(one for one in pod.map.measures if one.id == "charged_ms")
    found = colours(pod.devices, pod.map, charged)
    worst = int(np.argmax(pod.devices["charged_ms"]))
    cell = int(np.cumsum(pod.map.steps["cell"])[worst])
    assert found[cell] == 250
    assert np.median(found[found != NOTHING]) == pytest.approx(125, abs=2)
    assert tuple(one.id for one in pod.map.measures) == MEASURES


def test_a_host_without_a_recording_leaves_its_cells_empty() -> None:
    pod = pod_of(Layout(1, 12, 1, devices=4), damage=Damage(missing=(1,)))
    found = colours(pod.devices, pod.map, pod.map.measures[0])
    assert (found != NOTHING).sum() == 8


def test_evidence_shows_the_suspect_last_on_one_clock() -> None:
    pod = pod_of(Layout(1, 16, 1, devices=4), 0.4)
    suspect = next(pod.suspects.rows())["name"]
    rows = [row for row in pod.evidence.rows() if row["suspect"] == suspect]
    assert [row["role"] for row in rows] == ["suspect", "median", "fastest"]
    late, _, early = (row["arrives_ms"] for row in rows)
    u_ms = sum(rows[at]["clock_u_us"] for at in (0, 2)) / 1e3
    # Clocks differ by up to 100 ms; on the pod's own the ends agree.
    assert late - early > u_ms
    ends = [row["ends_ms"] for row in rows]
    assert max(ends) - min(ends) <= u_ms
    assert min(row["from_ms"] for row in rows) == 0
