"""Nothing of the owner's is left: canaries in every string, searched in every form."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.columns.space import Space
from stepscope.formats.xspace import decode
from stepscope.formats.xspace.encode import encode
from stepscope.redaction import LEVELS, Level, Redaction, key_of, redact
from stepscope.redaction.programs import program_texts, redacted_program
from stepscope.redaction.texts import RedactedTexts, is_known
from stepscope.session import open
from stepscope.surfaces.export.recording import RECORDING_FORMATS
from stepscope.surfaces.http.app import STATIC_FOLDER
from stepscope.surfaces.report import Choice, make_report
from stepscope.tables.hlo.buffers import buffer_plan
from stepscope.tables.hlo.module import parse_module
from stepscope.tables.hlo.modules import hlo_modules
from stepscope.timeline import timeline
from tests.profiles import Event, Kind, line, parse, plane, space, worked_example
from tests.profiles.hlo import (
    f32,
    instruction,
    memory_plan,
    metadata_plane,
    program,
    program_message,
)
from tests.unit.surfaces.test_report import unpacked

KEY = b"k" * 32


def canary(number: int) -> str:
    """A word that nothing else has, in letters alone: escaping leaves it as it is."""
    letters = "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")
    return f"zqkanari{letters}qz"


def planted(data: bytes, read: Callable[[bytes], Any] = parse) -> tuple[bytes, int]:
    """The message with a canary of its own at the end of every string it has, wherever."""
    message = read(data)
    count = 0

    def visit(one: Any) -> None:
        nonlocal count
        for field in one.DESCRIPTOR.fields:
            value = getattr(one, field.name)
            repeated = field.is_repeated
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                for entry in value.values():
                    visit(entry)
            elif field.message_type is not None:
                for each in value if repeated else [value] if one.HasField(field.name) else []:
                    visit(each)
            elif field.type in (field.TYPE_STRING, field.TYPE_BYTES):
                for at in range(len(value) if repeated else 1):
                    old = value[at] if repeated else value
                    is_set = repeated or not field.containing_oneof or one.HasField(field.name)
                    if not is_set:
                        continue
                    text = f" {canary(count)}"
                    count += 1
                    new = old + (text.encode() if field.type == field.TYPE_BYTES else text)
                    if repeated:
                        value[at] = new
                    else:
                        setattr(one, field.name, new)

    visit(message)
    return bytes(message.SerializeToString()), count


def forms(word: str) -> Iterator[bytes]:
    """The ways in which a word can occur in a file."""
    yield word.encode()
    yield word.encode("utf-16-le")
    yield word.encode().hex().encode()
    for shift in range(3):
        # Without the characters that neighbours have a part in.
        text = base64.b64encode(b"\0" * shift + word.encode())
        yield text[4 if shift else 0 : -4]


def found(haystack: bytes, count: int) -> list[str]:
    words = re.findall(rb"zqkanari[a-j]{5}qz", haystack)
    return [
        canary(number)
        for number in range(count)
        if any(form in haystack for form in [*forms(canary(number))][1:])
    ] + [word.decode() for word in words]


def _with_everything() -> bytes:
    """A recording in which every kind of string is there, and each sensitive one looks the part."""
    message = parse(worked_example(gpu=True, steps=2))
    message.hostnames.append("alice-laptop")
    message.errors.append("cannot open /home/alice/x")
    message.warnings.append("slow disk of alice")
    plane = message.planes[0]
    for number, (name, text) in enumerate(
        {
            "command_line": "python /home/alice/train.py --key=secret",
            "user": "alice",
            "dataset": "gs://alice/data/train.tfrecord",
            "host_ip": "10.1.2.3",
            "gpu_uuid": "GPU-5f3c9a2e-1b2c-4d5e-8f90-a1b2c3d4e5f6",
            "Hlo Proto": "not really one",
        }.items(),
        start=900,
    ):
        plane.stat_metadata[number].id = number
        plane.stat_metadata[number].name = name
        plane.stat_metadata[number].description = "of alice"
        stat = plane.stats.add(metadata_id=number)
        stat.str_value = text
        event = plane.lines[0].events[0].stats.add(metadata_id=number)
        event.str_value = text
        opaque = plane.lines[0].events[0].stats.add(metadata_id=number)
        opaque.bytes_value = text.encode()
    entry = next(iter(plane.event_metadata.values()))
    entry.metadata = b"serialised"
    entry.stats.add(metadata_id=900).str_value = "of a kind"
    plane.lines[0].display_name = "worker of alice"
    return bytes(message.SerializeToString())


@pytest.mark.parametrize("level", ["names", "all"])
def test_no_canary_is_left_in_report_or_export(level: Level, tmp_path: Path) -> None:
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built")
    data, count = planted(_with_everything())
    assert count > 100
    assert len(found(data, count)) >= count  # the search sees them where they are
    folder = tmp_path / canary(count)
    folder.mkdir()
    path = folder / f"{canary(count + 1)}.xplane.pb"
    path.write_bytes(data)
    with open(path, redact=Redaction(level)) as session:
        made = make_report(session, Choice(notes=()))
        line = timeline(session.profile)
        outputs = [made.html, *unpacked(made.html).values()]
        view = (line.span()[0], line.span()[1] + 1)
        for name, written in RECORDING_FORMATS.items():
            if name != "chrome":  # the same, packed
                data = b"".join(written.write(line, *view))
                outputs.append(gzip.decompress(data) if name == "pprof" else data)
    assert found(b"\n".join(outputs), count + 2) == []


def _compiled() -> tuple[bytes, int]:
    """A compiled program, as proto and as text: canaries 0 to 4 are files, the others names."""
    words = [canary(number) for number in range(12)]
    files, names = words[:5], words[5:]
    dot = replace(
        instruction(names[0], "custom-call", f32(8, 8), "x", custom_call_target=names[1]),
        metadata={"op_name": f"jit({names[2]})/{names[3]}/dot", "source_file": f"/{files[0]}/a.py"},
    )
    proto = program(f"jit_{names[4]}", [instruction("x", "parameter", f32(8, 8)), dot])
    text = (
        f"%{names[5]}.1 = f32[8,8]{{1,0}} fusion(f32[8,8] %x), kind=kLoop, calls=%{names[6]}, "
        f'metadata={{op_name="jit(f)/{names[3]}/dot" source_file="/home/{files[1]}/{files[2]}.py" '
        f'source_line=7}}, backend_config={{"path":"/srv/{files[3]}/cache","of":"{files[4]}.json"}}'
    )
    kind = Kind(stats={"long_name": text, "hlo_text": text, "tf_op": f"{names[3]}/dot:Dot"})
    work = line("XLA Ops", Event(text, 5, 40, {"hlo_op": names[0], "hlo_module": names[4]}))
    device = plane("/device:TPU:0", work, kinds={text: kind})
    return space(metadata_plane((f"jit_{names[4]}", 7, proto)), device), len(words)


@pytest.mark.parametrize("level", LEVELS)
def test_compiled_programs_tell_nothing(level: Level, tmp_path: Path) -> None:
    """Neither their protos, at any level, nor files in their text, nor names where names go."""
    if not (STATIC_FOLDER / "index.html").is_file():
        pytest.skip("the web files are not built")
    data, count = _compiled()
    assert len(set(found(data, count))) == count
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    with open(path, redact=Redaction(level)) as session:
        made = make_report(session, Choice(notes=()))
        columns = encode(session.profile.hosts[0].space)
    outputs = b"\n".join([made.html, *unpacked(made.html).values(), columns])
    left = set(found(outputs, count))
    assert b"fusion" in columns
    # "paths" keeps the names of ops and layers, in the text as in the proto.
    kept = {canary(number) for number in range(5, 12)}
    assert left <= (kept if level == "paths" else set())


def test_each_text_of_a_program_is_replaced_or_left_out() -> None:
    """All texts of all messages that tests can build, and of fields that nobody knows."""
    ops = [
        instruction("a", "parameter", f32(8, 8), attributes={"key": "value"}, literal=b"x"),
        instruction(
            "b",
            "custom-call",
            f32(8, 8),
            "a",
            op_name="jit(f)/dot",
            copy_of="a",
            stack=[("/home/x.py", 3, "loss"), ("y.py", 4, "main")],
            custom_call_target="t",
            backend_config=b'{"kind": "text", "other": "text", "n": "7", "name": 12345678}',
            comparison_direction="LT",
            fusion_kind="kLoop",
        ),
    ]
    memory = memory_plan({1: (64, "a")}, [{"size": 64, "buffers": [1]}], [(0, 1, 0)])
    data, count = planted(program("jit_f", ops, memory=memory, devices=(1, 2)), program_message)
    assert count > 25
    unknown = b"\x82\x32" + bytes([len(canary(count))]) + canary(count).encode()
    texts = RedactedTexts("names", KEY)
    made = redacted_program(data + unknown, texts.name)
    assert found(made, count + 1) == []
    assert {one for text in program_texts(made) for one in found(text.encode(), count)} == set()
    module = parse_module(made)
    assert module is not None
    first, second = module.by_id.values()
    assert first.shape.dimensions == (8, 8)
    assert not first.literal
    assert second.operand_ids == (first.id,)
    assert second.backend_config == ""  # with a canary behind it, it is no JSON
    assert len(buffer_plan(module).allocations) == 1  # type: ignore[union-attr]  # it has a plan


@pytest.mark.parametrize("level", LEVELS)
def test_ops_of_a_redacted_program_keep_their_types(level: Level, tmp_path: Path) -> None:
    """At "all" shapes go, and the program with them."""
    data, _ = _compiled()
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    with open(path, redact=Redaction(level)) as session:
        opcodes = {
            one.opcode
            for host in session.profile.hosts
            for module in hlo_modules(host)
            for one in module.by_id.values()
        }
    assert opcodes == (set() if level == "all" else {"parameter", "custom-call"})


def test_configurations_keep_listed_keys() -> None:
    texts = RedactedTexts("names", KEY)

    def left(config: str) -> Any:
        ops = [instruction("a", "while", f32(2), backend_config=config.encode())]
        module = parse_module(redacted_program(program("f", ops), texts.name))
        assert module is not None
        return json.loads(next(iter(module.by_id.values())).backend_config or "null")

    trips = {"known_trip_count": {"n": "12"}}
    assert left(json.dumps({**trips, "owner": "alice"})) == trips
    unknown = {"known_trip_count": {"n": None}}
    assert left(json.dumps({"known_trip_count": {"n": 4111222233334444}})) == unknown
    assert left("[" * 3000 + "]" * 3000) is None
    assert left('{"kind":' * 400 + "1" + "}" * 400) is None
    assert left("not JSON") is None


def test_paths_hosts_and_environment_go_at_every_level(tmp_path: Path) -> None:
    path = tmp_path / "alice-laptop.xplane.pb"
    path.write_bytes(_with_everything())
    for level in LEVELS:
        with open(path, redact=Redaction(level)) as session:
            written = encode(session.profile.hosts[0].space)
            assert session.name == "recording" and session.hosts == ("host-1",)
        for secret in (b"alice", b"secret", b"tfrecord ", b"10.1.2.3", b"5f3c9a2e", b"serialised"):
            if level == "paths" and secret == b"alice":
                continue
            assert secret not in written, (level, secret)
        assert b"/home/alice" not in written and b"gs://alice" not in written
    with open(path, redact=Redaction("paths")) as session:
        assert b"train" in encode(session.profile.hosts[0].space)  # names of steps stay


@pytest.mark.parametrize("level", LEVELS)
def test_structure_and_times_stay(level: Level) -> None:
    space = decode(worked_example(gpu=True))
    made = redact(space, level, key_of(space))
    assert [(one.begin, one.end) for one in made.lines] == [
        (one.begin, one.end) for one in space.lines
    ]
    assert (made.events.start_ps == space.events.start_ps).all()
    assert (made.events.duration_ps == space.events.duration_ps).all()
    assert (made.event_stats.kind == space.event_stats.kind).all()
    again = decode(encode(made))
    assert again.event_metadata.name == made.event_metadata.name


def test_pseudonyms_are_equal_where_names_are_and_only_under_one_key() -> None:
    texts, others = RedactedTexts("names", KEY), RedactedTexts("names", b"x" * 32)
    layer = texts.name("acme_tower_3/MatMul")
    assert re.fullmatch(r"name_[b-z]{8}_name_[b-z]{8}_3/MatMul", layer)
    assert texts.name("tower").split("_")[1] == layer.split("_")[3]
    assert others.name("acme_tower_3/MatMul") != layer
    assert RedactedTexts("names", KEY).name("acme_tower_3/MatMul") == layer


@pytest.mark.parametrize(
    ("text", "level", "told"),
    [
        ("MatMul_3:MatMul", "names", "MatMul_3:MatMul"),
        ("sm90_xmma_gemm_f16f16_f16f32_tn_n", "names", "sm90_xmma_gemm_f16f16_f16f32_tn_n"),
        ("/device:GPU:0 (pid 7)", "paths", "/device:GPU:0 (pid 7)"),
        ("/job:localhost/replica:0/task:0/device:GPU:0", "paths", None),
        ("acme/layer_1/MatMul", "paths", "acme/layer_1/MatMul"),
        ("f32[8,128]{1,0} fusion", "all", "f32[] fusion"),
        ("ProfilerStep#100", "all", "ProfilerStep#100"),
    ],
)
def test_what_frameworks_and_libraries_say_stays(text: str, level: Level, told: str | None) -> None:
    assert RedactedTexts(level, KEY).name(text) == (text if told is None else told)


def test_pseudonyms_have_the_kind_of_what_they_stand_for() -> None:
    made = RedactedTexts("names", KEY).name("/srv/acme/tower.py:31")
    assert re.fullmatch(r"/name_[b-z]{8}/name_[b-z]{8}/file_[b-z]{8}\.py:31", made)


@given(st.text(max_size=60))
def test_only_known_words_and_pseudonyms_are_left(text: str) -> None:
    texts = RedactedTexts("names", KEY)
    made = texts.name(text)
    pseudonyms = texts._made_up
    for run in re.findall(r"[^\W\d_]+", made):
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+", run)
        glued = any(one in run for one in pseudonyms)
        assert glued or all(is_known(word) for word in words)


def test_hosts_of_one_run_have_one_key_and_one_epoch(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.xplane.pb").write_bytes(_with_everything())
    with open(tmp_path, redact=Redaction("all")) as session:
        first, second = (host.space for host in session.profile.hosts)
    assert session.hosts == ("host-1", "host-2")
    assert first.event_metadata.name == second.event_metadata.name
    assert first.origin_ns == second.origin_ns == 0


def _names(space: Space) -> list[str]:
    return [*space.event_metadata.name, *space.stat_metadata.name]


def test_words_of_our_own_code_stay_so_that_tools_see_the_same(tmp_path: Path) -> None:
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(worked_example(gpu=True, steps=20))
    with open(path) as plain, open(path, redact=Redaction("names")) as private:
        assert private.overview_page().headline == plain.overview_page().headline
        figures = plain.overview_page().to_dict(), private.overview_page().to_dict()
        for field in ("steps", "breakdown_ms", "top_ops"):
            assert figures[0][field] == figures[1][field]
        available = [plain.available(tool) is None for tool in ("kernel_stats", "host_activity")]
        assert available == [
            private.available(tool) is None for tool in ("kernel_stats", "host_activity")
        ]
