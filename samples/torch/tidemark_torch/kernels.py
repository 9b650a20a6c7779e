"""What kernels allocate for themselves, without a run of the step: each kind of call is run once, alone.

Of calls that are alike (the op, its numbers, and how its operands lie) one is run, on tensors that are made for it and
go again. What it needs is what the largest call needs, not what the step does: an 8B model's step can be measured so
where its largest op fits. On the heap shim everything counts that kernels allocate, else what passes through PyTorch's
allocator.
"""
import gc
import json

import torch
from torch.utils._python_dispatch import _disable_current_modes

from .grown import at_batch, set_workspace
from .replay import TORCH_DTYPES, decode, find_function, bind
from .workspace import LEAST, allocator_peak, heap, say

LARGEST = 4 << 30  # bytes of operands and results: larger calls aren't run
SMALL = 64 << 20  # bytes of these: kernels of larger calls don't begin to need workspace as the batch grows
PLAIN = {"clone", "_to_copy", "copy_", "add", "add_", "mul", "mul_", "div", "div_", "sub", "sub_", "fill_", "zero_",
         "arange",
         "cat", "embedding"}  # have no workspace
FILLED = ("aten.zeros", "aten.ones", "aten.empty", "aten.full", "aten.new_", "tidemark.")  # nor have these
RESERVING = ("aten.mkldnn_rnn_layer.", "aten._cudnn_rnn.", "aten.miopen_rnn.")  # make what their backward kernels write into


class Profiled:
    """Counts, in PyTorch's allocator, what an op allocates: for use where the heap shim isn't there."""

    def peak(self, call):
        """Bytes at the most during a call beyond those before it."""
        return allocator_peak(call)


class Heaped:
    """The same on the heap shim."""

    def __init__(self, counters):
        self.counters = counters

    def peak(self, call):
        """Bytes at the most during a call beyond those before it."""
        before = self.counters.live()
        self.counters.start_peak()
        result = call()
        most = self.counters.peak() - before
        del result
        return most


class Kernels:
    """Runs ops of a graph alone."""

    def __init__(self, graph, largest):
        self.graph, self.largest = graph, largest
        counters = heap()
        self.meter = Heaped(counters) if counters else Profiled()
        self.before = {}  # name that an in-place op gave -> name before
        for op in graph.ops.values():
            self.before.update({new: old for new, old in op.get("inplace", []) if new is not None})

    def lies(self, name):
        """How a tensor lies: what says the same of two tensors that kernels can't tell apart."""
        record = self.graph.tensors[name]
        way, writer = [record["dtype"], record["shape"], record.get("stride")], self.graph.writer.get(name)
        if "alias" in record and name in self.before:
            return self.lies(self.before[name])
        if "alias" in record and writer is not None:
            op = self.graph.ops[writer]
            way += [op["op"], self.without_names(op["args"]), [self.lies(source) for source in op["in"]]]
        return way

    def without_names(self, argument):
        """An argument in which tensors stand by how they lie."""
        if isinstance(argument, list):
            return [self.without_names(part) for part in argument]
        if isinstance(argument, dict) and "t" in argument:
            return self.lies(argument["t"])
        return argument

    def bytes_of(self, op):
        """Bytes of an op's operands and of what it makes."""
        return sum(self.graph.tensors[root]["bytes"]
                   for root in {self.graph.root(name) for name in op["in"] + op["out"]})

    def operand(self, name, made):
        """A tensor that lies as the step's does."""
        if name in made:
            return made[name]
        record, writer = self.graph.tensors[name], self.graph.writer.get(name)
        if "alias" in record and name in self.before:
            made[name] = self.operand(self.before[name], made)
        elif writer is not None and ("alias" in record or self.graph.ops[writer]["op"].startswith(RESERVING)):
            op = self.graph.ops[writer]
            for source in op["in"]:
                self.operand(source, made)
            bind(op["result"], find_function(writer, op)(*decode(op["args"], made), **self.options(op, made)), made)
        else:
            dtype, shape = TORCH_DTYPES[record["dtype"]], record["shape"]
            made[name] = torch.empty_strided(shape, record["stride"], dtype=dtype) if "stride" in record else torch.empty(shape, dtype=dtype)
            made[name].fill_(0.5) if dtype.is_floating_point or dtype.is_complex else made[name].zero_()
        return made[name]

    @staticmethod
    def options(op, made):
        """An op's arguments by name."""
        return {key: decode(value, made) for key, value in op["kwargs"].items()}

    def runs(self, op):
        """True for an op worth a run: one that makes memory in ways that aren't plain."""
        makes = any("alias" not in self.graph.tensors[out] for out in op["out"])
        return makes and "args" in op and op["phase"] != "update" and \
            op["op"].partition(".")[2].partition(".")[0] not in PLAIN and not op["op"].startswith(FILLED)

    def workspace(self, name, op):
        """Bytes that an op allocates beside what it makes."""
        made = {}
        for source in op["in"]:
            self.operand(source, made)
        function = find_function(name, op)
        args, kwargs = decode(op["args"], made), self.options(op, made)
        function(*args, **kwargs)  # fills the libraries' caches
        results = sum(self.graph.tensors[out]["bytes"] for out in op["out"] if "alias" not in self.graph.tensors[out])
        return self.meter.peak(lambda: function(*args, **kwargs)) - results

    @torch.no_grad()
    def measure(self, wanted=None, small=0):
        """Op -> bytes of its workspace, None where its kind of call couldn't be run. wanted: only these ops and calls of
        fewer bytes than `small`; None: all that are worth a run."""
        known, found = {}, {}
        gc.collect()
        for name, op in self.graph.ops.items():
            if not self.runs(op) or (wanted is not None and name not in wanted and self.bytes_of(op) >= small):
                continue
            key = json.dumps([op["op"], self.without_names(op["args"]), op["kwargs"].get("dtype")])
            if key not in known:
                try:
                    known[key] = max(0, self.workspace(name, op)) if self.bytes_of(op) <= self.largest else None
                except (RuntimeError, IndexError, ValueError):  # its numbers have to make sense
                    known[key] = None
            found[name] = known[key]
        self.kinds, self.failed = len(known), sum(value is None for value in known.values())
        return found


def measure_workspace(graph, largest=LARGEST):
    """Sets each op's `workspace` in a captured graph by running every kind of call once, alone, on this machine's CPU. Of a
    step that knows how it grows, also at the other batches at which it was captured, and at 2, 4 and 8 samples and on up
    to its own batch: at the largest of these small calls and those that have workspace, at the others what has any. Calls
    of more than `largest` bytes of operands and results are left out. Returns (kinds of calls, those that couldn't be run).
    """
    line, own = graph.head.get("batches", []), graph.head.get("batch")
    powers = [2 ** power for power in range(max(own or 0, 8).bit_length() - 1, 0, -1)] if line else []
    kernels, measured, needy = Kernels(graph, largest), {}, set()
    with _disable_current_modes():
        for batch in dict.fromkeys([own, *line, *powers]):
            others = kernels if batch == own else Kernels(at_batch(graph, batch), largest)
            known = batch == own or batch in line
            measured[batch] = others.measure(None if known else needy, SMALL if batch == max(powers, default=0) else 0)
            needy |= {name for name, size in measured[batch].items() if (size or 0) >= LEAST}
    for name, size in measured[own].items():
        if size is not None:
            sizes = {batch: measured[batch].get(name) for batch in sorted(measured)} if name in needy else {}
            set_workspace(graph.ops[name], own, sizes)
    say(graph.head, graph.ops.values(), True)
    if graph.other is not None:
        measure_workspace(graph.other, largest)
    return kernels.kinds, kernels.failed
