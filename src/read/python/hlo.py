"""An HloProto (module and buffer assignment), an HloModuleProto, an HloSnapshot, or one of the modules in a profile of
XProf (xplane.pb). Field numbers are those of xla/service/hlo.proto, xla/xla_data.proto and
tsl/profiler/protobuf/xplane.proto.
"""
import re

from draft import DIMS_MOST, Bad
from hlo_assignment import Assignment
from hlo_graph import graph
from hlo_groups import believed
from hlo_module import DEPTH_MOST, DEVICES_MOST, DTYPES, Computation, Instruction, Module, Shape
from hlo_sources import TABLES, Sources
from wire import fields, integers, messages, numbers, signed, text_of

TYPES = ("opaque pred s8 s16 s32 s64 u8 u16 u32 u64 f16 f32 f64 () opaque c64 bf16 token c128 f8e5m2 f8e4m3fn s4 u4 "
         "f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz s2 u2 f8e4m3 f8e3m4 s1 u1 f4e2m1fn f8e8m0fnu").split()
TRIPS = re.compile(rb'known_trip_count":\{"n":"(\d{1,17})')
UNKNOWN = Shape("opaque")
STRANGE = re.compile(r"[^A-Za-z0-9_.\-$:]")


def bad(what):
    return Bad("not an HLO proto: " + what)


# ---- texts ----

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
    """Of each AliasEntryProto or OutputOperandAliasing: output index 1, parameter or operand 2, index in that 3. Of
    nested tuples, with a path of two numbers, no alias is told."""
    found = []
    for entry in entries:
        index, parameter = {1: [], 3: []}, 0
        for number, value in fields(entry):
            if number in index:
                index[number] += integers(value)
            elif number == 2 and isinstance(value, int):
                parameter = value
        if len(index[1]) < 2 and len(index[3]) < 2:
            found.append((sum(index[1]), parameter, sum(index[3])))
    return found


# ---- devices ----

def groups(number, body):
    """Devices of a group and of all together: of an instruction's field 49 (ReplicaGroups), 87
    (CollectiveDeviceListProto), 92 (IotaReplicaGroupListProto) or 93 (MeshAxesReplicaGroupListProto)."""
    if number == 87:
        iota = messages(body, 2)
        return groups(92, iota[0]) if iota else groups(49, messages(body, 1))
    if number == 49:
        found = [one_group(group) for group in body]
        most = max((device for group in found for device in group), default=-1)
        return believed(len(found[0]) if found else 0, most + 1)
    if number == 92:
        count, size = numbers(body, 1, 2)
        return believed(size, count * size)
    sizes = [numbers(axis, 2)[0] or 1 for mesh in messages(body, 1) for axis in messages(mesh, 1)][:DIMS_MOST]
    size = devices = 1
    for axis in messages(body, 2)[:DIMS_MOST]:
        part, place = messages(axis, 2), numbers(axis, 1)[0]
        size *= (numbers(part[-1], 2)[0] if part else 0) or (sizes[place] if place < len(sizes) else 1)
    for axis in sizes:
        devices *= axis
    return believed(size, devices if sizes else 0)


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


class Reader:
    """A message on its way to a module."""

    def __init__(self):
        self.module, self.entry, self.computations, self.schedule = Module(), 0, [], {}
        self.sources, self.called, self.names, self.by_id = Sources(), {}, Names(), {}   # by_id: instructions
        self.shapes, self.places, self.opcodes = {}, {}, {}   # by the bytes of their messages

    def read(self, body):
        """The module."""
        for number, value in fields(body):
            if isinstance(value, int):
                self.entry = value if number == 6 else self.entry
            elif number == 1:
                self.module.name = STRANGE.sub("_", text_of(value)) or "module"
            elif number == 3:
                self.computations.append(value)
            elif number == 7:
                self.read_schedule(value)
            elif number == 8:
                self.module.aliases = aliases(messages(value, 1))
            elif number == 15:   # DeviceAssignmentProto: replica_count 1, computation_count 2
                found = {1: 1, 2: 1, **{number: value for number, value in fields(value) if isinstance(value, int)}}
                self.module.devices = found[1] * found[2] if 0 < found[1] * found[2] < DEVICES_MOST else 1
            elif number == 17:
                for which, row in fields(value):
                    self.read_source(which, row)
        if not self.computations:
            raise bad("the module is broken or has no computations")
        names = Names()
        for place, body in enumerate(self.computations):
            name = next((text_of(value) for field, value in fields(body) if field == 1), "")
            self.called[numbers(body, 5)[0]] = place, names.new(name or "computation")
        if self.entry not in self.called:
            raise bad("the entry computation isn't there")
        self.module.entry = self.called[self.entry][0]
        self.module.computations = [self.computation(body) for body in self.computations]
        return self.module

    def read_schedule(self, body):
        """A map from a computation's id to a sequence of instruction ids."""
        for entry in messages(body, 1):
            self.module.scheduled = True
            order = [number for sequence in messages(entry, 2) for field, value in fields(sequence) if field == 1
                     for number in integers(value)]
            self.schedule[numbers(entry, 1)[0]] = order

    def read_source(self, which, row):
        """A row of the tables of places in the program's source."""
        if isinstance(row, bytes) and 1 <= which <= len(TABLES):
            wanted = (1, 2, 3) if which == 3 else (1, 2)
            self.sources.tables[TABLES[which - 1]].append(
                numbers(row, *wanted) if which > 2 else " ".join(text_of(row).splitlines()))

    def computation(self, body):
        """A computation in its order."""
        read, number, root = [], 0, 0
        for field, value in fields(body):
            if field == 2 and isinstance(value, bytes):
                read.append(self.instruction(value))
            elif isinstance(value, int):
                number, root = value if field == 5 else number, signed(value) if field == 6 else root
        if not read:
            raise bad("an empty or broken computation")
        by_id = {number: (number, operands, instruction) for number, operands, instruction in reversed(read)}
        if root and root not in by_id:
            raise bad("a computation's root is none of its instructions")
        order = in_order(read, by_id, self.schedule.get(number, ()))
        places = {number: place for place, (number, _, _) in enumerate(order)}
        for _, operands, instruction in order:
            if instruction.opcode not in ("constant", "parameter"):
                instruction.operands = [places[operand] for operand in operands]
        return Computation(self.called[number][1], [instruction for _, _, instruction in order],
                           places[root] if root else len(order) - 1)

    # ---- instructions ----

    def instruction(self, body):
        """Id, operands' ids, and the instruction."""
        instruction = Instruction("", "", UNKNOWN, 0)
        number, repeated = 0, {36: [], 38: [], 49: [], 52: [], 74: []}
        for field, value in fields(body):
            if field in repeated:
                repeated[field] += integers(value) if field < 49 else [value]
            elif isinstance(value, int):
                if field == 35:
                    number = signed(value)
                elif field in (9, 13):
                    instruction.index = value
            elif field == 3:
                instruction.shape = self.shapes.get(value) or self.shape(value, 0)
            elif field == 1:
                instruction.name = text_of(value)
            elif field == 2:
                instruction.opcode = self.opcodes.get(value) or self.opcode(value)
            elif field == 7:
                instruction.op_name, instruction.src = self.places.get(value) or self.metadata(value)
            else:
                self.attribute(instruction, field, value)
        if not instruction.name or not instruction.opcode:
            raise bad("an instruction without a name or opcode")
        instruction.calls = [self.callee(called) for called in repeated[38]]
        if repeated[49]:
            self.collective(instruction, groups(49, repeated[49]))
        if repeated[52]:
            self.collective(instruction, (2, max(max(numbers(pair, 1, 2)) for pair in repeated[52]) + 1))
        instruction.aliases = aliases(repeated[74])
        instruction.name = self.names.new(instruction.name)
        self.by_id.setdefault(number, instruction)
        return number, repeated[36], instruction

    def opcode(self, text):
        return self.opcodes.setdefault(text, STRANGE.sub("_", text_of(text)))

    def collective(self, instruction, found):
        instruction.group, devices = found
        self.module.add_devices(devices)

    def attribute(self, instruction, field, body):
        """What only some instructions have."""
        if field == 16:   # of a convolution's dims only where the kernel has its outputs is asked
            instruction.labels = "_" + "." * min(DIMS_MOST, numbers(body, 4)[0]) + "o"
        elif field == 28:
            self.module.add_call(text_of(body))
        elif field == 30:
            instruction.contracting = ",".join(map(str, one_group(body)))
        elif field == 40:
            instruction.shards = shards_of(body)
            self.module.add_devices(instruction.shards)
        elif field == 43:
            trips = TRIPS.search(body)
            instruction.trips = int(trips[1]) if trips else 0
        elif field in (87, 92, 93):
            self.collective(instruction, groups(field, body))

    def callee(self, number):
        """The place of a computation that is called."""
        if number not in self.called:
            raise bad("a call of a computation that isn't there")
        return self.called[number][0]

    def shape(self, body, depth):
        """Element_type 2, dimensions 3, tuple_shapes 4, layout 5."""
        kind, dims, parts, layout = 0, [], [], b""
        if depth > DEPTH_MOST:
            raise bad("tuples are nested too deep")
        for field, value in fields(body):
            if field == 3:
                dims += integers(value)
            elif isinstance(value, int):
                kind = value if field == 2 else kind
            elif field == 4:
                parts.append(self.shape(value, depth + 1))
            elif field == 5:
                layout = value
        if len(dims) > DIMS_MOST:
            raise bad("a shape has too many dims")
        if parts and kind not in (13, 17):
            raise bad("a shape that is not a tuple has parts")
        name = TYPES[kind] if kind < len(TYPES) else "opaque"
        made = Shape("opaque", parts=parts if kind == 13 else []) if kind in (13, 17) else Shape(
            DTYPES[name], [dim for dim in dims if dim >= 0], layout, unsized=any(dim < 0 for dim in dims))
        return self.shapes.setdefault(body, made)

    def metadata(self, body):
        """OpMetadata: op_name 2, source_file 3, source_line 4, stack_frame_id 15."""
        name = file = b""
        line = frame = 0
        for field, value in fields(body):
            if isinstance(value, bytes):
                name, file = value if field == 2 else name, value if field == 3 else file
            else:
                line, frame = value if field == 4 else line, value if field == 15 else frame
        src = self.sources.frame(frame) if frame else f"{text_of(file)[:700]}:{line}" if file else ""
        return self.places.setdefault(body, (text_of(name), src))


def in_order(read, by_id, schedule):
    """The instructions, each behind all that it reads, as scheduled where they are."""
    placed, order = set(), []
    for first in [*(by_id[number] for number in schedule if number in by_id), *read]:
        if first[0] in placed:
            continue
        if placed.issuperset(first[1]):   # as nearly all are
            placed.add(first[0])
            order.append(first)
            continue
        stack = [(first, iter(first[1]))]
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
                    stack.append((by_id[operand], iter(by_id[operand][1])))
                    break
            else:
                waiting.discard(instruction[0])
                placed.add(instruction[0])
                order.append(instruction)
                stack.pop()
    return order


# ---- the buffer assignment ----

def assignment(body, reader):
    """A BufferAssignmentProto; where it says nothing, neither does the module."""
    defined, made = {}, Assignment()
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
        if instruction in reader.by_id:
            defined[number] = reader.by_id[instruction], path
    for allocation in messages(body, 3):
        size, thread, parameter, result, constant = numbers(allocation, 2, 3, 5, 7, 12)
        made.add(size, thread, parameter, constant, result)
        for assigned in messages(allocation, 9):
            buffer, offset = numbers(assigned, 1, 2)
            if buffer in defined:
                made.put(*defined[buffer], offset)
    made.finish(reader.module)


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
    """The graph of a module."""
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
    reader = Reader()
    module = reader.read(body)
    assignment(assigned, reader)
    return [*choice, *graph(module, options, "XLA HLO proto")]
