"""Parts of a step that one can look at apart: a validation pass, an epoch of PPO, the two halves of a GAN's step.

    with tidemark_torch.part("validation"):
        model(other_batch)

The ops of the block say so in the capture ("part"). Where no op does, parts are the steps of optimizers, if there are
several. Works without PyTorch.
"""
import contextlib

_open = []


@contextlib.contextmanager
def part(name):
    """Names what runs in the block; outside of captures it does nothing. The innermost name counts."""
    _open.append(str(name))
    try:
        yield
    finally:
        _open.pop()


def mark(op):
    """Gives the op that runs now the name of the block that it runs in."""
    if _open:
        op["part"] = _open[-1]


def names_of(graph):
    """op -> the name of its part, None outside of any; of ops that free memory that of the op before."""
    named = any("part" in op for op in graph.ops.values())
    names, count, updated, last = {}, 1, False, None
    for name, op in graph.ops.items():
        if op["op"] != "tidemark.release":
            count += updated and op["phase"] == "forward"
            updated = op["phase"] == "update" or updated and op["phase"] != "forward"
            last = op.get("part") if named else f"step {count}"
        names[name] = last
    return names if named or count > 1 else dict.fromkeys(names)


def peaks_of(graph, order=None):
    """Name of a part -> (its peak in bytes, the op there), in the order in which they begin; program order by default.
    Ops outside of any part count as "the rest"."""
    order = order or list(graph.ops)
    names, peaks = names_of(graph), {}
    if not any(names.values()):
        return {}
    for op, live in zip(order, graph.live_bytes(order)):
        name = names[op] or "the rest"
        if live > peaks.get(name, (-1,))[0]:
            peaks[name] = live, op
    return peaks
