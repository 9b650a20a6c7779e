"""A step at another batch, by what its file knows of each sample."""
from .graph import StepGraph


def numbers(value):
    """All numbers in an op's arguments, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def with_numbers(value, found):
    """An op's arguments with other numbers: an iterator of as many."""
    if isinstance(value, dict):
        return {key: with_numbers(item, found) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item, found) for item in value]
    return next(found) if numbers(value) else value


def elements(shape):
    """How many there are in a tensor."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def restrided(shape, stride, grown):
    """The strides of a tensor of another shape whose dims lie in the same order, without gaps; where there are gaps, strides
    that no tensor has."""
    steps, before, after = [0] * len(shape), 1, 1
    for dim in sorted(range(len(shape)), key=lambda dim: (stride[dim], shape[dim])):
        if shape[dim] != 1 and stride[dim] != before:
            return [-1] * len(shape)
        steps[dim] = after
        before, after = before * shape[dim], after * grown[dim]
    return steps


def grown_tensor(record, more):
    """A tensor's record at so many samples more."""
    growth = record.get("per_sample", {})
    shape = [extent + more * by for extent, by in zip(record["shape"], growth.get("shape", [0] * len(record["shape"])))]
    count, size = elements(record["shape"]), record["bytes"] + more * growth.get("bytes", 0)
    if "bytes" not in growth and count:
        size = record["bytes"] * elements(shape) // count
    grown = {**record, "shape": shape, "bytes": size}
    if "stride" in record and shape != record["shape"]:
        grown["stride"] = restrided(record["shape"], record["stride"], shape)
    return grown


def grown_op(record, more):
    """An op's record at so many samples more; of its workspace nothing is said."""
    growth = record.get("per_sample", {})
    added = dict(growth.get("arguments", []))
    args, kwargs = record.get("args", []), record.get("kwargs", {})
    found = iter([number + more * added.get(place, 0) for place, number in enumerate(numbers([args, kwargs]))])
    args, kwargs = with_numbers([args, kwargs], found)
    rest = {key: item for key, item in record.items() if not key.startswith("workspace")}
    return {**rest, "flops": record["flops"] + more * growth.get("flops", 0), "args": args, "kwargs": kwargs}


def at_batch(graph, batch):
    """The StepGraph of a step that knows how it grows (`batches`) at another batch."""
    more = batch - graph.head["batch"]
    return StepGraph({**graph.head, "batch": batch}, [grown_tensor(record, more) for record in graph.tensors.values()],
                     [grown_op(record, more) for record in graph.ops.values()])


def set_workspace(op, own, sizes):
    """Says in an op's record what workspace it has at its own batch, and at others. sizes: batch -> bytes, own among them,
    None where nobody knows; empty: it has none."""
    op.pop("workspace_at", None)
    op.pop("workspace", None)
    known = {batch: size for batch, size in sizes.items() if size is not None}
    if any(known.values()):
        op["workspace"] = known[own]
    if any(known.values()) and len(known) > 1:
        op["workspace_at"] = [list(pair) for pair in known.items()]
