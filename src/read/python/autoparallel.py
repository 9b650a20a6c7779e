"""What AutoParallel (meta-pytorch/autoparallel) writes of a sharded step: get_json(), or the artifact of that in a
structured trace.

One JSON object: `mesh` with its shape and names; `nodes` of the joint FX graph with op, phase, shape (of the whole
tensor), dtype, placement, and for each input the placement that it comes in and the one that the op needs; `summary`
with the optimizer's costs. The graph is that of one device: sizes are local, and where placements differ an op of
communication stands between, once for each tensor and placement.
"""
import re

from draft import (BITS, BITS_MOST, DIMS_MOST, MESH_AXES, Bad, Draft, integer, items, member, place_move, places_text,
                   read_json, read_places, text_member)

DTYPES = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32", "bool": "bool",
          "float64": "f64", "uint8": "u8", "int8": "i8", "int16": "i16", "float8_e4m3fn": "f8e4m3",
          "float8_e5m2": "f8e5m2", "complex64": "c64", "uint64": "u64", "uint32": "u32"}
LEAVES = {"input": "input", "param": "parameter", "buffer": "buffer"}


class Value:
    """A node of the file, and what became of it. parts: nodes behind it take its results out."""

    def __init__(self, node, axes):
        self.node, self.name, self.op = node, text_member(node, "name"), text_member(node, "op")
        if not self.name or self.op is None:
            raise Bad(f'expected a name and an op of node: "{self.name or ""}"')
        shape = member(node, "shape")
        if len(items(shape)) > DIMS_MOST:
            raise Bad(f'too many dims of node: "{self.name}"')
        sized = isinstance(shape, list) and all(integer(dim) and dim >= 0 for dim in shape)
        self.shape, self.dtype = shape if sized else None, DTYPES.get(text_member(node, "dtype"))
        self.places = take_places(text_member(node, "placement"), axes)
        self.phase = "backward" if text_member(node, "phase") == "backward" else "forward"
        self.inputs, self.takes_part = items(member(node, "inputs")), "getitem" in self.op
        self.output = self.parts = False
        self.tensor = self.made = self.source = None   # names, the op's record, what a view is of


def take_places(text, axes):
    """Of several results the first that there is, "(None, S(0)R, R)"; None where it is something else."""
    text = re.sub(r"^(None, )*", "", re.sub(r"^\(", "", text or ""))
    places = read_places(text, axes)
    return places if len(places) == axes else None


class Reading:
    """A file on its way to the graph of one device."""

    def __init__(self, file, rules):
        self.draft, self.rules, self.values, self.missing, self.moved = Draft(), rules, {}, 0, 0
        self.mesh = self.read_mesh(member(file, "mesh"))
        self.axes = list(self.mesh)

    @staticmethod
    def read_mesh(mesh):
        """Sizes by name. Names are cut as native graphs have them, and kept apart."""
        shape, names, found = items(member(mesh, "shape")), items(member(mesh, "dim_names")), {}
        if not 1 <= len(shape) <= MESH_AXES:
            raise Bad(f"mesh: expected a shape of 1 to {MESH_AXES} axes")
        for axis, size in enumerate(shape):
            if not integer(size) or not 1 <= size <= 1 << 20:
                raise Bad("mesh: expected sizes from 1 to 2^20")
            name = names[axis] if axis < len(names) and isinstance(names[axis], str) else ""
            name = re.sub(r"[^a-z0-9_]", "_", name.lower())[:7]
            found["abcd"[axis] if not name or name in found else name] = size
        return found

    def read_values(self, nodes):
        """Every node by name, its inputs before it."""
        for node in nodes:
            value = Value(node, len(self.axes))
            sources = [self.find(given) for given in value.inputs]
            if value.name in self.values:
                raise Bad(f'two nodes have one name: "{value.name}"')
            if not all(sources):
                raise Bad(f'an input that no node before it makes, of: "{value.name}"')
            for source in sources:
                source.output |= value.op == "output"
            if sources and value.takes_part:
                sources[0].parts = True
            self.values[value.name] = value

    def find(self, given):
        """The value that an input names."""
        return self.values.get(text_member(given, "name"))

    def add_tensor(self, value, name, places, kind, alias=None):
        """A tensor of one device: the value's, cut as placed."""
        shape, bits = None, 0
        if value.shape is not None:
            sizes, shape = list(self.mesh.values()), list(value.shape)
            for axis, place in enumerate(places or ()):
                if place[0] in range(len(shape)):
                    shape[place[0]] = -(-shape[place[0]] // sizes[axis])
        if shape is not None and value.dtype:
            bits = BITS[value.dtype]
            for dim in shape:
                bits *= dim
                if bits > BITS_MOST:
                    raise Bad(f'a size overflows: "{name}"')
        self.missing += shape is None or value.dtype is None
        return self.draft.tensor(name, (bits + 7) // 8, kind, dtype=value.dtype, shape=shape, alias=alias,
                                 placement=places_text(places))

    def add_op(self, value, name, kind, **more):
        """An op that the node of a value runs. Returns its record."""
        source = member(value.node, "source")
        file, line = text_member(source, "file"), member(source, "line")
        src = f"{file}:{line if integer(line) else 0} in {text_member(source, 'func') or '?'}"
        src = None if file is None else src
        if name in self.draft.ops:
            raise Bad(f'two ops have one name: "{name}"')
        return self.draft.op(name, kind, phase=value.phase, mod=text_member(value.node, "module_path"), src=src, **more)

    def move(self, reader, value, name, axis, now, then, before):
        """One axis of an operand goes from one placement to another. Returns its tensor then."""
        if name in self.draft.tensors:
            return name
        kind, more = place_move(now[axis], then[axis]), {}
        if kind:
            self.moved += 1
            more = {"axis": self.axes[axis], "size": self.mesh[self.axes[axis]], "from": places_text(now),
                    "to": places_text(then)}
        op = self.add_op(reader, name, kind or "aten.slice.Tensor", **more)
        self.add_tensor(value, name, then, "gradient" if reader.phase == "backward" else "activation",
                        None if kind else before)
        op["in"].append(before)
        op["out"].append(name)
        return name

    def moved_operand(self, reader, value, wanted):
        """An operand in the placement that its reader needs: an op for each axis of the mesh where it differs. What
        only cuts comes first, then from the last axis, which has the smallest pieces, to the first."""
        wanted_places, tensor = take_places(wanted, len(self.axes)), value.tensor
        if not value.places or not wanted_places:
            return tensor
        now = list(value.places)
        for cuts in (True, False):
            for axis in reversed(range(len(now))):
                if now[axis] == wanted_places[axis] or (cuts and place_move(now[axis], wanted_places[axis])):
                    continue
                then = now[:axis] + [wanted_places[axis]] + now[axis + 1:]
                last = "" if then == wanted_places else " along " + self.axes[axis]
                tensor = self.move(reader, value, f"{value.name} as {wanted}{last}", axis, now, then, tensor)
                now = then
        return tensor

    def add_result(self, value, op, source):
        """A node's tensor, which the op writes."""
        kind = "output" if value.output else "gradient" if value.phase == "backward" else "activation"
        value.tensor = self.add_tensor(value, value.name, value.places, kind, source)
        op["out"].append(value.tensor)

    def add_node(self, value):
        """A node's op and its result, unless nodes behind it take several out."""
        sources = [self.find(given) for given in value.inputs]
        if value.takes_part and sources and sources[0].made:
            self.add_result(value, sources[0].made, sources[0].source)
            return
        operands = [self.moved_operand(value, source, text_member(given, "dst_placement")) if source.tensor else None
                    for source, given in zip(sources, value.inputs)]
        value.made = self.add_op(value, value.name, value.op)
        value.made["in"].extend(operand for operand in operands if operand)
        if operands and self.rules.is_view(value.op):
            value.source = operands[0]
        if not value.parts:
            self.add_result(value, value.made, value.source)

    def add(self, value):
        """What a node comes to."""
        if value.op in ("placeholder", "get_attr"):
            kind = text_member(value.node, "placeholder_kind")
            kind = LEAVES.get("input" if kind is None else kind, "gradient")
            value.tensor = self.add_tensor(value, value.name, value.places, kind)
        elif value.op != "output":
            self.add_node(value)

    def assumed(self, summary):
        """What the card says of it, line by line."""
        yield (f"sizes are of one device of the mesh; {self.moved} transfers were added where placements differ, once "
               "for each tensor and placement; inputs and gradients of parameters stay to the end; it has no optimizer")
        costs = [member(summary, key) for key in ("total", "compute", "comm", "transition")]
        costs = [cost if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None for cost in costs]
        if costs[0] is not None:
            yield "its own costs: %.1f in all, computation %.1f, communication %.1f, other transitions %.1f" % tuple(
                cost or 0 for cost in costs)
        unplaced = sum(not value.places and value.op != "output" for value in self.values.values())
        if unplaced:
            yield f"{unplaced} nodes without a placement that is understood: they count as whole"


def read(stream, options):
    """The graph of a file, in lines."""
    file = read_json(stream)
    nodes = member(file, "nodes")
    if not isinstance(nodes, list):
        raise Bad("it has no list of nodes")
    reading = Reading(file, options.rules)
    reading.read_values(nodes)
    for value in reading.values.values():
        reading.add(value)
    intake = {"format": "AutoParallel JSON", "missing": reading.missing, "assumed": list(reading.assumed(
        member(file, "summary")))}
    return reading.draft.records("step", intake, reading.mesh)
