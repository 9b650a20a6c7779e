"""The text of an HLO module: "HloModule name, ...", tables of source locations, then computations."""
import re

from draft import DIMS_MOST, Bad
from hlo_assignment import beside
from hlo_graph import graph
from hlo_groups import groups, numbers
from hlo_module import DEPTH_MOST, DEVICES_MOST, DTYPES, NUMBER_MOST, Computation, Instruction, Module, Shape
from hlo_sources import TABLES, Sources

C = r"A-Za-z0-9_.\-$%:"   # the characters of a name
NAME_CHARACTERS = "".join(chr(c) for c in range(33, 127) if re.match(f"[{C}]", chr(c)))
BLANK = r"[ \t\r\n]*"
SKIP = rf"{BLANK}(?:(?://[^\n]*(?=\n|\Z)|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)){BLANK})*"   # white space and comments
skip = re.compile(SKIP).match
word = re.compile(rf"{SKIP}%?([{C}]*)").match
named = re.compile(rf"{SKIP}(%?ROOT(?![{C}]){SKIP})?%?([{C}]+){SKIP}={SKIP}").match
array = re.compile(r"([a-z0-9]+)\[([0-9,]*)\](?:\{([^{}\"\n]*)\})?").match
opcode_of = re.compile(rf"{SKIP}%?([{C}]+){SKIP}\(").match
operands_of = re.compile(r"([^()\[\]{}\"\n]*)\)").match
attribute = re.compile(rf"{SKIP},{SKIP}%?([{C}]*){SKIP}(?:(=){SKIP}([^{{}}\[\](),\"\n]*))?").match
break_of = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\Z)|[{}\[\](),\n]', re.DOTALL).finditer
comments = re.compile(r"/\*.*?\*/", re.DOTALL)
row = re.compile(r"([0-9]+) ?([^\n]*)").match
alias = re.compile(r"\{([^}]*)\}[^(]*\(([^,]*),[^{]*\{([^}]*)\}").finditer
OP_NAME, FILE = (re.compile(rf'{key}="((?:[^"\\]|\\.)*)', re.DOTALL).search for key in ("op_name", "source_file"))
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
TRIPS = re.compile(r'known_trip_count":\{"n":"([0-9]{1,18})"').search
TILES = re.compile(r"devices=\[([^\]]*)").search
CALLS = ("calls", "to_apply", "called_computations", "branch_computations", "true_computation", "false_computation")


def number_behind(text, key):
    """The number that a table's row or metadata has behind a key; 0 without one."""
    found = re.search(key + r"([0-9]{1,9})(?=[ }]|$)", text)
    return int(found[1]) if found else 0


def plain(text):
    """A C string's escapes undone."""
    return ESCAPED.sub(r"\1", text) if "\\" in text else text


def whole(digits):
    """A number of 63 bits, else None."""
    return int(digits) if digits.isdecimal() and len(digits) < 20 and int(digits) < 1 << 63 else None


def aliases_of(value):
    """{ {0}: (0, {}, may-alias), {1}: (1, {}) }; of nested tuples, with a path of two numbers, no alias is told."""
    found = [[whole(part or "0") for part in one.groups()] for one in alias(value, 1)]
    return [(output, parameter, leaf) for output, parameter, leaf in found if None not in (output, parameter, leaf)]


def table_row(title, text):
    """A row of a table of source locations."""
    if title == "FileLocations":
        return [number_behind(text, key) for key in ("file_name_id=", "function_name_id=", " line=")]
    if title == "StackFrames":
        return [number_behind(text, key) for key in ("file_location_id=", "parent_frame_id=")]
    return text[1:-1] if len(text) >= 2 and text[0] == '"' else text


class Text:
    """A text on its way to a module; at: how far it is read."""

    def __init__(self, text):
        self.text, self.at, self.module = text, 0, Module()
        self.shapes, self.metadata, self.sources = {}, {}, Sources()
        self.ids, self.calls = {}, []   # computations by name; calls: instruction, which, name, where
        self.counted = self.line = 0    # lines up to there
        self.handlers = {"metadata": self.take_metadata, "backend_config": self.take_config, "index": self.take_index,
                         "replica_groups": self.take_groups, "source_target_pairs": self.take_groups,
                         "sharding": self.take_sharding, "custom_call_target": self.take_target,
                         "lhs_contracting_dims": lambda one, _, value: setattr(one, "contracting", value[1:-1]),
                         "dim_labels": lambda one, _, value: setattr(one, "labels", value),
                         "output_to_operand_aliasing": lambda one, _, value: setattr(one, "aliases", aliases_of(value)),
                         "body": self.take_calls, "condition": self.take_calls, **dict.fromkeys(CALLS, self.take_calls)}

    def bad(self, text, at=None):
        return Bad(text, self.text.count("\n", 0, self.at if at is None else at) + 1)

    def skip(self):
        """Passes over blanks and comments."""
        self.at = skip(self.text, self.at).end()

    def take(self, mark):
        """Behind blanks, that mark or nothing."""
        self.skip()
        found = self.text.startswith(mark, self.at)
        self.at += len(mark) if found else 0
        return found

    def line_end(self):
        end = self.text.find("\n", self.at)
        return end if end >= 0 else len(self.text)

    def word(self):
        found = word(self.text, self.at)
        self.at = found.end()
        return found[1]

    def balanced(self, at=None):
        """What comes before the next comma, line end or closing bracket that no bracket or quotes enclose."""
        start, depth = self.at, 0
        for found in break_of(self.text, start if at is None else at):
            mark = found[0]
            if mark in "{[(":
                depth += 1
            elif mark in "}])":
                depth -= 1
                if depth < 0:
                    break
            elif depth == 0 and mark in ",\n":
                break
        else:
            self.at = len(self.text)
            return self.text[start:]
        self.at = found.start()
        return self.text[start:self.at]

    # ---- shapes ----

    def shape(self, depth=0):
        """An array's or tuple's shape with its layout."""
        found = array(self.text, self.at)
        known = self.shapes.get(found[0]) if found else None
        if known and not self.text.startswith("{", found.end()):
            self.at = found.end()
            return known
        if depth > DEPTH_MOST:
            raise self.bad(f"tuples are nested more than {DEPTH_MOST} deep")
        start = self.at
        try:
            if self.take("("):
                return Shape("opaque", parts=self.parts(depth))
            start = self.at
            shape = self.array()
        except Bad as bad:
            raise bad if bad.line else self.bad(bad.text)
        self.shapes[self.text[start:self.at]] = shape
        return shape

    def parts(self, depth):
        """The shapes in a tuple."""
        parts = []
        while not self.take(")"):
            if parts and not self.take(","):
                raise self.bad("a comma or ) was expected in a tuple's shape")
            self.skip()
            parts.append(self.shape(depth + 1))
        return parts

    def array(self):
        """An array's shape."""
        name = self.word()
        if name not in DTYPES:
            raise self.bad(f'unknown type "{name[:40]}"')
        dims, unsized, layout = [], False, ""
        if self.take("["):
            end = self.text.find("]", self.at)
            for dim in self.text[self.at:end].split(","):
                dim = dim.strip(" \t\r\n<=")   # a bound of a dynamic dim: <=128
                if dim.endswith("?"):
                    unsized = True
                elif dim and whole(dim) is None or end < 0:
                    raise self.bad("a shape's dim was expected")
                elif dim:
                    dims.append(whole(dim))
            self.at = end + 1
        if len(dims) > DIMS_MOST:
            raise self.bad(f"a shape of more than {DIMS_MOST} dims")
        if self.text.startswith("{", self.at):
            layout = self.layout()
        return Shape(DTYPES[name], dims, layout, [] if name == "token" else None, unsized)

    def layout(self):
        """A layout in its brackets."""
        start = self.at + 1
        while self.text.startswith(("{", ","), self.at):
            self.at += 1
            self.balanced()
        if not self.text.startswith("}", self.at):
            raise self.bad("a layout has no end")
        self.at += 1
        return self.text[start:self.at - 1]

    # ---- attributes ----

    def attribute(self):
        """Key, place and value of ", key=value", on the same line or the next; None behind the last. A key without a
        value is passed over."""
        found = attribute(self.text, self.at)
        while found and not found[2]:
            self.at = found.end()
            found = attribute(self.text, self.at)
        if not found:
            return None
        key, _, value = found.groups()
        at, self.at = found.start(3), found.end()
        if self.text[self.at:self.at + 1] in ("{", "[", "(", '"'):
            self.at, end = at, self.at
            value = self.balanced(end)
        return key, at, value

    def take_metadata(self, instruction, _, value):
        if value not in self.metadata:
            name, file, frame = OP_NAME(value), FILE(value), number_behind(value, "stack_frame_id=")
            src = self.sources.frame(frame) if frame else ""
            if file and file[1] and not frame:
                src = f"{plain(file[1])[:700]}:{number_behind(value, 'source_line=')}"
            self.metadata[value] = plain(name[1]) if name else "", src
        instruction.op_name, instruction.src = self.metadata[value]

    def take_calls(self, instruction, key, value):
        """The name of a computation, or a list of them in braces."""
        names = [name.lstrip("%") for name in re.split(r"[ ,\n]+", value[1:-1] if value[:1] == "{" else value) if name]
        slot = {"body": 0, "condition": 1}.get(key, len(instruction.calls))
        instruction.calls = list(instruction.calls)
        for number, name in enumerate(names, slot):
            if not name or name.strip(NAME_CHARACTERS):
                raise self.bad("the name of a computation was expected")
            instruction.calls += [None] * (number + 1 - len(instruction.calls))
            self.calls.append((instruction, number, name, self.at))

    def take_index(self, instruction, _, value):
        index = whole(value)
        if index is None or index >= NUMBER_MOST:
            raise self.bad(f'the index of "{instruction.name[:60]}" is not the number of a part')
        instruction.index = index

    def take_groups(self, instruction, key, value):
        mesh = value.startswith("mesh[")
        size, devices = groups(value, value + self.text[self.at:self.line_end()] if mesh else value)
        instruction.group = size if key == "replica_groups" else 2 if devices else 0
        self.module.add_devices(devices)

    def take_sharding(self, instruction, _, value):
        """{devices=[4,1]<=[4]}, also as the first of a tuple's."""
        tiles, devices = TILES(value), 1
        for tile in numbers(tiles[1]) if tiles and tiles[1] else (0,):
            devices = devices * tile if devices * tile < NUMBER_MOST else 0
        instruction.shards = devices
        self.module.add_devices(devices)

    def take_target(self, _, __, value):
        self.module.add_call(value[1:-1])

    def take_config(self, instruction, _, value):
        trips = TRIPS(value)
        instruction.trips = int(trips[1]) if trips else instruction.trips

    # ---- instructions ----

    def operands(self, instruction, names):
        """The places of what it reads, or the number of a parameter."""
        found = operands_of(self.text, self.at)
        literal = instruction.opcode in ("constant", "parameter")
        if found and not literal:
            inner = comments.sub("", found[1]) if "/" in found[1] else found[1]
            try:
                instruction.operands = [names[name] for name in inner.split(", ")] if inner else []
                self.at = found.end()
                return
            except KeyError:   # written in another way
                pass
        instruction.operands = []
        while True:
            self.skip()
            piece = self.balanced().rstrip(" \r\n\t")
            name = piece[len(piece.rstrip(NAME_CHARACTERS)):].removeprefix("%")
            if literal:
                index = whole(name) if instruction.opcode == "parameter" else 0
                if index is None or index >= NUMBER_MOST - 1:
                    raise self.bad("a parameter's number was expected")
                instruction.index = index
            elif name and name not in names:
                raise self.bad(f'operand "{name[:60]}" of "{instruction.name[:60]}" is not known before it')
            elif name:
                instruction.operands.append(names[name])
            if not self.take(","):
                break
        if not self.take(")"):
            raise self.bad(f'a ) was expected after the operands of "{instruction.name[:60]}"')

    def instruction(self, found, names):
        """The instruction that such a match begins."""
        name, at = found[2], found.start(2)
        self.line, self.counted = self.line + self.text.count("\n", self.counted, at), at
        self.at = found.end()
        shape = self.shape()
        opcode = opcode_of(self.text, self.at)
        if not opcode:
            raise self.bad(f'the opcode of "{name[:60]}" was expected')
        instruction = Instruction(name, opcode[1], shape, self.line + 1)
        self.at = opcode.end()
        self.operands(instruction, names)
        for key, at, value in iter(self.attribute, None):
            handler = self.handlers.get(key)
            if handler:
                handler(instruction, key, value)
        if name in names:
            raise self.bad(f'there are two instructions named "{name[:60]}"')
        return instruction

    def signature(self, name):
        """"(a: f32[]) -> f32[] {", or just "{": it says nothing new."""
        if self.take("("):
            self.skip()
            self.balanced()
            while self.take(","):
                self.skip()
                self.balanced()
            if not self.take(")"):
                raise self.bad(f'the parameters of computation "{name[:60]}" have no end')
        if self.take("->"):
            self.skip()
            self.shape()
        if not self.take("{"):
            raise self.bad(f'computation "{name[:60]}" has no body')

    def computation(self):
        """"%name (a: f32[]) -> f32[] {", "ENTRY %name {", then instructions and "}"."""
        start, name = self.at, self.word()
        entry = name == "ENTRY"
        name = self.word() if entry else name
        if not name:
            raise self.bad("a computation was expected")
        self.signature(name)
        instructions, names, root = [], {}, None
        for found in iter(lambda: named(self.text, self.at), None):
            instruction = self.instruction(found, names)
            root = len(instructions) if found[1] else root
            names[instruction.name] = names["%" + instruction.name] = len(instructions)
            instructions.append(instruction)
        if not self.take("}"):
            raise self.bad(f'the file is truncated in computation "{name[:60]}"' if self.at >= len(self.text)
                           else "an instruction was expected: NAME = SHAPE OPCODE(...)")
        if self.take(","):   # ", execution_thread=..."
            self.at = self.line_end()
        if not instructions:
            raise self.bad(f'computation "{name[:60]}" is empty')
        if name in self.ids:
            raise self.bad(f'there are two computations named "{name[:60]}"', start)
        self.ids[name] = len(self.module.computations)
        self.module.entry = self.ids[name] if entry else self.module.entry
        root = len(instructions) - 1 if root is None else root
        self.module.computations.append(Computation(name, instructions, root))

    # ---- the module ----

    def header(self):
        """"HloModule name, key=value, ..."."""
        self.word()
        self.module.name = self.word()
        if not self.module.name:
            raise self.bad("the module's name was expected")
        sizes = {"num_partitions": 1, "replica_count": 1}
        most = {"num_partitions": DEVICES_MOST, "replica_count": 1 << 10}
        for key, _, value in iter(self.attribute, None):
            if key == "is_scheduled":
                self.module.scheduled = value == "true"
            elif key == "input_output_alias":
                self.module.aliases = aliases_of(value)
            elif key in sizes and 0 < (whole(value) or 0) < most[key]:
                sizes[key] = whole(value)
        self.module.devices = sizes["num_partitions"] * sizes["replica_count"]

    def table(self):
        """A table of source locations, whose rows are numbered from 1; False where none begins here."""
        title = next((title for title in TABLES if self.text.startswith(title + "\n", self.at)), None)
        if not title:
            return False
        self.at = skip(self.text, self.at + len(title)).end()
        rows = self.sources.tables[title]
        for found in iter(lambda: row(self.text, self.at), None):
            if found[1] != str(len(rows) + 1):
                break
            rows.append(table_row(title, found[2]))
            self.at = skip(self.text, found.end()).end()
        return True

    def resolve(self):
        """Names of computations become their places."""
        for instruction, number, name, at in self.calls:
            if name not in self.ids:
                raise self.bad(f'unknown computation "{name[:60]}"', at)
            instruction.calls[number] = self.ids[name]

    def read(self):
        """The module."""
        if "\0" in self.text:
            raise self.bad("the text contains a NUL byte", self.text.index("\0"))
        if self.take("HloModule"):
            self.at -= len("HloModule")
            self.header()
        self.skip()
        while self.table():
            pass
        while self.at < len(self.text):
            if self.text.startswith("HloModule ", self.at):
                raise self.bad("a second module begins: split the file, one module in each")
            self.computation()
            self.skip()
        if not self.module.computations:
            raise self.bad("the module has no computation")
        if self.module.entry is None:
            self.module.entry = len(self.module.computations) - 1
        self.resolve()
        return self.module


def read(stream, options):
    """The graph of a module, with what XLA says beside it."""
    module = Text(stream.read().decode("utf-8", "replace")).read()
    if options.path:
        beside(options.path, module)
    return graph(module, options, "XLA HLO text")
