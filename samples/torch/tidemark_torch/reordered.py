"""A step in the order of a plan, as an FX graph over the user's own parameters.

The graph module has a call for each op, in the plan's order. Its inputs are everything that is there from the start.
FX lets go of each result after its last use, which is what a plan's lifetimes say.
"""
import builtins
import keyword
import operator
import re

import torch
from torch import fx

from .chunked import with_calls
from .errors import CaptureError
from .first_state import make_state
from .hints import BINS, VALID
from .lookup import constant
from .numbers import Numbers, is_number
from .replay import OWN, copy_back, find_function, stored_tensor
from .memory import DTYPES, name_of, nested, PERSISTENT

TORCH_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
FX_WORDS = {"self", "torch", "device", "inf", "nan", "NoneType", "fx_pytree", "pytree", *dir(builtins)}


class Seeded:
    """Random ops draw by their place in the program, so that every order draws the same numbers."""

    def __init__(self, graph):
        self.base = torch.zeros((), dtype=torch.int64)
        names = [name for name, op in graph.ops.items() if op.get("random")]
        self.place = {name: i for i, name in enumerate(names)}

    def seeded(self, name, function):
        """The function of a random op, seeded."""
        place = self.place[name.partition(".again")[0]]

        def draw(*args, **kwargs):
            torch.manual_seed(int(self.base) + place)
            return function(*args, **kwargs)
        draw.__name__ = f"seeded_{function.overloadpacket.__name__}"
        return draw

    def next(self):
        """A new base, drawn from the default generator, for the next step."""
        self.base = torch.randint(0, 1 << 62, ())


class Builder:
    """Makes the FX graph. device: where ops that name a device make their tensors; None: where they did."""

    def __init__(self, graph, order, numbers, seeds, device):
        self.graph, self.numbers, self.seeds, self.device = graph, numbers, seeds, device
        self.fx, self.node, self.uses = fx.Graph(), {}, set()
        read = set()
        for op in graph.ops.values():
            self.uses.update(op["in"])
            read.update(op["in"] if op["op"] != "tidemark.release" else ())
        self.inputs = [name for name, record in graph.tensors.items() if name not in graph.writer
                       and "alias" not in record and
                       (name in read or graph.is_persistent(name))]   # what the step only lets go of isn't there
        words = {"numbers"}
        for name in self.inputs:
            word = self.identifier(name)
            while word in words:
                word += "_"
            words.add(word)
            self.node[name] = self.fx.placeholder(word)
        self.list = self.fx.placeholder("numbers") if numbers and numbers.count else None
        for name in order:
            self.add(name, graph.ops[name])
        self.outputs = [name for name, record in graph.tensors.items() if record["kind"] == "output" and
                        "alias" not in record and name in self.node]
        self.fx.output([self.newest(name) for name in self.outputs])
        self.fx.lint()

    @staticmethod
    def identifier(name):
        """A tensor's name as a Python identifier."""
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        return word if word.isidentifier() and not keyword.iskeyword(word) and word not in FX_WORDS else f"p_{word}"

    def newest(self, root):
        """The last tensor that names a whole storage: its shape may have changed since."""
        return self.node[root]

    def argument(self, value, slot):
        """An op's argument as FX has it. slot: the place of the op's next number, in a list of one; or None."""
        if isinstance(value, list):
            return [self.argument(item, slot) for item in value]
        if is_number(value) or (isinstance(value, dict) and "float" in value):
            if slot is None:
                return float(value["float"]) if isinstance(value, dict) else value
            slot[0] += 1
            return self.fx.call_function(operator.getitem, (self.list, slot[0] - 1))
        if not isinstance(value, dict):
            return value
        (key, inner), = value.items()
        return self.node[inner] if key == "t" else complex(*inner) if key == "complex" else constant(inner)

    def add(self, name, op):
        """The node of an op, and those of its results."""
        function = self.function(name, op)
        if function is None:
            return
        if op["op"] in OWN:
            self.add_own(name, op)
            return
        first = self.numbers.slots.get(name) if self.numbers else None
        slot = None if first is None else [first]
        args = tuple(self.argument(value, slot) for value in op["args"])
        kwargs = {key: self.argument(op["kwargs"][key], slot) for key in sorted(op["kwargs"])}
        if self.device is not None and kwargs.get("device") == "cpu":
            kwargs["device"] = self.device
        if op.get("random"):
            function = self.seeds.seeded(name, function)
        node = self.fx.call_function(function, args, kwargs)
        node.meta["tidemark"] = name
        self.bind(op["result"], node)

    def function(self, name, op):
        """What runs an op; None: nothing."""
        found = find_function(name, op)
        return found if op["op"] != "aten.bincount.default" else counted(found,
                                                                         self.graph.tensors[op["out"][0]]["shape"])

    def add_own(self, name, op):
        """The node of an op that PyTorch doesn't have. Waits are no work, and random ops are seeded anyhow."""
        if op["op"] in ("tidemark.offload_wait", "tidemark.random_state"):
            return
        if op["op"] == "tidemark.fetch_buffer":
            record = self.graph.tensors[op["out"][0]]
            kwargs = {"dtype": TORCH_DTYPES[record["dtype"]],
                      **({} if self.device is None else {"device": self.device})}
            node = self.fx.call_function(torch.empty, (record["shape"],), kwargs)
        else:
            node = self.fx.call_function(torch.clone if len(op["in"]) == 1 else copy_back,
                                         tuple(self.node[source] for source in op["in"]))
        node.meta["tidemark"] = name
        self.node.update({out: node for out in op["out"]})

    def bind(self, slots, node):
        """Names an op's results."""
        if not isinstance(slots, list):
            if slots is not None:
                self.node[slots] = node
            return
        for i, slot in enumerate(slots):
            if isinstance(slot, list) or slot in self.uses or (slot in self.graph.tensors
                                                               and self.graph.tensors[slot]["kind"] == "output"):
                self.bind(slot, self.fx.call_function(operator.getitem, (node, i)))


def counted(function, shape):
    """bincount, which makes more bins than the graph has where numbers are larger than in the captured step."""
    def bincount(*args, **kwargs):
        bins = function(*args, **kwargs)
        if list(bins.shape) != shape:
            raise CaptureError(f"bincount finds {len(bins)} bins here, {shape[0]} in the graph: capture this step")
        return bins
    return bincount


def put_at(place, path, tensor):
    """Puts a tensor into a nest of dicts, lists and tuples; returns the nest, a tuple made anew."""
    if not path:
        return tensor
    item = put_at(place[path[0]], path[1:], tensor)
    if isinstance(place, tuple):
        parts = place[:path[0]] + (item,) + place[path[0] + 1:]
        return type(place)(*parts) if hasattr(place, "_fields") else parts
    place[path[0]] = item
    return place


class Names:
    """Which of the user's tensors a graph's names stand for."""

    def __init__(self, modules, optimizers):
        self.of, self.places, named, with_state = {}, {}, {}, 0
        for module in modules:
            has_state = next(module.parameters(), None) is not None or next(module.buffers(), None) is not None
            prefix = f"{type(module).__name__}." if with_state or not has_state else ""
            with_state += has_state
            for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
                if id(tensor) not in named:
                    named[id(tensor)] = self.unique(prefix + name)
                    self.of[named[id(tensor)]] = tensor
        for place, optimizer in enumerate(optimizers):
            for i, group in enumerate(optimizer.param_groups):
                for p in group["params"]:
                    for path, value in nested(optimizer.state.get(p, {})) if id(p) in named else ():
                        name = name_of(named[id(p)], path)
                        self.of[name], self.places[name] = value, (optimizer.state[p], path)
                for key, value in group.items():
                    if isinstance(value, torch.Tensor):
                        self.of[f"{type(optimizer).__name__}.{i}.{key}"] = value
        self.named = named

    def unique(self, name):
        """As the capture makes names unique."""
        found, count = name, 2
        while found in self.of:
            found, count = f"{name}.{count}", count + 1
        return found

    def put(self, name, tensor):
        """Replaces an optimizer's state."""
        state, path = self.places[name]
        put_at(state, path, tensor)
        self.of[name] = tensor

    def find(self, name):
        """The tensor of a name, or None. A gradient is looked up anew each time."""
        if name not in self.of and name.endswith(".grad") and name[:-5] in self.of:
            return self.of[name[:-5]].grad
        return self.of.get(name)


def as_recorded(tensor, record):
    """A tensor as its record says: where the record is of the whole memory behind it, all of that."""
    tensor = tensor.detach()
    stride = record.get("stride")
    if list(tensor.shape) == record["shape"] and (list(tensor.stride()) == stride
                                                  if stride else tensor.is_contiguous()):
        return tensor
    memory = tensor.untyped_storage()
    if memory.nbytes() != record["bytes"]:
        raise CaptureError(
            f"{record['id']} is {list(tensor.shape)} here, {record['shape']} in the graph: capture this step")
    whole = torch.empty(0, dtype=TORCH_DTYPES[record["dtype"]], device=tensor.device)
    shape = record["shape"]
    return whole.set_(memory, 0, shape, stride) if stride else whole.set_(memory, 0, shape)


class Reordered:
    """A step to call with its inputs, in the order in which the step first uses them, or by their names in the graph.
    Returns the outputs: one tensor (the loss), or name -> tensor. `graph_module` is the FX graph."""

    def __init__(self, graph, order, modules, optimizers, tensors):
        graph = with_calls(graph)
        graph.check_order(order)
        self.numbers = None
        self.graph, self.optimizers, self.tensors = graph, optimizers, tensors
        self.names = Names(modules, optimizers)
        if self.make_state(graph, optimizers):
            self.names = Names(modules, optimizers)
        if not optimizers and any(op["phase"] == "update" and op.get("inplace") for op in graph.ops.values()):
            raise CaptureError("the step updates parameters: pass the optimizer")
        first = next((p for module in modules for p in module.parameters()), None)
        device = first.device if first is not None and first.device.type != "cpu" else None
        self.seeds = Seeded(graph)
        self.numbers = self.find_numbers(graph, optimizers)
        for text in graph.head.get("assumed", []):
            if text.startswith((VALID, BINS)):   # a step that goes on has the same ops; bins are counted
                continue
            raise CaptureError(f"the graph assumes what data decides ({text}): no graph can run such a step")
        self.builder = self.make_builder(graph, order, device)
        self.graph_module = fx.GraphModule(torch.nn.Module(), self.builder.fx, "ReorderedStep")
        self.device = device
        self.wanted = [name for name in self.builder.inputs if self.is_given(name)]
        self.constants = {}

    def make_builder(self, graph, order, device):
        """What writes the FX graph."""
        return Builder(graph, order, self.numbers, self.seeds, device)

    def lacking(self, graph, optimizer):
        """Names of state that the graph has and an optimizer hasn't yet, and the parameters that it is of."""
        state = [name for name, record in graph.tensors.items() if record["kind"] == "optimizer"
                 and "alias" not in record and
                 self.names.find(name) is None]
        of = {id(p) for group in optimizer.param_groups for p in group["params"]}
        own = {f"{name}.": tensor for name, tensor in self.names.of.items() if id(tensor) in of}
        found = [(name, own[prefix]) for name in state for prefix in own if name.startswith(prefix)]
        return sorted({name for name, _ in found}), [tensor for _, tensor in found]

    def make_state(self, graph, optimizers):
        """Makes the state that the graph has and the optimizers haven't yet. True: there was some."""
        made = False
        for optimizer in optimizers:
            names, parameters = self.lacking(graph, optimizer)
            if names:
                make_state(optimizer, parameters)
                made = True
        return made

    def find_numbers(self, graph, optimizers):
        """The Numbers of the optimizers, or None."""
        if not optimizers:
            return None
        for optimizer in optimizers:
            for name in self.lacking(graph, optimizer)[0]:
                raise CaptureError(
                    f"there is no {name} yet: run a step of your own first, which makes the optimizer's state")
        touched = {graph.root(name) for op in graph.ops.values() if op["phase"] == "update"
                   for _, name in op.get("inplace", [])}
        trained = {id(self.names.of[name]) for name in touched if name in self.names.of}
        return Numbers(graph, optimizers, trained)

    def is_given(self, name):
        """True for a tensor that each call has to bring."""
        record = self.graph.tensors[name]
        return self.names.find(name) is None and ("data" not in record or record["kind"] == "input") and \
            name not in self.tensors and not (name.endswith(".grad")
                                              and (name[:-5] in self.names.of or name[:-5] in self.graph.tensors))

    def value(self, name, given):
        """The tensor that a name stands for."""
        record = self.graph.tensors[name]
        tensor = given.get(name, self.tensors.get(name))
        if tensor is None:
            tensor = given[name[:-5]].grad if name.endswith(".grad") and name[:-5] in given else self.names.find(name)
        if tensor is None and "data" in record:
            if name not in self.constants:
                self.constants[name] = stored_tensor(record["data"], TORCH_DTYPES[record["dtype"]], record["shape"]).to(
                    self.device or "cpu")
            tensor = self.constants[name]
        if tensor is None:
            raise CaptureError(f"{name} is missing: keep gradients as the captured step does, or pass it by name")
        return as_recorded(tensor, record)

    @torch.no_grad()
    def __call__(self, /, *inputs, **named):
        given = dict(zip(self.wanted, inputs))
        given.update(named)
        if len(inputs) > len(self.wanted) or any(name not in given for name in self.wanted):
            raise CaptureError(f"this step takes {len(self.wanted)} inputs: " + ", ".join(
                f"{name} {self.graph.tensors[name]['dtype']}{self.graph.tensors[name]['shape']}"
                for name in self.wanted))
        values = [self.value(name, given) for name in self.builder.inputs]
        del given, named, inputs
        if self.builder.list is not None:
            values.append(self.numbers.values())
        if not self.seeds.place:
            made = self.graph_module(*values)
        else:
            self.seeds.next()
            devices = [self.device] if self.device is not None and self.device.type == "cuda" else []
            with torch.random.fork_rng(devices):
                made = self.graph_module(*values)
        for optimizer in self.optimizers:
            optimizer._opt_called = True  # what a learning-rate schedule looks at
        results = {}
        for name, tensor in zip(self.builder.outputs, made):
            replaces = self.graph.tensors[name].get("replaces")
            if replaces in self.names.places:
                self.names.put(replaces, tensor)
            else:
                results[name] = tensor
        return next(iter(results.values())) if len(results) == 1 else results
