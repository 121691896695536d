"""Objects of a class, found without touching any other."""

from __future__ import annotations

import sys
import threading

from stepscope.capture.runtime.instances import instances


class Kind:
    """Of the program."""


class Sub(Kind):
    """Of a library that builds on it."""


def test_objects_of_a_class_and_of_its_subclasses() -> None:
    held = [Kind(), Sub(), Kind()]
    assert sorted(map(id, instances(Kind))) == sorted(map(id, held))
    del held[0]
    assert len(instances(Kind)) == 2


def test_a_program_that_builds_tuples_meanwhile_goes_on() -> None:
    # Another thread runs between two items of nearly every tuple.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    held = Kind()
    errors: list[BaseException] = []
    is_over = threading.Event()

    def build() -> None:
        try:
            while not is_over.is_set():
                tuple(number for number in range(300))
        except SystemError as error:
            errors.append(error)

    thread = threading.Thread(target=build)
    thread.start()
    try:
        for _ in range(50):
            assert instances(Kind) == [held]
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(before)
    assert not errors
