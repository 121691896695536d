"""HLO programs for tests, written by google.protobuf: instructions, shapes, memory plans.

    program("f", [
        instruction("a", "parameter", F32(4, 4), parameter=0),
        instruction("b", "negate", F32(4, 4), "a"),
    ])

gives the bytes of an HloProto whose entry computation returns its last instruction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.profiles.messages import _declare
from tests.profiles.model import Kind, Plane, plane

_MESSAGES: Final = {
    "HloProto": ["1 Module hlo_module", "3 Assignment buffer_assignment"],
    "Module": [
        "1 string name",
        "2 string entry_computation_name",
        "3 Computation* computations",
        "4 ProgramShape host_program_shape",
        "5 int64 id",
        "6 int64 entry_computation_id",
        "7 Schedule schedule",
        "15 Devices device_assignment",
        "17 Stacks stack_frame_index",
    ],
    "Schedule": ["1 Ordered* sequences"],
    "Ordered": ["1 int64 computation_id", "2 Sequence sequence"],
    "Sequence": ["1 int64* instruction_ids"],
    "Stacks": [
        "1 string* file_names",
        "2 string* function_names",
        "3 SourceLine* file_locations",
        "4 Frame* stack_frames",
    ],
    "SourceLine": ["1 int64 file_name_id", "2 int64 function_name_id", "3 int64 line"],
    "Frame": ["1 int64 file_location_id", "2 int64 parent_frame_id"],
    "Computation": [
        "1 string name",
        "2 Instruction* instructions",
        "4 ProgramShape program_shape",
        "5 int64 id",
        "6 int64 root_id",
    ],
    "Instruction": [
        "1 string name",
        "2 string opcode",
        "3 Shape shape",
        "7 Metadata metadata",
        "8 bytes literal",
        "9 int64 parameter_number",
        "11 string fusion_kind",
        "13 int64 tuple_index",
        "14 int64* dimensions",
        "15 Window window",
        "26 int64 channel_id",
        "28 string custom_call_target",
        "30 Dot dot_dimension_numbers",
        "32 int64* fft_length",
        "35 int64 id",
        "36 int64* operand_ids",
        "38 int64* called_computation_ids",
        "40 Sharding sharding",
        "43 bytes backend_config",
        "47 int64 is_host_transfer",
        "49 Group* replica_groups",
        "52 Pair* source_target_pairs",
        "63 string comparison_direction",
        "71 int64 use_global_device_ids",
        "87 DeviceList collective_device_list",
        "68 Attributes frontend_attributes",
    ],
    "Sharding": ["1 int64 type"],
    "Window": ["1 WindowDimension* dimensions"],
    "WindowDimension": ["1 int64 size", "2 int64 stride"],
    "Devices": ["1 int64 replica_count", "2 int64 computation_count"],
    "Group": ["1 int64* replica_ids"],
    "Pair": ["1 int64 source", "2 int64 target"],
    "DeviceList": ["1 Group* replica_groups", "2 Iota iota_replica_group_list"],
    "Iota": [
        "1 int64 num_replica_groups",
        "2 int64 num_devices_per_group",
        "3 int64* iota_reshape_dims",
        "4 int64* iota_transpose_perm",
    ],
    "Attributes": ["1 Attribute* map"],
    "Attribute": ["1 string key", "2 string value"],
    "ProgramShape": ["1 Shape* parameters", "2 Shape result", "3 string* parameter_names"],
    "Dot": ["1 int64* lhs_contracting", "2 int64* rhs_contracting"],
    "Metadata": [
        "1 string op_type",
        "2 string op_name",
        "3 string source_file",
        "4 int64 source_line",
        "12 string deduplicated_name",
        "15 int64 stack_frame_id",
    ],
    "Shape": [
        "2 int64 element_type",
        "3 int64* dimensions",
        "4 Shape* tuple_shapes",
        "5 Layout layout",
    ],
    "Layout": ["1 int64* minor_to_major", "6 Tile* tiles", "8 int64 memory_space"],
    "Tile": ["1 int64* dimensions"],
    "Assignment": [
        "1 Buffer* logical_buffers",
        "3 Allocation* buffer_allocations",
        "4 Trace* heap_simulator_traces",
    ],
    "Buffer": ["1 int64 id", "2 int64 size", "3 Location defined_at", "4 int64 color"],
    "Location": ["2 string instruction_name", "3 int64* shape_index", "4 int64 instruction_id"],
    "Allocation": [
        "1 int64 index",
        "2 int64 size",
        "5 int64 is_entry_computation_parameter",
        "7 int64 maybe_live_out",
        "8 int64 color",
        "9 Assigned* assigned",
    ],
    "Assigned": ["1 int64 logical_buffer_id", "2 int64 offset", "3 int64 size"],
    "Trace": ["1 Event* events"],
    "Event": [
        "1 int64 kind",
        "2 int64 buffer_id",
        "4 string instruction_name",
        "5 int64 share_with_canonical_id",
    ],
}


def _build() -> dict[str, Any]:
    package = "tensorflow.profiler"  # only the wire format counts, and it has no names
    described = descriptor_pb2.FileDescriptorProto(
        name="stepscope_tests/hlo.proto", package=package, syntax="proto3"
    )
    for name, lines in _MESSAGES.items():
        message = described.message_type.add(name=name)
        for line in lines:
            _declare(message, line)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
        for name in _MESSAGES
    }


_CLASSES: Final = _build()


def shape(element_type: int, *dimensions: int, tile: Sequence[int] = (), space: int = 0) -> Any:
    """An array with a row-major layout."""
    layout = _CLASSES["Layout"](minor_to_major=range(len(dimensions) - 1, -1, -1))
    layout.memory_space = space
    if tile:
        layout.tiles.add(dimensions=tile)
    return _CLASSES["Shape"](element_type=element_type, dimensions=dimensions, layout=layout)


def tuple_of(*parts: Any) -> Any:
    """A tuple of these shapes."""
    return _CLASSES["Shape"](element_type=13, tuple_shapes=parts)


def token() -> Any:
    """What orders ops that have effects."""
    return _CLASSES["Shape"](element_type=17)


def f32(*dimensions: int) -> Any:
    """An array of 32-bit floats."""
    return shape(11, *dimensions)


@dataclass(frozen=True)
class Instruction:
    """An instruction; ``fields`` are fields of its proto."""

    name: str
    opcode: str
    shape: Any
    operands: tuple[str, ...]
    calls: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    stack: Sequence[tuple[str, int, str]] = ()


def instruction(
    name: str,
    opcode: str,
    result: Any,
    *operands: str,
    calls: Sequence[str] = (),
    op_name: str = "",
    copy_of: str = "",
    attributes: Mapping[str, str] | None = None,
    stack: Sequence[tuple[str, int, str]] = (),
    **fields: Any,
) -> Instruction:
    """An instruction that reads ``operands`` and calls computations, all by name.

    ``stack`` has the (file, line, function) of each frame that made it, innermost first.
    """
    metadata = {"op_name": op_name, "deduplicated_name": copy_of}
    return Instruction(
        name, opcode, result, operands, tuple(calls), metadata, attributes or {}, fields, stack
    )


def program(
    name: str,
    entry: Sequence[Instruction],
    *,
    bodies: Mapping[str, Sequence[Instruction]] | None = None,
    memory: Any = None,
    devices: tuple[int, int] = (0, 0),
    order: Sequence[str] = (),
) -> bytes:
    """The bytes of an HloProto; ``bodies`` are the computations it calls.

    ``order`` has the entry's instructions as they run, where that is not as they are listed.
    ``devices`` are its replicas and partitions; without them the program does not say.
    """
    computations = {**(bodies or {}), "main": entry}
    computation_ids = {one: place for place, one in enumerate(computations, start=100)}
    every = [one for body in computations.values() for one in body]
    ids = {one.name: place for place, one in enumerate(every, start=1)}
    proto = _CLASSES["HloProto"]()
    proto.hlo_module.name = name
    proto.hlo_module.entry_computation_name = "main"
    proto.hlo_module.entry_computation_id = computation_ids["main"]
    for title, body in computations.items():
        added = proto.hlo_module.computations.add(
            name=title, id=computation_ids[title], root_id=ids[body[-1].name]
        )
        for one in body:
            made = added.instructions.add(
                name=one.name,
                opcode=one.opcode,
                shape=one.shape,
                id=ids[one.name],
                operand_ids=[ids[operand] for operand in one.operands],
                called_computation_ids=[computation_ids[called] for called in one.calls],
                metadata=_CLASSES["Metadata"](
                    **one.metadata, stack_frame_id=_add_stack(proto.hlo_module, one.stack)
                ),
                **{key: value for key, value in one.fields.items() if key != "contracting"},
            )
            for key, value in one.attributes.items():
                made.frontend_attributes.map.add(key=key, value=value)
            if "contracting" in one.fields:
                left, right = one.fields["contracting"]
                made.dot_dimension_numbers.lhs_contracting.append(left)
                made.dot_dimension_numbers.rhs_contracting.append(right)
        if order and title == "main":
            scheduled = proto.hlo_module.schedule.sequences.add(
                computation_id=computation_ids[title]
            )
            scheduled.sequence.instruction_ids.extend(ids[one] for one in order)
        takes = [one for one in body if one.opcode == "parameter"]
        added.program_shape.CopyFrom(
            _CLASSES["ProgramShape"](
                parameters=[one.shape for one in takes],
                parameter_names=[one.name for one in takes],
                result=body[-1].shape,
            )
        )
    proto.hlo_module.host_program_shape.CopyFrom(proto.hlo_module.computations[-1].program_shape)
    if any(devices):
        proto.hlo_module.device_assignment.replica_count = devices[0]
        proto.hlo_module.device_assignment.computation_count = devices[1]
    if memory is not None:
        proto.buffer_assignment.CopyFrom(memory)
    return bytes(proto.SerializeToString())


def program_message(proto: bytes) -> Any:
    """An HloProto as a message."""
    return _CLASSES["HloProto"].FromString(proto)


def _add_stack(module: Any, stack: Sequence[tuple[str, int, str]]) -> int:
    """The id of the innermost frame, whose parents are added first; 0 without frames."""
    index, parent = module.stack_frame_index, 0
    for file, at, function in reversed(stack):
        index.file_names.append(file)
        index.function_names.append(function)
        number = len(index.file_names)
        index.file_locations.add(file_name_id=number, function_name_id=number, line=at)
        index.stack_frames.add(file_location_id=number, parent_frame_id=parent)
        parent = number
    return parent


def memory_plan(
    buffers: Mapping[int, tuple[int, str]],
    allocations: Sequence[Mapping[str, Any]],
    trace: Sequence[tuple[int, int, int]] = (),
) -> Any:
    """A BufferAssignmentProto.

    Args:
        buffers: ``{id: (bytes, instruction)}``.
        allocations: Fields of each block; ``buffers`` lists the ids placed in it.
        trace: (kind, buffer id, canonical id) of each heap event; kinds 0 alloc, 1 free, 2 share.
    """
    made = _CLASSES["Assignment"]()
    for id_, (size, name) in buffers.items():
        made.logical_buffers.add(
            id=id_, size=size, defined_at=_CLASSES["Location"](instruction_name=name)
        )
    for index, fields in enumerate(allocations):
        block = made.buffer_allocations.add(
            index=index, **{key: value for key, value in fields.items() if key != "buffers"}
        )
        for id_ in fields["buffers"]:
            block.assigned.add(logical_buffer_id=id_, size=buffers[id_][0])
    if trace:
        events = made.heap_simulator_traces.add().events
        for kind, id_, canonical in trace:
            events.add(
                kind=kind,
                buffer_id=id_,
                instruction_name=buffers[id_][1],
                share_with_canonical_id=canonical,
            )
    return made


def metadata_plane(*programs: tuple[str, int, bytes]) -> Plane:
    """``/host:metadata`` with these (module name, program id, HloProto)."""
    kinds = {f"{name}({id_})": Kind(stats={"Hlo Proto": data}) for name, id_, data in programs}
    return plane("/host:metadata", kinds=kinds)
