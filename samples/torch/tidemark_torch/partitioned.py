"""A module under torch.compile in a captured step: the graphs that its backend gets.

Dynamo would compile the recorder itself, so that a capture traces such a module by AOTAutograd alone, at the shapes
that it is called with: one graph forward and one backward, cut by torch.compile's own partitioner, which computes
again what is cheap. Their ops run in the step as they stand. What Inductor fuses of them later isn't seen.
"""
import contextlib
import copy

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_map_only

from .errors import CaptureError
from .faking import patched

AS_IT_IS = ("eager", "eager_noexcept", "pre_dispatch_eager", "eager_debug")   # backends that change nothing
SEEN = ("a compiled module is as a backend gets it that sees all of it: one graph forward and one backward, cut by "
        "torch.compile's partitioner; graph breaks, and what Inductor fuses, aren't seen")
EAGER = "{}: this is the eager step. backend=\"tidemark\" writes the compiled pieces"


def backend_of(callback):
    """The name of the backend that Dynamo calls back; None where it can't be told."""
    while hasattr(callback, "_torchdynamo_orig_backend"):
        callback = callback._torchdynamo_orig_backend
    return getattr(callback, "compiler_name", getattr(callback, "__name__", None))


def compiled_part(module):
    """(the module that a compiled one holds, its backend's name); (None, None) for a module that isn't compiled."""
    inner = getattr(module, "_orig_mod", None)
    if inner is None:
        return (module, None) if getattr(module, "_compiled_call_impl", None) is not None else (None, None)
    return inner, backend_of(getattr(getattr(module, "dynamo_ctx", None), "callback", None))


def boxed(module, _inputs):
    """A compiled piece as it stands; it lets go of its inputs as soon as it can."""
    from torch.fx.graph import _BoxedCodeGen
    module.graph.set_codegen(_BoxedCodeGen())
    module.recompile()
    forward = module.forward

    def run(args):
        return forward(args)
    run._boxed_call = True
    return run


class Place:
    """Where a tensor stands in what a module returns."""

    def __init__(self, number):
        self.number = number


def with_tensors(value, replace, seen=None):
    """What a module returns with its tensors, or their places, replaced; objects that hold tensors are copied."""
    seen = {} if seen is None else seen
    if isinstance(value, (torch.Tensor, Place)):
        return replace(value)
    if isinstance(value, (list, tuple)):
        parts = [with_tensors(part, replace, seen) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    has_parts = isinstance(value, dict) or bool(getattr(value, "__dict__", None))
    if not has_parts or isinstance(value, (torch.nn.Module, type)) or callable(value):
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = made = copy.copy(value)
    for name, part in getattr(value, "__dict__", {}).items():
        made.__dict__[name] = with_tensors(part, replace, seen)
    for key, part in value.items() if isinstance(value, dict) else ():
        made[key] = with_tensors(part, replace, seen)
    return made


class Partitioned:
    """Calls compiled modules by their graphs. Each is traced once for each kind of call."""

    def __init__(self, recorder):
        self.recorder, self.traced, self.said = recorder, {}, None
        self.tracing = False

    @contextlib.contextmanager
    def installed(self):
        """While it is, modules that torch.compile has in hand are called so."""
        from torch._dynamo import eval_frame
        stance = getattr(eval_frame, "_callback_from_stance", None)   # each call of a compiled function asks for it
        with patched(eval_frame, "_callback_from_stance", lambda callback: self.note_function(callback, stance)), \
                patched(torch.nn.Module, "__call__", self.instead_of(torch.nn.Module.__call__)), \
                patched(eval_frame.OptimizedModule, "__call__", self.instead_of(eval_frame.OptimizedModule.__call__)):
            yield

    def note_function(self, callback, stance):
        """Says that what is called runs as it is written, unless it would so anyway, or is traced with its caller."""
        if callback and not self.tracing and backend_of(callback) not in AS_IT_IS:
            self.said = self.said or EAGER.format("a compiled function runs as it is written")
        return stance(callback)

    def instead_of(self, call):
        """What is called instead of a module's __call__."""
        def called(module, *args, **kwargs):
            inner, backend = (None, None) if self.tracing else compiled_part(module)
            if inner is None or backend in AS_IT_IS:
                return call(module, *args, **kwargs)
            return self.run(inner, lambda: call(module, *args, **kwargs), args, kwargs)
        return called

    def run(self, module, eagerly, args, kwargs):
        """Runs a compiled module's graphs, or the module itself where it can't be traced."""
        state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        key = self.key(module, state, args, kwargs)
        if key not in self.traced:
            self.traced[key] = self.trace(module, state, args, kwargs)
        if self.traced[key] is None:
            return eagerly()
        modules = self.recorder.modules
        modules.enter(module, args)
        try:
            return self.traced[key](state, args, kwargs)
        finally:
            modules.leave(module, args, None)

    @staticmethod
    def key(module, state, args, kwargs):
        """Calls with the same key have the same graphs."""
        leaves, spec = tree_flatten((state, args, kwargs))
        described = [(tuple(leaf.shape), tuple(leaf.stride()), leaf.dtype, leaf.requires_grad)
                     if isinstance(leaf, torch.Tensor) else (type(leaf), repr(leaf)) for leaf in leaves]
        modes = module.training, torch.is_grad_enabled(), torch.is_autocast_enabled("cpu")
        return id(module), modes, str(spec), tuple(described)

    def trace(self, module, state, args, kwargs):
        """The module as a function of (state, args, kwargs), traced and cut; None where it can't be."""
        from torch._functorch.aot_autograd import aot_function
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        returned = []

        def called(state, args, kwargs):
            tensors = []

            def keep(tensor):
                number = next((i for i, known in enumerate(tensors) if known is tensor), len(tensors))
                tensors[number:] = tensors[number:] or [tensor]
                return Place(number)
            with torch.nn.utils.stateless._reparametrize_module(module, state, tie_weights=True):
                returned[:] = [with_tensors(module(*args, **kwargs), keep)]
            return tensors
        function = aot_function(called, boxed, boxed, partition_fn=min_cut_rematerialization_partition,
                                inference_compiler=boxed, keep_inference_input_mutations=True)
        examples = tree_map_only(torch.Tensor, self.example, (state, args, kwargs))
        self.tracing = True
        try:
            with _disable_current_modes(), self.recorder.modules.unseen(), \
                    patched(torch.compiler, "_is_compiling_flag", True), \
                    patched(self.recorder.fake_mode, "allow_non_fake_inputs", True):   # constants of the program's own
                function(*examples)
            self.said = self.said or SEEN

            def run(*arguments):
                tensors = function(*arguments)
                return with_tensors(returned[0], lambda place: tensors[place.number])
            return run
        except CaptureError:
            raise
        except Exception as error:
            why = " ".join(str(error).split())[:120] or type(error).__name__
            self.said = EAGER.format(f"a compiled module can't be traced ({why})")
            return None
        finally:
            self.tracing = False

    def example(self, tensor):
        """A tensor to trace with: no graph hangs on it."""
        with _disable_current_modes():
            return self.recorder.here(tensor).detach().requires_grad_(tensor.requires_grad)
