"""Inductor's memory graph: what torch._inductor.config.reorder_for_peak_memory_debug writes into the structured trace.

One JSON object: `nodes` in the order that Inductor began with, each with its name and the names of the buffers that it
makes; `buffers` with size_alloc, size_free, is_input, is_output and deps, the buffers that the node of this one reads.
A node of several outputs allocates them all, and nodes behind it that take one out free it: these become views here.
Inputs that can't be freed are not in it.
"""
from draft import BYTES_MOST, Bad, Draft, integer, items, member, read_json, text_member

WAY_MOST, LOOKS_MOST = 8, 200   # buffers from one to its allocator; looked at in all


class Buffer:
    """One of the file's buffers. op: the record of the node that makes it, None for an input."""

    def __init__(self, record):
        self.name, self.deps = text_member(record, "name"), member(record, "deps")
        if not self.name:
            raise Bad("a buffer without a name")
        self.alloc, self.freed = member(record, "size_alloc"), member(record, "size_free")
        if not all(integer(size) and 0 <= size <= BYTES_MOST for size in (self.alloc, self.freed)):
            raise Bad(f'expected size_alloc and size_free, bytes from 0 to 2^60, of buffer: "{self.name}"')
        if not isinstance(self.deps, list):
            raise Bad(f'expected a list of deps of buffer: "{self.name}"')
        self.kind = "output" if member(record, "is_output") is True else "activation"
        self.input, self.op, self.held = member(record, "is_input") is True, None, None


def find(buffers, name):
    """A buffer by what should be its name, None where there is none."""
    return buffers.get(name) if isinstance(name, str) else None


def read_buffers(file):
    """All buffers by name, with those that they depend on in place of their names."""
    if not isinstance(member(file, "buffers"), list):
        raise Bad("it has no list of buffers")
    buffers = {}
    for record in file["buffers"]:
        buffer = Buffer(record)
        if buffer.name in buffers:
            raise Bad(f'two buffers have one name: "{buffer.name}"')
        buffers[buffer.name] = buffer
    return buffers


def read_nodes(nodes, buffers, draft):
    """An op for each node, and which node makes which buffer."""
    for node in nodes:
        name, made = text_member(node, "name"), member(node, "buffer_names")
        if not name or not isinstance(made, list):
            raise Bad(f'expected a name and a list of buffer_names of node: "{name or ""}"')
        if name in draft.ops:
            raise Bad(f'two nodes have one name: "{name}"')
        op = draft.op(name, "inductor.kernel")
        for buffer in filter(None, (find(buffers, one) for one in made)):
            if buffer.op:
                raise Bad(f'two nodes make the buffer: "{buffer.name}"')
            buffer.op = op
    for buffer in buffers.values():
        if not all(find(buffers, dep) for dep in buffer.deps):
            raise Bad(f'a buffer that is not in the file is among the deps of: "{buffer.name}"')
        buffer.deps = [buffers[dep] for dep in buffer.deps]


def allocator_of(buffer, looks, depth=0):
    """The buffer that allocated what this one frees: the nearest one among what its node reads that allocates more than
    it frees. looks: a list of one number, how many may still be looked at."""
    for source in buffer.deps if depth < WAY_MOST else ():
        if looks[0] == 0:
            return None
        looks[0] -= 1
        if source.op and source.alloc >= buffer.freed and source.alloc > source.freed:
            return source
        further = source.op and source.alloc == source.freed == 0 and allocator_of(source, looks, depth + 1)
        if further:
            return further
    return None


def add_held(buffers, draft):
    """The memory of what one node allocates and another one names. Returns how many buffers nobody allocates."""
    unowned = 0
    for buffer in buffers:
        if not buffer.op or buffer.freed <= buffer.alloc:
            continue
        source = allocator_of(buffer, [LOOKS_MOST])
        if not source:
            unowned += 1
            continue
        source.alloc -= buffer.freed
        buffer.held = draft.tensor(buffer.name + " (memory)", buffer.freed, buffer.kind)
        source.op["out"].append(buffer.held)
    return unowned


def add_buffers(buffers, draft):
    """The tensors of all buffers. Returns the bytes that no buffer frees."""
    leaked = 0
    for buffer in buffers:
        draft.tensor(buffer.name, buffer.freed, buffer.kind, alias=buffer.held)
        if not buffer.op:
            continue
        buffer.op["out"].append(buffer.name)
        if buffer.held:
            buffer.op["in"].append(buffer.held)
        if buffer.alloc > buffer.freed:
            leaked += buffer.alloc - buffer.freed
            rest = draft.tensor(buffer.name + " (never freed)", buffer.alloc - buffer.freed, "output")
            buffer.op["out"].append(rest)
    return leaked


def add_reads(buffers, draft):
    """Every buffer of a node lists all that the node reads: each is read once, the last buffer's first."""
    made = {}
    for buffer in buffers:
        if buffer.op:
            made.setdefault(buffer.op["id"], []).append(buffer)
    for op in draft.ops.values():
        seen = set()
        for buffer in reversed(made.get(op["id"], ())):
            for dep in buffer.deps:
                if dep.op is not op and dep.name not in seen:
                    seen.add(dep.name)
                    op["in"].append(dep.name)


def read(stream, _options):
    """The graph of a file, in lines."""
    file, draft = read_json(stream), Draft()
    nodes = member(file, "nodes")
    if not isinstance(nodes, list):
        raise Bad("it has no list of nodes")
    by_name = read_buffers(file)
    read_nodes(nodes, by_name, draft)
    buffers = list(by_name.values())
    unowned = add_held(buffers, draft)
    leaked = add_buffers(buffers, draft)
    add_reads(buffers, draft)
    inputs = sum(buffer.input for buffer in buffers)
    assumed = [f"inputs that can't be freed (parameters) are not in the file; {inputs} that can are"]
    if unowned:
        assumed.append(f"{unowned} buffers that nobody allocates are allocated where they are made")
    if leaked:
        assumed.append(f"{leaked} bytes are allocated that no buffer frees: they stay")
    return draft.records("inductor", {"format": "Inductor memory graph", "assumed": assumed})
