"""An HloProto (module and buffer assignment), an HloModuleProto, an HloSnapshot, or one of the modules in a profile of
XProf (xplane.pb), as the text that XLA prints of one: the module's, and behind a NUL that of its buffer assignment.
Field numbers are those of xla/service/hlo.proto, xla/xla_data.proto and tsl/profiler/protobuf/xplane.proto.
"""
import re

from draft import DIMS_MOST, Bad
from wire import fields, integers, messages, numbers, signed, text_of

DEPTH_MOST = 40            # of tuples in tuples
DEVICES_MOST = 1 << 20     # more aren't believed
BYTES_MOST = 1 << 60
TYPES = ("opaque pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 () opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4 "
         "f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 s1 u1 f4e2m1fn f8e8m0fnu").split()
TRIPS = re.compile(rb'known_trip_count":\{"n":"(\d{1,17})')
STRANGE = re.compile(r"[^A-Za-z0-9_.\-$:]")


def bad(what):
    return Bad("not an HLO proto: " + what)


# ---- texts ----

def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def listed(values):
    return "{" + ",".join(map(str, values)) + "}"


class Names:
    """Names that the text of a module can have, each once."""

    def __init__(self):
        self.taken = {"ROOT", "ENTRY"}

    def new(self, name):
        name = unused = STRANGE.sub("_", name)
        count = 1
        while unused in self.taken:
            count += 1
            unused = f"{name}.again{count}"
        self.taken.add(unused)
        return unused


def aliases(entries):
    """"{0}: (1, {}, may-alias)" of each AliasEntryProto or OutputOperandAliasing: output index 1, parameter or operand
    2, index in that 3."""
    found = []
    for entry in entries:
        index, parameter = {1: [], 3: []}, 0
        for number, value in fields(entry):
            if number in index:
                index[number] += integers(value)
            elif number == 2 and isinstance(value, int):
                parameter = value
        found.append(f"{listed(index[1])}: ({parameter}, {listed(index[3])})")
    return "{ " + ", ".join(found) + " }"


# ---- devices ----

def groups(number, body):
    """How the text says who takes part in a collective: of an instruction's field 87 (CollectiveDeviceListProto), 92
    (IotaReplicaGroupListProto) or 93 (MeshAxesReplicaGroupListProto)."""
    if number == 87:
        iota = messages(body, 2)
        return groups(92, iota[0]) if iota else listed(listed(one_group(group)) for group in messages(body, 1))
    if number == 92:
        count, size = numbers(body, 1, 2)
        return f"[{count},{size}]<=[{count * size}]"
    sizes = [numbers(axis, 2)[0] or 1 for mesh in messages(body, 1) for axis in messages(mesh, 1)]
    named = []
    for axis in messages(body, 2):
        part = messages(axis, 2)
        size = numbers(part[-1], 2)[0] if part else 0
        named.append(f"'a{numbers(axis, 1)[0]}'" + (f":(1){size}" if size else ""))
    mesh = ",".join(f"'a{axis}'={size}" for axis, size in enumerate(sizes))
    return f"mesh[{mesh}] {{{','.join(named)}}}"


def one_group(body):
    """ReplicaGroup: replica_ids 1."""
    return [device for number, value in fields(body) if number == 1 for device in integers(value)]


def shards_of(body, depth=0):
    """Into how many an OpSharding cuts: type 1, of which 3 is a cut over devices; tiles along each dim 3; 5 the
    shardings of a tuple's parts."""
    kind, product, tiles, found = 0, 1, 0, 0
    for number, value in fields(body):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 3:
            for tile in integers(value):
                product, tiles = min(product * tile if tile > 0 else DEVICES_MOST + 1, DEVICES_MOST + 1), tiles + 1
        elif number == 5 and isinstance(value, bytes) and depth < 2 and not found:
            found = shards_of(value, depth + 1)
    return found or (product if kind == 3 and tiles and product <= DEVICES_MOST else 0)


class Module:
    """A module on its way to text."""

    def __init__(self):
        self.name, self.entry, self.computations, self.schedule, self.aliases = "module", 0, [], {}, []
        self.devices, self.tables, self.scheduled = 1, {1: [], 2: [], 3: [], 4: []}, False
        self.called, self.names, self.by_id = {}, Names(), {}   # by_id: names of instructions
        self.shapes, self.layouts, self.places, self.opcodes = {}, {}, {}, {}   # texts by the bytes of their messages

    def read(self, body):
        """The lines of the text."""
        for number, value in fields(body):
            if isinstance(value, int):
                self.entry = value if number == 6 else self.entry
            elif number == 1:
                self.name = text_of(value)
            elif number == 3:
                self.computations.append(value)
            elif number == 7:
                self.read_schedule(value)
            elif number == 8:
                self.aliases = messages(value, 1)
            elif number == 15:   # DeviceAssignmentProto: replica_count 1, computation_count 2
                found = {1: 1, 2: 1, **{number: value for number, value in fields(value) if isinstance(value, int)}}
                self.devices = found[1] * found[2] if 0 < found[1] * found[2] < DEVICES_MOST else 1
            elif number == 17:
                for which, row in fields(value):
                    if which in self.tables and isinstance(row, bytes):
                        self.tables[which].append(row)
        if not self.computations:
            raise bad("the module is broken or has no computations")
        names = Names()
        for body in self.computations:
            number = numbers(body, 5)[0]
            name = next((text_of(value) for field, value in fields(body) if field == 1), "")
            self.called[number] = names.new(name or "computation")
        if self.entry not in self.called:
            raise bad("the entry computation isn't there")
        return "".join([*self.head(), *(line for body in self.computations for line in self.computation(body))])

    def read_schedule(self, body):
        """A map from a computation's id to a sequence of instruction ids."""
        for entry in messages(body, 1):
            self.scheduled = True
            order = [number for sequence in messages(entry, 2) for field, value in fields(sequence) if field == 1
                     for number in integers(value)]
            self.schedule[numbers(entry, 1)[0]] = order

    def head(self):
        """What stands before the computations: the header, and tables of places in the program's source."""
        yield f"HloModule {STRANGE.sub('_', self.name) or 'module'}"
        yield ", is_scheduled=true" if self.scheduled else ""
        yield f", input_output_alias={aliases(self.aliases)}" if self.aliases else ""
        yield f", num_partitions={self.devices}\n\n"
        for which, title in (1, "FileNames"), (2, "FunctionNames"):
            yield title + "\n"
            for number, row in enumerate(self.tables[which], 1):
                yield f'{number} "{" ".join(text_of(row).splitlines())}"\n'
        yield "\nFileLocations\n"
        for number, row in enumerate(self.tables[3], 1):
            yield "%d {file_name_id=%d function_name_id=%d line=%d}\n" % (number, *numbers(row, 1, 2, 3))
        yield "\nStackFrames\n"
        for number, row in enumerate(self.tables[4], 1):
            yield "%d {file_location_id=%d parent_frame_id=%d}\n" % (number, *numbers(row, 1, 2))

    def computation(self, body):
        """The lines of a computation."""
        read, number, root = [], 0, 0
        for field, value in fields(body):
            if field == 2 and isinstance(value, bytes):
                read.append(self.instruction(value))
            elif isinstance(value, int):
                number, root = value if field == 5 else number, signed(value) if field == 6 else root
        if not read:
            raise bad("an empty or broken computation")
        by_id = {instruction[0]: instruction for instruction in reversed(read)}
        if root and root not in by_id:
            raise bad("a computation's root is none of its instructions")
        order = in_order(read, by_id, self.schedule.get(number, ()))
        root = by_id[root] if root else order[-1]
        yield f"\n{'ENTRY ' if number == self.entry else ''}%{self.called[number]} {{\n"
        for instruction in order:
            _, name, opcode, shape, operands, index, attributes = instruction
            if opcode == "parameter":
                given = str(index)
            else:
                given = ", ".join(["%" + by_id[operand][1] for operand in operands])
            yield f"  {'ROOT ' if instruction is root else ''}%{name} = {shape} {opcode}({given}){attributes}\n"
        yield "}\n"

    # ---- instructions ----

    def instruction(self, body):
        """Id, name, opcode, shape, operands' ids, parameter's number and attributes."""
        name = opcode = ""
        number = index = 0
        shape, operands, more, calls, group, pairs, in_place = "opaque[]", [], [], [], [], [], []
        for field, value in fields(body):
            if field == 36:
                operands += integers(value)
            elif field == 38:
                calls += integers(value)
            elif isinstance(value, int):
                if field == 35:
                    number = signed(value)
                elif field in (9, 13):
                    index = value
            elif field == 3:
                shape = self.shapes.get(value) or self.shape(value, 0)
            elif field == 1:
                name = text_of(value)
            elif field == 2:
                opcode = self.opcodes.get(value) or self.opcodes.setdefault(value, STRANGE.sub("_", text_of(value)))
            elif field == 7:
                more.append(self.places.get(value) or self.metadata(value))
            elif field == 49:
                group.append(listed(one_group(value)))
            elif field == 52:
                pairs.append(listed(numbers(value, 1, 2)))
            elif field == 74:
                in_place.append(value)
            elif field in ATTRIBUTES:
                more.append(ATTRIBUTES[field](field, value))
        if not name or not opcode:
            raise bad("an instruction without a name or opcode")
        if opcode == "get-tuple-element":
            more.append(f"index={index}")
        if calls:
            more.append("called_computations=" + listed(map(self.callee, calls)))
        if group:
            more.append("replica_groups=" + listed(group))
        if pairs:
            more.append("source_target_pairs=" + listed(pairs))
        if in_place:
            more.append("output_to_operand_aliasing=" + aliases(in_place))
        name = self.names.new(name)
        self.by_id.setdefault(number, name)
        attributes = "".join([", " + one for one in more if one])
        return number, name, opcode, shape, operands, index, attributes

    def callee(self, number):
        """The name of a computation that is called."""
        if number not in self.called:
            raise bad("a call of a computation that isn't there")
        return "%" + self.called[number]

    def shape(self, body, depth):
        """A shape as text: element_type 2, dimensions 3, tuple_shapes 4, layout 5."""
        kind, dims, parts, layout = 0, [], [], ""
        if depth > DEPTH_MOST:
            raise bad("tuples are nested too deep")
        for field, value in fields(body):
            if field == 3:
                dims += integers(value)
            elif isinstance(value, int):
                kind = value if field == 2 else kind
            elif field == 4:
                parts.append(self.shape(value, depth + 1))
            elif field == 5 and value:
                layout = "{L%d}" % self.layouts.setdefault(value, len(self.layouts))
        if len(dims) > DIMS_MOST:
            raise bad("a shape has too many dims")
        if kind == 13:
            text = "(" + ", ".join(parts) + ")"
        elif parts and kind != 17:
            raise bad("a shape that is not a tuple has parts")
        else:
            name = TYPES[kind] if kind < len(TYPES) else "opaque"
            text = f"{name}[{','.join('?' if dim < 0 else str(dim) for dim in dims)}]{layout}"
        return self.shapes.setdefault(body, text)

    def metadata(self, body):
        """OpMetadata: op_name 2, source_file 3, source_line 4, stack_frame_id 15."""
        name = file = b""
        line = frame = 0
        for field, value in fields(body):
            if isinstance(value, bytes):
                name, file = value if field == 2 else name, value if field == 3 else file
            else:
                line, frame = value if field == 4 else line, value if field == 15 else frame
        parts = ["op_name=" + quoted(text_of(name))] if name else []
        if frame:
            parts.append(f"stack_frame_id={frame}")
        elif file:
            parts.append(f"source_file={quoted(text_of(file))} source_line={line}")
        return self.places.setdefault(body, "metadata={" + " ".join(parts) + "}" if parts else "")


def output_dim(_, body):
    """Of a convolution's ConvolutionDimensionNumbers only where the kernel has its outputs is asked."""
    output = numbers(body, 4)[0]
    return "dim_labels=_" + "".join("o" if dim == output else "." for dim in range(DIMS_MOST)) + "->"


def trips(_, body):
    """The number of trips of a loop, where XLA knows it."""
    found = TRIPS.search(body) if isinstance(body, bytes) else None
    return 'backend_config={"known_trip_count":{"n":"%d"}}' % int(found[1]) if found else ""


ATTRIBUTES = {
    16: output_dim,
    28: lambda _, body: "custom_call_target=" + quoted(text_of(body)),
    30: lambda _, body: "lhs_contracting_dims=" + listed(one_group(body)),
    40: lambda _, body: "sharding={devices=[%d]}" % shards_of(body) if shards_of(body) else "",
    43: trips,
    87: lambda field, body: "replica_groups=" + groups(field, body),
    92: lambda field, body: "replica_groups=" + groups(field, body),
    93: lambda field, body: "replica_groups=" + groups(field, body),
}


def in_order(read, by_id, schedule):
    """The instructions, each behind all that it reads, as scheduled where they are."""
    placed, order = set(), []
    for first in [*(by_id[number] for number in schedule if number in by_id), *read]:
        if first[0] in placed:
            continue
        if placed.issuperset(first[4]):   # as nearly all are
            placed.add(first[0])
            order.append(first)
            continue
        stack = [(first, iter(first[4]))]
        waiting = {first[0]}
        while stack:
            instruction, operands = stack[-1]
            for operand in operands:
                if operand not in by_id:
                    raise bad("an operand that its computation doesn't have")
                if operand in waiting:
                    raise bad("instructions that wait for each other")
                if operand not in placed:
                    waiting.add(operand)
                    stack.append((by_id[operand], iter(by_id[operand][4])))
                    break
            else:
                waiting.discard(instruction[0])
                placed.add(instruction[0])
                order.append(instruction)
                stack.pop()
    return order


# ---- the buffer assignment ----

def assignment(body, by_id):
    """A BufferAssignmentProto as text; "" where it says nothing. by_id: names of instructions."""
    defined, lines = {}, []
    for buffer in messages(body, 1):   # LogicalBufferProto: id 1, defined_at 3 { shape_index 3, instruction_id 4 }
        number, path, instruction = 0, [], -1
        for field, value in fields(buffer):
            if field == 1 and isinstance(value, int):
                number = value
            for inner, one in fields(value) if field == 3 and isinstance(value, bytes) else ():
                if inner == 4 and isinstance(one, int):
                    instruction = signed(one)
                elif inner == 3:
                    path += integers(one)
        if instruction in by_id:
            defined[number] = by_id[instruction] + listed(path) if path else by_id[instruction]
    for number, allocation in enumerate(messages(body, 3)):
        size, of_thread, parameter, result, constant = numbers(allocation, 2, 3, 5, 7, 12)
        purpose = (", thread-local" if of_thread else ", parameter 0" if parameter else ", constant" if constant
                   else ", maybe-live-out" if result else "")
        lines.append(f"allocation {number}: size {min(size, BYTES_MOST)}{purpose}:\n")
        for assigned in messages(allocation, 9):
            buffer, offset = numbers(assigned, 1, 2)
            if buffer in defined and offset <= BYTES_MOST:
                lines.append(f" value: <{buffer} {defined[buffer]} @0> (size=0,offset={offset})\n")
    return "BufferAssignment:\n" + "".join(lines) if lines else ""


def is_module(body):
    """A module's entry_computation_name 2 is a text; an HloProto holds a module in 1, a snapshot an HloProto there."""
    entry = computations = False
    try:
        for number, value in fields(body):
            if number == 2 and isinstance(value, bytes):
                entry = True
                if not all(32 <= byte < 127 for byte in value):
                    return False
            computations |= number == 3 and isinstance(value, bytes)
    except Bad:
        return False
    return entry and computations


def profiled(body):
    """Name and HloProto of each module of a profile, an XSpace: planes 1, of which "/host:metadata" (name 2) has an
    event's metadata (4, a map) for each: name 2, and among its stats 5 a value of bytes 6. None where it isn't one."""
    found, planes = {}, 0
    try:
        for plane in messages(body, 1):
            name = next((text_of(value) for number, value in fields(plane) if number == 2), "")
            planes += name.startswith(("/host:", "/device:"))
            for entry in messages(plane, 4) if name == "/host:metadata" else ():
                for module in messages(entry, 2):
                    value = next((value for stat in messages(module, 5) for value in messages(stat, 6)), b"")
                    if value:
                        found[" ".join(text_of(messages(module, 2)[0]).split())] = value
    except (Bad, IndexError):
        return None
    return sorted(found.items()) if planes else None


def choose(modules, wanted):
    """Of a profile's modules the one that is asked for, or the largest: what goes before its text, and its proto."""
    if not modules:
        raise Bad("it is a profile without modules: XLA's dump (XLA_FLAGS=--xla_dump_to=DIR) has those of a program")
    if wanted > len(modules):
        raise Bad(f"--graph {wanted}: it has {len(modules)} module{'' if len(modules) == 1 else 's'}")
    chosen = wanted - 1 if wanted else max(range(len(modules)), key=lambda number: len(modules[number][1]))
    lines = [f"#{name}, {len(proto)} bytes\n" for name, proto in modules] if len(modules) > 1 else []
    return [f"#{chosen + 1}\n", *lines], modules[chosen][1]


def read(stream, options):
    """The text of a module, and of its buffer assignment."""
    body, assigned, choice = stream.read(), b"", []
    modules = None if is_module(body) else profiled(body)
    if modules is not None:
        choice, body = choose(modules, options.graph)
    for _ in range(3):
        if is_module(body):
            break
        inside = None
        try:
            for number, value in fields(body):
                if number == 1 and isinstance(value, bytes) and inside is None:
                    inside = value
                elif number == 3 and isinstance(value, bytes):
                    assigned = value
        except Bad:
            if inside is not None:
                raise bad("what is around the module is truncated or broken") from None
        if inside is None:
            break
        body = inside
    if not is_module(body):
        raise bad("it has no module")
    module = Module()
    text = module.read(body)
    where = assignment(assigned, module.by_id)
    return [*choice, text, "\0" + where] if where else [*choice, text]
