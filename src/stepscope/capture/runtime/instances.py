"""Objects of a class that live in the program.

An object refers to its class, so the garbage collector finds them as the class's referrers. All
objects must never be asked for (``gc.get_objects``): a tuple that another thread is just filling
breaks with a SystemError, in the program, when somebody else holds it, too.
"""

from __future__ import annotations

import gc
from typing import Any


def instances(kind: type) -> list[Any]:
    """Return the living objects of a class and its subclasses, which Python code has to define."""
    kinds: set[type] = set()
    left = [kind]
    while left:
        one = left.pop()
        if one not in kinds:
            kinds.add(one)
            left += one.__subclasses__()
    return [one for one in gc.get_referrers(*kinds) if type(one) in kinds]
