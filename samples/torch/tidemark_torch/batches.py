"""A step at any batch: captured at two of them, it tells what each sample adds.

A capture at one batch doesn't say which extents are samples: positions [1, n] look like a batch of 1, and a model may have
other extents of that size. Where two captures differ only in numbers, what a number grew by is what one sample adds. It is
written into the first of them, as `per_sample` of its tensors and ops (man 5 tidemark). Batch 1 is no such capture, since
PyTorch runs other ops there, copies nothing that a view will do for, and sums no gradients over samples: behind a step
of one sample, the file has that of two.
"""
import contextlib
import gc

from .errors import CaptureError, explain
from .graph import write_graph
from .memory import PERSISTENT
from .recording import capture_step
from .workspace import say, UNKNOWN

ALIKE = {"tensor": ("id", "dtype", "kind", "alias", "gradient_of"),
         "op": ("id", "op", "phase", "mod", "in", "out", "inplace", "result", "random")}


def numbers(value):
    """All numbers in an op's arguments, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def without_numbers(value):
    """An op's arguments without them."""
    if isinstance(value, dict):
        return {key: without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_numbers(item) for item in value]
    return 0 if numbers(value) else value


def differences(ours, theirs):
    """[place, what it grew by] of whole numbers that aren't the same."""
    return [[place, int(other - number)] for place, (number, other) in enumerate(zip(ours, theirs))
            if other != number and number == int(number) and other == int(other)]


def elements(record):
    """How many there are in a tensor."""
    count = 1
    for extent in record["shape"]:
        count *= extent
    return count


def tensor_growth(ours, theirs):
    """What a sample adds to a tensor: to its extents; to its bytes where those don't follow from its shape."""
    growth = {}
    shape = [other - extent for extent, other in zip(ours["shape"], theirs["shape"])]
    if any(shape):
        growth["shape"] = shape
    follows = ours["bytes"] * elements(theirs) == theirs["bytes"] * elements(ours) and (any(shape) or ours["bytes"] == theirs["bytes"])
    if not follows and ours["bytes"] != theirs["bytes"]:
        growth["bytes"] = theirs["bytes"] - ours["bytes"]
    return growth


def op_growth(ours, theirs):
    """What a sample adds to an op: to its FLOPs, and to numbers that it is called with."""
    growth = {}
    if ours["flops"] != theirs["flops"]:
        growth["flops"] = theirs["flops"] - ours["flops"]
    arguments = differences(*(numbers([op.get("args", []), op.get("kwargs", {})]) for op in (ours, theirs)))
    if arguments:
        growth["arguments"] = arguments
    return growth


def first_difference(ours, theirs):
    """What two captures differ in besides numbers; None: in nothing."""
    for kind, one, other in (("op", ours.ops, theirs.ops), ("tensor", ours.tensors, theirs.tensors)):
        for a, b in zip(one.values(), other.values()):
            same = all(a.get(key) == b.get(key) for key in ALIKE[kind])
            if kind == "tensor" and same:
                same = len(a["shape"]) == len(b["shape"]) and ("alias" in a or a["kind"] not in PERSISTENT - {"input", "buffer", "constant"} or a["shape"] == b["shape"])
            if kind == "op" and same:
                same = without_numbers([a.get("args"), a.get("kwargs")]) == without_numbers([b.get("args"), b.get("kwargs")])
            if not same:
                return f"{kind} {a['id']}"
        if len(one) != len(other):
            return f"{abs(len(one) - len(other))} {kind}s behind the others"
    return None


def mark(ours, theirs, batch):
    """Writes into the capture at a batch what it takes of one with a sample more. False where nothing grows."""
    found = False
    for one, other, grown in ((ours.tensors, theirs.tensors, tensor_growth), (ours.ops, theirs.ops, op_growth)):
        for record, beside in zip(one.values(), other.values()):
            growth = grown(record, beside)
            if growth:
                record["per_sample"] = growth
                found = True
    if found:
        ours.head.update(batch=batch, batches=[batch, batch + 1])
    return found


@contextlib.contextmanager
def no_collection():
    """Python's collector lets go of memory in cycles when it happens to run, which needn't be at the same op each time."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def capture_pair(graph, make_step, batch, **options):
    """Captures at a batch and with a sample more, and what they differ in; None: in nothing but numbers. graph: the first of them, or None."""
    first = graph or capture_step(None, make_step(batch), **options)
    second = capture_step(None, make_step(batch + 1), **options)
    difference = first_difference(first, second)
    return first, second, difference and f"batch {batch} and {batch + 1} aren't the same step: they differ in {difference}"


def inferred(graph, why):
    """Says in a graph why nobody knows how it grows."""
    unknown = any(text.startswith(UNKNOWN) for text in graph.head.get("read", {}).get("assumed", []))
    graph.head.setdefault("assumed", []).append(f"{' '.join(why.split())[:300]}. At other batches, which extents are samples is inferred")
    say(graph.head, graph.ops.values(), not unknown)


def capture_batches(path, make_step, batch=1, **options):
    """Captures a step so that it can be planned at any batch, and returns the graph. make_step(n) gives a function that runs
    one step on n samples: it is captured at `batch`, and at one or two others for what each sample adds. Options as for capture_step()."""
    graph, base = capture_step(None, make_step(batch), **options), max(2, batch)
    try:
        first, second, why = capture_pair(graph if batch == base else None, make_step, base, **options)
        if why:
            with no_collection():
                first, second, why = capture_pair(None, make_step, base, **options)
    except Exception as error:
        why = f"no capture at batch {base} and {base + 1}: {error if isinstance(error, CaptureError) else explain(error)}"
    if why:
        inferred(graph, why)
    elif mark(first, second, base):
        if batch == base:
            graph = first
        else:
            graph.head["batch"], graph.batches = batch, first
    if path is not None:
        write_graph(path, graph)
    return graph
