"""Secrets of many shapes, planted in a recording; the table of what passes, by surface.

    python -m tests.unit.redaction.canaries

prints how many canaries of each shape are found in each surface at each level. None may be.
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import re
import tempfile
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stepscope.analysis import TOOLS
from stepscope.errors import StepscopeError
from stepscope.redaction import LEVELS, Level, Redaction
from stepscope.redaction.preview import preview_text
from stepscope.schema import names
from stepscope.session import open
from stepscope.surfaces import export
from stepscope.surfaces.agent.questions import QUESTIONS, question
from stepscope.surfaces.agent.recordings import Recordings
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.surfaces.report import Choice, make_report
from stepscope.timeline import timeline
from tests.profiles import parse, space, worked_example
from tests.profiles.hlo import f32, instruction, metadata_plane, program
from tests.profiles.starts import Look, Span, start
from tests.unit.surfaces.test_report import unpacked

_HEX = "0123456789abcdef"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_MIXED = _LOWER + _LOWER.upper() + "0123456789"
#: Letters of twelve scripts.
SCRIPTS = {
    "Latin": "àâçéèêëîïôùûüÿœæßñ", "Greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "Cyrillic": "абвгдежзиклмнопрстуфхцчшщыэюя", "Hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "Devanagari": "अआइईउऊएऐओऔकखगघचछजझटठडढतथदधन",
    "Thai": "กขคงจฉชซฌญฎฏฐฑฒณดตถทธนบปผฝพฟภมยรลวศษสหฬอฮ", "Han": "山川日月火水木金土人口手足目耳心",
    "Hiragana": "あいうえおかきくけこさしすせそたちつてと",
    "Hangul": "가나다라마바사아자차카타파하고노도로",
    "Georgian": "აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ", "Tamil": "அஆஇஈஉஊஎஏஐஒஓஔகஙசஞடணதநபமயரலவ",
}  # fmt: skip


def _some(pick: random.Random, letters: str, count: int) -> str:
    return "".join(pick.choice(letters) for _ in range(count))


def _word(pick: random.Random) -> str:
    return _some(pick, _LOWER, 9)


def _script(pick: random.Random) -> str:
    return pick.choice(list(SCRIPTS.values()))


_HANDLE = re.compile(r"\b(?:finding|step|op|kernel|event):\d+")
_MOST_HANDLES = 20

Shape = Callable[[random.Random], str]
SHAPES: dict[str, Shape] = {
    "word": _word,
    "capitals": lambda pick: _word(pick).upper(),
    "camel": lambda pick: _word(pick).title() + _word(pick).title(),
    "snake": lambda pick: f"{_word(pick)}_{_word(pick)}",
    "dashed": lambda pick: f"{_word(pick)}-{_word(pick)}-{pick.randrange(10, 99)}",
    "mail": lambda pick: f"{_word(pick)}@{_word(pick)}.com",
    "host": lambda pick: f"{_word(pick)}-{pick.randrange(99)}.{_word(pick)}.internal",
    "IPv4": lambda pick: ".".join(str(pick.randrange(10, 256)) for _ in range(4)),
    "dashed IPv4": lambda pick: "-".join(str(pick.randrange(10, 256)) for _ in range(4)),
    "IPv6": lambda pick: ":".join(_some(pick, _HEX, 4) for _ in range(8)),
    "MAC": lambda pick: ":".join(_some(pick, _HEX, 2) for _ in range(6)),
    "dashed MAC": lambda pick: "-".join(_some(pick, _HEX, 2) for _ in range(6)).upper(),
    "UUID": lambda pick: str(uuid.UUID(int=pick.getrandbits(128))),
    "short hex": lambda pick: _some(pick, _HEX[:10], 3) + _some(pick, "abcdef", 2) + "7a",
    "hex": lambda pick: _some(pick, _HEX, 11) + "g",
    "digest": lambda pick: _some(pick, _HEX, 64),
    "GitHub": lambda pick: f"ghp_{_some(pick, _MIXED, 36)}",
    "AWS": lambda pick: f"AKIA{_some(pick, _MIXED, 16).upper()}",
    "API key": lambda pick: f"sk-{_some(pick, _MIXED, 24)}",
    "base64": lambda pick: base64.b64encode(pick.randbytes(18)).decode(),
    "mixed": lambda pick: _some(pick, _MIXED, 14),
    "dots between": lambda pick: ".".join(_word(pick)),
    "underscores between": lambda pick: "_".join(_word(pick)),
    "card": lambda pick: " ".join(_some(pick, "0123456789", 4) for _ in range(4)),
    "dashed card": lambda pick: "-".join(_some(pick, "0123456789", 4) for _ in range(4)),
    "telephone": lambda pick: f"+49 {pick.randrange(100, 999)} {pick.randrange(10**6, 10**7)}",
    "long number": lambda pick: str(pick.randrange(10**8, 10**12)),
    "emoji": lambda pick: _some(pick, "😀🚀🔥💡🎯🧠🐍🦊🍀🌍", 4),
    "joined": lambda pick: "\u200d".join(_word(pick)),
    "decomposed": lambda pick: "".join(f"{one}\u0301" for one in _word(pick)),
    "script": lambda pick: _some(pick, _script(pick), 8),
    "spaced script": lambda pick: " ".join(_some(pick, _script(pick), 4) for _ in range(3)),
}


def secrets(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Shapes and secrets of them, one shape after the other."""
    pick = random.Random(seed)
    shapes = list(SHAPES.items())
    for number in range(count):
        name, make = shapes[number % len(shapes)]
        yield name, make(pick)


def planted(count: int) -> tuple[bytes, list[str]]:
    """A recording with secrets in names, in known and unknown stats, in references and numbers."""
    message = parse(worked_example(gpu=True, steps=2))
    made = [secret for _, secret in secrets(count, 11)]
    left = iter(made)
    plane = message.planes[0]
    keys = ("nodename", "machine", "account", "email", "SLURM_NODELIST", "tf_op", "ip", "pod_name")
    for number, name in enumerate(keys, 900):
        plane.stat_metadata[number].id, plane.stat_metadata[number].name = number, name
    events = [event for line in plane.lines for event in line.events]
    kinds = list(plane.event_metadata.values())
    for number, secret in enumerate(left):
        if number % 4 == 0:
            target = events[number % len(events)].stats
            target.add(metadata_id=900 + number % len(keys)).str_value = secret
        elif number % 4 == 1:
            plane.stat_metadata[2000 + number].id = 2000 + number
            plane.stat_metadata[2000 + number].name = secret
            target = events[number % len(events)].stats
            target.add(metadata_id=900 + number % len(keys)).ref_value = 2000 + number
        elif number % 4 == 2:
            plane.stats.add(metadata_id=900 + number % len(keys)).str_value = secret
        else:
            kinds[number % len(kinds)].name += f" {secret}"
    compiled, in_program = _program(count)
    message.planes.add().MergeFromString(parse(compiled).planes[0].SerializeToString())
    plane.lines[0].name += f" {made[3]}"
    message.hostnames.append(made[0])
    events[0].stats.add(metadata_id=902).int64_value = 4_111_222_233_334_444
    return bytes(message.SerializeToString()), [*made, *in_program, "4111222233334444"]


def _program(count: int) -> tuple[bytes, list[str]]:
    """A compiled program with as many secrets again in its texts, and what they are."""
    made = [secret for _, secret in secrets(count, 12)]
    ops = [
        instruction(f"{one[0]}.1", "custom-call", f32(8), op_name=f"jit({one[1]})/dot",
                    custom_call_target=one[2], attributes={one[3]: one[4]}, literal=one[5].encode(),
                    backend_config=json.dumps({"name": one[6], one[7]: one[8]}).encode(),
                    stack=[(f"/srv/{one[9]}/x.py", 3, "loss")])
        for at in range(0, count - 9, 10) for one in [made[at : at + 10]]
    ]  # fmt: skip
    return space(metadata_plane(("jit_step", 7, program("jit_step", ops)))), made


def planted_start(count: int) -> tuple[bytes, list[str]]:
    """The start of a program with secrets in modules, files, commands and places of lines."""
    made = [secret for _, secret in secrets(count, 13)]
    works, rest = ("import", "compilation", "reading", "start of a process"), iter(made)
    spans = []
    for number, (name, place, cache) in enumerate(zip(rest, rest, rest, strict=False)):
        begin, end, file = 9 * number, 9 * number + 8, f"/srv/{place}/x.py:3"
        spans.append(Span(works[number % 4], f"{number} {name}", begin, end, file, cache=cache))
    looks = [
        Look(f"look {number} {name}", 9 * number, 9 * number + 8, f"wait {name}")
        for number, name in enumerate(made[::12])
    ]
    return space(start(spans, looks, [(9 * count, 9 * count + 1)])), made


def planted_log(count: int) -> tuple[bytes, list[str]]:
    """A step log with secrets as hosts, ranks, and names of the values that a program notes."""
    made = [secret for _, secret in secrets(count, 14)]
    columns = ("steps", "begin_us", "sum_us", "max_us", "wait_us")
    lines = []
    for number, (host, rank, noted) in enumerate(
        zip(made[::3], made[1::3], made[2::3], strict=False)
    ):
        place = {"host": host, "rank": rank if number % 2 else "", "process": number}
        chunk = {**place, "begin_ns": 10**18, "first": 0, "memory": 1}
        rows = {column: [1] for column in columns}
        found = {"chunk": chunk, "rows": rows, "values": {noted: [[0, 1.5]]}}
        text = json.dumps(found)[1:].encode()
        lines.append(names.STEP_LOG_HEAD + b'"%08x",' % zlib.crc32(text) + text)
    return b"\n".join(lines) + b"\n", made


def hidden(secrets_: list[str], level: Level) -> dict[int, str]:
    """The planted secrets that a level hides, by number.

    At "paths" names of events, of ops, and known statistics are as recorded, but for paths and
    addresses.
    """
    planted_ = (len(secrets_) - 1) // 2
    return {
        number: secret
        for number, secret in enumerate(secrets_)
        if level != "paths"
        or number == len(secrets_) - 1
        or (number < planted_ and number % 4 != 3 and number % 8 != 5)
        or (number >= planted_ and (number - planted_) % 10 in (5, 7, 8))
    }


def surfaces(path: Path, level: Level | None) -> dict[str, bytes]:
    """All that leaves of a recording at a level, or as recorded, by surface."""
    found: dict[str, bytes] = {}
    redaction = Redaction(level) if level else None
    with open(path, redact=redaction) as session:
        report = make_report(session, Choice(notes=()))
        found["report"] = b"\n".join([report.html, *unpacked(report.html).values()])
        spaces = (host.space for host in session.profile.hosts)
        found["preview"] = preview_text(spaces, "").encode()
        line = timeline(session.profile)
        view = (line.span()[0], line.span()[1] + 1)
        for name, written in RECORDING_FORMATS.items():
            made = b"".join(written.write(line, *view))
            found[name] = gzip.decompress(made) if name in ("pprof", "chrome") else made
        found["csv"] = b"\n".join(_tables(session))
        found["sql"] = session.sql("select * from events").write_csv().encode()
    recordings = Recordings([str(path)], redaction)
    found["mcp"] = "\n".join(_answers(recordings)).encode()
    recordings.close()
    return found


def _tables(session: Any) -> Iterator[bytes]:
    for tool in TOOLS:
        try:
            result = session.run(tool.id)
        except StepscopeError as error:
            yield str(error).encode()
            continue
        yield export.json_text(result).encode()
        for table in result.tables().values():
            yield export.csv_text(table).encode()


def _answers(recordings: Recordings) -> Iterator[str]:
    given: Mapping[str, Any] = {
        "sql": {"query": "select * from events"},
        "explain": {"handle": "all"},
    }
    asked = [(name, given.get(name, {})) for name in QUESTIONS]
    handles: set[str] = set()
    for name, arguments in asked:
        try:
            text = question(name).ask(recordings, arguments).text(0)
        except StepscopeError as error:
            text = str(error)
        yield text
        # Whatever an answer offers to explain is asked for, too.
        for handle in sorted({*_HANDLE.findall(text)} - handles)[:_MOST_HANDLES]:
            handles.add(handle)
            asked.append(("explain", {"handle": handle}))


def leaks(data: bytes, secrets_: dict[int, str]) -> set[int]:
    """Numbers of the secrets that stand in the data, as text or escaped."""
    text = data.decode("utf-8", "replace").lower()
    escaped = data.decode("utf-8", "replace").encode("ascii", "backslashreplace").lower()
    return {
        number
        for number, secret in secrets_.items()
        if secret.lower() in text or secret.encode("ascii", "backslashreplace").lower() in escaped
    }


def recordings() -> Iterator[tuple[str, bytes, list[tuple[str, str]], dict[Level, set[int]]]]:
    """File name, bytes, kinds and secrets, and by level the numbers of secrets that it hides."""
    count = 10 * len(SHAPES)
    data, made = planted(count)
    kinds = [*SHAPES] * 10 + [f"{shape} in a program" for shape in SHAPES] * 10
    kinds.append("number in a statistic")
    by_level = {level: set(hidden(made, level)) for level in LEVELS}
    yield "host.xplane.pb", data, list(zip(kinds, made, strict=True)), by_level
    count = 3 * len(SHAPES)
    for name, title, (data, made), shown in (
        # Files of lines are paths; names of modules, commands and caches stay at "paths".
        ("host.xplane.pb", "in a start", planted_start(count), 1),
        # Hosts with spaces or slashes are none.
        ("host.steps", "in a step log", planted_log(count), 0),
    ):
        kinds = [f"{shape} {title}" for shape in SHAPES] * 3
        places = {
            number
            for number, secret in enumerate(made)
            if number % 3 == shown and (shown or re.fullmatch(r"[^\s/:=@]+", secret))
        }
        everything = set(range(len(made)))
        by_level = {level: places if level == "paths" else everything for level in LEVELS}
        yield name, data, list(zip(kinds, made, strict=True)), by_level


def main() -> int:
    """Print the table; 1 if anything leaks."""
    table: dict[tuple[str, Level], dict[str, int]] = {}
    control: dict[str, int] = {}
    for name, data, made, by_level in recordings():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            everything = dict(enumerate(secret for _, secret in made))
            for surface, outcome in surfaces(path, None).items():
                control[surface] = control.get(surface, 0) + len(leaks(outcome, everything))
            for level in LEVELS:
                wanted = {number: made[number][1] for number in sorted(by_level[level])}
                for surface, outcome in surfaces(path, level).items():
                    left = leaks(outcome, wanted)
                    for number in wanted:
                        row = table.setdefault((made[number][0], level), {})
                        row[surface] = row.get(surface, 0) + (number in left)
    listed = list(next(iter(table.values())))
    print(f"{'kind':34}{'level':8}" + "".join(f"{name:>10}" for name in listed))
    print(f"{'all, as recorded':42}" + "".join(f"{control[one]:>10}" for one in listed))
    for (name, level), row in sorted(table.items()):
        print(f"{name:34}{level:8}" + "".join(f"{row.get(one, 0):>10}" for one in listed))
    total = sum(sum(row.values()) for row in table.values())
    kinds = len({kind for kind, _ in table})
    print(f"{kinds} kinds, {len(LEVELS)} levels, {len(listed)} surfaces: {total} leaks")
    # A surface in which nothing is found as recorded shows nothing.
    return 1 if total or not all(control.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
