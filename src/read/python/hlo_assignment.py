"""XLA's own buffer assignment: allocations, and in each of them arrays at offsets. Its allocations are put one behind
another: arguments, constants, results, temporaries; memory of single threads is not the step's."""
import os
import re

from draft import BYTES_MOST, Bad
from fx_folder import content

PURPOSES = "arguments", "constants", "outputs", "temporary"   # temporaries last, because nothing needs their end
ENDINGS = "-buffer-assignment.txt", ".buffer-assignment.txt", "-buffer-assignment.txt.gz"
TEXT_MOST = 1 << 30   # bytes
PATH_MOST = 8         # of an array in nested tuples
VALUE = re.compile(r" value: <[^ \n]* ([^ {>\n]*)(\{[0-9,]*\})?")
SIZE, OFFSET = re.compile(r": size ([0-9]{1,19})(?![0-9])"), re.compile(r",offset=([0-9]{1,19})(?![0-9])")


def leaf_at(shape, path):
    """The array at a path into a shape, counted among all of its arrays; None where a tuple lies there, or nothing."""
    leaf = 0
    for part in path:
        if shape.parts is None or not 0 <= part < len(shape.parts):
            return None
        leaf += sum(len(before.leaves) for before in shape.parts[:part])
        shape = shape.parts[part]
    return leaf if shape.parts is None else None


class Assignment:
    """allocations: purpose and bytes; values: allocation, instruction, array of it, offset."""

    def __init__(self):
        self.allocations, self.values = [], []

    def add(self, size, thread, parameter, constant, result):
        purpose = PURPOSES[0 if parameter else 1 if constant else 2 if result else 3]
        self.allocations.append((None if thread else purpose, min(size, BYTES_MOST)))

    def put(self, instruction, path, offset):
        """An array in the allocation that was added last."""
        leaf = leaf_at(instruction.shape, path) if len(path) <= PATH_MOST else None
        if leaf is not None and offset <= BYTES_MOST:
            self.values.append((len(self.allocations) - 1, instruction, leaf, offset))

    def finish(self, module):
        """Gives the module its sums and places."""
        sums, bases, base = dict.fromkeys(PURPOSES, 0), {}, 0
        for purpose in PURPOSES:
            for number, (own, size) in enumerate(self.allocations):
                if own == purpose:
                    bases[number], base = base, base + size
                    sums[purpose] += size
        if base > BYTES_MOST:
            raise Bad("the sizes of XLA's buffer assignment add up to more than 2^60 bytes")
        module.sums = sums if bases else None
        for number, instruction, leaf, offset in self.values:
            if number in bases and offset <= self.allocations[number][1]:
                module.places.setdefault((instruction, leaf), bases[number] + offset)


def read_text(text, module):
    """ "allocation 13: size 4, parameter 1, shape |f32[2]| at ShapeIndex {}, maybe-live-out:", and in it lines like
    " value: <305 while.3{1} (phi) @0> (size=1048576,offset=462288064): f32[4,256,256]{2,1,0}"."""
    assignment, named = Assignment(), {}
    for computation in module.computations:
        for instruction in computation.instructions:
            named.setdefault(instruction.name, instruction)
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("allocation "):
            size = SIZE.search(line)
            if not size or int(size[1]) >= 1 << 63:
                raise Bad("an allocation without a size", number)
            marks = ", thread-local", ", parameter ", ", constant", ", maybe-live-out"
            assignment.add(int(size[1]), *(mark in line for mark in marks))
        elif line.startswith(" value: <"):
            value, offset = VALUE.match(line), OFFSET.search(line)
            if value and offset and value[1] in named and assignment.allocations:
                path = [int(digits[:20]) for digits in (value[2] or "{}")[1:-1].split(",") if digits]
                assignment.put(named[value[1]], path, int(offset[1]))
        elif number > 1 and line and line[0] != " ":
            break   # what follows says the same in other words
    if not assignment.allocations:
        raise Bad("it has no allocations")
    assignment.finish(module)


def beside(path, module):
    """What XLA writes beside the text of a module: X-buffer-assignment.txt of X.txt. X.buffer-assignment.txt will do,
    too."""
    stem = path.removesuffix(".gz").removesuffix(".txt")
    for name in (stem + ending for ending in ENDINGS):
        if os.path.isfile(name):
            try:
                read_text(content(name, TEXT_MOST).decode("utf-8", "replace"), module)
            except Bad as bad:
                raise Bad(f"{name}:{bad.line}: {bad.text}" if bad.line else f"{name}: {bad.text}") from None
            return
