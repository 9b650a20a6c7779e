"""What the computations that loops, conditionals and asynchronous calls run hold at most, beside what is counted
outside of them: the workspace of their ops."""
from draft import BYTES_MOST, Bad
from hlo_flat import Flat, too_deep, wrong
from hlo_module import DEPTH_MOST


def overflow():
    return Bad("the sizes of a computation's buffers overflow")


def simulate(flat):
    """The most that lives at once: all but what stays."""
    count = len(flat.ops)
    dying, live = [0] * (count + 1), 0
    for tensor in flat.tensors:
        last = tensor.last if tensor.last is not None else tensor.writer
        tensor.storage.end = max(tensor.storage.end, count if tensor.result else last or 0)
    for tensor in flat.tensors:
        if tensor.storage is not tensor or tensor.stays or tensor.unused:
            continue
        dying[tensor.end] += tensor.shape.bytes
        live += tensor.shape.bytes if tensor.writer is None else 0
    peak = live
    for number, op in enumerate(flat.ops):
        live += sum(tensor.shape.bytes for tensor in op.writes if tensor.storage is tensor)
        peak = max(peak, live + op.workspace)
        live -= dying[number]
    if peak > BYTES_MOST:
        raise overflow()
    return peak


def bytes_once(tensors):
    """The bytes of the storages that tensors lie in, each once."""
    return sum(storage.shape.bytes for storage in {tensor.storage for tensor in tensors})


class Bodies:
    """Peaks of computations, each worked out once: of a loop's body, and of what leaves its arguments alone."""

    def __init__(self, budget):
        self.budget, self.known = budget, {}

    def peak(self, op, computation, loop=False, stays=None):
        """The most that lives in a computation that an op runs, its results and those of its arguments included that
        needn't stay. stays: of the arrays of its parameter; None: all, or none of a loop, whose results end where its
        parameter's arrays lie."""
        if stays is None and (loop, computation) in self.known:
            return self.known[loop, computation]
        if op.depth >= DEPTH_MOST:
            raise too_deep(op.of)
        body = Flat(self.budget, computation, depth=op.depth + 1)
        for tensor in body.tensors:
            if tensor.parameter is None:
                tensor.stays = tensor.constant
            elif stays is None:
                tensor.stays = not loop
            else:
                tensor.stays = tensor.parameter > 0 or tensor.leaf >= len(stays) or stays[tensor.leaf]
            if loop and tensor.parameter is not None and tensor.leaf < len(body.results):
                body.results[tensor.leaf].home = tensor
        body.share()
        self.find(body)
        peak = simulate(body)
        if stays is None:
            self.known[loop, computation] = peak
        return peak

    def branches(self, number, op):
        """Operands that end with a conditional are its branches' to overwrite once they have read them: all others
        stay."""
        shapes = [op.computation.instructions[operand].shape for operand in op.of.operands]
        first, most = len(shapes[0].leaves) if shapes else 0, 0
        for branch, called in enumerate(op.of.calls, 1):
            count = len(shapes[branch].leaves) if branch < len(shapes) else 0
            if first + count > len(op.reads):
                raise wrong(op.of, "has operands of other shapes")
            seen, stays = set(), []
            for tensor in op.reads[first:first + count]:   # one array twice is one array
                stays.append(tensor.stays or tensor.result or tensor.last != number or tensor in seen)
                seen.add(tensor)
            most = max(most, self.peak(op, called, stays=stays))
            first += count
        return most

    def workspace(self, number, op):
        """What the computations that an op runs hold at most beside its results, and operands that end with it."""
        calls, loop = op.of.calls, op.of.opcode == "while"
        if None in calls:
            raise wrong(op.of, "names no computation")
        if loop:
            condition = self.peak(op, calls[1]) if len(calls) > 1 else 0
            return max(condition, self.peak(op, calls[0], True) - sum(tensor.shape.bytes for tensor in op.reads))
        if op.of.opcode == "conditional":
            ending = [tensor for tensor in op.reads
                      if tensor.last == number and not tensor.stays and not tensor.result]
            return max(0, self.branches(number, op) - bytes_once(ending + op.writes))
        return max(0, (self.peak(op, calls[0]) if calls else 0) - bytes_once(op.writes))

    def find(self, flat):
        """The workspaces of all ops."""
        for number, op in enumerate(flat.ops):
            if op.of.opcode in ("while", "conditional", "async-start"):
                op.workspace = self.workspace(number, op)
