"""No secret passes, whatever its shape and script; what a recording is worth stays."""

from __future__ import annotations

import base64
import gzip
import random
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepscope.redaction import LEVELS, Level, Redaction
from stepscope.redaction.texts import RedactedTexts
from stepscope.session import open
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import Choice, make_report
from stepscope.timeline import timeline
from tests.profiles import parse, worked_example
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


@pytest.mark.parametrize("level", ["names", "all"])
def test_none_of_ten_thousand_secrets_passes(level: Level) -> None:
    texts = RedactedTexts(level, b"k" * 32)
    around = ("{}", "MatMul_3/{}:Add", "void gemm<{}>(float)", "{} step 12", "layer.{}.weight")
    passed = [
        (shape, secret, made)
        for number, (shape, secret) in enumerate(secrets(10_000, 7))
        for made in [texts.name(around[number % len(around)].format(secret))]
        if secret.lower() in made.lower()
    ]
    assert passed == []


def _planted(count: int) -> tuple[bytes, list[str]]:
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
    plane.lines[0].name += f" {made[3]}"
    message.hostnames.append(made[0])
    events[0].stats.add(metadata_id=902).int64_value = 4_111_222_233_334_444
    return bytes(message.SerializeToString()), [*made, "4111222233334444"]


@pytest.mark.parametrize("level", LEVELS)
def test_no_output_has_a_planted_secret(level: Level, tmp_path: Path) -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built")
    data, planted = _planted(320)
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    with open(path, redact=Redaction(level)) as session:
        report = make_report(session, Choice(notes=()))
        outputs = [report.html, *unpacked(report.html).values()]
        line = timeline(session.profile)
        view = (line.span()[0], line.span()[1] + 1)
        for name, written in RECORDING_FORMATS.items():
            made = b"".join(written.write(line, *view))
            outputs.append(gzip.decompress(made) if name in ("pprof", "chrome") else made)
    whole = b"\n".join(outputs)
    texts = whole.decode("utf-8", "replace").lower()
    escaped = whole.decode("utf-8", "replace").encode("ascii", "backslashreplace").lower()
    # At "paths" names of events and known stats are as recorded, but for paths and addresses.
    hidden = [
        secret
        for number, secret in enumerate(planted)
        if level != "paths" or (number % 4 != 3 and number % 8 != 5) or number == len(planted) - 1
    ]
    left = [
        secret
        for secret in hidden
        if secret.lower() in texts or secret.encode("ascii", "backslashreplace").lower() in escaped
    ]
    assert left == []


@pytest.mark.parametrize(
    "name",
    [
        "sm90_xmma_gemm_f16f16_f16f32_tn_n",
        "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_nt",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "MemcpyH2D", "Memcpy DtoH (Device -> Pageable)", "cudaMemcpyAsync", "cuMemcpyHtoDAsync",
        "MatMul_3:MatMul", "ProfilerStep#100", "%fusion.3 = f32[8,128]{1,0} fusion(f32[8,128] %p)",
        "Conv2DBackpropInput", "aten::batch_norm", "jit(step)/dot_general", "bf16[1024,4096,4096]",
    ],
)  # fmt: skip
def test_names_of_frameworks_and_libraries_stay(name: str) -> None:
    assert RedactedTexts("names", b"k" * 32).name(name) == name
