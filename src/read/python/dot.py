"""Graphs in DOT, of either dialect of tidemark(5), as libcgraph has parsed them: tidemark-dot --to json. Where a node has kind=,
nodes are tensors and ops; else every node is an op with one result, whose size other tools tell in its label.
"""
import json
import re

from draft import BITS, BYTES_MOST, DIMS_MOST, INT_MOST, Bad, encode, no_duplicates, real, strange, whole
from label_size import label_size

KINDS = ("input", "parameter", "buffer", "constant", "optimizer", "gradient", "activation", "temporary", "output")
PHASES = ("forward", "backward", "update", "communication")
OURS = ("kind", "bytes", "dims", "dtype", "alias_of", "name", "extra", "op", "phase", "module", "flops", "workspace",
        "step",
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


# ---- the graph as libcgraph parsed it ----

# What holds no names, strings, words.
TOKEN = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?P<string>(?:[^"\\]|\\.)*)"|(?P<word>[\w.]+)', re.S)


class Html(str):
    """A text in HTML."""
    __slots__ = ()


def texts(values):
    """Attributes by name, {"html": ...} as Html."""
    return {name: Html(value["html"]) if isinstance(value, dict) else value for name, value in values.items()}


class Node:
    """A node with its attributes, and what it becomes: an op, a tensor, or both. line: 0 if unknown."""
    __slots__ = ("name", "line", "values", "module", "op", "tensor", "step", "text")

    def __init__(self, name, values):
        self.name, self.line, self.values = name, 0, texts(values)
        self.module = self.op = self.tensor = None
        self.step = 0
        self.text = ""


class Parsed:
    """What tidemark-dot --to json says of a file: nodes in the order of their first mention, edges in the file's,
    groups as (name, number of the one around or -1, numbers of nodes)."""

    def __init__(self, data):
        said = json.loads(data)
        self.name, self.directed, self.values = said["name"], said["directed"], texts(said["attributes"])
        self.declared = set(said["declared"])
        self.nodes = [Node(*node) for node in said["nodes"]]
        self.edges = [(self.nodes[source], self.nodes[target], texts(values))
                      for _, source, target, values in sorted(said["edges"], key=lambda edge: edge[0])]
        self.groups = said["groups"]
        self.find_lines(said["text"])

    def find_lines(self, text):
        """libcgraph knows no lines: a node's is that of the first word or string that is its name."""
        nodes, line, counted = {node.name: node for node in self.nodes}, 1, 0
        for found in TOKEN.finditer(text):
            string, word = found.groups()
            node = nodes.get(word if string is None else string.replace('\\"', '"'))
            if node and not node.line:
                line += text.count("\n", counted, found.start())
                counted, node.line = found.start(), line


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
        self.parsed, self.nodes = parsed, parsed.nodes
        self.full = any(node.values.get("kind") for node in self.nodes)
        self.foreign = sorted(name for name in parsed.declared - set(OURS) - DRAWING)
        self.missing = self.told = self.assumed = self.unknown = 0
        self.tensors, self.ops = {}, {}

    def bad(self, node, what, value=None):
        return Bad('node "%s": %s%s' % (node.name[:100], what, "" if value is None else ' "%s"' % value[:60]),
                   node.line)

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
        for name, around, nodes in self.parsed.groups:
            if not (name or "").startswith("cluster") or not nodes:
                continue
            outer = self.nodes[nodes[0]].module if around >= 0 else None
            path = decoded((outer + "." if outer else "") + name[8 if name[7:8] == "_" else 7:])
            for node in nodes:
                self.nodes[node].module = path

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
                   "flops": number_of(flops) if flops else None, "workspace": self.size(node, "workspace"),
                   "inplace": None,
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
        node.tensor = {"k": "tensor", "id": node.text, "bytes": self.label_size(node) if size is None else size,
                       "kind": kind}
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
        assumed = [
            "the attribute %s= means nothing here and is kept as it is: did you mean %s=?" % (name[:60], meant(name))
                   for name in self.foreign if meant(name)][:12]
        if self.assumed:
            assumed.append(several(self.assumed, "%d size%s in labels without a dtype count as float32"))
        if self.unknown:
            assumed.append(several(self.unknown, "None in the shapes of %d label%s counts as 1"))
        said = {"format": "DOT graph", "inferred": self.told, "missing": self.missing, "assumed": assumed,
                "advice": self.missing
                and 'give each node its size: NODE [bytes="4MiB"] (bytes=0 where it makes nothing)'}
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

    @staticmethod
    def acyclic(ops):
        """A cycle is found here, where lines are known; the program finds those through aliases."""
        by_name = {node.text: node for node in ops}
        made = {name: node for node in ops for name in node.op["out"]}
        waits = {node: [other for other in [made.get(name) for name in node.op["in"]] +
                        [by_name.get(name) for name in node.op["after"] or []] if other and other is not node]
                        for node in ops}
        count = {node: len(before) for node, before in waits.items()}
        after, ready = {node: [] for node in ops}, [node for node in ops if not count[node]]
        for node, before in waits.items():
            for other in before:
                after[other].append(node)
        for node in ready:   # grows
            for other in after[node]:
                count[other] -= 1
                if not count[other]:
                    ready.append(other)
        path = [node for node in ops if count[node]][:1]
        while path and path[-1] not in path[:-1]:
            path.append(next(other for other in waits[path[-1]] if count[other]))
        if path:
            path = path[path.index(path[-1]):]
            names = ['"%s"' % node.text[:40] for node in path]
            raise Bad("a cycle of %d ops: %s" % (
                len(path) - 1, " waits for ".join(names[:8] + ["..."] * (len(names) > 9) + names[8:][-1:])),
                      path[0].line)

    def lines(self):
        values = self.parsed.values
        extra = decoded(values.get("extra") or "")
        members_of(extra, "graph")
        for node in self.nodes:
            node.text = decoded(node.values.get("name") or node.name)
            if not node.text:
                raise self.bad(node, "the name is empty")
        self.modules()
        name, source = self.parsed.name, values.get("source")
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
        self.acyclic(ops)
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
    """The graph of a file as tidemark-dot parsed it, in lines."""
    parsed = Parsed(stream.read())
    if not parsed.directed:
        raise Bad("the edges have no direction: write digraph and ->")
    return Reader(parsed).lines()
