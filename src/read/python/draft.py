"""What readers share: options, the records of a graph in the native format, dtypes, placements, JSON."""
import json
import mmap
from functools import partial

DIMS_MOST = 16
MESH_AXES = 4
BITS_MOST = BYTES_MOST = 1 << 60
INT_MOST = (1 << 63) - 1

BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16, "f8e4m3": 8, "f8e5m2": 8, "i64": 64, "i32": 32, "i16": 16, "i8": 8,
        "i4": 4, "u64": 64, "u32": 32, "u16": 16, "u8": 8, "u4": 4, "bool": 8, "c64": 64, "c128": 128, "opaque": 0}

encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Bad(Exception):
    """What is wrong with a file, in words for people. line 0: no line of it."""

    def __init__(self, text, line=0):
        super().__init__(text)
        self.text, self.line = text, line


class Options:
    """What tidemark says of how to read: --types=..., --graph=N, --device=N, --dim=NAME=SIZE, --fusions=open, and where
    the bytes are from: --path=PATH, --folder=PATH."""

    def __init__(self, words):
        self.graph, self.device, self.dims, self.fusions, types = 0, None, [], "", ""
        self.folder = self.path = None
        for word in words:
            key, _, value = word.partition("=")
            if key == "--graph":
                self.graph = int(value)
            elif key == "--device":
                self.device = int(value)
            elif key == "--dim":
                self.dims.append(value)
            elif key in ("--folder", "--path", "--fusions"):
                setattr(self, key[2:], value)
            elif key == "--types":
                types = value
        self.rules = Rules(types)


class Rules:
    """What the program's rules say of types of ops, "aten.view:v,aten.convolution:c,...": v of one that only views its
    operand, c of a convolution, r of one that fills memory of its operand's size."""

    def __init__(self, text):
        self.marks = dict(word.split(":") for word in text.split(",") if word)
        self.found = {}

    def find(self, kind):
        """The marks of an op type, None without a rule: as it is, without overload, without the mark of in-place
        ops."""
        if kind not in self.found:
            first, names = kind, [kind]
            parts = kind.split(".", 2)
            if len(parts) == 3:
                first = parts[0] + "." + parts[1]
                names.append(first)
            if len(first) > 1 and first.endswith("_"):
                names.append(first[:-1])
            known = [self.marks[name] for name in names if name in self.marks]
            self.found[kind] = known[0] if known and len(kind) < 128 else None
        return self.found[kind]

    def is_view(self, kind):
        return "v" in (self.find(kind) or "")


class Draft:
    """Ops and tensors by name, in the order in which they were added."""

    def __init__(self):
        self.tensors, self.ops = {}, {}

    def tensor(self, name, size, kind, **more):
        """A new tensor; members that are None stay out. Returns its name."""
        record = {"k": "tensor", "id": name, "bytes": size, "kind": kind}
        record.update((key, value) for key, value in more.items() if value is not None)
        self.tensors[name] = record
        return name

    def op(self, name, kind, **more):
        """A new op, which reads and writes nothing yet. Returns its record."""
        record = {"k": "op", "id": name, "op": kind, "in": [], "out": []}
        record.update((key, value) for key, value in more.items() if value is not None)
        self.ops[name] = record
        return record

    def records(self, name, intake, mesh=None, **more):
        """The lines of the graph. intake: what tidemark's `read` has; mesh: sizes by the names of axes; more: further
        members."""
        head = {"k": "graph", "v": 1, "name": name, **more}
        if mesh:
            head.update(mesh=mesh, rank=0)
        head["read"] = {key: value for key, value in intake.items() if value or key == "assumed"}
        yield encode(head) + "\n"
        for record in self.tensors.values():
            yield encode(record) + "\n"
        for record in self.ops.values():
            yield encode(record) + "\n"
        yield encode({"k": "end", "tensors": len(self.tensors), "ops": len(self.ops)}) + "\n"


def unique(name, taken, stem=None):
    """A name that isn't taken: its stem with '2, '3, ... behind it, which is found by halves."""
    if name not in taken:
        return name
    stem, most, unused = name if stem is None else stem, 1, 2
    while f"{stem}'{unused}" in taken:
        most, unused = unused, 2 * unused
    while unused - most > 1:
        middle = (most + unused) // 2
        most, unused = (middle, unused) if f"{stem}'{middle}" in taken else (most, middle)
    return f"{stem}'{unused}"


def content(stream):
    """All of a stream. A file is mapped: of weights no page is read."""
    try:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):   # no file
        return memoryview(stream.read())


def size_text(size):
    """Bytes as the program writes them: 2.00 GiB, 15.9 GiB, 168 MiB."""
    unit, value = 0, float(size)
    while value >= 1024 and unit < 5:
        unit, value = unit + 1, value / 1024
    digits = 0 if not unit or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} " + ("B", "KiB", "MiB", "GiB", "TiB", "PiB")[unit]


# ---- placements ----

def place_text(place):
    """A place on an axis as native graphs have it. place: "R", "P" or (dim, blocks)."""
    if isinstance(place, str):
        return place
    return "S(%d)" % place[0] if place[1] <= 1 else "S(%d:%d)" % place


def places_text(places):
    """The same of all axes; None without any."""
    return [place_text(place) for place in places] if places else None


def place_move(before, after):
    """The type of the op that turns one place into another; None where each device cuts its own piece, or nothing
    changes."""
    if before == after:
        return None
    if before == "P":
        return "comm.all_reduce" if after == "R" else "comm.reduce_scatter"
    if before == "R" or after == "P":
        return None
    return "comm.all_gather" if after == "R" else "comm.all_to_all"


def leading_int(text):
    """The whole number that a text begins with, and what follows it: 0 and all of it without one."""
    rest = text.lstrip(" ")
    end = 1 if rest[:1] in ("-", "+") else 0
    while end < len(rest) and rest[end] in "0123456789":
        end += 1
    digits = rest[:end]
    return (max(-INT_MOST, min(INT_MOST, int(digits[:25]))), rest[end:]) if digits not in ("", "-", "+") else (0, text)


def read_places(text, most):
    """"S(0)RP(sum)", a word for each axis, at most so many, up to what is no such word: a list of places. "_S(1, 4)"
    is cut in blocks; of "S(1)[0]" the order of several cuts of a dim is left out."""
    places = []
    while text and len(places) < most:
        text = text[1:] if text[0] == "_" else text
        letter = text[:1]
        if letter not in ("R", "P", "S") or (letter == "S" and text[1:2] != "("):
            break
        dim, rest = leading_int(text[2:]) if text[1:2] == "(" else (0, text[1:])
        if letter == "S" and not 0 <= dim < DIMS_MOST:
            break
        blocks = leading_int(rest[1:])[0] if letter == "S" and rest[:1] == "," else 1
        places.append((dim, max(1, blocks)) if letter == "S" else letter)
        text = behind(behind(text[1:], "(", ")"), "[", "]")
    return places


def behind(text, opens, closes):
    """What follows a bracket at the beginning of a text, and all of it without one."""
    return text.partition(closes)[2] if text.startswith(opens) else text


# ---- JSON ----

def no_duplicates(pairs):
    """An object, whose keys differ."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Bad("not JSON: a key is there twice")
    return members


def whole(digits, most=INT_MOST):
    """A whole number of 64 bits."""
    number = int(digits) if len(digits) < 25 else most + 1
    if not -INT_MOST - 1 <= number <= most:
        raise Bad("not JSON: a number is too large")
    return number


def real(digits):
    """Another number, which is finite."""
    if float(digits) in (float("inf"), float("-inf")):
        raise Bad("not JSON: a number is too large")
    return float(digits)


def strange(_word):
    """NaN and Infinity, which JSON doesn't have."""
    raise Bad("not JSON: a value, a comma or a bracket is missing or wrong")


def read_json(stream, numbers=strange, most=INT_MOST):
    """The value that a stream holds; Bad with the line where it isn't JSON. numbers: what NaN and Infinity are; most: the
    largest whole number."""
    data = stream.read()
    try:
        text = data.decode("utf-8-sig")
        if "\\u0000" in text:   # a native graph has none either
            raise Bad("not JSON: a text in it has a NUL", text.count("\n", 0, text.index("\\u0000")) + 1)
        return json.loads(
            text, object_pairs_hook=no_duplicates, parse_int=partial(whole, most=most), parse_float=real,
            parse_constant=numbers)
    except UnicodeDecodeError as fault:
        raise Bad("not JSON: it has bytes that are not UTF-8", data.count(b"\n", 0, fault.start) + 1) from None
    except json.JSONDecodeError as fault:
        what = ("there is more behind its end" if fault.msg == "Extra data" else
                "it ends too early" if not fault.doc[fault.pos:].strip() or fault.msg.startswith("Unterminated") else
                "a value, a comma or a bracket is missing or wrong")
        raise Bad("not JSON: " + what, fault.lineno) from None
    except RecursionError:
        raise Bad("not JSON: it is nested too deeply") from None


def member(value, key):
    """A member of what may be no object."""
    return value.get(key) if isinstance(value, dict) else None


def text_member(value, key):
    """A member that is a text, else None."""
    found = member(value, key)
    return found if isinstance(found, str) else None


def items(value):
    """The items of what may be no list."""
    return value if isinstance(value, list) else []


def integer(value):
    """Whether it is a whole number; JSON's true isn't."""
    return isinstance(value, int) and not isinstance(value, bool)
