"""What an HLO instruction computes: multiplications and additions, None where it doesn't tell."""
import re

MOST = ((1 << 63) - 1) // 4   # more isn't counted

# An element of the result depends on the elements of the operands at its place.
ELEMENTWISE = frozenset("""abs add and atan2 cbrt ceil clamp compare convert copy cosine divide erf exponential
    exponential-minus-one floor is-finite log log-plus-one logistic maximum minimum multiply negate not or popcnt power
    remainder round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical
    sign sine sqrt subtract tan tanh xor""".split())
# What moves data, or makes it of nothing.
MOVES = frozenset("""parameter constant tuple get-tuple-element bitcast bitcast-convert broadcast concatenate copy
    copy-start copy-done dynamic-slice dynamic-update-slice gather iota pad reshape reverse slice transpose after-all
    partition-id replica-id opt-barrier optimization-barrier all-gather all-to-all collective-permute all-gather-start
    all-gather-done collective-permute-start collective-permute-done send recv send-done recv-done infeed outfeed
    domain""".split())
UNTOLD = "custom-call", "conditional", "async-start"


def product(*factors):
    result = 1
    for factor in factors:
        if factor is None:
            return None
        result = result * factor if result * factor < 1 << 63 else MOST
    return result


def elements(shape):
    return product(*shape.dims) if shape.parts is None else 0


def contracted(shape, dims):
    """The dims that a list "1,2" names, multiplied."""
    named = [int(digits[:9]) for digits in re.split("[, ]+", dims) if digits.isdecimal()]
    return product(*(shape.dims[dim] if dim < len(shape.dims) else None for dim in named))


def convolved(kernel, labels):
    """Of "b01f_01io->b01f" what an output element sums up: all dims of the kernel but its outputs."""
    outputs = labels.partition("_")[2].find("o")
    if not 0 <= outputs < len(kernel.dims) or kernel.dims[outputs] < 1:
        return None
    return elements(kernel) // kernel.dims[outputs]


class Flops:
    """Counts of a module's computations, each worked out once."""

    def __init__(self, module):
        self.module, self.known = module, {}

    def inside(self, calls):
        """Of the first of the computations that are called."""
        if not calls or calls[0] is None:
            return None
        if calls[0] not in self.known:
            self.known[calls[0]], total = None, 0   # None: of one that calls itself
            computation = self.module.computations[calls[0]]
            for instruction in computation.instructions:
                count = self.of(instruction, computation)
                total = None if count is None else min(MOST, total + count)
                if total is None:
                    break
            self.known[calls[0]] = total
        return self.known[calls[0]]

    def of(self, instruction, computation):
        opcode, operands = instruction.opcode, instruction.operands
        if opcode in MOVES:
            return 0
        out = elements(instruction.shape)
        if opcode in ELEMENTWISE:
            return out
        first = computation.instructions[operands[0]].shape if operands else None
        if opcode == "dot" and first:
            return product(2, product(out, contracted(first, instruction.contracting)))
        if opcode == "convolution" and len(operands) == 2:
            kernel = computation.instructions[operands[1]].shape
            return product(2, product(out, convolved(kernel, instruction.labels)))
        if opcode in ("fusion", "call"):
            return self.inside(instruction.calls)
        if opcode == "while":
            return product(self.inside(instruction.calls), instruction.trips or 1)
        if opcode in UNTOLD:
            return None
        return max(elements(first) if first else 0, out)   # reductions and the like read each element once
