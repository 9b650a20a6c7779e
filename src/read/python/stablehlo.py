"""StableHLO as MLIR text, as jax.jit(f).lower(...).as_text() and jax.export write it: the module of HLO that XLA makes
of it before it optimizes. With as_text(debug_info=True) it says where ops come from. One op a line; values that a loop
or a branch takes from around it become parts of its parameter."""
import re

from draft import Bad
from hlo_graph import COLLECTIVES, graph
from hlo_module import DTYPES, DEPTH_MOST, Computation, Instruction, Module, Shape

VALUE = r"%[\w$.\-]+(?:#\d+)?"
TYPE = r"tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>|![\w.]+(?:<[^<>]*>)?"
types, values = re.compile(TYPE).findall, re.compile(VALUE).findall
named_types = re.compile(rf"(%[\w$.\-]+): ({TYPE})").finditer
pairs = re.compile(rf"({VALUE}) = ({VALUE})").findall
op_of = re.compile(r'(?:(%[\w$.\-:, %]+) = )?"?([a-z]\w*(?:\.\w+)*)"?(.*)', re.DOTALL).match
tensor = re.compile(r"tensor<((?:[0-9?]+x)*)([^,<>]+(?:<[^<>]*>)?)").match
function = re.compile(r"func\.func (?:public |private )?@([\w$.\-]+|\"[^\"]*\")\(").match
located = re.compile(r" loc\(#?(\w*)\)$").search
location = re.compile(r'#(loc\d*) = loc\((?:"((?:[^"\\]|\\.)*)")?(.*)\)').match
INITS = re.compile(rf"({VALUE}) init: ({VALUE})").findall
CALLED = re.compile(r"@([\w$.\-]+|\"[^\"]*\")").search
CONTRACTED = re.compile(r"contracting_dim(?:ension)?s = \[([0-9, ]*)\]").search
KERNEL = re.compile(r"\]x\[([^\]]*)\]->").search
GROUPS = re.compile(r"replica_groups = .*? : tensor<(\d{1,9})x(\d{1,9})xi64>").search
IN_PLACE = re.compile(r"output_tuple_indices = \[(\d{0,9})\], operand_index = (\d{1,9})").findall
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
DIALECTS = "stablehlo", "chlo", "mhlo", "func", "sdy", "call", "return"
OPCODES = {"dot-general": "dot", "broadcast-in-dim": "broadcast", "case": "conditional", "if": "conditional",
           "square": "multiply", "create-token": "after-all", "sharding-constraint": "custom-call"}
RESULTS_MOST = 100000   # of an op
# What isn't left out where nobody reads it, nor taken for the same where it stands twice.
EFFECTS = ("custom-call", "after-all", "infeed", "outfeed", "send", "recv", "rng", "rng-bit-generator", "call",
           "parameter", *COLLECTIVES)
BODIES = "while", "conditional"   # ops whose regions are computations; of others they say what is done to two elements


def results_of(text):
    """ "%1:2" has the results %1#0 and %1#1."""
    found = []
    for name in text.split(", ") if text else ():
        name, many, count = name.partition(":")
        many = range(min(int(count), RESULTS_MOST)) if many and count.isdigit() else ()
        found += [f"{name}#{part}" for part in many] or [name]
    return found


def operands_of(opcode, text):
    """The values that an op takes, in their order."""
    if opcode == "while":
        return [value for _, value in pairs(text.partition(" : ")[0])]
    inits = INITS(text) if opcode == "reduce" else ()   # (%a init: %b), (%c init: %d)
    return [value for column in zip(*inits) for value in column] or values(text)


class Region:
    """The instructions of a function, a branch, or a loop's body or condition. names: places by value; outer: the
    region around it; captured: parts of its parameter by value, the first of which are given."""

    def __init__(self, outer=None, captured=None, given=()):
        self.instructions, self.names, self.root, self.made = [], {}, None, {}
        self.outer, self.captured, self.given, self.line = outer, captured, given, 0
        if outer:
            self.add("parameter", None)

    def add(self, opcode, shape, operands=(), name=None):
        self.instructions.append(Instruction(name or opcode, opcode, shape, self.line))
        self.instructions[-1].operands = operands
        return len(self.instructions) - 1

    def shape(self, value):
        return self.instructions[self.place(value)].shape

    def place(self, value):
        """Where a value is made, or comes in."""
        if value not in self.names:
            if not self.outer:
                raise Bad(f"{value[:60]} is not known before it", self.line)
            part = self.captured.setdefault(value, len(self.captured))
            shape = self.given[part] if part < len(self.given) else self.outer.shape(value)
            self.names[value] = self.add("get-tuple-element", shape, [0])
            self.instructions[self.names[value]].index = part
        return self.names[value]

    def tuple(self, places):
        return self.add("tuple", Shape("opaque", parts=[self.instructions[place].shape for place in places]), places)

    def give(self, operands):
        """What it returns; of a loop's body with all that comes in."""
        if self.given and len(operands) == len(self.given):
            operands = operands + list(self.captured)[len(self.given):]
        places = [self.place(value) for value in operands]
        self.root = places[0] if len(places) == 1 and not self.given else self.tuple(places)


class Text:
    """Lines on their way to a module; at: the next one."""

    def __init__(self, text):
        self.lines, self.at, self.module, self.called = text.split("\n"), 0, Module(), []
        self.shapes, self.functions, self.places = {}, {}, {}
        self.locations = {found[1]: (found[2] or "", found[3]) for found in map(location, self.lines) if found}

    def bad(self, text):
        return Bad(text, self.at)

    def shape(self, text):
        if text not in self.shapes:
            self.shapes[text] = self.new_shape(text)
        return self.shapes[text]

    def new_shape(self, text):
        found = tensor(text)
        if not found:
            return Shape("opaque", parts=[])   # a token
        name = found[2].lower()
        name = {"i1": "pred", "complex<f32>": "c64", "complex<f64>": "c128"}.get(name, name)
        name = re.sub("^s?i(?=[0-9])", "s", name).replace("ui", "u", 1)
        if "?" in found[1]:
            raise self.bad(f"{text[:60]} has a dim without a size: export it at the sizes that it runs with")
        if name not in DTYPES:
            raise self.bad(f'unknown type "{found[2][:40]}"')
        try:
            return Shape(DTYPES[name], [int(dim[:20]) for dim in found[1].split("x")[:-1]])
        except Bad as bad:
            raise self.bad(bad.text) from None

    # ---- places in the source ----

    def source(self, name):
        """op_name and place in the program's source of a location; of a stack of frames the innermost that is not in an
        installed package."""
        if name in self.places:
            return self.places[name]
        op_name, rest = self.locations.get(name, ("", ""))
        stack, src, frame = re.findall(r"#(loc\d*)", rest)[::-1], "", ""
        for _ in range(200):
            if not stack:
                break
            text, rest = self.locations.get(stack.pop(), ("", ""))
            line = re.match(r":(\d+):", rest)
            if line and (not src or "-packages/" in src):
                src = f"{text[:700]}:{line[1]}" + (f" in {frame[:300]}" if frame else "")
            frame = "" if line else text
            stack += re.findall(r"#(loc\d*)", rest)[::-1]
        self.places[name] = ("" if rest.startswith(":") and op_name == "" else op_name), src
        return self.places[name]

    # ---- ops ----

    def line(self):
        """The next line, without its location; None behind the last."""
        while self.at < len(self.lines):
            self.at += 1
            line = self.lines[self.at - 1].strip()
            found = located(line)
            self.where = found[1] if found else ""
            line = line[:found.start()] if found else line
            if line and not line.startswith(("//", "#", "^bb")):
                return line
        return None

    def block(self, region, depth):
        """The ops up to the bracket that ends them, which is returned with what follows it."""
        if depth > DEPTH_MOST:
            raise self.bad(f"regions are nested more than {DEPTH_MOST} deep")
        for line in iter(self.line, None):
            if line.startswith("}"):
                return line
            self.op(region, line, depth)
        raise self.bad("the text is truncated")

    def regions(self, region, line, opcode, depth):
        """The regions behind an op's line, and what follows the last of them."""
        found = []
        if opcode == "while":
            given = [self.shape(text) for text in types(line.partition(" attributes ")[0].rpartition(" : ")[2])]
            captured = {value: part for part, (value, _) in enumerate(pairs(line.partition(" : ")[0]))}
            if self.line() != "cond {":
                raise self.bad("the condition of a loop was expected")
            for _ in range(2):
                found.append(Region(region, captured, given))
                line = self.block(found[-1], depth + 1)
            return found, line
        if line.endswith("({"):
            while line.endswith("{"):   # "}, {"
                found.append(Region(region, {}))
                self.arguments(found[-1])
                line = self.block(found[-1], depth + 1)
        elif self.at < len(self.lines) and self.lines[self.at].strip().startswith("reducer("):
            found.append(Region(region, {}))
            self.arguments(found[-1], self.line())
            self.block(found[-1], depth + 1)
        return found, line

    def arguments(self, region, line=None):
        """What a region is given by name: "^bb0(%arg2: tensor<f32>):" may be its first line."""
        line = self.lines[self.at].strip() if line is None and self.at < len(self.lines) else line or ""
        for found in named_types(line) if line.startswith(("^bb", "reducer(")) else ():
            region.names[found[1]] = region.add("parameter", self.shape(found[2]))

    def op(self, region, line, depth):
        """One op, over one line or, with regions, several."""
        region.line, found = self.at, op_of(line)
        dialect, _, kind = found[2].partition(".") if found else ("", "", "")
        if dialect not in DIALECTS:
            raise self.bad("an op of StableHLO was expected")
        kind, results, rest = (kind or dialect).replace("_", "-"), results_of(found[1] or ""), found[3]
        if kind == "manual-computation":
            self.manual(region, results, rest, depth)
            return
        opcode, where = OPCODES.get(kind, kind), self.where
        inside, end = self.regions(region, line, opcode, depth)
        where = self.where if inside and self.where else where
        operands = operands_of(opcode, QUOTED.sub("", rest))
        if kind == "return":
            region.give(operands)
            return
        kinds = end if end is not line and end.startswith("})") else rest.partition(" attributes ")[0]
        shapes = [self.shape(text) for text in types(kinds.rpartition(" : ")[2].rpartition("->")[2])]
        if len(shapes) < len(results):
            raise self.bad(f"the types of {found[1][:60]} were expected")
        key = opcode, re.sub(VALUE, "", rest), tuple(map(region.place, operands))
        place = None if inside or len(results) != 1 else self.known(region, opcode, shapes[-1], key)
        if place is None:
            shape = shapes[-1] if len(results) == 1 else Shape("opaque", parts=shapes[len(shapes) - len(results):])
            place = region.made[key] = self.instruction(region, opcode, shape, operands, inside)
            instruction = region.instructions[place]
            instruction.op_name, instruction.src = self.source(where) if where else ("", "")
            self.attributes(instruction, kind, rest)
        self.name(region, results, place)

    def known(self, region, opcode, shape, key):
        """The place of an op that stands there already, or changes nothing; None for others."""
        if opcode in ("broadcast", "reshape", "convert") and key[2] and region.instructions[key[2][0]].shape is shape:
            return key[2][0]
        return region.made.get(key) if opcode not in EFFECTS else None

    def name(self, region, results, place):
        """The results of an op get their names."""
        if len(results) == 1:
            region.names[results[0]] = place
            return
        for part, result in enumerate(results):
            one = region.add("get-tuple-element", region.instructions[place].shape.parts[part], [place])
            region.instructions[one].index = part
            region.names[result] = one

    def instruction(self, region, opcode, shape, operands, inside):
        """An instruction with what its regions take from around them."""
        calls, places = [], [region.place(value) for value in operands]
        if opcode in BODIES:
            for one in inside:
                if one.root is None:
                    raise self.bad("a region that returns nothing")
            if opcode == "while":
                inside.reverse()   # the body, then the condition
                for value in list(inside[0].captured)[len(operands):]:
                    places.append(region.place(value))
                places = [region.tuple(places)]
                shape = region.instructions[places[0]].shape
            for one in inside:
                if opcode != "while":
                    places.append(region.tuple([region.place(value) for value in one.captured]))
                one.instructions[0].shape = region.instructions[places[-1]].shape
                calls.append(self.computation(one, f"{opcode}.{len(self.module.computations)}"))
        if opcode == "optimization-barrier" and len(places) > 1:
            places = [region.tuple(places)]
        if opcode == "broadcast" and places:
            opcode, places = self.broadcast(region, shape, places)
        place = region.add(opcode, shape, places)
        region.instructions[place].calls = calls
        return place

    def broadcast(self, region, shape, places):
        """Dims of one element are taken away before they become many, as XLA does it."""
        given = region.instructions[places[0]].shape
        if given.bytes == shape.bytes:
            return "reshape", places
        if 1 in given.dims:
            places = [region.add("broadcast", given, places)]
            places = [region.add("reshape", Shape(given.dtype, [dim for dim in given.dims if dim != 1]), places)]
        return "broadcast", places

    def attributes(self, instruction, kind, rest):
        """What of an op's attributes is asked."""
        contracted, kernel, grouped, called = CONTRACTED(rest), KERNEL(rest), GROUPS(rest), CALLED(rest)
        if instruction.opcode == "dot" and contracted:
            instruction.contracting = contracted[1]
        elif instruction.opcode == "convolution" and kernel:
            instruction.labels = "_" + kernel[1].replace(", ", "")
        elif kind == "call" and called:
            instruction.calls = [None]
            self.called.append((instruction, called[1], self.at))
        elif kind == "sharding-constraint":
            self.module.add_call("Sharding")
        elif kind == "custom-call" and called:
            self.module.add_call(called[1].strip('"'))
            instruction.aliases = [(int(output or 0), int(operand), 0) for output, operand in IN_PLACE(rest)]
        elif grouped:
            instruction.group = int(grouped[2])
            self.module.add_devices(int(grouped[1]) * int(grouped[2]))
        elif "source_target_pairs" in rest:
            instruction.group = 2

    def manual(self, region, results, text, depth):
        """What each device computes on its own shards: inlined, between the calls that XLA's partitioner takes out."""
        head, _, rest = text.partition(")")
        for (value, inner) in zip(values(head), named_types(rest)):
            region.names[inner[1]] = region.add("custom-call", self.shape(inner[2]), [region.place(value)])
        root, end = region.root, self.block(region, depth + 1)
        self.module.add_call("SPMDFullToShardShape")
        given, region.root = region.root, root
        parts = region.instructions[given].operands if region.instructions[given].opcode == "tuple" else [given]
        shapes = [self.shape(text) for text in types(end.rpartition("->")[2])]
        for result, place, shape in zip(results, parts, shapes):
            region.names[result] = region.add("custom-call", shape, [place])

    # ---- the module ----

    def computation(self, region, name):
        """Its place among the module's, without what nobody reads."""
        live, places, kept = {region.root}, {}, []
        for place in range(len(region.instructions) - 1, -1, -1):
            if place in live or region.instructions[place].opcode in EFFECTS:
                live.add(place)
                live.update(region.instructions[place].operands)
        for place in sorted(live):
            places[place] = len(kept)
            kept.append(region.instructions[place])
            kept[-1].operands = [places[operand] for operand in kept[-1].operands]
        self.module.computations.append(Computation(name, kept, places[region.root]))
        return len(self.module.computations) - 1

    def function(self, line, name):
        """A function, whose first line is given."""
        region = Region()
        region.line, found = self.at, list(named_types(line))
        for number, argument in enumerate(found):
            more = line[argument.end():found[number + 1].start() if number + 1 < len(found) else line.find(") ->")]
            given = re.search(r'loc\("((?:[^"\\]|\\.)*)"', more)
            place = region.names[argument[1]] = region.add("parameter", self.shape(argument[2]), (),
                                                           given[1] if given else argument[1][1:])
            region.instructions[place].index = number
            output = re.search(r"tf\.aliasing_output = (\d{1,9}) ", more)
            if output and name == "main":
                self.module.aliases.append((int(output[1]), number, 0))
            if re.search(r'sharding<@\w+, \[[^>]*"', more) or "mhlo.sharding = \"{devices=" in more:
                region.instructions[place].shards = self.module.devices
        self.block(region, 1)
        if region.root is None:
            raise self.bad(f"function {name[:60]} returns nothing")
        if name in self.functions:
            raise self.bad(f"there are two functions named {name[:60]}")
        self.functions[name] = self.computation(region, name)

    def read(self):
        """The module."""
        for line in iter(self.line, None):
            found = function(line)
            if line.startswith("module"):
                sizes = [re.search(rf"num_{what} = (\d{{1,6}}) ", line) for what in ("partitions", "replicas")]
                self.module.add_devices(max(1, *(int(one[1]) if one else 1 for one in sizes)))
                name = CALLED(line)
                self.module.name = name[1].strip('"') if name else "module"
            elif found:
                self.function(line, found[1].strip('"'))
        if not self.functions:
            raise Bad("it has no function of StableHLO")
        self.module.entry = self.functions.get("main", max(self.functions.values()))
        for instruction, name, at in self.called:
            if name.strip('"') not in self.functions:
                raise Bad(f"unknown function {name[:60]}", at)
            instruction.calls = [self.functions[name.strip('"')]]
        return self.module


def read(stream, options):
    """The graph of a module."""
    return graph(Text(stream.read().decode("utf-8", "replace")).read(), options, "StableHLO text")
