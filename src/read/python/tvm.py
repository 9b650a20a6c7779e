"""TVM's graph JSON, as its graph executor reads it: nodes in their order, each with its inputs; for every output of a node a
shape, a type and the storage that TVM's own memory plan gives it.

`node_row_ptr` counts outputs; what shares a storage is alive one after the other there, and may lie elsewhere here.
"""
from draft import BITS, BYTES_MOST, DIMS_MOST, Bad, Draft, integer, items, member, read_json, text_member, unique

DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
          "bool": "bool",
          "uint1": "bool", "int4": "i4"}


def attribute(file, name):
    """The values of an attribute, which stand behind the name of their type; [] without it."""
    found = items(member(member(file, "attrs"), name))
    return items(found[1]) if len(found) == 2 else []


def read(stream, _options):
    """The graph of a file, in lines."""
    file, draft = read_json(stream), Draft()
    nodes, rows = items(member(file, "nodes")), items(member(file, "node_row_ptr"))
    shapes, types, places = (attribute(file, name) for name in ("shape", "dltype", "storage_id"))
    if not nodes or len(rows) <= len(nodes) or not all(integer(row) and 0 <= row <= len(shapes) for row in rows):
        raise Bad("expected nodes, a node_row_ptr that counts their outputs, and a shape for each")
    given = set(one for one in items(member(file, "arg_nodes")) if integer(one))
    results = {(one[0], one[1]) for one in items(member(file, "heads")) if isinstance(one, list) and len(one) > 1
               and integer(one[0]) and integer(one[1])}
    made, missing, held = {}, 0, {}

    def add(index, output, name, kind):
        row = rows[index] + output
        shape = items(shapes[row]) if row < len(shapes) else []
        dtype = DTYPES.get(str(types[row]) if row < len(types) else "", "opaque")
        count = 1
        for one in shape:
            if not integer(one) or one < 0 or len(shape) > DIMS_MOST:
                raise Bad(f"the shape of {name[:60]} isn't a list of at most {DIMS_MOST} extents")
            count *= one
        size = (count * BITS[dtype] + 7) // 8
        if size > BYTES_MOST:
            raise Bad(f"{name[:60]} has more than 2^60 bytes")
        if row < len(places) and integer(places[row]):
            held[places[row]] = max(size, held.get(places[row], 0))
        made[index, output] = draft.tensor(unique(name, draft.tensors), size, kind, dtype=dtype, shape=shape)
        return dtype == "opaque"

    for index, node in enumerate(nodes):
        name, op = text_member(node, "name"), text_member(node, "op")
        if not name or op not in ("null", "tvm_op"):
            raise Bad(f"node {index}: expected a name and an op of null or tvm_op")
        if op == "null":
            missing += add(index, 0, name, "parameter" if name.startswith("p") or index not in given else "input")
            continue
        record = draft.op(unique(name, draft.ops), "tvm." + (text_member(member(node, "attrs"), "func_name") or name),
                          phase="forward")
        for one in items(member(node, "inputs")):
            source = made.get((one[0], one[1])) if isinstance(one, list) and len(one) > 1 and integer(one[0]) and integer(
                one[1]) else None
            if source is None:
                raise Bad(f"{name[:60]} reads an output that no node before it makes")
            if source not in record["in"]:
                record["in"].append(source)
        if not 1 <= rows[index + 1] - rows[index] <= len(shapes):
            raise Bad(f"{name[:60]} makes nothing")
        for output in range(rows[index + 1] - rows[index]):
            missing += add(index, output, name, "output" if (index, output) in results else "activation")
            record["out"].append(made[index, output])
    intake = {"format": "TVM graph JSON", "missing": missing, "assumed": [
        "an input whose name begins with p, and what no caller sets, is a parameter; operators' workspace is not in the file"]}
    if held and len(places) == len(shapes):
        intake.update(peak=sum(held.values()), peak_by="the storages of TVM's own memory plan together")
    return draft.records("tvm", intake)
