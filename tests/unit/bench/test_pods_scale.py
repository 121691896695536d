"""What is computed for more hosts than were measured lies on the line through the measurements."""

from __future__ import annotations

import pytest

from bench.pods.scale import Fit, against_xprof, joining, many_hosts


def test_a_line_goes_through_what_lies_on_one() -> None:
    fit = Fit.of([1, 2, 4], [5.0, 7.0, 11.0])
    assert (fit.a, fit.b, fit.r2) == pytest.approx((3, 2, 1))
    assert fit.at(1000) == pytest.approx(2003)


def test_what_does_not_lie_on_a_line_says_so() -> None:
    assert Fit.of([1, 2, 3, 4], [1.0, 9.0, 1.0, 9.0]).r2 < 0.5


@pytest.mark.slow
def test_joining_is_measured_in_processes_of_its_own() -> None:
    measured, computed = joining((8, 16))
    assert measured.startswith("measured: joining summaries of hosts of 8 devices")
    assert "8 in " in measured and "16 in " in measured
    assert computed.startswith("computed: 10,000 hosts")


@pytest.mark.slow
def test_the_published_case_is_measured_in_full_at_any_size() -> None:
    measured, against = against_xprof(size_mb=1, hosts=2)
    assert measured.startswith("measured: 2 recordings of 1 MB")
    assert "XProf's 8 files of 500 MB took 53 min" in against


@pytest.mark.slow
def test_many_hosts_are_computed_from_few() -> None:
    measured, computed = many_hosts((1, 2), wanted=10)
    assert "1 in " in measured and "2 in " in measured
    assert computed.startswith("computed: 10 such hosts")
