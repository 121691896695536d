"""A picture and the same profile said in words are equal."""

from __future__ import annotations

import pytest

from tests.profiles import Event, draw, event, host, line, nth, space, u


def test_a_bar_is_its_letter_and_its_dashes() -> None:
    (only,) = draw("/host:CPU\n  python  .A--.B.", unit_us=10, A=event("a"), B=event("b"))
    assert only.lines[0].events == (Event("a", 10, 30), Event("b", 50, 10))


def test_adjacent_bars_of_one_letter_stay_two_events() -> None:
    (only,) = draw("/host:CPU\n  t  A-A-", A=event("a"))
    assert only.lines[0].events == (Event("a", 0, 2), Event("a", 2, 2))


def test_a_picture_equals_the_words() -> None:
    picture = draw(
        """
        /host:CPU
          python  S--.S--.
          "       .O...O..
        """,
        unit_us=100,
        S=event("train", step_num=nth, _r=1),
        O=event("{nth}:MatMul", id=u(nth + 7)),
    )
    words = host(
        line(
            "python",
            ("train", 0, 300, {"step_num": 0, "_r": 1}),
            ("train", 400, 300, {"step_num": 1, "_r": 1}),
            ("0:MatMul", 100, 100, {"id": u(7)}),
            ("1:MatMul", 500, 100, {"id": u(8)}),
        )
    )
    assert space(*picture) == space(words)


def test_streams_take_their_number_and_gpus_their_stats() -> None:
    (_, device) = draw(
        """
        /host:CPU
        /device:GPU:0
          Stream #14(Compute)  K
        """,
        K=event("k"),
    )
    assert device.lines[0].id == 14
    assert device.stats["device_vendor"] == "Nvidia"


@pytest.mark.parametrize(
    ("picture", "complaint"),
    [
        ("/host:CPU\n  t  A B", "bars are letters"),
        ("/host:CPU\n  t  .-A", "bars are letters"),
        ("/host:CPU\n  t  X", "'X' is drawn but has no meaning"),
        ("  t  A", "a plane must be named"),
        ('/host:CPU\n  "  A', "nothing above to continue"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_row(picture: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        draw(picture, A=event("a"))
