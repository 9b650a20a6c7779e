"""Flattens a computation to a list of ops over arrays: tuples are gone, calls are inlined, and so are fusions where
they are opened. Results are written over operands that end there, one for one, as XLA lets them."""
from draft import Bad
from hlo_module import DEPTH_MOST
from hlo_shares import Shares

STEPS_MOST = 2000000    # instructions visited: calls can repeat computations without end
PAIRS_MOST = 10000000   # arguments times results of an op: above, a result is looked for at its own place alone
PASSES = ("bitcast", "add-dependency", "opt-barrier", "optimization-barrier", "all-reduce-done", "async-update")
TAKEN = -1              # as the last op of an operand in whose place a result lies


class Tensor:
    """An array. writer, last: numbers of ops, None: there from the start, without a reader; parameter: its number;
    storage: the tensor whose memory it lies in: itself, or one that has it for itself; over: the operand that it is
    written over; home: of a result, the parameter whose memory it must end in; result: of the whole; stays: its memory
    isn't for anybody else: a constant, or an argument that the caller keeps."""
    writer = last = parameter = over = home = None
    constant = result = stays = unused = False
    end = 0

    def __init__(self, of, leaf, shape, prefix):
        self.of, self.leaf, self.shape, self.prefix, self.storage = of, leaf, shape, prefix, self


class Op:
    """path: op_name of the call that it was in, which its own continues; depth: of the calls around it."""
    workspace = 0

    def __init__(self, of, scope, reads):
        self.of, self.computation, self.prefix, self.path = of, scope.computation, scope.prefix, scope.path
        self.depth, self.reads, self.writes = scope.depth, reads, []


class Scope:
    """A computation that is being inlined. arguments: of the call; values: of its instructions so far."""

    def __init__(self, computation, arguments=None, prefix="", path="", depth=0):
        self.computation, self.arguments, self.values = computation, arguments, []
        self.prefix, self.path, self.depth = prefix, path, depth


def wrong(instruction, what):
    return Bad(f'"{instruction.name[:60]}" ({instruction.opcode[:40]}) {what}', instruction.line)


def too_deep(instruction):
    return Bad(f'calls are nested more than {DEPTH_MOST} deep, or call themselves, at "{instruction.name[:60]}"',
               instruction.line)


class Budget:
    """What all lists of ops of a module share: the instructions visited so far, and where results may lie."""

    def __init__(self, module):
        self.module, self.steps, self.shares = module, 0, Shares(module)


class Flat:
    """A computation as a list of ops, and what it gives back."""

    def __init__(self, budget, computation, opened=False, depth=0):
        self.budget, self.module, self.opened = budget, budget.module, opened
        self.tensors, self.ops = [], []
        self.results = self.flatten(Scope(self.module.computations[computation], depth=depth))

    # ---- instructions ----

    def new(self, instruction, prefix, writer=None):
        """New tensors for all arrays of an instruction."""
        made = [Tensor(instruction, leaf, shape, prefix) for leaf, shape in enumerate(instruction.shape.leaves)]
        for tensor in made if writer is not None else ():
            tensor.writer = writer
        self.tensors += made
        return made

    def flatten(self, scope):
        """The ops of a scope; returns the arrays of its root."""
        for instruction in scope.computation.instructions:
            self.budget.steps += 1
            if self.budget.steps > STEPS_MOST:
                raise Bad(f"more than {STEPS_MOST} instructions once calls are inlined")
            scope.values.append(self.instruction(scope, instruction))
        return scope.values[scope.computation.root]

    def instruction(self, scope, instruction):
        """The arrays that it gives."""
        opcode, operands = instruction.opcode, instruction.operands
        if opcode == "get-tuple-element":
            if not operands:
                raise wrong(instruction, "has no operand")
            return self.part(scope, instruction, instruction.index)
        if opcode == "parameter":
            return self.parameter(scope, instruction)
        if opcode == "constant":
            made = self.new(instruction, scope.prefix)
            for tensor in made:
                tensor.constant = True
            return made
        if opcode == "tuple":
            return self.joined(scope, instruction)
        if opcode in PASSES and operands and len(scope.values[operands[0]]) == len(instruction.shape.leaves):
            return scope.values[operands[0]]
        if opcode.endswith("-done") and operands:
            if opcode == "copy-done":
                return self.part(scope, instruction, 0)
            if len(scope.computation.instructions[operands[0]].shape.parts or ()) > 1:
                return self.part(scope, instruction, 1)
        if opcode == "call" or (opcode == "fusion" and self.opened):
            return self.call(scope, instruction)
        return self.op(scope, instruction)

    def joined(self, scope, instruction):
        """The arrays of all operands. A shape is as long in the file: no chain of tuples grows beyond it."""
        values = [scope.values[operand] for operand in instruction.operands]
        if instruction.opcode == "tuple" and sum(map(len, values)) != len(instruction.shape.leaves):
            raise wrong(instruction, "has another shape than what it joins")
        return values[0] if len(values) == 1 else [tensor for value in values for tensor in value]

    def part(self, scope, instruction, index):
        """A part of a tuple."""
        operand = instruction.operands[0]
        shape, value = scope.computation.instructions[operand].shape, scope.values[operand]
        if index >= len(shape.parts or ()) or len(value) != len(shape.leaves):
            raise wrong(instruction, "takes a part that its operand doesn't have")
        if len(shape.parts) == len(value):
            return value[index:index + 1] if shape.parts[index].parts is None else []
        first = sum(len(part.leaves) for part in shape.parts[:index])
        return value[first:first + len(shape.parts[index].leaves)]

    def parameter(self, scope, instruction):
        index, arguments = instruction.index, scope.arguments
        if arguments is None:
            if index >= len(scope.computation.instructions):
                raise wrong(instruction, "has a number beyond all parameters")
            made = self.new(instruction, scope.prefix)
            for tensor in made:
                tensor.parameter = index
            return made
        if index >= len(arguments):
            raise wrong(instruction, "is a parameter that the call doesn't pass")
        if len(arguments[index]) != len(instruction.shape.leaves):
            raise wrong(instruction, "gets a value of another shape")
        return arguments[index]

    def call(self, scope, instruction):
        """What is called is inlined; op_names in it continue that of the call, or one around it that says what is
        differentiated."""
        if not instruction.calls or instruction.calls[0] is None:
            raise wrong(instruction, "names no computation")
        if scope.depth >= DEPTH_MOST:
            raise too_deep(instruction)
        path = instruction.op_name or scope.path
        if "jvp(" in scope.path and "jvp(" not in path:
            path = scope.path
        return self.flatten(Scope(self.module.computations[instruction.calls[0]],
                                  [scope.values[operand] for operand in instruction.operands],
                                  f"{scope.prefix}{instruction.name}/", path, scope.depth + 1))

    def op(self, scope, instruction):
        """What a start gives back besides the result are its operands; what a loop or a conditional leaves alone is no
        result."""
        op = Op(instruction, scope, self.joined(scope, instruction))
        shape, opcode = instruction.shape, instruction.opcode
        if opcode == "while" and (not instruction.calls or len(op.reads) != len(shape.leaves)):
            raise wrong(instruction, "doesn't give back what it takes")
        value = op.writes = self.new(instruction, scope.prefix, len(self.ops))
        self.ops.append(op)
        same = None
        if opcode == "while":
            same = [leaf if self.invariant(instruction, leaf) else None for leaf in range(len(value))]
        elif opcode == "conditional":
            same = [self.passed_through(scope, op, leaf) for leaf in range(len(value))]
        elif opcode.endswith("-start") and len(shape.parts or ()) > 1 and opcode != "all-reduce-start":
            skipped = 1 if opcode == "copy-start" else 0
            before = sum(len(part.leaves) for part in shape.parts[:skipped])
            count = len(shape.parts[skipped].leaves)
            same = [leaf - before if before <= leaf < before + count else None for leaf in range(len(value))]
        if same:
            kept = [number is None or number >= len(op.reads) for number in same]
            op.writes = [tensor for tensor, mine in zip(value, kept) if mine]
            for tensor, mine in zip(value, kept):
                tensor.unused = not mine
            return [tensor if mine else op.reads[number] for tensor, mine, number in zip(value, kept, same)]
        return value

    def root_parts(self, computation):
        """What a computation joins to its result, array by array; None where it doesn't."""
        root = self.module.computations[computation].instructions[self.module.computations[computation].root]
        joins = root.opcode == "tuple" and len(root.operands) == len(root.shape.leaves)
        return root.operands if joins else ()

    def taken_part(self, computation, leaf):
        """Which part of the computation's parameter it gives back untouched as array `leaf`; None for none."""
        parts, instructions = self.root_parts(computation), self.module.computations[computation].instructions
        taken = instructions[parts[leaf]] if leaf < len(parts) else None
        is_part = taken and taken.opcode == "get-tuple-element" and taken.operands
        return taken.index if is_part and instructions[taken.operands[0]].opcode == "parameter" else None

    def invariant(self, loop, leaf):
        """Of a loop, an array is passed through its body untouched."""
        return loop.calls[0] is not None and self.taken_part(loop.calls[0], leaf) == leaf

    def passed_through(self, scope, op, leaf):
        """The place among the operands' arrays of what every branch of a conditional gives back untouched; None where
        they don't."""
        operands, found = op.of.operands, None
        shapes = [scope.computation.instructions[operand].shape for operand in operands]
        before = len(shapes[0].leaves) if shapes else 0
        for branch, called in enumerate(op.of.calls, 1):
            taken = self.taken_part(called, leaf) if called is not None and branch < len(operands) else None
            if taken is None:
                return None
            given = shapes[branch]
            place = before + taken
            if (taken >= len(given.leaves) or len(given.parts or ()) != len(given.leaves) or place >= len(op.reads)
                    or (found is not None and op.reads[place] is not op.reads[found])):
                return None
            found = place
            before += len(given.leaves)
        return found

    # ---- memory that is written again ----

    def find_last(self):
        for number, op in enumerate(self.ops):
            for tensor in op.reads:
                tensor.last = number

    def share(self):
        """Results go where an operand ends: one result for one operand."""
        for tensor in self.results:
            tensor.result = True
        self.find_last()
        for number, op in enumerate(self.ops):
            ending = {}
            for place, tensor in enumerate(op.reads):
                if tensor.last == number and not tensor.result and not tensor.stays:
                    ending.setdefault(tensor.shape.bytes, []).append(place)
            one = op.of.opcode == "while" or len(op.reads) * len(op.writes) > PAIRS_MOST
            for out in op.writes if ending else ():
                places = ending.get(out.shape.bytes, ())
                self.find_place(number, op, out, [out.leaf] if one and out.leaf in places else () if one else places)
        self.find_last()

    def find_place(self, number, op, out, places):
        """A result goes to the operand that suits it best, the first of those."""
        most, found = 0, None
        for place in places:
            tensor = op.reads[place]
            fits = self.suits(op, out, place, tensor) if tensor.last == number else 0
            if fits > most:
                most, found = fits, tensor
        if found:
            out.over, out.storage, found.last = found, found.storage, TAKEN

    def suits(self, op, out, place, tensor):
        """How well a result goes where its operand lies: 0 not at all. What XLA has given addresses has these; a result
        goes to its home; other values to what comes in, so that its memory is one storage from there on."""
        places = self.module.places
        if places:
            before, after = places.get((tensor.of, tensor.leaf)), places.get((out.of, out.leaf))
            if before is not None and after is not None:
                return 4 if before == after else 0
        # XLA copies what it couldn't write over
        seen_to = self.module.scheduled and tensor is out.home
        if not seen_to and not self.budget.shares.may(op, out, place):
            return 0
        if out.home and tensor.storage is out.home:
            return 3
        return 2 if (tensor.storage.parameter is not None) == (out.home is None) else 1


def whole(module, opened):
    """The entry of a module. Arguments stay, but for those that are given away for a result."""
    flat = Flat(Budget(module), module.entry, opened)
    given = {}
    for tensor in flat.tensors:
        tensor.stays = tensor.constant or tensor.parameter is not None
        given.setdefault((tensor.parameter, tensor.leaf), tensor)
    for output, parameter, leaf in module.aliases:
        tensor = given.get((parameter, leaf))
        if tensor and output < len(flat.results):
            tensor.stays = False
            flat.results[output].home = tensor
    flat.share()
    return flat
