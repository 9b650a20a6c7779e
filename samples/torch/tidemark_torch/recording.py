"""Writes down a training step as PyTorch runs it.

A dispatch mode sees every op that runs below autograd, in PyTorch's own order: the forward pass, what the autograd
engine runs, and the optimizer. Which tensors share memory is read off their storages, not off the operators' schemas,
some of which don't tell. Where PyTorch lets go of a storage later than after its last use (a gradient waits for
zero_grad, a local variable for the end of its function) and something is allocated meanwhile, an op
"tidemark.release" reads the storage at that place: program order then needs what PyTorch needs, while other orders
may release earlier.
"""
import collections
import contextlib
import functools
import itertools
import math
import sys
import traceback
import weakref

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only

from . import flops, parts
from .autocasting import gpu_autocast
from .eager import Eager
from .errors import CaptureError, check_version, explain
from .faking import caches_emptied, FAKE, fake, Numbers, patched  # noqa: F401, fake is what users call
from .graph import StepGraph, write_graph
from .growth import kind_of, LEAST, line_of_program, remaining, sentence
from .hints import Hints
from .initial import set_values
from .kept import Held, Kept
from .left import tensors_left
from .memory import PERSISTENT, Memory, geometry
from .modules import Modules, Optimizers
from .packed import BY_LENGTHS, follow_padding
from .partitioned import Partitioned
from .shapes import SHAPES
from .values import ANSWERS, UNKNOWN, Values
from .ways import truth
from .workspace import Meter, say

check_version()
aten = torch.ops.aten
SAME_TENSOR = {aten.detach.default, aten.alias.default, aten.detach_.default}
LIFTS = {aten.lift_fresh.default, aten.lift_fresh_copy.default, aten.lift.default}
HIDDEN_WRITES = {aten.native_batch_norm.default: (3, 4, 5), aten.cudnn_batch_norm.default: (3, 4, 5),
                 aten.miopen_batch_norm.default: (3, 4, 5)}  # running mean, running variance, "training"
KIND_IN_PHASE = {"forward": "activation", "backward": "gradient", "update": "temporary"}
RELEASE = "tidemark.release"
STATE = "tidemark.generator_state"
LARGEST_DATA = 4096  # elements of a constant that are written into the graph


def tensors_in(value):
    """All tensors in nested lists, tuples and dicts."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


@functools.lru_cache(None)
def is_composition(function):
    """True for an op that PyTorch runs as a composition of others."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return has(function.name(), "CompositeImplicitAutograd") and not has(function.name(), "CPU")


@functools.lru_cache(None)
def written_arguments(function):
    """(place, name) of the arguments that an op's schema says it writes to; bitsandbytes' optimizers say so of all."""
    only_read = ("g", "qmap1", "qmap2") if function.name().startswith("bitsandbytes::optimizer_update") else ()
    return [(i, argument.name) for i, argument in enumerate(function._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write and argument.name not in only_read]


def overwritten(function, args, kwargs):
    """The tensors among an op's arguments that it writes to."""
    if function in HIDDEN_WRITES:
        mean, variance, training = HIDDEN_WRITES[function]
        return tensors_in(args[mean:variance + 1]) if args[training] else []
    found = []
    for i, name in written_arguments(function):
        found += tensors_in(kwargs[name] if name in kwargs else args[i] if i < len(args) else None)
    return found


def local(tensor):
    """The piece of a DTensor that is on this device, what torch.func has wrapped; any other tensor itself."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    return getattr(tensor, "_local_tensor", tensor) if is_traceable_wrapper_subclass(tensor) else tensor


def value_like(value, tensor):
    """A fake tensor of a value's shape, on a fake tensor's device."""
    return tensor.new_empty(value.shape, dtype=value.dtype)


class TooLong(BaseException):
    """A step runs on and on where other values are tried; no handler of the program's is to take it."""


class Recorder(TorchDispatchMode):
    """Writes down every op that runs while it is active."""

    def __init__(self, real, hints):
        super().__init__()
        self.real, self.holds = real, collections.Counter()
        self.hints, self.values, self.kept = Hints(hints), Values(), Kept(self.holds)
        self.modules, self.optimizers = Modules(self.found, self.kept), Optimizers(self, prime=not real)
        self.known = {}                        # id of a tensor -> (weakly it, its name, kind, hint)
        self.parameters = {}                   # id of a parameter -> (weakly it, its .grad before)
        self.trained_inputs = {}               # the same of inputs that get gradients
        self.twins = {}                        # id of a real tensor -> (weakly it, the fake tensor that stands for it)
        self.memory, self.paused, self.in_backward = None, False, False
        self.wants_lines, self.grows = False, None
        self.may_run_again, self.most_ops = False, math.inf
        self.begin()
        self.fake_mode, self.eager, self.meter = None, None, Meter(real)

    @classmethod
    def _should_skip_dynamo(cls):
        """The dispatch function isn't to be wrapped for torch.compile: it is never compiled."""
        return False

    # ---- names ----

    def begin(self):
        """What runs from now on is the step. What runs before it have made and still is there was there before."""
        before, self.memory = self.memory, Memory(self.holds, self.let_go)
        self.ops, self.counts = [], collections.Counter()
        self.gradients = {}                    # id of a parameter -> name of its gradient
        self.successors = {}                   # name of an optimizer's state -> the storage that lies in its place now
        self.after_backward, self.ended, self.hints.memory = False, False, self.memory
        self.hints.assumed.clear()
        if before is None:
            return
        self.memory.adopt(before)
        known = [entry for entry in self.known.values() if entry[0]() is not None]
        self.known.clear()
        for tensor, name, kind, hint in known:
            self.found(name, tensor(), kind, hint)
        self.modules.name_all()

    def line(self):
        """Where the program is: (file, line) of the innermost function that is the user's own. None: nobody asks."""
        return line_of_program() if self.wants_lines else None

    def keep_number(self, tensor, number):
        """The value of a tensor of one element, from which what is read of it later follows."""
        with _disable_current_modes():
            value = torch.full(tensor.shape, number, dtype=tensor.dtype)
        self.values.keep(self.here(local(tensor)), value)

    def is_known(self, tensor):
        """True for a tensor that has a name."""
        return id(tensor) in self.known and self.known[id(tensor)][0]() is tensor

    def know(self, tensor, name, kind, hint=None):
        """Gives a tensor a name, for as long as it lives."""
        self.known[id(tensor)] = weakref.ref(tensor), name, kind, hint

    def found(self, name, tensor, kind, hint=None):
        """A tensor that is there from the start is known by name."""
        tensor = tensor if is_traceable_wrapper_subclass(tensor) else local(tensor)
        if self.is_known(tensor) or tensor.device.type == "meta":   # which has no memory
            return
        stand_in = self.here(local(tensor))
        self.know(tensor, name, kind, hint)
        if not self.is_known(stand_in):
            self.know(stand_in, name, kind, hint)
        if kind == "parameter":
            self.note_parameter(tensor)
        storage = self.storage_of(stand_in)
        if hasattr(tensor, "placements"):
            storage.record["dtensor"] = str(list(tensor.placements))
        if storage.from_start and storage.record["kind"] in ("input", "constant"):
            self.memory.set_kind(storage, kind)
        if hint is not None and tensor.numel() == 1:
            storage.hint = hint
        if kind == "parameter":
            self.find_gradient(tensor, name)

    def find_gradient(self, parameter, name):
        """A gradient that is there before the step: zero_grad comes at its beginning, or after the forward pass."""
        gradient = parameter.grad
        if not isinstance(gradient, torch.Tensor) or gradient.layout is not torch.strided:
            return
        stand_in = self.here(local(gradient))
        if self.memory.find(stand_in) is None:
            self.know(stand_in, f"{name}.grad", "gradient")
            storage = self.storage_of(stand_in)
            del self.known[id(stand_in)]
            if hasattr(gradient, "placements"):
                storage.record["dtensor"] = str(list(gradient.placements))

    def let_go(self, storage):
        """A real tensor's memory has gone: the fake tensor that stands for it goes, too; views of that may stay."""
        for key, (_, fake) in list(self.twins.items()):
            memory = fake.untyped_storage()
            if memory._cdata == storage.address:
                torch.UntypedStorage._free_weak_ref(storage.weak)
                storage.weak = memory._weak_ref()
                del self.twins[key], fake, memory
                break
        for key in [key for key, (_, fake) in self.twins.items() if fake.untyped_storage()._cdata == storage.address]:
            del self.twins[key]

    def note_parameter(self, parameter):
        """Notes the gradient that is put back after a capture on fake tensors."""
        self.note_gradient(parameter, self.parameters)

    def note_gradient(self, parameter, noted):
        """The same of what gets a gradient."""
        if id(parameter) not in noted or noted[id(parameter)][0]() is not parameter:
            keep = not self.real and not isinstance(parameter, FakeTensor) and parameter.grad is not None
            noted[id(parameter)] = weakref.ref(parameter), Held(parameter.grad, self.holds) if keep else None

    def name_parameter(self, parameter):
        """A parameter's name, given now if no module has."""
        if not self.is_known(parameter):
            self.found(f"parameter_{len(self.parameters)}", parameter, "parameter")
        return self.known[id(parameter)][1]

    def here(self, tensor):
        """The tensor itself, or the fake one that stands for it."""
        if self.real or isinstance(tensor, FakeTensor) or is_traceable_wrapper_subclass(tensor):
            return tensor
        if tensor.layout is not torch.strided:
            raise CaptureError(f"a tensor of layout {tensor.layout} takes part: only dense tensors can be captured")
        if id(tensor) not in self.twins or self.twins[id(tensor)][0]() is not tensor:
            fake = self.fake_mode.fake_tensor_converter.from_real_tensor(self.fake_mode, tensor)
            fake.grad = None   # the converter has made one for it, which would stay
            fake._tidemark_original = weakref.ref(tensor)
            self.twins[id(tensor)] = fake._tidemark_original, fake
        return self.twins[id(tensor)][1]

    def storage_of(self, tensor):
        """The Storage behind a tensor. What the step hasn't made itself was there from the start."""
        storage = self.memory.find(tensor)
        if storage is None:
            name, kind = self.known[id(tensor)][1:3] if self.is_known(tensor) else (None, None)
            trained = kind is None and tensor.requires_grad and tensor.is_leaf
            if kind is None:
                kind = "parameter" if trained and getattr(tensor, "_is_param", False) else "input"
            if name is None:
                self.counts[kind] += 1
                name = f"{kind}_{self.counts[kind]}"
            original = getattr(tensor, "_tidemark_original", lambda: None)()
            storage = self.memory.add(tensor, name, kind, True, original)
            storage.trained = trained
            size = tensor.untyped_storage().nbytes()
            if size != storage.record["bytes"] or tensor.storage_offset() or \
                    tensor.numel() * tensor.element_size() != size:
                storage.record["shape"] = [size // tensor.element_size()]
                storage.record.pop("stride", None)
                storage.names.clear()
                storage.written.clear()
        return storage

    def note_original(self, original, fake):
        """Names the fake tensor as its original is named, and keeps its values if they are few."""
        storage = self.memory.find(fake)
        if storage is None:
            if self.is_known(original) and self.known[id(original)][1]:
                self.know(fake, *self.known[id(original)][1:])
            elif isinstance(original, torch.nn.Parameter):
                self.know(fake, f"parameter_{len(self.parameters)}", "parameter")
                self.note_parameter(original)
            storage = self.storage_of(fake)
            if storage.trained and storage.record["kind"] == "input" and original.is_leaf:
                self.note_gradient(original, self.trained_inputs)
                self.find_gradient(original, storage.record["id"])
            if original.numel() <= LARGEST_DATA and not original.requires_grad:
                with _disable_current_modes():
                    self.values.keep(fake, original.detach().cpu().clone())
            few = storage.from_start and original.numel() <= LARGEST_DATA and original.numel() * original.element_size() == storage.record["bytes"]
            if few and not original.is_floating_point() and not original.is_complex() and original.is_contiguous():
                with _disable_current_modes():
                    storage.record["data"] = original.detach().reshape(-1).tolist()
        return storage

    def name(self, tensor):
        """A tensor's newest name; a parameter's own is not that of a view of it which lies alike."""
        storage = self.storage_of(tensor)
        found = storage.written.get(geometry(tensor)) if self.is_known(tensor) else None
        found = found or storage.names.get(geometry(tensor))
        return found if found is not None else self.view(tensor, storage)

    def view(self, tensor, storage):
        """A way of lying in a storage that no op has made in sight: a view of the whole."""
        root = storage.record
        source, function = root["id"], "aten.as_strided.default"
        args = [{"t": source}, list(tensor.shape), list(tensor.stride()), tensor.storage_offset()]
        if root["dtype"] != self.memory_dtype(tensor):
            function, args = "aten.view.dtype", [{"t": source}, self.encode(tensor.dtype)]
        name = self.memory.alias(tensor, self.next_name("view"), storage)
        self.ops.append({"id": self.next_id, "op": function, "phase": self.phase([]), "mod": "", "in": [source],
                         "out": [name],
                         "flops": 0, "args": args, "kwargs": {}, "result": name})
        return name

    @staticmethod
    def memory_dtype(tensor):
        """The format's name of a tensor's dtype."""
        from .memory import DTYPES
        return DTYPES.get(tensor.dtype)

    def next_name(self, base):
        """The name of the next op of a type."""
        self.next_id = f"{base}_{self.counts[base]}"
        self.counts[base] += 1
        return self.next_id

    def encode(self, argument):
        """An op's argument in JSON."""
        if isinstance(argument, torch.Tensor):
            return {"t": self.name(argument)}
        if isinstance(argument, (list, tuple)):
            return [self.encode(item) for item in argument]
        if isinstance(argument, torch.device):
            return "cpu"
        if isinstance(argument, (torch.dtype, torch.layout, torch.memory_format)):
            return {"torch": str(argument).replace("torch.", "")}
        if isinstance(argument, bool) or argument is None or isinstance(argument, (str, int)):
            return argument
        if isinstance(argument, torch.SymInt):
            return int(argument)
        if isinstance(argument, complex):
            return {"complex": [argument.real, argument.imag]}
        if isinstance(argument, float):
            return argument if math.isfinite(argument) else {"float": repr(argument)}
        return None  # a generator

    # ---- phases ----

    def phase(self, storages):
        """The phase of an op that touches these storages."""
        self.in_backward = torch._C._current_graph_task_id() != -1
        if self.in_backward:
            if not self.after_backward:   # at its end, while .grad is there
                torch.autograd.Variable._execution_engine.queue_callback(self.note_gradients)
            self.after_backward = True
            return "backward"
        if self.optimizers.running:
            return "update"
        if self.after_backward:
            self.after_backward = False
            self.note_gradients()
        return "update" if any(storage.gradient or storage.updates for storage in storages) else "forward"

    def note_gradients(self):
        """Marks the storages that are some parameter's .grad."""
        for key, (alive, _) in self.parameters.items():
            parameter = alive()
            gradient = None if parameter is None or parameter.grad is None else local(parameter.grad)
            storage = None if gradient is None or gradient.layout is not torch.strided or \
                is_traceable_wrapper_subclass(gradient) else self.memory.find(gradient)
            if storage is not None:
                self.gradients[key] = storage.names.get(geometry(gradient))
            if storage is not None and not storage.gradient:
                storage.gradient = True
                if not storage.from_start:
                    self.memory.set_kind(storage, "gradient")

    # ---- recording ----

    @contextlib.contextmanager
    def pause(self):
        """Runs ops without writing them down."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(issubclass(kind, torch.Tensor) and hasattr(kind, "__tensor_flatten__")
               and not issubclass(kind, FakeTensor)
               for kind in types):
            return NotImplemented
        if function.namespace in ("prim", "prims") or function.overloadpacket in QUESTIONS:
            return function(*args, **kwargs)
        if is_composition(function) and function not in LIFTS:
            with self:
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if function in LIFTS:
            return self.lift(function, args, kwargs)
        args, kwargs = tree_map_only(torch.Tensor, self.fake, (args, kwargs))
        if self.paused:
            result = self.run(function, args, kwargs)
            for tensor in tensors_in([result]):
                self.memory.note_left(local(tensor), True, self.line())
            return self.as_read(function, result)
        if function in SAME_TENSOR:
            result = function(*args, **kwargs)
            if not self.real and self.values.get(args[0]) is not None:
                self.values.keep(result, self.values.get(args[0]))
            return result
        return self.as_read(function, self.follow(function, args, kwargs))

    def as_read(self, function, result):
        """The result as the step gets it: PyTorch's recurrent layers read the sizes of a packed sequence's steps from memory."""
        if self.real or function is not aten._pack_padded_sequence.default:
            return result
        sizes = self.values.get(result[1])
        self.twins[id(sizes)] = weakref.ref(sizes), result[1]
        return result[0], sizes

    def fake(self, tensor):
        """The fake tensor that stands for a real one."""
        if self.real or isinstance(tensor, FakeTensor):
            return tensor
        stand_in = self.here(tensor)
        self.note_original(tensor, stand_in)
        return stand_in

    def lift(self, function, args, kwargs):
        """A constant written in the code."""
        result = function(*args, **kwargs)
        storage = self.memory.find(result)
        if storage is None and not self.paused and not result.requires_grad:
            self.counts["constant"] += 1
            storage = self.memory.add(result, f"constant_{self.counts['constant']}", "constant", from_start=True)
            if not isinstance(args[0], FakeTensor) and args[0].numel() <= LARGEST_DATA:
                with _disable_current_modes():
                    storage.record["data"] = plain_list(args[0])
        if not self.real and not isinstance(args[0], FakeTensor):
            with _disable_current_modes():
                self.values.keep(result, args[0].detach().clone())
        return result

    def run(self, function, args, kwargs):
        """The result of an op; of what depends on data, what follows from constants, or else what is assumed."""
        if self.real:
            return function(*args, **kwargs)
        known = self.values.known(function, args, kwargs)
        if function in ANSWERS and known is not UNKNOWN:
            result = tree_map_only(torch.Tensor, lambda value: value_like(value, args[0]), known)
        else:
            self.hints.refuses = not self.may_run_again and self.optimizers.running > 0
            result = self.assume(function, args, kwargs)
            known_truth = truth(function, args)
            if known_truth is not None and isinstance(result, torch.Tensor):
                result._tidemark_truth = known_truth
        self.values.follow(result, known, overwritten(function, args, kwargs) if known is UNKNOWN else [])
        return result

    def assume(self, function, args, kwargs):
        """The result of an op on fake tensors."""
        if function is aten._local_scalar_dense.default and self.memory.find(args[0]) is not None and \
                self.memory.find(args[0]).hint is not None:
            return self.hints.item(args[0])
        if function in BY_LENGTHS:
            return BY_LENGTHS[function](self, *args)
        try:
            return SHAPES.get(function, function)(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException):
            result = self.hints.answer(function, args, kwargs)
            if result is NotImplemented:
                raise
            return result

    def follow(self, function, args, kwargs):
        """Runs an op and writes it down."""
        self.memory.bury(len(self.ops))
        if len(self.ops) > self.most_ops:
            raise TooLong
        read = tensors_in((args, kwargs))
        storages = [self.storage_of(tensor) for tensor in read]
        phase = self.phase(storages)
        function, args = self.eager.real_call(function, args, kwargs)
        reads = [self.name(tensor) for tensor in read]
        writes = [(tensor, self.name(tensor)) for tensor in overwritten(function, args, kwargs)]
        call = {"args": self.encode(args), "kwargs": {key: self.encode(value) for key, value in kwargs.items()}}
        module = self.modules.current(self.in_backward)
        before = self.meter.start()
        result = self.run(function, args, kwargs)
        made = tensors_in([result])
        if made or writes:
            self.eager.made(result)
            self.record(function, call, reads, writes, (args, kwargs), result, phase, module, storages, before)
        return result

    def record(self, function, call, reads, writes, arguments, result, phase, module, storages, before):
        """Adds the op that has just run. reads: names; writes: [(tensor, its name before)]."""
        base = function.overloadpacket.__name__
        name = self.next_name(base)
        results = tensors_in([result])
        is_view = bool(results) and not writes and all(self.memory.find(tensor) for tensor in results)
        fresh = len(self.memory.storages)
        slots = self.name_results(result, name, phase)
        if writes:
            for tensor in results:
                storage = self.memory.find(tensor)
                storage.written[geometry(tensor)] = storage.names[geometry(tensor)]
        made = list(dict.fromkeys(self.name(tensor) for tensor in results if self.name(tensor) not in reads))
        op = {"id": name, "op": str(function), "phase": phase, "mod": module, "in": list(dict.fromkeys(reads)),
              "out": made,
              "flops": 0 if is_view else int(flops.count(function, *arguments, result))}
        if self.modules.last[1]:
            op["src"] = self.modules.last[1]
        parts.mark(op)
        if writes:
            op["inplace"] = [[self.renamed(tensor, results), earlier] for tensor, earlier in writes]
        workspace = self.meter.stop(before, self.memory.storages[fresh:])
        if workspace:
            op["workspace"] = workspace
        op.update(call, result=slots)
        if torch.Tag.nondeterministic_seeded in function.tags:
            op["random"] = True
        for storage in self.memory.storages[fresh:]:
            storage.first = len(self.ops)
        for tensor, _ in writes:
            self.memory.find(tensor).written_to = True
        for storage in storages + self.memory.storages[fresh:]:
            storage.last = len(self.ops)
            storage.in_update |= phase == "update"
            storage.updates |= phase == "update" and not storage.from_start and not storage.gradient
        for storage in self.memory.storages[fresh:] if self.wants_lines else ():
            storage.line = self.line()
        if base == "_amp_foreach_non_finite_check_and_unscale_":
            self.memory.find(arguments[0][1]).hint = 0.0
        self.ops.append(op)

    def name_results(self, result, name, phase):
        """Names all tensors of an op's result; returns the names, nested like the result."""
        if isinstance(result, (list, tuple)):
            return [self.name_results(part, f"{name}.{i}", phase) for i, part in enumerate(result)]
        if not isinstance(result, torch.Tensor):
            return None
        storage = self.memory.find(result)
        if storage is not None:
            return self.memory.alias(result, name, storage)
        return self.memory.add(result, name, KIND_IN_PHASE[phase]).record["id"]

    def renamed(self, written, results):
        """The new name of a tensor written in place, or None where the op doesn't return it."""
        storage = self.memory.find(written)
        return next((self.name(tensor) for tensor in results if self.memory.find(tensor) is storage), None)

    def resized(self, memory, size):
        """A storage's memory is about to be given back (size 0) or got again, as FSDP does with whole parameters."""
        storage = self.memory.of_address.get(memory._cdata)
        if self.paused or (size > 0) == (memory.nbytes() > 0):
            return
        if size == 0:
            if storage is not None and not storage.is_state():
                storage.died = len(self.ops)
                self.memory.forget(storage)
            return
        if storage is not None:
            self.memory.forget(storage)
        name, phase = self.next_name("empty"), self.phase([])
        storage = self.memory.add_bytes(memory, size, name, KIND_IN_PHASE[phase])
        storage.last = len(self.ops)
        self.ops.append({"id": name, "op": "aten.empty.memory_format", "phase": phase,
                         "mod": self.modules.current(self.in_backward),
                         "in": [], "out": [storage.record["id"]], "flops": 0, "args": [[size]],
                         "kwargs": {"dtype": self.encode(torch.uint8)}, "result": storage.record["id"]})

    def generator_state(self, read):
        """torch.get_rng_state, whose result no dispatcher sees: each checkpoint keeps one."""
        def get_rng_state():
            state = read()
            if not self.paused and not self.meter.gpu:
                self.memory.bury(len(self.ops))
                name, phase = self.next_name("generator_state"), self.phase([])
                storage = self.memory.add(state, name, KIND_IN_PHASE[phase])
                storage.last = len(self.ops)
                self.ops.append({"id": name, "op": STATE, "phase": phase, "mod": self.modules.current(self.in_backward),
                                 "in": [],
                                 "out": [storage.record["id"]], "flops": 0, "args": [], "kwargs": {},
                                 "result": storage.record["id"]})
            return state
        return get_rng_state

    # ---- the end ----

    def end(self):
        """The step has ended: what is alive now stays."""
        self.note_gradients()
        self.memory.bury(len(self.ops))
        self.ended = True

    def peak(self):
        """The most bytes of storages at a time during the step."""
        change = [0] * (len(self.ops) + 2)
        for storage in self.memory.storages + self.memory.unread:
            change[0 if storage.from_start else storage.first] += storage.record["bytes"]
            if storage.died is not None:
                change[max(storage.died, storage.first + 1)] -= storage.record["bytes"]
        return max(itertools.accumulate(change))

    def books(self):
        """All that is known of the step, for keep_books()."""
        assumed = collections.Counter(self.hints.assumed)
        return self.memory, self.ops, self.counts, self.gradients, self.successors, assumed

    def keep_books(self, books):
        """Goes back to an earlier run of the step."""
        self.memory.close()
        self.memory, self.ops, self.counts, self.gradients, self.successors, assumed = books
        self.hints.memory, self.ended = self.memory, True
        self.hints.assumed.clear()
        self.hints.assumed.update(assumed)

    def finish(self):
        """Closes the books, and returns the ops."""
        if not self.ended:
            self.end()
        self.memory.name_left()
        updated = {storage for storage in self.memory.storages if storage.gradient}
        has_update = any(op["phase"] == "update" for op in self.ops)
        self.find_state()
        replaced = {storage.record["id"]: storage for storage in self.memory.storages
                    if storage.is_state() and storage.died is not None and storage.record["kind"] != "constant"}
        for storage in replaced.values():
            storage.record["replaced"] = True
        for name, storage in self.successors.items():
            if name in replaced and not storage.from_start:
                storage.record["replaces"] = name
        for storage in self.memory.storages:
            if storage.died is not None or storage.record["kind"] in PERSISTENT:
                continue
            if storage.from_start:
                self.memory.set_kind(storage, "buffer")
            else:
                if storage in updated and has_update:
                    storage.died = len(self.ops)
                else:
                    self.memory.set_kind(storage, "output")
        if not has_update:
            self.mark_gradients()
        kinds = {storage.record["id"]: storage.record["kind"] for storage in self.memory.storages}
        for record in self.memory.tensors:
            if "alias" in record:
                record["kind"] = kinds[record["alias"]]
        return self.with_releases()

    def find_state(self):
        """What looks like an input, but is made anew of what it was, or written over by the update, is state: the
        optimizer's where the update touches it, else a buffer, as averages of weights and hidden states are."""
        start = [storage for storage in self.memory.storages if storage.from_start]
        inputs = [storage for storage in start if storage.record["kind"] == "input"]
        shapes = [storage.record["shape"] for storage in start if storage.record["kind"] == "parameter"]
        replaced = {storage for storage in inputs if storage.died is not None}
        replaced = self.made_of(replaced) if replaced else replaced
        for storage in inputs:
            if storage.trained and (storage in replaced or storage.written_to):
                self.memory.set_kind(storage, "parameter")   # one that isn't a module's
            elif storage in replaced or storage.written_to and (storage.in_update or storage.record["shape"] in shapes):
                self.memory.set_kind(storage, "optimizer" if storage.in_update else "buffer")

    def made_of(self, storages):
        """Those of some storages of which something as large is made that stays."""
        of_root = {storage.record["id"]: storage for storage in self.memory.storages}
        root = {record["id"]: record.get("alias", record["id"]) for record in self.memory.tensors}
        sources, found = {storage.record["id"]: {storage} for storage in storages}, set()
        for op in self.ops:
            read = set().union(*(sources.get(root[name], ()) for name in op["in"]))
            for out in op["out"] if read else ():
                sources[root[out]] = sources.get(root[out], set()) | read
        for name, made_of in sources.items():
            one = of_root[name]
            if not one.from_start and one.died is None:
                found.update(old for old in made_of if kind_of(old) == kind_of(one))
        return found

    def note_successor(self, name, tensor):
        """What lies in the place of an optimizer's state of this name."""
        storage = None if is_traceable_wrapper_subclass(tensor) else self.memory.find(self.here(tensor))
        if storage is not None:
            self.successors[name] = storage

    def mark_gradients(self):
        """Says of which parameters the step made gradients."""
        records = {record["id"]: record for record in self.memory.tensors}
        for parameter, name in self.gradients.items():
            if name in records and parameter in self.known:
                records[name]["gradient_of"] = self.known[parameter][1]

    def with_releases(self):
        """The ops, and releases where PyTorch lets go of a storage only after something else was allocated."""
        roots = {storage.record["id"]: storage for storage in self.memory.storages}
        allocates = [any(out in roots and not roots[out].from_start and roots[out].record["bytes"] for out in op["out"])
                     for op in self.ops]
        before = [0]
        for does in allocates:
            before.append(before[-1] + does)
        releases, unread = collections.defaultdict(list), collections.defaultdict(list)
        for storage in self.memory.storages:
            replaced = storage.record["kind"] not in PERSISTENT or "replaced" in storage.record
            if storage.died is None or not replaced or not storage.record["bytes"]:
                continue
            if storage.last < 0:   # left by the step before
                unread[storage.died].append(storage)
            elif before[storage.died] > before[storage.last + 1]:
                releases[storage.died].append([storage])
        ops = []
        for i in range(len(self.ops) + 1):
            for storages in ([unread[i]] if i in unread else []) + releases.get(i, []):
                ops.append(self.release(storages, self.ops[min(i, len(self.ops) - 1)]))
            ops += self.ops[i:i + 1]
        return ops

    def release(self, storages, following):
        """The op that marks the place where PyTorch lets go of storages."""
        last = self.ops[storages[0].last] if storages[0].last >= 0 else following
        phase = following["phase"] if storages[0].gradient else last["phase"] if following["phase"] == "forward" else following["phase"]
        names = [storage.record["id"] for storage in storages]
        self.counts["release"] += 1
        return {"id": f"release_{self.counts['release']}", "op": RELEASE, "phase": phase, "mod": last["mod"],
                "in": names,
                "out": [], "flops": 0, "args": [{"t": name} for name in names], "kwargs": {}, "result": None}


QUESTIONS = {getattr(aten, name)
             for name in ("sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "is_contiguous", "size",
                                              "stride", "is_same_size", "_has_same_storage_numel", "is_pinned", "dim")
                                              if hasattr(aten, name)}


def plain_list(tensor):
    """The elements of a tensor, as JSON can hold them."""
    values = tensor.detach().reshape(-1)
    if values.is_complex():
        values = torch.view_as_real(values).reshape(-1)
    return [v if not isinstance(v, float) or math.isfinite(v) else {"float": repr(v)} for v in values.tolist()]


# ---- what users call ----

def follow_resizes(recorder):
    """torch.UntypedStorage.resize_, which tells the recorder."""
    before = torch.UntypedStorage.resize_

    def resize_(storage, size):
        recorder.resized(storage, int(size))
        return before(storage, size)
    return resize_


@contextlib.contextmanager
def quiet_propagation(recorder):
    """DTensor finds shapes by running ops on whole fake tensors, once for each kind of op: these are no part of the step."""
    module = sys.modules.get("torch.distributed.tensor._sharding_prop")
    if module is None:
        yield
        return
    kind = module.ShardingPropagator
    names = [name for name in ("_propagate_tensor_meta_non_cached", "_propagate_tensor_meta") if hasattr(kind, name)][
        :1]
    before = {name: getattr(kind, name) for name in names}

    def quiet(find):
        def found(*args, **kwargs):
            with recorder.pause():
                return find(*args, **kwargs)
        return found
    for name, find in before.items():
        setattr(kind, name, quiet(find))
    try:
        yield
    finally:
        for name, find in before.items():
            setattr(kind, name, find)


def keep_keys():
    """Puts this thread's dispatch keys back: torch.func leaves its own behind where PyTorch stops in the midst of it, and nothing trains after that."""
    return torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(),
                                           torch._C._dispatch_tls_local_exclude_set())


class capture:
    """Writes the step that runs under it into a file: `with capture("step.jsonl.gz"): ...`

    path       the file; compressed if it ends in .gz. None: only `graph`, set at the end, has it.
    real       False: on fake tensors, nothing is computed or allocated. True: the step runs for real; what its
               kernels need for themselves is measured (on a GPU; on CPU under the heap shim).
    hints      what to assume of data that fake tensors don't have: see tidemark_torch.hints.
    name       of the graph; the file's name if it is None.

    On fake tensors, parameters, gradients, optimizers, scalers and what modules hold are left as they were; other Python
    state of the step isn't: a scheduler's, or a dictionary of averages that the step makes anew, which has fake ones.
    """

    def __init__(self, path, real=False, hints=None, name=None):
        self.path, self.real, self.graph = path, real, None
        stem = str(path or "step").replace("\\", "/").rpartition("/")[2]
        self.title = name or stem.replace(".gz", "").replace(".jsonl", "")
        self.recorder = Recorder(real, hints)
        self.partitioned = Partitioned(self.recorder)
        self.stack, self.keys = contextlib.ExitStack(), None
        self.looks_back, self.compiles = True, False   # looks at what earlier steps have left; leaves torch.compile on

    def __enter__(self):
        recorder = self.recorder
        if not self.compiles and hasattr(torch.compiler, "set_stance"):   # it would compile the recorder
            self.stack.enter_context(torch.compiler.set_stance("force_eager"))
            self.stack.enter_context(self.partitioned.installed())
        self.keys = keep_keys()
        self.keys.__enter__()
        if not self.real:
            active = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
            recorder.fake_mode = active or FAKE
            self.stack.enter_context(caches_emptied())
            self.stack.enter_context(gpu_autocast(recorder.hints.assumed))
            if active is None:
                self.stack.enter_context(FAKE)
            # transformers takes other ways where it sees fake tensors
            self.stack.enter_context(patched(sys.modules.get("transformers.utils.import_utils"), "is_fake_tensor",
                                             lambda _: False))
        self.stack.enter_context(patched(Numbers, "active", False))
        with _disable_current_modes():
            recorder.eager = Eager()
            for tensor in tensors_left() if self.looks_back else ():
                recorder.memory.note_left(tensor, False)
        for handle in recorder.modules.start() + recorder.optimizers.start():
            self.stack.callback(handle.remove)
        self.stack.enter_context(quiet_propagation(recorder))
        self.stack.enter_context(patched(torch.UntypedStorage, "resize_", follow_resizes(recorder)))
        self.stack.enter_context(patched(torch, "get_rng_state", recorder.generator_state(torch.get_rng_state)))
        self.stack.enter_context(patched(torch._VF, "_pad_packed_sequence",
                                         follow_padding(recorder, torch._VF._pad_packed_sequence)))
        self.stack.enter_context(patched(torch.amp.GradScaler, "_lazy_init_scale_growth_tracker",
                                         recorder.kept.scaler_hook()))
        recorder.memory.bury(0)
        self.stack.enter_context(recorder)
        return self

    def __exit__(self, kind, error, trace):
        self.stack.close()
        if kind is not None and "INTERNAL ASSERT" in str(error):
            traceback.clear_frames(trace)
        self.keys.__exit__(None, None, None)
        recorder = self.recorder
        try:
            if kind is None:
                self.finish()
        finally:
            self.restore()
            recorder.memory.close()
            recorder.twins.clear()   # a tensor that dies later on is no part of another step
        if kind is not None and issubclass(kind, Exception) and not isinstance(error, CaptureError):
            advice = recorder.hints.advice()
            text = explain(error) + advice
            if advice or not text.startswith(kind.__name__):
                raise CaptureError(text) from error
        return False

    def finish(self):
        """Makes the graph and writes it."""
        recorder = self.recorder
        ops = recorder.finish()
        head = {"v": 1, "name": self.title, "source": f"torch {torch.__version__}"}
        if recorder.hints.assumed:
            head["assumed"] = recorder.hints.texts()
        if recorder.grows:
            head["grows"] = recorder.grows
        if self.partitioned.said:
            head["compiled"] = self.partitioned.said
        say(head, ops, recorder.meter.gpu or recorder.meter.heap is not None)
        tensors = [record for record in recorder.memory.tensors]
        set_values(tensors, ops)
        self.graph = StepGraph(head, tensors, ops)
        if self.path is not None:
            write_graph(self.path, self.graph)

    def restore(self):
        """Takes fake gradients and optimizer state off the user's own tensors."""
        self.recorder.optimizers.restore()
        if not self.real:
            self.recorder.kept.restore()
        for alive, before in [*self.recorder.parameters.values(), *self.recorder.trained_inputs.values()]:
            parameter = alive()
            if self.real or parameter is None or isinstance(parameter, FakeTensor):
                continue
            if before is not None:
                parameter.grad = before.get()
            elif parameter.grad is not None and isinstance(local(parameter.grad), FakeTensor):
                parameter.grad = None


MOST_RUNS = 4   # of a step that leaves more behind than it finds


def run_until_steady(recorder, step, args):
    """Runs a step that is written down until it leaves as much as it finds, as far as one can wait for that."""
    for run in range(MOST_RUNS):
        if run:
            recorder.begin()
        result = step(*args)
        recorder.end()
        del result
        more, by = remaining(recorder.memory)
        if abs(by) < LEAST:
            return
        recorder.wants_lines = True
    if by > 0:
        recorder.grows = sentence(more, by)


def peak_otherwise(recorder, step, args, turn, place):
    """The step's peak if other values are read, at a place or everywhere (None). None: it fails; inf: it never ends."""
    count = len(recorder.ops)
    recorder.begin()
    recorder.most_ops, recorder.hints.turn, recorder.hints.turned = 2 * count + 1000, turn, place
    try:
        step(*args)
        recorder.end()
        return recorder.peak()
    except TooLong:
        return math.inf
    except Exception:   # a step that works doesn't go this way
        return None
    finally:
        recorder.most_ops, recorder.hints.turn = math.inf, 0


def try_other_ways(recorder, step, args):
    """Raises CaptureError where the peak depends on what is assumed of values."""
    places = dict(recorder.hints.places)
    if not places or "item" in recorder.hints.given:
        return
    books, peak = recorder.books(), recorder.peak()

    def depends(place):
        turns = (1, -1) if float in places.values() else (1,)
        others = [peak_otherwise(recorder, step, args, turn, place) for turn in turns]
        return next((other for other in others if other is not None and abs(other - peak) > peak / 1000), None)
    other = depends(None)
    place = None
    if other is not None:
        place = next((one for one in list(places)[:8] if depends(one) is not None), next(iter(places)))
    recorder.keep_books(books)
    if place is not None:
        end = f"{other} the other" if other < math.inf else "and doesn't end the other"
        raise CaptureError(f"{place} decides by a value that fake tensors don't have: the step needs {peak} bytes one "
                           f"way, {end}. Capture with real=True, or say by hints={{'item': N}} what is read")


def capture_step(path, step, *args, warm=True, **options):
    """Runs `step(*args)` and writes its second run: a step of many, with what the first has left. One that leaves more
    than it finds is run again, four times at most; what still grows is said in the graph's `grows`. Returns the graph.
    warm=False: runs it once. Options as for capture()."""
    session = capture(path, **options)
    session.looks_back, recorder = not warm, session.recorder
    recorder.may_run_again = warm and not session.real
    with session:
        if warm:
            with recorder.pause():
                step(*args)
            recorder.begin()
        if recorder.may_run_again:
            run_until_steady(recorder, step, args)
            try_other_ways(recorder, step, args)
        else:
            kept = step(*args)
            recorder.end()
            del kept
    return session.graph
