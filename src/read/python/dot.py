"""Graphs in DOT, of either dialect of tidemark(5), in the words of Graphviz's own grammar: defaults by subgraph, groups on both
sides of an arrow, strings in pieces, HTML. Where a node has kind=, nodes are tensors and ops; else every node is an op with one
result, whose size other tools tell in its label.
"""
import json
import re

from draft import BITS, BYTES_MOST, DIMS_MOST, INT_MOST, Bad, encode, no_duplicates, real, strange, whole
from label_size import label_size

EDGES_MOST = 1000000
DEPTH_MOST = 250     # of braces
KINDS = ("input", "parameter", "buffer", "constant", "optimizer", "gradient", "activation", "temporary", "output")
PHASES = ("forward", "backward", "update", "communication")
OURS = ("kind", "bytes", "dims", "dtype", "alias_of", "name", "extra", "op", "phase", "module", "flops", "workspace", "step",
        "inplace", "persistent", "label")
DRAWING = set(   # how a node looks, not what it is
    "area class color colorscheme comment distortion fillcolor fixedsize fontcolor fontname fontsize gradientangle group height"
    " href id image imagepos imagescale labelloc layer margin nojustify ordering orientation penwidth peripheries pin pos rank"
    " rects regular root samplepoints shape shapefile showboxes sides skew sortv style target tooltip URL vertices width xlabel"
    " xlp z".split())
RECORD_KEYS = {"graph": ("k", "v", "name", "source"), "tensor": ("k", "id", "bytes", "dtype", "shape", "kind", "alias"),
               "op": ("k", "id", "op", "phase", "mod", "in", "out", "flops", "workspace", "inplace", "after")}
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
HIDDEN = re.compile("[\x01-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


# ---- words ----

TOKEN = re.compile(r"""(?P<space>[ \t\r\n]+|//[^\n]*|\#[^\n]*)|(?P<comment>/\*)|(?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*
    |-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))|(?P<string>")|(?P<html><)|(?P<sign>->|--|.)""", re.X | re.S)
PIECE = re.compile(r'(?:[^"\\]|\\.)*', re.S)
KEYWORDS = ("strict", "graph", "digraph", "node", "edge", "subgraph")


class Html(str):
    """A text in HTML: a name of its own."""
    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, Html) and str.__eq__(self, other)

    def __hash__(self):
        return str.__hash__(self)


class Words:
    """The words of a text, one ahead: kind is "word", "string", "html", a sign or keyword itself, "" at the end."""

    def __init__(self, text):
        self.text, self.at, self.line, self.counted = text, 0, 1, 0
        self.kind = self.value = ""
        self.step()

    def syntax(self):
        near = " near '%s'" % self.value[:80].split("\n")[0] if self.kind else ""
        return Bad("syntax error" + near, self.place(self.begin))

    def place(self, at):
        """The line of a place behind those asked for before."""
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line

    def step(self):
        """Goes on to the next word. Returns the text of the one before."""
        value, text = self.value, self.text
        while True:
            self.begin = self.at
            found = TOKEN.match(text, self.at)
            if not found:
                self.kind = self.value = ""
                return value
            self.at = found.end()
            if found.lastgroup == "comment":
                self.at = text.find("*/", self.at) + 2
                if self.at < 2:
                    self.at = len(text)
            elif found.lastgroup != "space":
                break
        self.kind, self.value = found.lastgroup, found.group()
        if self.kind == "string":
            self.string()
        elif self.kind == "html":
            self.html()
        elif self.kind == "sign":
            self.kind = self.value
        elif self.value.lower() in KEYWORDS:
            self.kind = self.value.lower()
        return value

    def string(self):
        """A string, whose escapes but of quotes and of ends of lines stay."""
        end = PIECE.match(self.text, self.at).end()
        if self.text[end:end + 1] != '"':
            self.kind = ""
            raise self.syntax()
        self.value = re.sub(r'\\(["\n])', lambda found: '"' if found[1] == '"' else "",
                            self.text[self.at:end].replace("\\\\", "\\\x00")).replace("\x00", "\\")
        self.at = end + 1

    def html(self):
        """What stands between brackets that balance."""
        depth, begin = 1, self.at
        while depth:
            found = re.compile("[<>]").search(self.text, self.at)
            if not found:
                self.kind = ""
                raise self.syntax()
            depth += 1 if found.group() == "<" else -1
            self.at = found.end()
        self.value = Html(self.text[begin:self.at - 1])

    def atom(self):
        """A name or a value: strings may come in pieces."""
        if self.kind not in ("word", "string", "html"):
            raise self.syntax()
        string, value = self.kind == "string", self.step()
        pieces = [value]
        while string and self.kind == "+":
            self.step()
            if self.kind != "string":
                raise self.syntax()
            pieces.append(self.step())
        return "".join(pieces) if string else value

    def take(self, kind):
        """Whether the next word is of a kind; then it is behind."""
        if self.kind != kind:
            return False
        self.step()
        return True

    def need(self, kind):
        if not self.take(kind):
            raise self.syntax()


# ---- the graph as it is written ----

class Node:
    """A node with its attributes, and what it becomes: an op, a tensor, or both."""
    __slots__ = ("name", "line", "values", "order", "module", "op", "tensor", "step", "text")

    def __init__(self, name, line, values, order):
        self.name, self.line, self.values, self.order = name, line, values, order
        self.module = self.op = self.tensor = None
        self.step = 0
        self.text = ""


class Group:
    """A graph or subgraph: defaults that differ from those around it, its nodes, the groups in it."""

    def __init__(self, name, around):
        self.name, self.around, self.groups, self.named, self.nodes = name, around, [], {}, {}
        self.defaults = {"node": {}, "edge": {}, "graph": {}}

    def values(self, kind):
        """What a new node or edge here has: the nearest group's word counts."""
        values = self.around.values(kind) if self.around else {}
        values.update(self.defaults[kind])
        return values


class Parser:
    """Reads one graph: its nodes in the order of their first mention, its edges as (from, to, attributes)."""

    def __init__(self, text):
        self.words, self.nodes, self.edges, self.known, self.made = Words(text), {}, [], {}, 0
        self.declared = set()   # attributes of nodes

    def read(self):
        words = self.words
        if not words.kind:
            raise Bad("it has no graph")
        self.strict = words.take("strict")
        if words.kind not in ("digraph", "graph"):
            raise words.syntax()
        self.directed = words.step().lower() == "digraph"
        self.root = Group("" if words.kind == "{" else words.atom(), None)
        self.body(self.root, 1)
        return self

    def body(self, group, depth):
        if depth > DEPTH_MOST:
            raise Bad("braces nested too deeply", self.words.place(self.words.begin))
        self.words.need("{")
        while self.words.kind != "}":
            self.statement(group, depth)
            self.words.take(";")
        if depth > 1:   # what follows the graph is none of its words
            self.words.step()

    def statement(self, group, depth):
        words = self.words
        if words.kind in ("node", "edge", "graph"):
            kind = words.step().lower()
            if words.kind != "[":   # the name of a macro, which is never used
                words.atom()
                words.need("=")
                if words.kind != "[":
                    raise words.syntax()
            self.set_defaults(group, kind, self.attributes())
        elif words.kind in ("subgraph", "{"):
            self.chain(group, self.subgraph(group, depth), depth, False)
        else:
            begin, name = words.begin, words.atom()
            if words.take("="):
                self.set_defaults(group, "graph", {name: words.atom()})
            else:
                self.chain(group, self.names(group, name, begin), depth, True)

    def set_defaults(self, group, kind, values):
        group.defaults[kind].update(values)
        if kind == "node":
            self.declared.update(values)

    def subgraph(self, group, depth):
        """The nodes of a subgraph."""
        name = None
        if self.words.take("subgraph") and self.words.kind != "{":
            name = self.words.atom()
        inner = group.named.get(name) if name is not None else None
        if inner is None:
            inner = Group(name, group)
            group.groups.append(inner)
            if name is not None:
                group.named[name] = inner
        self.body(inner, depth + 1)
        return sorted(inner.nodes.values(), key=lambda node: node.order)

    def names(self, group, name, begin):
        """a:port, b, c"""
        words, found = self.words, []
        while True:
            found.append(self.node(group, name, begin))
            for _ in range(2):
                if words.take(":"):
                    words.atom()
            if not words.take(","):
                return found
            begin, name = words.begin, words.atom()

    def node(self, group, name, begin):
        node = self.nodes.get(name)
        if node is None:
            node = Node(name, self.words.place(begin), group.values("node"), len(self.nodes))
            self.nodes[name] = node
        while group and name not in group.nodes:
            group.nodes[name] = node
            group = group.around
        return node

    def chain(self, group, first, depth, named):
        """What follows the first nodes of a statement: arrows, and attributes of all the edges, or of nodes that are named."""
        words, links = self.words, [first]
        while words.take("->" if self.directed else "--"):
            if words.kind in ("subgraph", "{"):
                links.append(self.subgraph(group, depth))
            else:
                begin, name = words.begin, words.atom()
                links.append(self.names(group, name, begin))
        values = self.attributes() if words.kind == "[" else {}
        if len(links) > 1:
            self.connect(group, links, values)
        else:
            self.declared.update(values)
            for node in first if named else ():
                node.values.update(values)

    def connect(self, group, links, values):
        key = values.pop("key", None)
        for sources, targets in zip(links, links[1:]):
            self.made += len(sources) * len(targets)
            if self.made > EDGES_MOST:
                raise Bad("too many edges: at most %d are read" % EDGES_MOST)
            for source in sources:
                for target in targets:
                    self.edge(group, source, target, key, values)

    def edge(self, group, source, target, key, values):
        """Of a strict graph, and of edges with a key, the first is the only one."""
        same = (source.order, target.order, None if self.strict else key)
        edge = self.known.get(same) if self.strict or key is not None else None
        if edge is None:
            edge = (source, target, group.values("edge"))
            self.edges.append(edge)
            if self.strict or key is not None:
                self.known[same] = edge
        edge[2].update(values)

    def attributes(self):
        """[a=b, c=d] [e=f]"""
        words, values = self.words, {}
        words.need("[")
        while True:
            while not words.take("]"):
                name = words.atom()
                words.need("=")
                values[name] = words.atom()
                if not words.take(","):
                    words.take(";")
            if not words.take("["):
                return values


# ---- values ----

def entity(found):
    """A character of ASCII, or one that writers hide so; others stay as they are."""
    if found[1]:
        return {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}[found[1]]
    value = int(found[2][:9])
    letter = chr(value) if 0 < value < 0x80 else chr(value) if value < 0x10000 and HIDDEN.match(chr(value)) else None
    return letter if letter else found[0]


def decoded(text):
    """A text without its entities."""
    return "" if text == "&empty;" else re.sub(r"&(?:(amp|lt|gt|quot);|#([0-9]+);)", entity, text)


def number_of(text):
    """A whole number of 63 bits, or None."""
    return int(text) if re.fullmatch("[0-9]{1,30}", text) and int(text) <= INT_MOST else None


def bytes_of(text):
    """4194304, 4MiB, 1.5 GiB: whole bytes, or None."""
    found = re.fullmatch(r"([0-9.]{1,39}) *([KMGT]?i?B)", text)
    if number_of(text) is not None or not found:
        return number_of(text)
    try:
        value = float(found[1]) * UNITS.get(found[2], float("nan"))
    except ValueError:
        return None
    return int(value) if value <= BYTES_MOST and value == int(value) else None


def dims_of(text):
    """32,128,768 or scalar: a list, or None."""
    if text == "scalar":
        return []
    dims = [number_of(one.strip(" ")) for one in text.split(",")]
    return dims if len(dims) <= DIMS_MOST and None not in dims else None


def members_of(extra, record, line=0):
    """The members of an extra, which the native format doesn't know, as a dict."""
    try:
        if "\n" in extra or "\\u0000" in extra:
            raise Bad("")
        members = json.loads("{%s}" % extra, object_pairs_hook=no_duplicates, parse_int=whole, parse_float=real,
                             parse_constant=strange)
    except (ValueError, Bad):
        raise Bad('extra must hold JSON members on one line: \\"key\\": value, ...', line) from None
    for key in members:
        if key in RECORD_KEYS[record]:
            raise Bad('extra holds "%s", which has an attribute of its own' % key[:60], line)
    return members


def one_off(a, b):
    """One letter changed, left out or put in."""
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    a, b = a[same:], b[same:]
    return a != b and (a[1:] == b[1:] or a[1:] == b or a == b[1:])


def meant(name):
    """The attribute of ours that a name misspells, or None."""
    ours = [one for one in OURS if len(one) > 2]
    return next((one for one in ours if one.lower() == name.lower()), None) or next(
        (one for one in ours if one_off(name, one)), None)


# ---- from nodes and edges to records ----

class Reader:
    """Records of a graph that was parsed."""

    def __init__(self, parsed):
        self.parsed, self.nodes = parsed, list(parsed.nodes.values())
        self.full = any(node.values.get("kind") for node in self.nodes)
        self.foreign = sorted(name for name in parsed.declared - set(OURS) - DRAWING)
        self.missing = self.told = self.assumed = self.unknown = 0
        self.tensors, self.ops = {}, {}

    def bad(self, node, what, value=None):
        return Bad('node "%s": %s%s' % (node.name[:100], what, "" if value is None else ' "%s"' % value[:60]), node.line)

    def size(self, node, attribute):
        text = node.values.get(attribute)
        value = bytes_of(text) if text else None
        if text and (value is None or value > BYTES_MOST):
            raise self.bad(node, "not a size in bytes:", text)
        return value

    def word(self, node, attribute, words):
        text = node.values.get(attribute) or None
        if text and text not in words:
            raise self.bad(node, "unknown " + attribute, text)
        return text

    def more(self, node, record, line):
        """A record with the members of extra and foreign attributes behind its own."""
        extra = decoded(node.values.get("extra") or "")
        members = members_of(extra, record, node.line) if extra else {}
        text = "," + extra if extra.strip(" \t\r") else ""
        for name in self.foreign:
            value = node.values.get(name)
            if value and name not in RECORD_KEYS[record] and name not in members:
                text += ",%s:%s" % (encode(name), encode(str(value)))
        return encode({key: value for key, value in line.items() if value is not None})[:-1] + text + "}\n"

    def modules(self):
        """Clusters are modules: `subgraph cluster_encoder { subgraph cluster_0 {` is encoder.0."""
        def walk(group):
            for inner in group.groups:
                if inner.name and inner.name.startswith("cluster") and inner.nodes:
                    first = min(inner.nodes.values(), key=lambda node: node.order)
                    outer = first.module if group.around else None
                    name = inner.name[8 if inner.name[7:8] == "_" else 7:]
                    path = decoded((outer + "." if outer else "") + name)
                    for node in inner.nodes.values():
                        node.module = path
                walk(inner)
        walk(self.parsed.root)

    def tensor(self, node):
        values = node.values
        kind, size, dtype = self.word(node, "kind", KINDS), self.size(node, "bytes"), self.word(node, "dtype", BITS)
        shape = dims_of(values["dims"]) if values.get("dims") else None
        if values.get("dims") and shape is None:
            raise self.bad(node, "not a list of sizes:", values["dims"])
        if size is None and not values.get("alias_of"):
            bits = BITS[dtype or "opaque"]
            if shape is None or bits == 0:
                raise self.bad(node, "a tensor needs bytes=, or dims= and dtype=")
            for extent in shape:
                bits *= extent
                if bits > BYTES_MOST:
                    raise self.bad(node, "the size overflows")
        node.tensor = {"k": "tensor", "id": node.text, "bytes": size, "dtype": dtype, "shape": shape, "kind": kind}
        self.tensors[node.text] = node.tensor
        return node

    def op(self, node):
        values = node.values
        flops, label = values.get("flops"), "" if self.full else values.get("label") or ""
        kind = values.get("op") or ("" if "\\" in label or isinstance(label, Html) else label) or "op"
        if flops and number_of(flops) is None:
            raise self.bad(node, "not a number of operations:", flops)
        if self.full and values.get("bytes"):
            raise self.bad(node, "bytes= on an op: a tensor needs kind=")
        node.op = {"k": "op", "id": node.text, "op": decoded(kind), "phase": self.word(node, "phase", PHASES),
                   "mod": decoded(values["module"]) if values.get("module") else node.module, "in": [], "out": [],
                   "flops": number_of(flops) if flops else None, "workspace": self.size(node, "workspace"), "inplace": None,
                   "after": None}
        return node

    def label_size(self, node):
        """The size of a node without bytes= is what another tool's label says of it."""
        label = node.values.get("label")
        found = label_size(label, isinstance(label, Html)) if label else None
        if not found:
            self.missing += 1
            return 0
        size, assumed, unknown = found
        self.told, self.assumed, self.unknown = self.told + 1, self.assumed + assumed, self.unknown + unknown
        return size

    def result(self, node):
        """The one result of a teaching node, and what it keeps for itself."""
        kind = "gradient" if node.op["phase"] == "backward" else "activation"
        size, kept = self.size(node, "bytes"), self.size(node, "persistent")
        node.tensor = {"k": "tensor", "id": node.text, "bytes": self.label_size(node) if size is None else size, "kind": kind}
        node.op["out"].append(node.text)
        yield node.tensor
        if kept is not None:
            name = node.text[:500] + ".persistent"
            node.op["in"].append(name)
            yield {"k": "tensor", "id": name, "bytes": kept, "kind": "parameter"}

    def edge(self, source, target, values):
        control = (values.get("order") or "0") != "0"
        wrong = None
        if target.op is None:
            wrong = "from tensor to tensor: there must be an op between them, or alias_of=" if source.op is None else None
        elif control and source.op is None:
            wrong = "order=1 belongs between two ops"
        elif not control and source.tensor is None:
            wrong = "from op to op: there must be a tensor between them, or order=1 on the edge"
        if wrong:
            raise Bad('edge "%s" -> "%s": %s' % (source.name[:60], target.name[:60], wrong), source.line)
        if target.op is None:
            source.op["out"].append(target.text)
        elif control:
            target.op["after"] = (target.op["after"] or []) + [source.text]
        else:
            target.op["in"].append(source.text)

    def alias(self, node):
        text = node.values.get("alias_of")
        if text and decoded(text) not in self.tensors:
            raise self.bad(node, "alias_of: unknown tensor", text)
        node.tensor["alias"] = decoded(text) if text else None

    def inplace(self, node):
        """out:in,:in. Names may hold colons: the first split into two known names counts."""
        pairs = []
        for text in re.split(", *", (node.values.get("inplace") or "").rstrip(", ")):
            for found in re.finditer(":", text):
                out, into = decoded(text[:found.start()]), decoded(text[found.end():])
                if into in self.tensors and (out in self.tensors or not found.start()):
                    pairs.append([out if found.start() else None, into])
                    break
            else:
                if text:
                    raise self.bad(node, 'inplace must be "out:in" with names of tensors, not', text)
        node.op["inplace"] = pairs or None

    def intake(self):
        """What is said of the file: nodes without a size, and attributes that look like misspelled ones of ours."""
        def several(count, text):
            return text % (count, "" if count == 1 else "s")
        assumed = ["the attribute %s= means nothing here and is kept as it is: did you mean %s=?" % (name[:60], meant(name))
                   for name in self.foreign if meant(name)][:12]
        if self.assumed:
            assumed.append(several(self.assumed, "%d size%s in labels without a dtype count as float32"))
        if self.unknown:
            assumed.append(several(self.unknown, "None in the shapes of %d label%s counts as 1"))
        said = {"format": "DOT graph", "inferred": self.told, "missing": self.missing, "assumed": assumed,
                "advice": self.missing and 'give each node its size: NODE [bytes="4MiB"] (bytes=0 where it makes nothing)'}
        said = {key: value for key, value in said.items() if value}
        return said if len(said) > 1 else None

    def sorted_ops(self):
        """Ops by step=; those without one follow the op before them."""
        ops, step = [], 0
        for node in self.nodes:
            if self.full and node.values.get("kind"):
                continue
            text = node.values.get("step")
            if text and number_of(text) is None:
                raise self.bad(node, "not a step:", text)
            step = number_of(text) if text else step
            node.step = step
            ops.append(node)
        return sorted(ops, key=lambda node: node.step)

    def lines(self):
        values = self.parsed.root.defaults["graph"]
        extra = decoded(values.get("extra") or "")
        members_of(extra, "graph")
        for node in self.nodes:
            node.text = decoded(node.values.get("name") or node.name)
            if not node.text:
                raise self.bad(node, "the name is empty")
        self.modules()
        name, source = self.parsed.root.name, values.get("source")
        head = {"k": "graph", "v": 1, "name": decoded(name) if name and name[0] != "%" else None,
                "source": decoded(source) if source else None}
        tensors = [self.tensor(node) for node in self.nodes if self.full and node.values.get("kind")]
        ops = [self.op(node) for node in self.sorted_ops()]
        results = [] if self.full else [record for node in ops for record in self.result(node)]
        for edge in self.parsed.edges:
            self.edge(*edge)
        for node in tensors:
            self.alias(node)
        for node in ops:
            self.inplace(node)
        head["read"] = None if values.get("extra") else self.intake()
        yield encode({key: value for key, value in head.items() if value is not None})[:-1] + (
            "," + extra if extra.strip(" \t\r") else "") + "}\n"
        for node in tensors:
            yield self.more(node, "tensor", node.tensor)
        for record in results:
            yield encode(record) + "\n"
        for node in ops:
            yield self.more(node, "op", node.op)
        yield encode({"k": "end", "tensors": len(tensors) + len(results), "ops": len(ops)}) + "\n"


def read(stream, _options):
    """The graph of a file, in lines."""
    data = stream.read()
    nul = data.find(b"\0")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        if not 0 <= nul < fault.start:
            raise Bad("the text is not UTF-8 (iconv -f LATIN1 -t UTF-8 converts)", data.count(b"\n", 0, fault.start) + 1) from None
    if nul >= 0:
        raise Bad("the text contains a NUL byte", data.count(b"\n", 0, nul) + 1)
    parsed = Parser(text).read()
    if not parsed.directed:
        raise Bad("the edges have no direction: write digraph and ->")
    return Reader(parsed).lines()
