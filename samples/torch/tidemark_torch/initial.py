"""Values for tensors that are there from the start, with which a captured step can be run."""
import math


def initial_value(record):
    """An `init` that lets a tensor of this name and shape take part in a finite training step."""
    last, shape = record["id"].rsplit(".", 1)[-1], record["shape"]
    if record["dtype"] == "bool":
        return ["fill", 1]
    if record["dtype"][0] in "iu":
        return ["fill", 0]
    if record["kind"] == "optimizer":
        return ["fill", 10.0 if last == "step" else 1e-4 if "sq" in last else 0.0]
    if record["kind"] == "input":
        return ["normal", 1.0]
    if "bias" in last or last == "running_mean":
        return ["fill", 0.0]
    if len(shape) <= 1 or last == "running_var":
        return ["fill", 1.0]
    elements = math.prod(shape)
    is_embedding = len(shape) == 2 and shape[0] > 5000
    return ["normal", min(0.02 if is_embedding else 1.0, (2.0 * shape[0] / max(1, elements)) ** 0.5)]


def limits(ops, shape):
    """(tensor, extent) of the indices that ops read, for names in `shape`."""
    for op in ops:
        packet, args = op["op"].rsplit(".", 1)[0], op.get("args") or []
        extents = []
        if packet == "aten.embedding":
            extents = [(args[1], shape[args[0]["t"]][0])]
        elif packet in ("aten.embedding_bag", "aten._embedding_bag", "aten._embedding_bag_forward_only"):
            extents = [(args[1], shape[args[0]["t"]][0])]
        elif packet in ("aten.nll_loss_forward", "aten.nll_loss2d_forward"):
            extents = [(args[1], shape[args[0]["t"]][1 if len(shape[args[0]["t"]]) > 1 else 0])]
        elif packet in ("aten.gather", "aten.scatter", "aten.scatter_add", "aten.index_select", "aten.index_add",
                        "aten.scatter_", "aten.scatter_add_", "aten.index_add_"):
            index = args[1] if packet == "aten.index_select" and isinstance(args[1], dict) else args[2]
            extents = [(index, (shape[args[0]["t"]] or [1])[args[1]])] if isinstance(args[1], int) else []
        elif packet in ("aten.index", "aten.index_put", "aten._index_put_impl_", "aten.index_put_"):
            extents = [(index, shape[args[0]["t"]][min(i, len(shape[args[0]["t"]]) - 1)])
                       for i, index in enumerate(args[1])]
        for index, extent in extents:
            if isinstance(index, dict) and "t" in index:
                yield index["t"], extent


BOXES = ("torchvision.roi_align", "torchvision.roi_pool", "torchvision.ps_roi_align", "torchvision.ps_roi_pool")


def boxes(ops, by_name):
    """The storages of boxes whose first column is the number of a picture."""
    found = set()
    for op in ops:
        if op["op"].rpartition(".")[0] in BOXES:
            name = op["args"][1]["t"]
            found.add(by_name[name].get("alias", name))
    return found


def set_values(tensors, ops):
    """Gives every tensor that is there from the start an `init`, such that indices stay in range."""
    by_name = {record["id"]: record for record in tensors}
    shape = {name: record["shape"] for name, record in by_name.items()}
    least = {}
    for name, extent in limits(ops, shape):
        least[name] = min(extent, least.get(name, extent))
    for op in reversed(ops):  # through views and copies of indices to where they come from
        known = [least[out] for out in op["out"] if out in least]
        if known:
            for name in op["in"]:
                if by_name[name]["dtype"][0] in "iu":
                    least[name] = min(min(known), least.get(name, min(known)))
    written, numbered = {out for op in ops for out in op["out"]}, boxes(ops, by_name)
    for name, record in by_name.items():
        if name in written or "data" in record:
            continue
        record["init"] = ["fill", 0.0] if name in numbered else initial_value(record)
        if name in least and record["dtype"][0] in "iu":
            record["init"] = ["below", max(1, least[name])]
