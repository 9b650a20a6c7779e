"""From FX graphs to a step: forward and backward of one compilation are joined by the names of what is saved."""
import re

from draft import BITS, BITS_MOST, Bad, Draft, leading_int, place_move, places_text, unique

STRANGERS = 6   # types without a rule that are named
COLLECTIVES = {"all_reduce": "comm.all_reduce", "all_gather_into_tensor": "comm.all_gather",
               "reduce_scatter_tensor": "comm.reduce_scatter", "all_to_all_single": "comm.all_to_all"}
COMM = {"comm." + kind for kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")}


def writes_argument(kind):
    """Whether an op writes into its first argument: "aten.add_.Tensor", but not "aten.__and__.Tensor"."""
    parts = kind.split(".", 2)
    return len(parts) == 3 and parts[1].endswith("_") and not (len(parts[1]) > 1 and parts[1][-2] == "_")


def s(count):
    return "" if count == 1 else "s"


# ---- which graphs are a step ----

class Offer:
    """A step that a log offers: the forward, joint or only graph, and its backward graph or None."""

    def __init__(self, first):
        self.first, self.backward = first, None

    def nodes(self):
        return len(self.first.nodes) + (len(self.backward.nodes) if self.backward else 0)

    def part(self):
        """What of a step it is: forward, backward, update, both, or unknown."""
        first = self.first
        if self.backward or first.kind == "joint":
            return "both"
        if first.kind == "backward" or first.autograd:
            return "backward"
        if any(node.gradient for node in first.nodes):
            return "both"
        if updates(first):
            return "update"
        return "unknown" if any("_backward" in node.type for node in first.nodes) else "forward"

    def words(self):
        """The same for people."""
        part = self.part()
        if self.backward:
            return "forward and backward"
        if part == "unknown" or (part == "both" and self.first.kind != "joint"):
            return "forward and backward in one"
        if part == "both":
            return "joint"
        return "inference" if part == "forward" and self.first.kind == "inference" else part + " only"


def find_offers(graphs):
    """The steps of a log. A joint graph gives way to the partitioned ones of its compilation, which follow it."""
    offers, last = [], {}
    for graph in graphs:
        before = last.get(graph.id)
        if graph.kind == "backward" and before and before.first.kind == "forward" and not before.backward:
            before.backward = graph
        elif graph.kind == "forward" and before and before.first.kind == "joint":
            before.first, before.backward = graph, None
        else:
            last[graph.id] = Offer(graph)
            offers.append(last[graph.id])
    return offers


def updates(graph):
    """Whether a graph gives nothing back and writes over what it was given, as an optimizer's step does."""
    return not any(graph.results) and any(
        node.reads and writes_argument(node.type) and node.reads[0].input for node in graph.nodes)


def find_trained(graph, gradients):
    """The inputs that the step gives a gradient for: its parameters. Of a graph with gradients the results behind are
    in the inputs' order."""
    inputs = [value for value in graph.values if value.input and value.name.startswith("primals_")]
    if not gradients or len(gradients.results) < len(inputs):
        return set()
    skip = len(gradients.results) - len(inputs)   # of a joint graph, its own results
    return {value for value, gradient in zip(inputs, gradients.results[skip:]) if gradient}


# ---- phases ----

def phases(graph):
    """The phase of each node of a joint graph, or of one whose gradients torch.func took: what depends on a tangent, or
    stands where a gradient is taken, is backward. Behind a gradient lies the update, but for what another gradient
    needs: a step within a step is part of what that one differentiates. None where nothing says it."""
    joint = graph.kind == "joint"
    after = {node for node in graph.nodes if node.gradient and not joint}
    if not joint and not after:
        return None
    tangents = {value for value in graph.values if joint and value.input and value.name.startswith("tangents_")}
    before, found = set(after), {}
    for node in graph.nodes:
        if any(value in tangents or value.node in after for value in node.reads):
            after.add(node)
    for node in reversed(graph.nodes):
        if node in before:
            before.update(value.node for value in node.reads if value.node)
    for node in graph.nodes:
        if joint or node.gradient:
            found[node] = "backward" if node in after else "forward"
        else:
            found[node] = "update" if node in after and node not in before else "forward"
    return found


class Making:
    """A step on its way to a graph."""

    def __init__(self, log, rules, offer):
        self.log, self.rules, self.offer, self.draft = log, rules, offer, Draft()
        self.missing = self.unknown = self.tangents = self.convolutions = self.unsized = self.ranks = 0
        self.strangers, self.group = {}, None   # group: the first whose size nobody says
        self.axes = max((len(value.places or ()) for graph in (offer.first, offer.backward) if graph
                         for value in graph.values), default=0)
        self.mesh_known = self.axes > 0 and all(log.mesh[:self.axes])
        self.groups, self.forward, self.of_forward = self.find_groups(), None, {}
        part = offer.part()
        self.phase = part if part in ("backward", "update") else "forward"
        self.unphased, self.split = part == "unknown", part == "both" and not offer.backward

    def find_groups(self):
        """How many devices take part in a group's collectives: as one of them says it."""
        groups = {}
        for node in (node for graph in self.log.graphs for node in graph.nodes):
            if not node.type.startswith("_c10d_functional."):
                continue
            size = node.listed if node.type.startswith("_c10d_functional.all_to_all_single") else node.group
            if node.text is not None and size > 0:
                groups.setdefault(node.text, size)
        return groups

    def make(self):
        """All graphs of the step."""
        first, backward = self.offer.first, self.offer.backward
        trained = find_trained(first, backward or (first if first.kind == "joint" else None))
        tensors = self.add_graph(first, trained, backward)
        if backward:
            self.forward, self.of_forward, self.phase = first, tensors, "backward"
            self.add_graph(backward, set(), None)

    # ---- tensors ----

    def unique(self, name, taken):
        name = name[:300]
        again = name + ".bw" if self.phase == "backward" and name in taken else name
        return unique(again, taken, name)

    def add_tensor(self, value, kind, like=None, alias=None):
        """A value's tensor. like: a value whose memory it keeps, where that is larger."""
        bits = self.bits_of(value)
        if bits is None:
            raise Bad(f'the size of "{value.name[:60]}" overflows', value.line)
        if like and not like.unsized:
            bits = max(bits, self.bits_of(like) or 0)
        self.missing += value.unsized
        return self.draft.tensor(
            self.unique(value.name, self.draft.tensors), 0 if value.unsized else (bits + 7) // 8, kind,
            dtype=value.dtype if value.typed else None, shape=value.dims if value.typed and not value.unsized else None,
            alias=alias, placement=places_text(value.places) if self.mesh_known and len(value.places or ()) == self.axes
            else None)

    @staticmethod
    def bits_of(value):
        """Bits of a value's elements, None where they are more than 2^60."""
        bits = BITS[value.dtype] if value.typed else 0
        for dim in value.dims:
            bits *= dim
            if bits > BITS_MOST:
                return None
        return bits

    def add_tangent(self, value):
        """What stands for the loss: it reads the forward graph's result and makes its gradient."""
        name = self.unique(value.name, self.draft.ops)
        tensor = self.add_tensor(value, "gradient")
        op = self.draft.op(name, "aten.ones_like.default", phase="backward", flops=0)
        op["out"].append(tensor)
        results = self.forward.results if self.forward else []
        result = results[self.tangents] if self.tangents < len(results) else None
        self.tangents += 1
        if result in self.of_forward:
            op["in"].append(self.of_forward[result])
        return tensor

    def add_input(self, value, trained):
        """The tensor of an input: the forward graph's, where it has one of that name."""
        if value.name.startswith("tangents_"):
            return self.add_tangent(value)
        if self.forward and self.phase == "backward":
            same = self.of_forward.get(self.forward.names.get(value.name))
            if same:
                return same
        kind = value.role or ("parameter" if value in trained else "input")
        return self.add_tensor(value, kind)

    # ---- ops ----

    def given_size(self, group):
        """"group5=4" among the sizes given; 0: nobody gives one."""
        for dim in self.log.dims:
            if dim.startswith(f"group{group}="):
                size = leading_int(dim.partition("=")[2])[0]
                return size if 0 < size < 1 << 20 else 0
        return 0

    def group_size(self, node):
        """How many devices take part in a collective; 0: nobody says."""
        size = self.groups.get(node.text, 0)
        if not size and node.type.startswith("_c10d_functional."):
            size = node.group
        if not size and node.text is not None:
            size = self.given_size(node.text)
            self.unsized += not size
            self.group = node.text if not size and self.group is None else self.group
        self.ranks = max(self.ranks, size)
        return size

    def redistribution(self, node, made):
        """A DTensor that is given another placement: the collective that does it and what it says; the type of a cut
        where each device cuts its own piece; None where placements aren't known."""
        before, after = node.reads[0].places if node.reads else None, made[0].places if made else None
        if not before or not after or len(before) != len(after):
            return None, {}
        for axis, (now, then) in enumerate(zip(before, after)):
            kind = place_move(now, then)
            if kind:
                return kind, {"axis": f"mesh{axis}", "size": self.log.mesh[axis] or None, "from": places_text(before),
                              "to": places_text(after)}
        return "aten.slice.Tensor", {}

    def type_of(self, node, made):
        """An op's type, and members of a collective."""
        kind = node.type
        if "redistribute" in kind:   # "prim.redistribute.default", under whichever namespace a version has it
            moved, said = self.redistribution(node, made)
            if moved:
                return moved, said, moved
        if kind.startswith("_dtensor.shard_dim_alltoall"):
            return "comm.all_to_all", {"size": self.group_size(node) or None}, kind
        if kind.startswith("_c10d_functional."):
            for word, comm in COLLECTIVES.items():
                if kind.startswith(word, len("_c10d_functional.")):
                    return comm, {"size": self.group_size(node) or None}, kind
        return kind, {}, kind

    def count(self, kind):
        """Of types without a rule the first ones are kept, to be named."""
        marks = self.rules.find(kind)
        self.convolutions += "c" in (marks or "")
        if marks is not None or kind in COMM or kind.startswith("_c10d_functional.wait_tensor"):
            return
        self.unknown += 1
        if kind in self.strangers or len(self.strangers) < STRANGERS:
            self.strangers[kind] = self.strangers.get(kind, 0) + 1

    def add_op(self, node, made, tensors, late):
        """The op of a node with the values that it makes."""
        name = self.unique(node.name, self.draft.ops)
        kind, said, called = self.type_of(node, made)
        self.count(kind)
        op = self.draft.op(name, kind, phase=None if self.unphased else self.phase, src=node.src, **said)
        op["in"] = [tensors[value] for value in node.reads if value in tensors]
        source = op["in"][0] if op["in"] else None
        inplace = writes_argument(node.type)
        view = self.rules.is_view(called) or called.startswith("_c10d_functional.wait_tensor")
        roomy = node.reads and not self.log.fused and "r" in (self.rules.find(node.type) or "")
        for value in made:
            if not value.typed:
                continue
            kind = "output" if value in late else "gradient" if self.phase == "backward" else "activation"
            out = tensors[value] = self.add_tensor(value, kind, node.reads[0] if roomy else None,
                                                   source if view or inplace else None)
            op["out"].append(out)
            if inplace and source:
                op.setdefault("inplace", []).append([out, source])

    def add_graph(self, graph, trained, backward):
        """The tensors of a graph's values. backward: the graph of its backward pass, where another one follows."""
        tensors, late, of_phase, made = {}, self.find_late(graph, backward), phases(graph), {}
        for value in graph.values:
            if value.input and value.typed and not value.name.startswith("tangents_"):
                tensors[value] = self.add_input(value, trained)
            elif value.node:
                made.setdefault(value.node, []).append(value)
        for node in graph.nodes:
            for value in node.reads:   # the gradient of a result comes when the first op needs it
                if value not in tensors and value.input and value.typed:
                    tensors[value] = self.add_input(value, set())
            if of_phase and self.split:
                self.phase = of_phase[node]
            self.add_op(node, made.get(node, []), tensors, late)
        return tensors

    @staticmethod
    def find_late(graph, backward):
        """The step returns what its last graph does, and keeps the numbers of its first graph of which there are
        gradients: losses, which programs hold."""
        if not backward:
            return {value for value in graph.results if value}
        count = sum(value.input and value.name.startswith("tangents_") for value in backward.values)
        return {value for value in graph.results[:count] if value and value.typed and not value.dims}

    # ---- what the card says ----

    def assumed(self):
        """What is assumed of the graph that the log doesn't say, a line each."""
        first = self.offer.first
        if self.split and first.kind != "joint":
            yield "ops where torch.func takes a gradient are backward; which inputs are parameters isn't said"
        elif self.offer.part() == "update":
            yield "an optimizer's step: which of its inputs are parameters, gradients and state isn't said"
        else:
            yield "inputs with a gradient are parameters; the log has no optimizer"
        if self.unphased:
            yield "forward and backward are one graph: which op is of which isn't said"
        if first.hints:
            yield f"symbolic sizes as they were when it was compiled: {first.hints}; --dim takes others"
        if self.tangents:
            yield "the gradient of each result comes from one op in place of what follows the graph"
        if self.convolutions:
            yield ("what kernels take for themselves isn't in the log: on a CPU up to three times its result in each "
                   f"of {self.convolutions} convolution{s(self.convolutions)} and its gradient")
        if self.log.fused:
            yield ("Inductor fuses these ops: results inside of a kernel of its own take no memory then, so that its "
                   "peak may be lower")
        if self.unknown:
            named = ", ".join(f"{kind[:60]} {count}" for kind, count in self.strangers.items())
            more = self.unknown - sum(self.strangers.values())
            named += f", {more} of others" if more else ""
            yield (f"{self.unknown} op{' is' if self.unknown == 1 else 's are'} of a type without a rule ({named}): "
                   "results are taken as new memory; --rules FILE gives rules")

    def advice(self):
        """What supplies the rest, None where nothing does."""
        if self.axes and not self.mesh_known:
            return "DTensors count whole: --dim mesh0=8 (mesh1, ...) gives the devices on each axis of their mesh"
        symbols = self.log.symbols
        if self.missing and symbols:
            # Of many, as a mixture of experts has them, one option gives all that begin alike.
            many = len(symbols) == self.log.SYMBOLS
            every = f" --dim '{symbols[0][0]}*=64' (of all that begin so), or" if many else ""
            each = "".join(f" --dim {symbol}=64" for symbol in symbols[:self.log.SYMBOLS - 1])
            return f"give symbolic sizes:{every}{each}{' ...' if many else ''}"
        if self.unsized:
            return (f"how many devices take part in {self.unsized} collective{s(self.unsized)} isn't in the log: --dim "
                    f"group{self.group[:60]}=8 says it of group {self.group[:60]}")
        return None

    def mesh(self):
        """The grid of devices: of DTensors, or as many as the largest collective has."""
        if self.mesh_known:
            return {f"mesh{axis}": self.log.mesh[axis] for axis in range(self.axes)}
        return {"ranks": self.ranks} if not self.axes and self.ranks > 1 else None


def name_of(offer):
    return f"[{offer.first.id[:70]}] {offer.words()}" if offer.first.id else offer.words()


def step(log, options):
    """The step that is asked for, or the one with the most ops, in lines: which of the log's it is, a line on each
    where there are several, then the graph."""
    offers, wanted = find_offers(log.graphs), options.graph
    if not offers:
        raise Bad("it has no graph of torch.compile; TORCH_LOGS=aot_graphs,aot_joint_graph prints them")
    if wanted > len(offers):
        raise Bad(f"--graph {wanted}: it has {len(offers)} step{s(len(offers))}")
    chosen = wanted - 1 if wanted else max(range(len(offers)), key=lambda number: offers[number].nodes())
    making = Making(log, options.rules, offers[chosen])
    making.make()
    yield f"#{chosen + 1}\n"
    for offer in offers if len(offers) > 1 else ():
        yield f"#[{offer.first.id[:70]}] {offer.words()}, {offer.nodes()} ops\n"
    yield from making.draft.records("step", {
        "format": "PyTorch FX text", "version": name_of(offers[chosen]), "missing": making.missing,
        "assumed": list(making.assumed()), "advice": making.advice()}, making.mesh())
