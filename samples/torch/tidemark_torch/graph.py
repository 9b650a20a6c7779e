"""A training-step graph in Tidemark's native format, and the memory that an order of its ops needs.

This is the definition of the peak once more, written for reading and independent of the C program, so that
each checks the other. All sizes are bytes; orders are lists of op names.

    unit of memory   the storage: a tensor without `alias`, with all its views and in-place results
    persistent       inputs, parameters, buffers, constants, optimizer state: there through the whole step, unless the
                     step replaces them ("replaced")
    lifetime         any other storage: from the op that writes its root to the last op that touches it
    live bytes       persistent + alive storages + the running op's workspace; inputs are freed after the op
"""
import gzip
import io
import json

PERSISTENT = {"input", "parameter", "buffer", "constant", "optimizer"}


class StepGraph:
    """A training step: `head` (the graph record), `tensors` and `ops` (name -> record, in program order); `other`: the same
    step as captured at another batch, or None."""

    def __init__(self, head, tensors, ops):
        self.head, self.other = head, None
        self.tensors = {tensor["id"]: tensor for tensor in tensors}
        self.ops = {op["id"]: op for op in ops}
        for name, op in self.ops.items():
            if not isinstance(op["op"], str):
                raise ValueError(f"op {name}: its operator isn't text")
        self.writer = {out: op["id"] for op in ops for out in op["out"]}
        self.predecessors = self._predecessors()

    def root(self, tensor):
        """The tensor that names the storage behind `tensor`."""
        hops = 0
        while "alias" in self.tensors[tensor]:
            tensor, hops = self.tensors[tensor]["alias"], hops + 1
            if hops > len(self.tensors):
                raise ValueError(f"tensor {tensor} is a view of itself")
        return tensor

    def touched(self, op):
        """The storages (names of roots) that an op reads or writes, without repetition, in argument order."""
        record = self.ops[op]
        written = [source for _, source in record.get("inplace", [])]
        return list(dict.fromkeys(self.root(tensor) for tensor in record["in"] + record["out"] + written))

    def _predecessors(self):
        """op -> set of ops that must run before it: data, `after`, and program order around in-place writes."""
        before = {}
        last_write, readers = {}, {}
        for name, op in self.ops.items():
            before[name] = {self.writer[tensor] for tensor in op["in"] if tensor in self.writer}
            before[name].update(op.get("after", []))
            overwritten = {self.root(source) for _, source in op.get("inplace", [])}
            for storage in self.touched(name):
                if storage in last_write:
                    before[name].add(last_write[storage])
                if storage in overwritten:
                    before[name].update(readers.get(storage, []))
                    last_write[storage], readers[storage] = name, []
                else:
                    readers.setdefault(storage, []).append(name)
            before[name].discard(name)
        return before

    def is_persistent(self, storage):
        """True for a storage that lives through the whole step."""
        tensor = self.tensors[storage]
        return storage not in self.writer and tensor["kind"] in PERSISTENT and not tensor.get("replaced")

    def persistent_bytes(self):
        """Bytes of all persistent storages."""
        return sum(tensor["bytes"] for name, tensor in self.tensors.items()
                   if "alias" not in tensor and self.is_persistent(name))

    def start_bytes(self):
        """Bytes of all storages that are there before the first op: what persists, and gradients that the step before has left."""
        return sum(tensor["bytes"] for name, tensor in self.tensors.items() if "alias" not in tensor
                   and name not in self.writer)

    def check_order(self, order):
        """Raises ValueError unless `order` runs every op once and keeps every dependency."""
        position = {op: i for i, op in enumerate(order)}
        if len(order) != len(self.ops) or position.keys() != self.ops.keys():
            raise ValueError("the order doesn't hold every op exactly once")
        for op, before in self.predecessors.items():
            for other in before:
                if position[other] > position[op]:
                    raise ValueError(f"{op} runs before {other}, which it depends on")

    def lifetimes(self, order):
        """Storages that come and go -> (first, last) positions in `order`, inclusive; first is 0 for what is
        there from the start, last is the end for tensors of kind output."""
        spans = {}
        for i, op in enumerate(order):
            for storage in self.touched(op):
                if not self.is_persistent(storage):
                    first = spans[storage][0] if storage in spans else i if storage in self.writer else 0
                    spans[storage] = (first, i)
        for name, tensor in self.tensors.items():
            root = self.root(name)
            if tensor["kind"] == "output" and not self.is_persistent(root):
                spans[root] = (spans.get(root, (0, 0))[0], len(order) - 1)
        return spans

    def live_bytes(self, order, workspace=True):
        """Live bytes while each op of `order` runs, by position, with or without the ops' workspace."""
        change = [0] * (len(order) + 1)
        for storage, (first, last) in self.lifetimes(order).items():
            change[first] += self.tensors[storage]["bytes"]
            change[last + 1] -= self.tensors[storage]["bytes"]
        live, alive = [], self.persistent_bytes()
        for i, op in enumerate(order):
            alive += change[i]
            live.append(alive + (self.ops[op].get("workspace", 0) if workspace else 0))
        return live

    def peak_bytes(self, order, workspace=True):
        """The maximum of the live bytes over an order."""
        return max(self.live_bytes(order, workspace), default=self.persistent_bytes())


def open_text(path, mode):
    """A text file, compressed (without a time stamp) if its name ends in .gz."""
    if str(path).endswith(".gz"):
        return io.TextIOWrapper(gzip.GzipFile(path, mode + "b", mtime=0), encoding="utf-8")
    return open(path, mode, encoding="utf-8")


def read_graph(path):
    """The StepGraph in a native file, gz or not. Raises ValueError when it has no end record."""
    graphs = []
    with open_text(path, "r") as lines:
        for line in lines:
            record = json.loads(line)
            kind = record.pop("k")
            if kind == "graph":
                graphs.append({"graph": [], "tensor": [], "op": [], "end": []})
            graphs[-1][kind].append(record)
    if not graphs or not all(records["end"] for records in graphs):
        raise ValueError(f"{path}: no end record: the file is truncated")
    graph, *others = [StepGraph(records["graph"][0], records["tensor"], records["op"]) for records in graphs]
    graph.other = others[0] if others else None
    return graph


def write_graph(path, graph):
    """Writes a StepGraph as a native file: one JSON record a line."""
    def put(kind, record):
        lines.write(json.dumps({"k": kind, **record}, separators=(",", ":")) + "\n")

    with open_text(path, "w") as lines:
        for step in [graph] + [graph.other] * (graph.other is not None):
            put("graph", step.head)
            for tensor in step.tensors.values():
                put("tensor", tensor)
            for op in step.ops.values():
                put("op", op)
            put("end", {"tensors": len(step.tensors), "ops": len(step.ops)})
