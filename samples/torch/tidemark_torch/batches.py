"""A step at any batch: captured at two of them, it tells what each sample adds.

A capture at one batch doesn't say which extents are samples: positions [1, n] look like a batch of 1, and a model may have
other extents of that size. Where two captures differ only in numbers, what a number grew by is what one sample adds. It is
written into the first of them, as `per_sample` of its tensors and ops (man 5 tidemark). One sample is captured besides:
PyTorch may run other ops there, copy nothing where a view will do, and sum no gradients over samples. The file has that
step, too, unless it lies on the same line as the others; or it says why a step of one sample doesn't run.
"""
import contextlib
import gc

from .errors import CaptureError, explain
from .graph import write_graph
from .grown import elements, numbers, set_workspace
from .memory import PERSISTENT
from .recording import capture_step
from .workspace import LEAST, say, UNKNOWN

ALIKE = {"tensor": ("id", "dtype", "kind", "alias", "gradient_of", "replaced"),
         "op": ("id", "op", "phase", "mod", "in", "out", "inplace", "result", "random")}


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


def tensor_growth(ours, theirs):
    """What is added to a tensor: to its extents; to its bytes where those don't follow from its shape."""
    growth = {}
    shape = [other - extent for extent, other in zip(ours["shape"], theirs["shape"])]
    if any(shape):
        growth["shape"] = shape
    follows = ours["bytes"] * elements(theirs["shape"]) == theirs["bytes"] * elements(ours["shape"]) and \
        (any(shape) or ours["bytes"] == theirs["bytes"])
    if not follows and ours["bytes"] != theirs["bytes"]:
        growth["bytes"] = theirs["bytes"] - ours["bytes"]
    return growth


def op_growth(ours, theirs):
    """What is added to an op: to its FLOPs, and to numbers that it is called with."""
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
                same = len(a["shape"]) == len(b["shape"]) and ("alias" in a or a["kind"] not in PERSISTENT - {
                    "input", "buffer", "constant"} or a["shape"] == b["shape"])
            if kind == "op" and same:
                same = without_numbers([a.get("args"), a.get("kwargs")]) == without_numbers(
                    [b.get("args"), b.get("kwargs")])
            if not same:
                return f"{kind} {a['id']}"
        if len(one) != len(other):
            return f"{abs(len(one) - len(other))} {kind}s behind the others"
    return None


def records(*graphs):
    """Tensors and ops that are the same in several captures, and the function that tells what they grow by."""
    for kind, grown in (("tensors", tensor_growth), ("ops", op_growth)):
        for same in zip(*(getattr(graph, kind).values() for graph in graphs)):
            yield grown, *same


def mark(ours, theirs):
    """Writes into a capture what it takes of one with a sample more. False where nothing grows."""
    found = False
    for grown, record, beside in records(ours, theirs):
        growth = grown(record, beside)
        if growth:
            record["per_sample"] = growth
            found = True
    return found


def times(value, factor):
    """What so many samples add, where one adds this; places among numbers stay."""
    if isinstance(value, dict):
        return {key: [[place, by * factor] for place, by in item] if key == "arguments" else times(item, factor)
                for key, item in value.items()}
    return [times(item, factor) for item in value] if isinstance(value, list) else value * factor


def on_the_line(single, first, less):
    """True where a step of one sample is that of more samples with so many less."""
    return first_difference(single, first) is None and \
        all(grown(one, several) == times(several.get("per_sample", {}), less)
            for grown, one, several in records(single, first))


def join(batch, captures, why):
    """The graph at `batch` of captures at several (batch -> graph): at two that follow each other, the first of which is
    marked, and at one sample, unless that failed for a reason."""
    base = max(2, batch)
    graph, first, line = captures[batch], captures[base], [base, base + 1]
    if why:
        first.head["one_sample"] = " ".join(why.split())[:300]
    elif on_the_line(captures[1], first, base - 1):
        line = [1] + line
        for _, one, several in records(graph, first):
            one.update({"per_sample": several["per_sample"]} if "per_sample" in several else {})
        first = graph
    else:
        graph.other = captures[1] if graph is first else first
        graph.other.head["batch"] = 1 if graph is first else base
    graph.head["batch"] = batch
    first.head["batches"] = line
    note_workspace(first, {at: captures[at] for at in line})
    return graph


def note_workspace(graph, captures):
    """Writes into a graph the workspace that its ops have at each batch (batch -> graph), where they have any. Less than
    LEAST isn't told."""
    for op, *same in zip(graph.ops.values(), *(capture.ops.values() for capture in captures.values())):
        found = [one.get("workspace", 0) for one in same]
        if any(found):
            set_workspace(op, graph.head["batch"], {batch: size or LEAST for batch, size in zip(captures, found)})


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


def inferred(graph, batch, why):
    """Says in a graph why nobody knows how it grows."""
    unknown = any(text.startswith(UNKNOWN) for text in graph.head.get("read", {}).get("assumed", []))
    graph.head.update(batch=batch)
    graph.head.setdefault("assumed", []).append(
        f"{' '.join(why.split())[:300]}. At other batches, which extents are samples is inferred")
    say(graph.head, graph.ops.values(), not unknown)


def reason(error):
    """Why a capture failed, in a line."""
    return str(error) if isinstance(error, CaptureError) else explain(error)


def capture_batches(path, make_step, batch=1, **options):
    """Captures a step so that it can be planned at any batch, and returns the graph. make_step(n) gives a function that runs
    one step on n samples: it is captured at `batch`, at one sample, and at one or two batches for what each sample adds.
    Options as for capture_step()."""
    graph, base, alone = capture_step(None, make_step(batch), **options), max(2, batch), None
    try:
        first, second, why = capture_pair(graph if batch == base else None, make_step, base, **options)
        if why:
            with no_collection():
                first, second, why = capture_pair(None, make_step, base, **options)
    except Exception as error:
        why = f"no capture at batch {base} and {base + 1}: {reason(error)}"
    if why:
        inferred(graph, batch, why)
    elif mark(first, second):
        captures = {1: graph, base: first, base + 1: second}
        try:
            captures[1] = graph if batch == 1 else capture_step(None, make_step(1), **options)
        except Exception as error:
            alone = reason(error)
        graph = join(batch, captures, alone)
    if path is not None:
        write_graph(path, graph)
    return graph
