"""What the memory at a step's peak is for, in the words of the program that runs it: graphs that nothing goes back
through, graphs that are kept after their backward pass, and an optimizer's temporaries."""
LEAST = 0.005   # of the peak; less isn't worth a sentence
UPDATE = 3      # temporaries of a parameter's size that Adam makes one parameter at a time


def size(count):
    """Bytes for people."""
    return f"{count / 2**30:.2f} GiB" if count >= 2**29 else f"{count / 2**20:.1f} MiB"


def at_the_peak(graph, order):
    """(where in the order the peak is, names of the tensors with a storage of their own that are there then)."""
    live, spans = graph.live_bytes(order), graph.lifetimes(order)
    place = max(range(len(live)), key=live.__getitem__)
    there = [name for name, tensor in graph.tensors.items()
             if "alias" not in tensor and spans.get(name, (0, -1))[0] <= place <= spans.get(name, (0, -1))[1]]
    return place, there


def read_back(graph, order):
    """Storages that a backward pass reads -> where in the order it last does."""
    ops = [(i, graph.ops[name]) for i, name in enumerate(order)]
    return {graph.root(name): i for i, op in ops if op.get("phase") == "backward" for name in op["in"]}


def is_forward(graph, name):
    """Whether the forward pass makes a tensor that stays when the step ends."""
    op = graph.ops.get(graph.writer.get(name))
    return op is not None and op.get("phase") == "forward" and graph.tensors[name]["kind"] == "output"


def lost_losses(graph, read):
    """The ops of the losses that are kept and that no backward pass comes back to."""
    def is_lost(op):
        made = [graph.root(name) for name in [*op["in"], *op["out"]] if graph.root(name) in graph.writer]
        is_loss = op.get("phase") == "forward" and "loss" in op["op"] and not any(name in read for name in made)
        results = [graph.tensors[name] for name in op["out"]]
        return is_loss and any(made["kind"] == "output" and not made["shape"] for made in results)
    return [op for op in graph.ops.values() if is_lost(op)]


def behind(graph, ops):
    """Storages that some ops make, and all that these were made of."""
    found, left = set(), [op["id"] for op in ops]
    while left:
        op = graph.ops[left.pop()]
        more = {graph.root(name) for name in [*op["in"], *op["out"]]} - found
        found |= more
        left += [graph.writer[name] for name in more if name in graph.writer]
    return found


def kept_graphs(graph, order, peak, there):
    """Sentences about results of the forward pass that stay after the step."""
    read = read_back(graph, order)
    kept = [name for name in there if is_forward(graph, name)]
    lost = lost_losses(graph, read)
    if lost:
        lines, few = sorted({op["src"] for op in lost if "src" in op}), len(lost) == 1
        unread = sum(graph.tensors[name]["bytes"] for name in behind(graph, lost).intersection(kept) - read.keys())
        where = f" ({', '.join(lines[:3])})" if lines else ""
        losses, graphs = ("loss", "its graph keeps") if few else ("losses", "their graphs keep")
        yield unread, (f"no backward pass follows {len(lost)} {losses}{where}, and {graphs} {size(unread)}: "
                       "compute them under torch.no_grad(), or keep loss.item()")
    retained = sum(graph.tensors[name]["bytes"] for name in kept if read.get(name, peak) < peak)
    yield retained, f"the graph is kept after its backward pass: {size(retained)} stay that retain_graph=False lets go"


def updates(graph, op, there):
    """A sentence about the optimizer's temporaries at the peak."""
    if graph.ops[op].get("phase") != "update":
        return
    made = [name for name in there if graph.tensors[name]["kind"] == "temporary" and graph.writer.get(name)]
    held = sum(graph.tensors[name]["bytes"] for name in made)
    together = any("_foreach_" in graph.ops[graph.writer[name]]["op"] for name in made)
    alone = UPDATE * max((graph.tensors[name]["bytes"] for name in made), default=0)
    ways = ["fused=True makes none"] + [f"foreach=False at most {size(alone)}"] * (together and alone < held)
    yield held, f"the optimizer's temporaries take {size(held)} at the peak: {', '.join(ways)}"


def advice_of(graph, order=None):
    """Sentences about what is there at the peak and needn't be, the largest first. order: program order by default."""
    order = order or list(graph.ops)
    peak, there = at_the_peak(graph, order)
    found = [*kept_graphs(graph, order, peak, there), *updates(graph, order[peak], there)]
    least = LEAST * max(graph.live_bytes(order))
    return [text for held, text in sorted(found, reverse=True) if held > least]
