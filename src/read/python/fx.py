"""PyTorch's FX graphs as torch.compile logs them: readable text with dtypes, shapes and places in the source.

The same text is in what TORCH_LOGS=aot_graphs,aot_joint_graph prints, in the payloads of a TORCH_TRACE log, and in each
fx_graph_readable.py of a TORCH_COMPILE_DEBUG folder, which says a graph's kind and compilation by its own folder's
name.
"""
import re

from draft import BITS, DIMS_MOST, MESH_AXES, Bad, read_places
from fx_folder import files_of
from fx_size import Sizes
from fx_step import step

HINTS_MOST = 4096
KINDS = (("===== Joint graph", "joint"), ("===== Forward graph", "forward"), ("===== Backward graph", "backward"),
         ('"aot_joint_graph"', "joint"), ('"aot_forward_graph"', "forward"), ('"aot_backward_graph"', "backward"),
         ('"aot_inference_graph"', "inference"), ("===== Forward graph with no backward", "inference"))
DTYPES = {**{name: name for name in BITS}, "b8": "bool", "f8e4m3fn": "f8e4m3", "f8e4m3fnuz": "f8e4m3",
          "f8e5m2fnuz": "f8e5m2", "f8e8m0fnu": "u8", "f4e2m1fn_x2": "u8", "c32": "i32"}
QUOTED = r"""'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?"""

PREFIX = re.compile(r"[VDIWE][0-9]{4}.*?\] ", re.S)
TAG = re.compile(r"\[(!?[0-9])?[^\]]*\] ?")
SYMBOL = re.compile(r'"create_symbol": \{"symbol": "(\w{1,40})(?!\w).*?"val": "([0-9]{1,18})(?![0-9])|'
                    r'create_symbol (\w{1,40})\b.*? = ([0-9]{1,18})(?![0-9])', re.A)
NEW_DTYPE = re.compile(r"[a-z]{1,5}[0-9]\w*", re.A)   # "f6e3m2", which nobody has yet
TYPE = re.compile(r"(?:(\w+)\()?(\w*)\[([^\]]*)", re.A)
INPUT = re.compile(r'(\w+): "([^"]*)"?', re.A)
STATEMENT = re.compile(r'(\w+)(?:: "([^"]*)"?)?[ \t\r]*', re.A)
STOP = re.compile(QUOTED + r"|;|(?<= )#")
CALLED = re.compile(r"(?:torch\.ops\.)?([\w.]*)", re.A)
TAKEN = re.compile(r"(?:_?operator\.getitem\()?(\w+)[\[,]", re.A)
ARGUMENT = re.compile(r"(%s)|(\.?)(\w+)([ \t]*=(?!=))?|([\[\]])" % QUOTED, re.A)
RESULT = re.compile(r"%s|\w+|[()\[\]]|(#)" % QUOTED, re.A)
NO_RESULTS = ("pytree", "tree_unflatten", "self", "_out_spec")


def trim(text):
    return text.lstrip(" \t").rstrip(" \t\r")


def number_behind(line, key):
    """The number behind a key of a JSON record, -1 without one."""
    found = re.search(re.escape(key) + r"\s*(-?[0-9]{1,18})?", line)
    return int(found[1] or 0) if found else -1


class Value:
    """A tensor: an input, or what a statement makes. node: the one that makes it. unsized: of a symbolic size that
    nobody gave. places: of a DTensor, whose dims are one device's where the mesh is known, else the whole tensor's."""
    __slots__ = ("name", "dims", "dtype", "role", "typed", "unsized", "input", "node", "line", "places")

    def __init__(self, name, line):
        self.name, self.line, self.dims, self.dtype, self.role, self.typed = name, line, [], None, None, False
        self.unsized, self.input, self.node, self.places = False, False, None, None


class Node:
    """What calls an operator. text: the last quoted text among its arguments, which is the name of a collective's
    group; group: the first whole number there, a collective's size; listed: entries of the first list there."""
    __slots__ = ("name", "type", "src", "gradient", "reads", "text", "group", "listed")

    def __init__(self, name, kind, src, gradient):
        self.name, self.type, self.src, self.gradient = name, kind, src, gradient
        self.reads, self.text, self.group, self.listed = [], None, 0, 0


class Graph:
    """A graph of a log. kind: forward, backward, joint, inference, or other, of a stage before or behind these. hints:
    what its symbols were when it was compiled. autograd: compiled autograd traced it, a backward pass."""

    def __init__(self, identity, kind, autograd, hints, line):
        self.id, self.kind, self.autograd, self.hints, self.line = identity, kind, autograd, hints, line
        self.values, self.nodes, self.results, self.names = [], [], [], {}

    def has_input(self, prefix):
        return any(value.input and value.name.startswith(prefix) for value in self.values)


class Log:
    """The graphs of one text or several."""
    SYMBOLS = 4   # that are named where they have no number

    def __init__(self, dims):
        self.dims, self.graphs, self.symbols, self.fused = dims, [], [], False
        sizes = [Sizes(dims).value(f"mesh{axis}")[0] or 0 for axis in range(MESH_AXES)]
        self.mesh = [size if size < 1 << 20 else 0 for size in sizes]

    def add(self, lines, identity="", kind=None):
        """The graphs of a text come behind those that are there. identity: what stands before the compilations that the
        text names; kind: of its first graph, None where nothing says it."""
        reader, number = Reader(self, identity, kind), 0
        for number, line in enumerate(lines, 1):
            reader.number = number
            reader.take_line(line.decode("utf-8", "replace").rstrip("\n"))
        if reader.state:
            raise Bad("the text is truncated in a graph: it has no return", reader.graph.line)


class Reader:
    """A text, line by line. state: the method that takes a line of a graph's arguments, body or results; None
    outside."""

    def __init__(self, log, identity, kind):
        self.log, self.identity, self.number, self.state = log, identity, 0, None
        self.graph, self.depth, self.listed = None, 0, False
        self.kind, self.kind_said, self.id, self.src, self.gradient = kind or "other", kind is not None, "", None, False
        self.export = 0   # of a printed torch.export.ExportedProgram, 1: begun, 2: its module is one in another
        self.hints, self.sizes, self.types = [], None, {}   # hints: of all compilations; types: of this graph

    # ---- what is said of the next graph ----

    def without_prefix(self, line):
        """"V1206 15:18:21.106000 PID torch/...py:232] " off, and "[0/0] [__aot_graphs] " behind it, the first of which
        names the compilation; "!0/2/0": compiled autograd's."""
        if line.startswith("[rank") and "]:" in line:
            line = line.partition("]:")[2]
        if line.startswith("\t"):
            return line[1:]
        found = PREFIX.match(line)
        if not found:
            return line
        line = line[found.end():]
        while True:
            found = TAG.match(line)
            if not found:
                return line
            if found[1]:
                self.id = found[0].rstrip(" ")[1:-1][:60]
            line = line[found.end():]

    def note(self, line):
        """What a line says of the graph that follows it."""
        if line.startswith('{"') and len(line) < 100000:
            frame, compilation, autograd = (number_behind(line, f'"{key}": ') for key in (
                "frame_id", "frame_compile_id", "compiled_autograd_id"))
            if frame >= 0 and compilation >= 0:
                self.id = f"{f'!{autograd}/' if autograd >= 0 else ''}{frame}/{compilation}"
            # Other artifacts hold graphs too: dynamo's own, Inductor's. They repeat these.
            self.kind, self.kind_said, self.export = "other", True, 0
            self.log.fused |= '"inductor_output_code"' in line
        if line.startswith("ExportedProgram:"):
            self.kind, self.kind_said, self.export = "inference", True, 1
        if "create_symbol" in line:
            self.note_symbol(line)
        if "graph" in line:
            for mark, kind in KINDS:
                if mark in line:
                    self.kind, self.kind_said = kind, True

    def note_symbol(self, line):
        """{"create_symbol": {"symbol": "s77", "val": "6", ...} of a trace; "create_symbol s77 = 6 for L['x'].size()[0]"
        of TORCH_LOGS=dynamic."""
        found = SYMBOL.search(line) if '"create_symbol": {' in line else SYMBOL.match(line)
        if found and len(self.hints) < HINTS_MOST:
            self.hints.append((self.id, f"{found[1] or found[3]}={found[2] or found[4]}"))

    # ---- values ----

    def size_of(self, text):
        """A size that the caller or the log gives; None. The first symbols without are noted."""
        size, symbol = self.sizes.value(text)
        symbols = self.log.symbols
        if symbol and symbol not in symbols and len(symbol) < 24 and len(symbols) < Log.SYMBOLS:
            symbols.append(symbol)
        return size

    def dims_of(self, text):
        """Sizes, and whether one of them isn't known."""
        dims, unsized, depth, start = [], False, 0, 0
        if "(" not in text:
            parts = text.split(",")
        else:
            parts = []
            for at, letter in enumerate(text + ","):
                depth += (letter == "(") - (letter == ")")
                if letter == "," and (depth <= 0 or at == len(text)):
                    parts.append(text[start:at])
                    start = at + 1
        for part in filter(None, map(trim, parts)):
            if len(dims) == DIMS_MOST:
                return dims, True
            size = self.size_of(part)
            unsized |= size is None
            dims.append(size or 0)
        return dims, unsized

    def read_type(self, text):
        """"f32[4, 12][12, 1]cpu", and "DTensor(f32[4, 12][12, 1]cpu, S(0)R)" or another class around it: dtype, dims,
        whether their sizes are unknown, places. None for what is no tensor."""
        found = TYPE.match(text)
        dtype = DTYPES.get(found[2]) if found else None
        if not found or not (dtype or (NEW_DTYPE.fullmatch(found[2]) and len(found[2]) < 20)):
            return None
        dims, unsized = self.dims_of(found[3])
        places = None
        if found[1] and found[1].startswith("DTensor"):   # behind shape and strides
            rest = text[found.end() + 1:]
            rest = rest.partition("]")[2] if rest.startswith("[") else rest
            places = read_places(rest.partition(", ")[2], MESH_AXES)
            dims, places = self.cut(dims, places)
        # A tensor whose size can't be told counts as one without a size, not as nothing.
        return dtype or "opaque", dims, unsized or dtype is None, places

    def cut(self, dims, places):
        """The sizes of one device's piece, and its places if they are of such dims."""
        dims = list(dims)
        for place, devices in zip(places, self.log.mesh):
            if place[0] not in ("R", "P"):
                if place[0] >= len(dims):
                    return dims, None
                if devices > 1:
                    dims[place[0]] = -(-dims[place[0]] // devices)
        return dims, places

    def set_type(self, value, text):
        """A value gets its type; types repeat."""
        if text not in self.types:
            self.types[text] = self.read_type(text)
        if self.types[text]:
            value.typed = True
            value.dtype, value.dims, value.unsized, value.places = self.types[text]

    def add_value(self, value):
        if value.name in self.graph.names:
            raise Bad(f'a second value named "{value.name[:60]}"', self.number)
        self.graph.names[value.name] = value
        self.graph.values.append(value)

    def role_of(self, name, comment):
        """From the comment behind an input, or of an exported program from its name: p_weight, b_running_mean,
        c_lifted_tensor_0."""
        exported = self.export == 2
        if "ParamAOTInput" in comment or (exported and name.startswith("p_")):
            return "parameter"
        return "buffer" if "BufferAOTInput" in comment or (exported and name.startswith(("b_", "c_"))) else None

    def read_inputs(self, text):
        """All of: NAME: "TYPE". What follows the last one up to the end is its comment."""
        text, _, comment = text.partition("#")
        for name, kind in INPUT.findall(text):
            value = Value(name, self.number)
            value.input, value.role = True, self.role_of(name, comment)
            self.set_type(value, kind)
            self.add_value(value)

    # ---- statements ----

    def read_arguments(self, node, text):
        """Every value that an expression names, and the first whole number among its arguments."""
        depth, listed, names = 0, False, self.graph.names
        for quoted, dot, word, keyword, bracket in ARGUMENT.findall(text):
            if word:
                node.listed += depth == 1 and not listed and not dot
                if dot:
                    continue
                if depth == 0 and node.group == 0 and word.isdecimal() and len(word) < 9:
                    node.group = int(word)
                if word in names and not keyword and len(word) <= 300:
                    node.reads.append(names[word])
            elif bracket:
                depth = depth + 1 if bracket == "[" else max(0, depth - 1)
                listed |= bracket == "]"
            elif quoted:
                inside = quoted[1:-1] if len(quoted) > 1 and quoted[-1] == quoted[0] else quoted[1:]
                node.text = inside if len(inside) < 100 else node.text

    def add_node(self, name, expression, line):
        """What an expression calls. line: the whole statement."""
        called = CALLED.match(expression)
        node = Node(name, called[1] or name, self.src, self.gradient)
        self.read_arguments(node, expression[called.end():] if called[1] else line[len(name):])
        self.graph.nodes.append(node)
        return node

    def read_statement(self, line):
        """NAME = EXPRESSION, NAME: "TYPE" = EXPRESSION, or NAME: "TYPE" of an input."""
        found = STATEMENT.match(line)
        if not found:
            return
        name, kind, text = found[1], found[2], line[found.end():]
        if kind is not None and (not text or text[0] == "#"):
            self.read_inputs(line)
            return
        if not text.startswith("= ") or text.startswith("= fx_pytree") or (text.endswith("= None") and "(" not in text):
            return
        text, value = trim(text[2:]), Value(name, self.number)
        if kind is not None:
            self.set_type(value, kind)
        taken = TAKEN.match(text)   # "split[2]" and operator.getitem(split, 2): an output of a node that has several
        source = self.graph.names.get(taken[1]) if taken else None
        if source:
            value.node = source.node
        elif text.startswith("self."):
            value.input, value.role = value.typed, "buffer"
        elif value.typed or text.startswith("torch."):
            value.node = self.add_node(name, text, line)
        self.add_value(value)

    def read_line(self, line):
        """The statements of a line: those that only let go of values are "a = None"."""
        while line:
            end = rest = len(line)
            for found in STOP.finditer(line):
                if found[0] == ";":
                    end, rest = found.span()
                if found[0] in (";", "#"):   # a comment belongs to what it stands behind
                    break
            self.read_statement(trim(line[:end]))
            line = trim(line[rest:])

    # ---- graphs ----

    def begin_graph(self):
        """Sizes that the caller gives come first; then what the compilation of this graph said last."""
        given, hints = list(self.log.dims), ""
        for identity, hint in reversed(self.hints):
            if identity == self.id:
                given.append(hint)
                hints += (", " if hints else "") + hint[:50] if len(hints) < 140 else ""
        both = " " if self.identity and self.id else ""
        self.graph = Graph(self.identity[:300] + both + self.id, self.kind, self.id.startswith("!"), hints, self.number)
        self.log.graphs.append(self.graph)
        self.sizes, self.types, self.src, self.gradient = Sizes(given), {}, None, False

    def end_graph(self, joint):
        """A graph without a header says by its inputs what it is. One of another stage goes away."""
        graph = self.graph
        if not self.kind_said:
            tangents = graph.has_input("tangents_")
            graph.kind = (("joint" if joint else "backward") if tangents
                          else "forward" if graph.has_input("primals_") else "inference")
        if graph.kind == "other":
            self.log.graphs.pop()
        self.state, self.kind_said = None, False

    def arguments(self, line):
        if line.startswith(("):", ") ->")):
            self.state = self.body
        else:
            self.read_inputs(line)

    def body(self, line):
        """"# File: model.py:6 in forward, code: ...", from 2.14 on also "# recompute: MUST_SAVE File: ..." and "#
        Backward of forward node: File: ...": what follows belongs there."""
        if line.startswith("#"):
            file, code = line.find("File: "), line.find(", code:")
            if file >= 0 and (code < 0 or file < code):
                self.take_place(line[file + 6:code if code >= 0 else None], line[code:] if code >= 0 else "")
            elif line.startswith("# No stacktrace"):
                self.src, self.gradient = None, False
        elif line.startswith("return"):
            self.state, self.depth, self.listed = self.results, 0, False
            if not self.kind_said:
                self.kind = "joint" if "tree_unflatten" in line else "backward"
            self.results(trim(line[6:]))
        else:
            self.read_line(line)

    def take_place(self, file, code):
        self.src = file
        self.gradient = "_functorch/eager_transforms.py:" in file and (
            "autograd_grad(" in code or "autograd.grad(" in code)
        self.graph.autograd |= "torch__dynamo_compiled_autograd_" in code

    def results(self, line):
        """What is returned, over one line or many: names and None in the first list."""
        for found in RESULT.finditer(line):
            word = found[0]
            if word in "()[]":
                self.depth += 1 if word in "([" else -1
                self.listed |= word == "[" or (word == "(" and self.depth == 1)
                if self.listed and self.depth == 0:
                    break
            elif found[1]:
                break
            elif word[0] not in "'\"" and not word.startswith(NO_RESULTS):
                if word in self.graph.names or word == "None":
                    self.graph.results.append(self.graph.names.get(word))
        if self.depth <= 0:
            self.end_graph(self.kind == "joint")

    def take_line(self, line):
        line = self.without_prefix(line)
        # A record of the trace: the graph before it was given up while it was made.
        if self.state and line.startswith('{"') and len(line) > 2:
            self.end_graph(False)
        if not self.state:
            self.note(line)
            # A module in a module: what one of its ops calls.
            if line.startswith("        class " if self.export == 2 else "    class ") and "(torch.nn.Module):" in line:
                self.kind, self.kind_said = "inference" if self.export == 1 else "other", True
                self.export = 2 if self.export else 0
        line = trim(line)
        if line.startswith("def forward("):
            if self.state:   # the one before has lost its end
                self.end_graph(False)
            self.begin_graph()
            self.state = self.body if "):" in line else self.arguments
            self.read_inputs(line[len("def forward("):])
        elif self.state:
            self.state(line)


def read(stream, options):
    """The step of a log, or of a folder that a compiler left, in lines."""
    log = Log(options.dims)
    if options.folder is None:
        log.add(stream)
        return step(log, options)
    files, log.fused = files_of(options.folder)
    for name, lines, identity, kind in files:
        try:
            log.add(lines, identity, kind)
        except Bad as bad:
            raise Bad(f"{name}:{bad.line}: {bad.text}" if bad.line else f"{name}: {bad.text}") from None
    return step(log, options)
