"""Executes a captured training step for real, in program order and in the order of a plan.

    python -m tidemark_torch.replay GRAPH [PLAN.json ...] [--graph OTHER ...] [--json] [--workspace OUT]

GRAPH comes from tidemark_torch, PLAN.json from `tidemark plan GRAPH --json`. OTHER is the same step with activations
computed again or offloaded (`tidemark export GRAPH --as native --stage device --set recompute=full`): it is run in its
own order and must give the results of GRAPH. For each order one line says the peak that is predicted for it (from the graph alone, and with the ops' workspace where the graph has it) and the peak
that was measured, on the heap and in the events of PyTorch's allocator, each in 10^6 bytes:

    predicted       persistent bytes and storages, as tidemark_torch.graph computes them
    with workspace  the same and what kernels allocate for themselves
    heap            live bytes of malloc and free (heap_shim.c): workspace and whatever else is allocated
    allocator       the same for what passes through PyTorch's CPU allocator only
    results         "equal" when the loss and every updated parameter, buffer and optimizer state is equal, bit by
                    bit, to the first run in program order

Measured peaks are the heap's growth since just before the first op plus the bytes that exist by then: what persists,
and gradients that the step before has left. What is offloaded waits in pages that neither counts. Random ops are seeded by their place in the program, so that every order draws the same numbers. --workspace
writes the graph anew with the workspace of each op, as measured in program order. Exit status 1: results differ.
"""
import argparse
import ctypes
import gc
import hashlib
import json
import mmap
import sys

import torch

from . import command
from .chunked import with_calls
from .graph import read_graph, write_graph
from .lookup import check_arguments, constant, operator
from .memory import DTYPES
from .workspace import LEAST, Heap, allocator_peak, say

TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def initial_tensor(record, generator):
    """The value of a tensor that is there from the start: its `data`, or drawn as its `init` says."""
    dtype, shape = TORCH_DTYPES[record["dtype"]], record["shape"]
    if "data" in record:
        return stored_tensor(record["data"], dtype, shape)
    how, value = record["init"]
    tensor = torch.empty(shape, dtype=dtype)
    if "stride" in record:
        tensor = torch.empty_strided(shape, record["stride"], dtype=dtype)
    if how == "normal":
        return tensor.normal_(0, value, generator=generator)
    if how == "below":
        return tensor.random_(0, value, generator=generator)
    return tensor.fill_(value)


def stored_tensor(data, dtype, shape):
    """A constant from its elements."""
    numbers = [float(item["float"]) if isinstance(item, dict) else item
               for item in (data if isinstance(data, list) else [data])]
    if dtype.is_complex:
        return torch.view_as_complex(torch.tensor(numbers, dtype=torch.float64).reshape(-1, 2)).to(dtype).reshape(shape)
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


def decode(argument, values):
    """An op's argument, from JSON as tidemark_torch writes it. values: name -> tensor."""
    if isinstance(argument, list):
        return [decode(item, values) for item in argument]
    if not isinstance(argument, dict):
        return argument
    (key, value), = argument.items()
    if key == "complex":
        return complex(*value)
    return values[value] if key == "t" else constant(value) if key == "torch" else float(value)


def bind(slots, result, values):
    """Stores an op's result under the names in `slots`, which is nested like the result."""
    if isinstance(slots, list):
        for slot, part in zip(slots, result):
            bind(slot, part, values)
    elif slots is not None:
        values[slots] = result


def digest(tensor):
    """A hash of all bits of a tensor's elements."""
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    size = plain.numel() * plain.element_size()
    return hashlib.sha1(ctypes.string_at(plain.data_ptr(), size) if size else b"").hexdigest()


def find_function(name, op):
    """What runs an op: None for a release, which is no work."""
    if op["op"] == "tidemark.release":
        return None
    if op["op"] in OWN:
        return OWN[op["op"]]
    if op["op"] == "tidemark.generator_state":
        return torch.get_rng_state
    if "args" not in op:
        raise ValueError(f"op {name} has no `args`: capture the step with tidemark_torch")
    function = operator(op["op"])
    check_arguments(name, function, op["kwargs"])
    return torch.enable_grad()(function) if function in TRAINING else function


TRAINING = {torch.ops.aten.mkldnn_rnn_layer.default}  # keeps nothing for its backward pass where gradients are off


def host_copy(tensor):
    """A copy in the host's memory: pages of its own, which neither the heap nor PyTorch's allocator counts as the device's."""
    like = torch.empty_like(tensor, device="meta")
    pages = torch.frombuffer(mmap.mmap(-1, max(like.untyped_storage().nbytes(), 1)), dtype=torch.uint8)
    return torch.empty(0, dtype=tensor.dtype).set_(pages.untyped_storage(), 0, like.size(), like.stride()).copy_(tensor)


def offload(replay, op, values):
    """A copy to the host."""
    copy = host_copy(values[op["in"][0]])
    for out in op["out"]:
        values[out] = copy


def allocate(replay, op, values):
    """Memory that a copy comes back to, or the bytes of a generator's state: every random op is seeded here."""
    record = replay.graph.tensors[op["out"][0]]
    values[op["out"][0]] = torch.empty(record["shape"],
                                       dtype=torch.int64 if record["dtype"] == "u64" else TORCH_DTYPES[record["dtype"]])


def copy_back(there, buffer):
    """What the host has, in memory that is there already."""
    return buffer.as_strided(there.size(), there.stride()).copy_(there)


def fetch(replay, op, values):
    """A copy back: into a buffer where the graph has one, else into memory of its own."""
    there, *buffer = (values[name] for name in op["in"])
    copy = copy_back(there, *buffer) if buffer else there.clone()
    for out in op["out"]:
        values[out] = copy


def wait(replay, op, values):
    """Lets go of what the host has by then: nothing reads it any more."""


OWN = {"tidemark.offload": offload, "tidemark.fetch": fetch, "tidemark.offload_wait": wait,
       "tidemark.fetch_buffer": allocate, "tidemark.random_state": allocate}


class Replay:
    """Runs a graph's ops, in any order that keeps the dependencies."""

    def __init__(self, graph):
        self.graph = graph = with_calls(graph)
        self.seeds = {op: int(hashlib.sha1(op.encode()).hexdigest()[:8], 16) for op in graph.ops}
        self.function = {name: find_function(name, op) for name, op in graph.ops.items()}

    def seed(self, name):
        """The seed of a random op: that of the op of which it is a copy."""
        return self.seeds.get(name.partition(".again")[0], 0)

    def initial_values(self):
        """name -> tensor for everything that is there from the start; the same values at every call."""
        values = {}
        for name, record in self.graph.tensors.items():
            if name not in self.graph.writer:
                generator = torch.Generator().manual_seed(int(hashlib.sha1(name.encode()).hexdigest()[:8], 16))
                values[name] = initial_tensor(record, generator)
        return values

    def dead_after(self, order):
        """For each position, the names that no later op mentions, but for persistent storages and outputs."""
        last = {}
        for i, op in enumerate(order):
            for tensor in self.graph.ops[op]["in"] + self.graph.ops[op]["out"]:
                last[tensor] = i
        dead = [[] for _ in order]
        for tensor, i in last.items():
            stays = tensor not in self.graph.writer and self.graph.is_persistent(tensor)
            if not stays and self.graph.tensors[tensor]["kind"] != "output":
                dead[i].append(tensor)
        return dead

    def call(self, name, values):
        """Runs one op on real tensors and binds its results."""
        op = self.graph.ops[name]
        if self.function[name] is None:
            return
        if op["op"] in OWN:
            OWN[op["op"]](self, op, values)
            return
        if op.get("random"):
            torch.manual_seed(self.seed(name))
        kwargs = {key: decode(value, values) for key, value in op["kwargs"].items()}
        bind(op["result"], self.function[name](*decode(op["args"], values), **kwargs), values)

    @torch.no_grad()
    def run(self, order, heap, values):
        """Runs an order. values: initial_values(), which is left with what remains at the end. Returns for each
        position the growth of the heap, in bytes: (before the op since the start, at the most during the op)."""
        dead, growth = self.dead_after(order), [(0, 0)] * len(order)
        gc.collect()
        gc.disable()
        start = heap.live()
        for i, name in enumerate(order):
            before = heap.live()
            heap.start_peak()
            self.call(name, values)
            growth[i] = before - start, heap.peak() - before
            for tensor in dead[i]:
                del values[tensor]
        gc.enable()
        return growth

    def results(self, values):
        """name -> digest of all bits of what remains at the end: outputs and persistent storages, but for states of the generator,
        which depend on the order."""
        return {name: digest(tensor) for name, tensor in sorted(values.items()) if not self.is_generator_state(name)}

    def is_generator_state(self, name):
        """Whether a tensor is a state of the generator, which a checkpoint keeps."""
        return name in self.graph.writer and self.graph.ops[self.graph.writer[name]]["op"] == "tidemark.generator_state"

    def measure(self, order, heap):
        """(the heap's growth as run() returns it, results()) of an order."""
        values = self.initial_values()
        growth = self.run(order, heap, values)
        return growth, self.results(values)

    def allocator_peak(self, order, heap):
        """The peak, in bytes, of what passes through PyTorch's allocator during an order, persistent bytes included."""
        values = self.initial_values()
        return allocator_peak(lambda: self.run(order, heap, values)) + self.graph.start_bytes()


def record_workspace(replay, growth):
    """Sets each op's `workspace` to what the heap grew by during the op beyond the storages that it makes."""
    graph = replay.graph
    for (name, op), (_, most) in zip(graph.ops.items(), growth):
        made = sum(graph.tensors[out]["bytes"] for out in op["out"] if "alias" not in graph.tensors[out])
        op.pop("workspace_at", None)
        op.pop("workspace", None)
        if most - made >= LEAST:
            op["workspace"] = most - made


def compare(replay, order, heap, expected):
    """Runs an order; a dict with its predicted and measured peaks in bytes and whether the results are as expected."""
    graph = replay.graph
    growth, results = replay.measure(order, heap)
    return {"predicted_bytes": graph.peak_bytes(order, workspace=False),
            "with_workspace_bytes": graph.peak_bytes(order),
            "heap_bytes": graph.start_bytes() + max(before + most for before, most in growth),
            "allocator_bytes": replay.allocator_peak(order, heap), "equal": results == expected}


def print_rows(rows):
    """The table: one line for each order, peaks in 10^6 bytes."""
    print(f"{'order':24}{'predicted':>16}{'with workspace':>16}{'heap':>16}{'allocator':>16}  results")
    for name, row in rows.items():
        peaks = [row[f"{key}_bytes"] / 1e6 for key in ("predicted", "with_workspace", "heap", "allocator")]
        print(f"{name:24}" + "".join(f"{peak:16.3f}" for peak in peaks) + ("  equal" if row["equal"] else "  DIFFER"))


def parse_arguments():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tidemark_torch.replay", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="GRAPH")
    parser.add_argument("plan", nargs="*")
    parser.add_argument("--graph", action="append", default=[], metavar="OTHER",
                        help="the same step, computed otherwise")
    parser.add_argument("--json", action="store_true", help="print a JSON object: order -> peaks in bytes")
    parser.add_argument("--workspace", metavar="OUT", help="write the graph with each op's measured workspace")
    return parser.parse_args()


def replay_all(options):
    """Does what the command line asks for; returns order -> compare()'s row."""
    graph, heap = read_graph(options.file), Heap()
    for text in graph.head.get("assumed", []):
        if " finds " in text:
            raise ValueError(f"{options.file}: {text}: shapes that were assumed can't be run; capture with real=True")
    replay, program = Replay(graph), list(graph.ops)
    orders = {"program order": program}
    for path in options.plan:
        with open(path, encoding="utf-8") as plan:
            orders[path] = json.load(plan)["order"]["ops"]
        graph.check_order(orders[path])
    _, expected = replay.measure(program, heap)  # the first run also fills the libraries' caches
    if options.workspace:
        growth, _ = replay.measure(program, heap)
        record_workspace(replay, growth)
        say(graph.head, graph.ops.values(), True)
        if graph.other is not None:
            from .kernels import measure_workspace
            measure_workspace(graph.other)
        write_graph(options.workspace, graph)
    rows = {name: compare(replay, order, heap, expected) for name, order in orders.items()}
    for path in options.graph:
        other = Replay(read_graph(path))
        rows[path] = compare(other, list(other.graph.ops), heap, expected)
    return rows


def main():
    """Prints the rows; 1 if results differ."""
    options = parse_arguments()
    command.under_heap_shim("tidemark_torch.replay")
    torch.set_num_threads(1)
    rows = replay_all(options)
    if options.json:
        print(json.dumps(rows))
    else:
        print_rows(rows)
    return 0 if all(row["equal"] for row in rows.values()) else 1


if __name__ == "__main__":
    command.run(main)
