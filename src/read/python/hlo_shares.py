"""Which operand's memory an op may write a result over: what it reads there it reads before it writes it."""
from hlo_flops import ELEMENTWISE

IN_PLACE = {"dynamic-update-slice": 0, "triangular-solve": 1}   # the operand over which a result can be written
EACH = "scatter", "sort", "all-reduce-start"                    # array k over operand k


def same_dims(one, other):
    """Element for element at the same place, as far as layouts are said."""
    return one is other or (one.parts is None and other.parts is None and one.dims == other.dims
                            and (one.layout == other.layout or not one.layout or not other.layout))


def through_bitcasts(instructions, place):
    while instructions[place].opcode == "bitcast" and len(instructions[place].operands) == 1:
        place = instructions[place].operands[0]
    return place


class Shares:
    """Answers for the ops of a module. What was looked at in a fusion is kept until the next one."""

    def __init__(self, module):
        self.module, self.inside, self.updated, self.apart = module, None, {}, {}

    def may(self, op, out, place):
        """Whether array `out` of an op can lie where its operand `place` does."""
        instruction, opcode, leaf = op.of, op.of.opcode, out.leaf
        if opcode == "while":
            return place == leaf
        if opcode == "conditional":   # what its branches hold besides is their workspace
            return True
        if len(op.reads) != len(instruction.operands):
            return False
        shape = op.computation.instructions[instruction.operands[place]].shape
        if any(alias[0] == leaf and alias[1] == place for alias in instruction.aliases):
            return True
        if opcode != "fusion":
            over = leaf if opcode in EACH else IN_PLACE.get(opcode)
            return over == place or (opcode in ELEMENTWISE and same_dims(shape, out.shape))
        if len(instruction.calls) != 1 or instruction.calls[0] is None:
            return False
        self.look_into(self.module.computations[instruction.calls[0]])
        return self.updated_parameter(leaf) == place or (
            same_dims(shape, out.shape) and self.place_by_place(place, out.shape))

    def look_into(self, computation):
        if self.inside is not computation:
            self.inside, self.updated, self.apart = computation, {}, {}

    def updated_parameter(self, leaf):
        """The parameter that an update of a slice, the root of array `leaf`, writes into; None where it is another
        thing."""
        if leaf not in self.updated:
            self.updated[leaf] = self.find_updated(leaf)
        return self.updated[leaf]

    def find_updated(self, leaf):
        instructions, place = self.inside.instructions, self.inside.root
        root = instructions[place]
        if root.opcode == "tuple" and len(root.operands) == len(root.shape.leaves) and leaf < len(root.operands):
            place = root.operands[leaf]
        root = instructions[through_bitcasts(instructions, place)]
        if root.opcode not in ("dynamic-update-slice", "scatter") or not root.operands:
            return None
        place = through_bitcasts(instructions, root.operands[0])
        into = instructions[place]
        uses = sum(list(one.operands).count(place) for one in instructions) if into.opcode == "parameter" else 0
        return into.index if uses == 1 else None

    def place_by_place(self, parameter, whole):
        """A parameter is read only at the place that is written."""
        key = tuple(whole.dims), whole.layout
        if key not in self.apart:
            self.apart[key] = self.find_apart(whole)
        fine = False
        for place, instruction in enumerate(self.inside.instructions):
            if instruction.opcode == "parameter" and instruction.index == parameter:
                fine = not self.apart[key][place] and place != self.inside.root
        return fine

    def find_apart(self, whole):
        """What of a computation is read elsewhere, too, than at the place of arrays of a shape where it is written, on
        some way to the root."""
        instructions = self.inside.instructions
        apart = [False] * len(instructions)
        for place in range(len(instructions) - 1, -1, -1):
            instruction = instructions[place]
            if place == self.inside.root and instruction.opcode == "tuple":
                continue
            here = (not apart[place] and instruction.opcode in ELEMENTWISE and same_dims(instruction.shape, whole))
            for operand in instruction.operands:
                if not here or not same_dims(instructions[operand].shape, whole):
                    apart[operand] = True
        return apart
