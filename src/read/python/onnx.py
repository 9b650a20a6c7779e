"""ONNX models: ops and the shapes of tensors, never the weights' values, and no file beside the model.

Sizes are the file's (value_info), or follow from operands (onnx_shapes, onnx_arrays) as onnx.shape_inference's do with
data_prop. --dim gives symbolic dims a size; what stays unknown is counted. Field numbers are those of onnx.proto.
"""
import re

from draft import BITS, BYTES_MOST, DIMS_MOST, Bad, Draft, content, unique
from onnx_node import Node, Value, dtype_of, held, read_tensor
from onnx_shapes import infer
from wire import fields, signed, text_of

DEPTH_MOST = 64    # graphs in graphs: protocol buffers themselves end at a hundred messages in one another
SYMBOLS = 3        # that are asked for at once
NAME_MOST = 300
FLOATING = ("f64", "f32", "f16", "bf16")
# Ops of other domains whose sizes are told; others of their names may mean something else.
KNOWN = {
    "com.microsoft": "QuantizeLinear DequantizeLinear QLinearSigmoid QLinearLeakyRelu QLinearSoftmax QLinearAdd QLinearMul "
    "MatMulNBits FusedConv Gelu BiasGelu FastGelu QuickGelu ReluGrad GeluGrad FastGeluGrad BiasGeluGrad_dX TanhGrad "
    "SigmoidGrad DropoutGrad SoftmaxGrad SoftmaxGrad_13 LogSoftmaxGrad LogSoftmaxGrad_13 SoftmaxCrossEntropyLossGrad "
    "AdamOptimizer".split(),
    "ai.onnx.preview.training": ["Adagrad", "Adam", "Momentum"],
}
INLINED = ("python -c \"import onnx, onnx.inliner as i; onnx.save(i.inline_local_functions(onnx.load('IN')), 'OUT')\" "
           "writes what the functions hold in their place")
INFERRED = ("python -c \"import onnx; onnx.shape_inference.infer_shapes_path('IN', 'OUT', data_prop=True)\" writes "
            "shapes into the file")


def bad(what):
    return Bad("not an ONNX model: " + what)


def names_in(graph, wanted):
    """The names of a graph's values of that field: ValueInfoProto has its name in 1."""
    return [next((text_of(one) for part, one in fields(value) if part == 1), "") for number, value in fields(graph)
            if number == wanted]


# ---- where the data of weights that lie in other files are said to lie ----

def wrong_place(entries):
    """What is wrong with where a weight lies in another file, which must be one beside the model (external_data: key 1,
    value 2); "" for nothing. The file isn't opened in any case, be it there or a link to elsewhere."""
    for entry in entries:
        said = {number: bytes(one) for number, one in fields(entry) if not isinstance(one, int)}
        key, value = said.get(1), said.get(2, b"")
        if key == b"location" and (not value or b"\0" in value):
            return "is said to be in a file without a name"
        if key == b"location" and re.match(rb"[/\\]|.:|(?:.*[/\\])?\.\.(?:[/\\]|$)", value, re.S):
            return "is said to be outside of the model's folder"
        if key in (b"offset", b"length") and not (re.fullmatch(rb"[0-9]{1,20}", value) and int(value) <= BYTES_MOST):
            return "has an offset or a length that isn't a number of bytes"
    return ""


class Reading:
    """A model on its way to a graph."""

    def __init__(self, options):
        self.draft, self.rules = Draft(), options.rules
        self.dims = dict(word.split("=") for word in options.dims)
        self.scopes = [{}]   # tensors by their names: of the model, then of each branch that is being read
        self.types, self.symbols = {}, []
        self.inferred = self.missing = self.subgraphs = self.opened = 0

    def find(self, name):
        """The tensor of a name, None where there is none: a branch's own names come first."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def value(self, name):
        """The same, made where there is none."""
        found = self.find(name)
        if found is None:
            found = self.scopes[-1][name] = Value(name)
        return found

    # ---- what the file says of tensors ----

    def dim(self, body):
        """TensorShapeProto.Dimension: dim_value 1, dim_param 2. None without a size: the first such names are kept,
        "unk__" stands for what shape inference gave up."""
        size = None
        for number, one in fields(body):
            if number == 1 and isinstance(one, int) and signed(one) >= 0:
                size = one
            elif number == 2:
                name = text_of(one)
                size = int(self.dims[name]) if name in self.dims else size
                if size is None and name and len(name) < 60 and not name.startswith("unk__"):
                    self.symbols += [] if name in self.symbols or len(self.symbols) == SYMBOLS else [name]
        return size

    def type(self, body):
        """TypeProto: tensor_type 1 with elem_type 1, shape 2 with dim 1. Its dtype, and its dims, None where they
        aren't said."""
        dtype = dims = None
        for number, one in ((part, one) for number, tensor in fields(body) if number == 1
                            for part, one in fields(tensor)):
            if number == 1 and isinstance(one, int):
                dtype = dtype_of(one) or dtype
            elif number == 2:
                dims = [self.dim(dim) for part, dim in fields(one) if part == 1]
                if len(dims) > DIMS_MOST:
                    raise bad("a shape has too many dims")
        return dtype, dims

    def value_info(self, body):
        """ValueInfoProto: name 1, type 2."""
        found = dict(fields(held(body)))
        value, kind = self.value(text_of(found.get(1, b""))), found.get(2, b"")
        said = self.types.get(kind)
        if said is None:
            said = self.types[kind] = self.type(kind)
        value.dtype = said[0] or value.dtype
        if said[1] is not None:
            value.shape = None if None in said[1] else said[1]
        return value

    def weight(self, body):
        """A TensorProto: of small ones the numbers are looked at, of all others none, here or in another file."""
        read = Value()
        name, places = read_tensor(held(body), read)
        wrong = wrong_place(places)
        if wrong:
            raise bad(f'the data of weight "{name[:80]}" {wrong}')
        value = self.value(name)
        value.shape, value.dtype, value.ints, value.reals = read.shape, read.dtype, read.ints, read.reals
        value.weight, value.inferred = True, False

    def graph(self, body):
        """GraphProto: node 1, initializer 5, input 11, output 12, value_info 13."""
        nodes = []
        for number, one in fields(body):
            if number == 1:
                nodes.append(one)
            elif number == 5:
                self.weight(one)
            elif number in (11, 12, 13):
                value = self.value_info(one)
                value.input |= number == 11
                value.output |= number == 12 and len(self.scopes) == 1
        for one in nodes:
            self.node(Node(one))

    # ---- tensors and ops ----

    def add(self, value, kind, alias=None):
        """A tensor of the graph."""
        sized = value.shape is not None and value.dtype is not None
        bits = BITS[value.dtype] if sized else 0
        for dim in value.shape if sized else ():
            bits *= dim
            if dim < 0 or bits > BYTES_MOST:
                raise Bad(f'the size of "{value.name[:60]}" overflows')
        self.missing += not sized
        self.inferred += sized and value.inferred
        value.tensor = self.draft.tensor(unique(value.name, self.draft.tensors), (bits + 7) // 8, kind,
                                         dtype=value.dtype,
                                         shape=value.shape, alias=alias)   # branches may have the same names

    def tensor(self, value):
        """Its name. What nothing in the graph makes: floating-point weights are parameters, others constants."""
        if value.tensor is None:
            kind = "input" if not value.weight else "parameter" if value.dtype in FLOATING else "constant"
            self.add(value, kind)
        return value.tensor

    def add_result(self, op, value, alias):
        """What an op makes."""
        self.add(value, "output" if value.output else "activation", alias)
        op["out"].append(value.tensor)

    def branch(self, node):
        """The branch of an If whose condition is known, else None."""
        known = node.op == "If" and len(node.ins) == 1 and node.ins[0] and node.ins[0].ints
        if not known or len(known) != 1 or len(self.scopes) > DEPTH_MOST:
            return None
        return node.attributes.get("then_branch" if known[0] else "else_branch", {}).get(6)

    def node(self, node):
        """A node becomes an op, or what is in its branch that is taken."""
        own = node.domain in ("", "ai.onnx") or node.op in KNOWN.get(node.domain, ())
        kind = f"{node.domain[:100] or 'onnx'}.{node.op[:150]}"
        node.ins = [self.value(name) if name else None for name in node.reads]
        node.outs = [self.value(name) if name else None for name in node.makes]
        branch = self.branch(node) if own else None
        if branch is not None:
            self.open(branch, node.outs)
            return
        name = node.name or next(filter(None, node.makes), kind)
        op = self.draft.op(unique(name[:NAME_MOST], self.draft.ops), kind, phase="forward")
        op["in"] += [self.tensor(value) for value in node.ins if value]
        alias = node.ins[0].tensor if node.ins and node.ins[0] and self.rules.is_view(kind) else None
        self.subgraphs += len(node.graphs)
        self.captured(op, node, 1)
        if own:
            infer(node)
        for name, value in zip(node.makes, node.outs):
            if value and value.tensor is not None:
                raise Bad(f'"{name[:60]}" is made twice, or after it is read')
            if value:
                self.add_result(op, value, alias)

    # ---- graphs inside of ops ----

    def captured(self, op, node, depth):
        """What graphs of an op read of outside. Names are given once in a model, its inner graphs included: one that is
        known here so far comes from here."""
        for graph in node.graphs:
            if depth > DEPTH_MOST:
                raise bad("graphs are nested more than 64 deep")
            for inner in (Node(one) for number, one in fields(graph) if number == 1):
                for name in inner.reads:
                    self.read_outside(op, name)
                self.captured(op, inner, depth + 1)
            for name in names_in(graph, 12):   # a result may be a tensor of outside as well
                self.read_outside(op, name)

    def read_outside(self, op, name):
        value = self.find(name) if name else None
        if value and (value.tensor is not None or value.weight or value.input):
            op["in"].append(self.tensor(value))

    def open(self, graph, outs):
        """A branch's ops stand in place of its If: what it calls its results are those of the If, but for what is made
        outside."""
        self.scopes.append({})
        self.opened += 1
        results = names_in(graph, 12)
        for name, out in zip(results, outs):
            if name and out and self.find(name) is None:
                self.scopes[-1][name] = out
        self.graph(graph)
        for name, out in zip(results, outs):
            value = self.find(name)
            if value and out and value is not out and out.tensor is None:
                self.pass_on(value, out)
        self.scopes.pop()

    def pass_on(self, value, out):
        """A result that is a tensor of outside, or another result: the same memory by another name."""
        self.tensor(value)
        op = self.draft.op(unique(out.name[:NAME_MOST], self.draft.ops), "onnx.Identity", phase="forward")
        op["in"].append(value.tensor)
        node = Node(b"")
        node.op, node.ins, node.outs = "Identity", [value], [out]
        infer(node)
        self.add_result(op, out, value.tensor)

    # ---- what is said of the model ----

    def assumed(self, functions):
        """In lines, what was made of it."""
        yield "weights are parameters, their values are not looked at; views share memory with what they are of"
        if self.subgraphs:
            one = self.subgraphs == 1
            yield (f"{self.subgraphs} graph{'' if one else 's'} inside of ops (loops, branches) {'is' if one else 'are'} not "
                   "opened: their memory is not counted")
        if self.opened:
            yield (f"{self.opened} condition{' is' if self.opened == 1 else 's are'} known: the branch that is taken replaces "
                   "its If")
        if functions:
            one = functions == 1
            yield (f"{functions} function{'' if one else 's'} of the model {'is' if one else 'are'} not opened: "
                   f"{'it is' if one else 'each is'} one op where it is called")

    def advice(self, functions):
        """What gives the sizes that are missing."""
        if not self.missing:
            return None
        if self.symbols:
            dims = " ".join(f"--dim {name}=SIZE" for name in self.symbols)
            return dims + (" give symbolic sizes" if len(self.symbols) > 1 else " gives a symbolic size")
        return INLINED if functions else INFERRED


def opset_of(imports):
    """The version of ONNX's own operators: OperatorSetIdProto has domain 1, version 2."""
    version = 0
    for one in imports:
        said = dict(fields(one))
        if text_of(said.get(1, b"")) in ("", "ai.onnx"):
            version = said.get(2, 0)
    return version


def read(stream, options):
    """The graph of a file, in lines. ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7,
    opset_import 8, functions 25."""
    said, imports, functions = {}, [], 0
    for number, one in fields(content(stream)):
        said[number] = one
        if number == 8:
            imports.append(one)
        functions += number == 25
    if 7 not in said:
        raise bad("it has no graph")
    reading = Reading(options)
    reading.graph(said[7])
    name = next((text_of(one) for number, one in fields(said[7]) if number == 2), "")
    producer, opset = text_of(said.get(2, b""))[:80], opset_of(imports)
    version = (f"IR {said.get(1, 0)}" + (f", opset {opset}" if opset else "")
               + (f", by {producer} {text_of(said.get(3, b''))[:40]}" if producer else ""))
    return reading.draft.records(name or "model", {
        "format": "ONNX model", "version": version, "inferred": reading.inferred, "missing": reading.missing,
        "assumed": list(reading.assumed(functions)), "advice": reading.advice(functions)})
