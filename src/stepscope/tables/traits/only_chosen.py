"""What a compiled program computes for one line to choose, which may seldom take it.

``jax.lax.cond`` under ``jax.vmap`` becomes a select: both branches run for every example. So does
``jnp.where(done, reset(key), state)``. What one of them computes is read by the select alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from stepscope.tables.core.profile import Host
from stepscope.tables.hlo.module import ENCLOSES, HloModule, Instruction
from stepscope.tables.traits.inside import at_line
from stepscope.tables.traits.instructions import instruction_of

# All of a tuple, or what is none.
_WHOLE: Final = -1
# So many places are followed; a program in which more come of an op has no answer.
_MOST: Final = 20_000
# The values a select chooses from, after its condition.
_VALUES: Final = (1, 2)
# What a number goes through to fill an array.
_FILLS: Final = frozenset(("broadcast", "convert", "bitcast", "reshape", "copy", "parameter"))
_LONGEST: Final = 8
# What the host, or another device, sees.
_LEAVES: Final = frozenset(("outfeed", "send", "recv", "infeed"))


def chosen_at(host: Host, event: int) -> str:
    """Where in the program all that comes of an event's op is only chosen from; "" otherwise.

    As ``file:line``. A mask, which fills with a constant what it does not take, chooses nothing.
    """
    found = instruction_of(host, event)
    if found is None:
        return ""
    module, start = found
    choices = _Followed(module).choices_after(start)
    places = Counter(filter(None, (at_line(module, one) for one in choices)))
    return places.most_common(1)[0][0] if places else ""


@dataclass(slots=True)
class _Followed:
    """What comes of an instruction, from reader to reader.

    Attributes:
        module: The program.
        seen: Ids of instructions, each with the element of a tuple that is meant.
        open: Those whose readers are still to be followed.
        choices: Selects that take or leave a value, each with the id of the other one.
    """

    module: HloModule
    seen: set[tuple[int, int]] = field(default_factory=set)
    open: list[tuple[int, int]] = field(default_factory=list)
    choices: list[tuple[Instruction, int]] = field(default_factory=list)

    def choices_after(self, start: Instruction) -> list[Instruction]:
        """The selects that all of it ends in; none where any of it is read otherwise."""
        self._go(start.id, _WHOLE)
        while self.open:
            if len(self.seen) > _MOST or not self._follow(*self.open.pop()):
                return []
            if not self.open:
                self._pass_own()
        return [one for one, _other in self.choices]

    def _pass_own(self) -> None:
        """Go on where both values of a select come of the instruction: it leaves out neither."""
        known = {id_ for id_, _element in self.seen}
        own = [one for one in self.choices if one[1] in known]
        self.choices = [one for one in self.choices if one[1] not in known]
        for select, _other in own:
            self._go(select.id, _WHOLE)

    def _go(self, id_: int, element: int) -> None:
        if (id_, element) not in self.seen:
            self.seen.add((id_, element))
            self.open.append((id_, element))

    def _follow(self, id_: int, element: int) -> bool:
        """Follow the readers of one instruction; False where it is a result of the program."""
        module = self.module
        one = module.by_id[id_]
        if module.computations[one.computation_id].root_id == id_ and not self._leave(one, element):
            return False
        for user_id in module.users.get(id_, ()):
            user = module.by_id[user_id]
            for at, operand in enumerate(user.operand_ids):
                if operand == id_ and not self._enter(user, at, element):
                    return False
        return True

    def _leave(self, root: Instruction, element: int) -> bool:
        """Go on from what a computation ends in to what runs it."""
        runs = self.module.runs.get(root.computation_id, ())
        for one in runs:
            if one.opcode == "while":
                if root.computation_id != one.called_ids[0]:
                    return False  # how often a loop runs is read by all that is in it
                self._into(one.called_ids[0], 0, element)
            elif one.opcode not in (*ENCLOSES, "conditional"):
                return False
            self._go(one.id, element)
        return bool(runs)

    def _enter(self, user: Instruction, at: int, element: int) -> bool:
        """Go on into what reads an instruction as its operand ``at``."""
        opcode = user.opcode
        if opcode in _LEAVES or "callback" in user.custom_call_target:
            return False
        if opcode == "tuple":
            self._go(user.id, at)
        elif opcode == "get-tuple-element":
            if element in (_WHOLE, user.tuple_index):
                self._go(user.id, _WHOLE)
        elif opcode in ENCLOSES:
            for body in user.called_ids:
                self._into(body, at, element)
        elif opcode == "while":
            for body in user.called_ids:
                self._into(body, 0, element)
        elif opcode == "conditional":
            if not 0 < at <= len(user.called_ids):
                return False  # what decides, or damage
            self._into(user.called_ids[at - 1], 0, element)
        elif opcode == "select" and at in _VALUES and len(user.operand_ids) > _VALUES[-1]:
            other = user.operand_ids[_VALUES[0] + _VALUES[1] - at]
            if self._is_constant(other):
                self._go(user.id, _WHOLE)
            else:
                self.choices.append((user, other))
        else:
            self._go(user.id, _WHOLE)
        return True

    def _into(self, computation_id: int, number: int, element: int) -> None:
        """Go on at a parameter of a computation."""
        body = self.module.computations.get(computation_id)
        for one in body.instructions if body is not None else ():
            if one.opcode == "parameter" and one.parameter_number == number:
                self._go(one.id, element)

    def _is_constant(self, id_: int) -> bool:
        one = self.module.by_id.get(id_)
        for _ in range(_LONGEST):
            if one is None or one.opcode in ("constant", "iota"):
                return one is not None
            if one.opcode not in _FILLS:
                return False
            one = next(iter(self.module.given(one)), None)
        return False
