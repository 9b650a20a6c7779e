"""A program of torch.export: FILE.pt2, a zip archive whose JSON has ops, shapes and dtypes. Weights are not unpacked.

`graph_module.graph` has nodes in their order, each with its target, inputs and outputs; `tensor_values` what every tensor
is; `signature` which inputs are parameters and buffers. A symbolic size has the extent at which the program was traced,
unless --dim=NAME=SIZE gives another one of a size that is that symbol alone.
"""
import io
import json
import re
import zipfile

from draft import BITS, BYTES_MOST, DIMS_MOST, Bad, Draft, integer, items, member, read_json, text_member, unique

GRAPH_BYTES = 256 << 20   # of the JSON, unpacked
DTYPES = {1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 10: "c64", 11: "c128",
          12: "bool",
          13: "bf16", 28: "u16", 29: "f8e4m3", 30: "f8e5m2"}
KINDS = {"parameter": "parameter", "buffer": "buffer", "tensor_constant": "constant"}
NAMES = re.compile(r"(^|/)(models/[^/]*\.json|serialized_exported_program\.json)$")


def graph_text(stream):
    """The JSON of the first model in the archive."""
    try:
        # Weights stay where they are.
        archive = zipfile.ZipFile(stream if stream.seekable() else io.BytesIO(stream.read()))
        name = next((one for one in archive.namelist() if NAMES.search(one)), None)
        if name is None:
            raise Bad("the archive has no models/NAME.json, as torch.export.save writes it")
        if archive.getinfo(name).file_size > GRAPH_BYTES:
            raise Bad(f"{name[:80]} has more than {GRAPH_BYTES >> 20} MiB")
        return io.BytesIO(archive.read(name))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as fault:
        raise Bad(f"the archive is broken: {fault}") from None
    except zipfile.zlib.error as fault:
        raise Bad(f"the archive is broken: {fault}") from None


def extent(size, asked):
    """An extent of a shape, or of a symbol; None where nothing says it."""
    if integer(member(size, "as_int")):
        return size["as_int"]
    shape = member(size, "as_expr")
    symbol = re.search(r"^(?:Symbol\(')?(\w+)", text_member(shape, "expr_str") or "")
    alone = symbol and re.fullmatch(r"\w+|Symbol\('\w+'[^()]*\)", shape["expr_str"])
    hint = member(member(shape, "hint"), "as_int")
    return asked.get(symbol[1], hint) if alone else hint if integer(hint) else None


def tensors_of(argument):
    """The names of tensors in an argument, in their order."""
    if isinstance(argument, dict):
        name = argument.get("name")
        if isinstance(name, str) and set(argument) <= {"name", "class_fqn"}:
            return [name]
        return [name for key, value in argument.items() if key in (
            "as_tensor", "as_tensors", "as_optional_tensor", "as_optional_tensors", "as_nested_tensors")
            for name in tensors_of(value)]
    return [name for one in items(argument) for name in tensors_of(one)]


class Reading:
    """A program on its way to a graph."""

    def __init__(self, graph, asked, rules):
        self.draft, self.asked, self.rules, self.missing = Draft(), asked, rules, 0
        self.values = member(graph, "tensor_values")
        if not isinstance(self.values, dict) or not isinstance(member(graph, "nodes"), list):
            raise Bad("its graph has no nodes or no tensor_values")

    def add(self, name, kind, alias=None):
        """A tensor, by what the file says of it."""
        if name in self.draft.tensors:
            raise Bad(f"two nodes make the tensor {name[:60]}")
        meta = self.values.get(name)
        shape = [extent(size, self.asked) for size in items(member(meta, "sizes"))]
        dtype = member(meta, "dtype")
        dtype = DTYPES.get(dtype if integer(dtype) else 0, "opaque")
        known = meta is not None and len(shape) <= DIMS_MOST and all(integer(one) and one >= 0 for one in shape)
        count = 1
        for one in shape if known else ():
            count *= one
        if count * BITS[dtype] > 8 * BYTES_MOST:
            raise Bad(f"{name[:60]} has more than 2^60 bytes")
        self.missing += not known
        return self.draft.tensor(name, (count * BITS[dtype] + 7) // 8 if known else 0, kind, dtype=dtype,
                                 shape=shape if known else None, alias=alias)

    def inputs(self, specs):
        """What is there from the start."""
        for spec in items(specs):
            for kind, value in spec.items() if isinstance(spec, dict) else ():
                argument = member(value, "arg")
                names = tensors_of(argument if kind == "user_input" else {"as_tensor": argument})
                for name in names:
                    self.add(name, KINDS.get(kind, "input"))

    def node(self, node):
        """One op."""
        target, metadata = text_member(node, "target"), member(node, "metadata")
        outs = [name for one in items(member(node, "outputs")) for name in tensors_of(one)]
        ins = [name for one in items(member(node, "inputs")) for name in tensors_of(member(one, "arg"))]
        if not target:
            raise Bad("a node without a target")
        strange = next((name for name in ins if name not in self.draft.tensors), None)
        if strange is not None:
            raise Bad(f"{target[:60]} reads {strange[:60]}, which nothing before it makes")
        kind = target.replace("torch.ops.", "")
        if not outs and not ins:
            return
        stack = re.findall(r'File "([^"]*)", line (\d+), in (\S+)', text_member(metadata, "stack_trace") or "")
        stack = [one for one in stack if "/site-packages/" not in one[0] and "/torch/" not in one[0]] or stack
        path = [one.split(",")[1] for one in (text_member(metadata, "nn_module_stack") or "").split(";")
                if one.count(",") > 1]
        name = unique(text_member(node, "name") or (outs or [kind])[0], self.draft.ops)
        op = self.draft.op(name, kind, phase="forward", mod=path[-1] if path and path[-1] else None,
                           src="%s:%s in %s" % stack[-1] if stack else None)
        view = self.rules.is_view(kind) and ins
        op["in"] = list(dict.fromkeys(ins))
        op["out"] = [self.add(one, "activation", self.root(ins[0]) if view else None) for one in dict.fromkeys(outs)]

    def root(self, name):
        """The tensor whose memory it is."""
        return self.draft.tensors[name].get("alias") or name


def read(stream, options):
    """The graph of a file, in lines."""
    file = read_json(graph_text(stream))
    module = member(file, "graph_module") or member(member(file, "exported_program"), "graph_module")
    graph, signature = member(module, "graph"), member(module, "signature")
    asked = {}
    for word in options.dims:
        key, _, value = word.partition("=")
        if value.isdigit() and 0 < len(value) < 10:
            asked[key] = int(value)
    reading = Reading(graph, asked, options.rules)
    reading.inputs(member(signature, "input_specs"))
    for node in graph["nodes"]:
        reading.node(node)
    for spec in items(member(signature, "output_specs")):
        for value in spec.values() if isinstance(spec, dict) else ():
            argument = member(value, "arg")
            for name in tensors_of(argument) + tensors_of({"as_tensor": argument}):
                record = reading.draft.tensors.get(name)
                if record and record["kind"] == "activation" and "alias" not in record:
                    record["kind"] = "output"
    assumed = ["the forward pass as it was exported; weights are not unpacked"]
    if '"as_expr"' in json.dumps(graph.get("tensor_values")):
        assumed.append("symbolic sizes have the extents at which the program was traced; --dim NAME=SIZE gives others")
    return reading.draft.records("exported", {"format": "torch.export program", "missing": reading.missing,
                                              "version": text_member(file, "torch_version"), "assumed": assumed})
