#!/usr/bin/python3
"""Traces one training step of a PyTorch model (forward, backward, weight update) into Tidemark's native format.

    capture.py MODEL [--batch N] [--seq N] [--layers N] [--hidden N] [--image N] [--optimizer NAME] [-o FILE]
    capture.py --list

MODEL is a name from models.py, or FILE.py:FUNCTION for a function like those in models.py: it takes a Size and returns
(module, inputs).

The model is built from fake tensors, which own no memory, so that even GPT2-XL is captured on a laptop in a minute.
A dispatch mode above them sees every op that runs below autograd, in PyTorch's own order: the forward pass, what the
autograd engine runs, and the single-tensor optimizers. Which tensors share memory is read off their storages, not off
the operators' schemas, some of which don't tell.

Beside what the format defines, records carry what replay.py needs to run the ops for real. A tensor that is there
from the start has `init` (see models.py) or, for small constants, `data`. An op has `args` and `kwargs`, where
{"t": id} is a tensor, {"torch": name} something like torch.float32, {"float": text} an infinity; `result`: the ids
that its results get, nested as it returns them, null for none; `random`: true when it draws random numbers.

Made for Debian 12's python3-torch 1.13.1 and python3-torchvision.
"""
import argparse
import collections
import functools
import math
import runpy
import sys
import unittest.mock
import warnings

try:
    import torch
except ImportError:
    sys.exit("capture.py needs PyTorch (Debian: python3-torch and python3-torchvision)")
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.optim import adam, adamw, sgd
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from models import MODELS, Size
from step_graph import StepGraph, write_graph

aten = torch.ops.aten
SAME_TENSOR = {aten.detach.default, aten.alias.default, aten.lift_fresh.default}
RANDOM = {"native_dropout", "bernoulli_", "normal_", "uniform_"}
KIND_IN_PHASE = {"forward": "activation", "backward": "gradient", "update": "temporary"}
DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool"}
OPTIMIZER_STATE = {"sgd": [], "momentum": ["momentum_buffer"], "adam": ["exp_avg", "exp_avg_sq"],
                   "adamw": ["exp_avg", "exp_avg_sq"]}


def short(name):
    """The name of a module or parameter without the wrapper that adds the loss."""
    return "" if name == "model" else name[6:] if name.startswith("model.") else name


def tensors_in(value):
    """All tensors in nested lists, tuples and dicts."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


@functools.lru_cache(None)
def has_kernel(function):
    """False for an op that PyTorch runs as a composition of others."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CPU")


def overwritten(function, args, kwargs):
    """The tensors among an op's arguments that it writes to."""
    if function is aten.native_batch_norm.default:  # its schema hides the running statistics
        return [statistic for statistic in args[3:5] if statistic is not None] if args[5] else []
    found = []
    for i, argument in enumerate(function._schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            found += tensors_in(kwargs.get(argument.name, args[i] if i < len(args) else None))
    return found


def convolution_backward(grad, image, weight, *rest):
    """The shapes of aten.convolution_backward's results. Fake tensors would run the real kernel: it has no other."""
    wanted = rest[-1]
    by_pixel = image.dim() == 4 and any(not tensor.is_contiguous() and
                                        tensor.is_contiguous(memory_format=torch.channels_last)
                                        for tensor in (image, weight))
    layout = torch.channels_last if by_pixel else torch.contiguous_format
    return (torch.empty_like(image, memory_format=layout) if wanted[0] else None,
            torch.empty_like(weight, memory_format=layout) if wanted[1] else None,
            grad.new_empty(grad.shape[1]) if wanted[2] else None)


def count_flops(function, args, results):
    """2 per multiply-add of products and convolutions, 1 per element of the largest tensor otherwise."""
    name = function.overloadpacket.__name__
    if name in ("mm", "bmm"):
        return 2 * results[0].numel() * args[0].shape[-1]
    if name in ("addmm", "baddbmm"):
        return 2 * results[0].numel() * args[1].shape[-1]
    if name == "convolution":
        return 2 * results[0].numel() * args[1][0].numel()
    if name == "convolution_backward":
        return 2 * args[0].numel() * args[2][0].numel() * sum(args[-1][:2])
    return max((tensor.numel() for tensor in tensors_in([results, args])), default=0)


class Recorder(TorchDispatchMode):
    """Writes down every op that runs while it is active. Set `phase` and `module` as the step proceeds."""

    def __init__(self):
        self.tensors, self.ops = [], []
        self.phase, self.module = "forward", ""
        self.name_of = {}  # id(tensor) -> its newest name: an in-place write makes a new one
        self.root_of = {}  # storage -> record of the tensor that names it
        self.keep = []     # every tensor seen: ids and storages must not be reused while recording
        self.counts = collections.Counter()

    def root(self, tensor):
        """The record of the tensor that names a tensor's storage, or None for a storage not seen before."""
        return self.root_of.get(tensor.storage()._cdata)

    def add(self, tensor, name, kind, **extra):
        """Records a new name for a tensor; kind counts only if its storage is new. Returns the name."""
        name = f"{name}#{len(self.tensors)}"
        record = {"id": name, "bytes": tensor.numel() * tensor.element_size(), "dtype": DTYPES[tensor.dtype],
                  "shape": list(tensor.shape)}
        root = self.root(tensor)
        if root is None:
            record.update(bytes=tensor.storage().nbytes(), kind=kind, **extra)
            self.root_of[tensor.storage()._cdata] = record
        else:
            record.update(kind=root["kind"], alias=root["id"])
        self.tensors.append(record)
        self.bind(tensor, name)
        return name

    def bind(self, tensor, name):
        """From now on, `name` stands for a tensor."""
        self.keep.append(tensor)
        self.name_of[id(tensor)] = name

    def name(self, tensor):
        """A tensor's newest name. What the step has not made itself is a constant."""
        if id(tensor) in self.name_of:
            return self.name_of[id(tensor)]
        with no_dispatch():
            return self.add(tensor, f"const_{len(self.tensors)}", "constant", data=tensor.reshape(-1).tolist())

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
        if isinstance(argument, float) and not math.isfinite(argument):
            return {"float": repr(argument)}
        return argument

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.ops.prim.device.default:
            return function(*args, **kwargs)
        if not has_kernel(function):
            with self:
                result = function.decompose(*args, **kwargs)
            if result is not NotImplemented:
                return result
        reads = [self.name(tensor) for tensor in tensors_in((args, kwargs))]
        call = {"args": self.encode(args), "kwargs": {key: self.encode(value) for key, value in kwargs.items()}}
        writes = [(tensor, self.name(tensor)) for tensor in overwritten(function, args, kwargs)]
        run = convolution_backward if function is aten.convolution_backward.default else function
        result = run(*args, **kwargs)
        if function in SAME_TENSOR:
            self.bind(result, reads[0])
            self.root_of.setdefault(result.storage()._cdata, self.root(args[0]))
        else:
            self.record(function, call, reads, writes, args, result)
        return result

    def record(self, function, call, reads, writes, args, result):
        """Adds the op that has just run. reads: names; writes: [(tensor, its name before)]."""
        base = function.overloadpacket.__name__
        name = f"{base}_{self.counts[base]}"
        self.counts[base] += 1
        results = tensors_in([result])
        is_view = bool(results) and not writes and all(self.root(tensor) for tensor in results)
        slots = self.name_results(result, name)
        made = [self.name(tensor) for tensor in results]
        op = {"id": f"{name}#{len(self.ops)}", "op": str(function), "phase": self.phase, "mod": self.module,
              "in": list(dict.fromkeys(reads)), "out": made,
              "flops": 0 if is_view else int(count_flops(function, args, results))}
        if writes:
            op["inplace"] = [[self.renamed(tensor, results), before] for tensor, before in writes]
        op.update(call, result=slots)
        if base in RANDOM:
            op["random"] = True
        self.ops.append(op)

    def name_results(self, result, name):
        """Names all tensors of an op's result; returns the names, nested like the result."""
        if isinstance(result, (list, tuple)):
            return [self.name_results(part, f"{name}.{i}") for i, part in enumerate(result)]
        if isinstance(result, torch.Tensor):
            return self.add(result, name, KIND_IN_PHASE[self.phase])
        return None

    def renamed(self, written, results):
        """The new name of a tensor written in place, or None where the op doesn't return it."""
        return next((self.name(tensor) for tensor in results if self.root(tensor) is self.root(written)), None)

    def set_kind(self, tensor, kind):
        """Changes the kind of a tensor's storage, in all its names."""
        root = self.root(tensor)
        root["kind"] = kind
        for record in self.tensors:
            if record.get("alias") == root["id"]:
                record["kind"] = kind


class ModulePath:
    """Tells a recorder which module each op belongs to: forward by hooks, and backward because autograd's nodes
    remember the module that made them."""

    def __init__(self, model, recorder):
        self.recorder, self.stack, self.module_of = recorder, [""], {}
        for name, module in model.named_modules():
            module.register_forward_pre_hook(functools.partial(self.enter, short(name)))
            module.register_forward_hook(self.leave)

    def mark(self, values, module):
        """Gives every autograd node behind `values` that has no module yet to `module`."""
        stack = [tensor.grad_fn for tensor in tensors_in(values)]
        while stack:
            node = stack.pop()
            if node is not None and node not in self.module_of:
                self.module_of[node] = module
                stack += [before for before, _ in node.next_functions]

    def enter(self, name, module, inputs):
        self.mark(inputs, self.stack[-1])
        self.stack.append(name)
        self.recorder.module = name

    def leave(self, module, inputs, outputs):
        self.mark(outputs, self.stack.pop())
        self.recorder.module = self.stack[-1]

    def follow_backward(self, loss):
        """Call before the backward pass: from here on its nodes set the recorder's module."""
        self.mark(loss, "")
        for node, module in self.module_of.items():
            if not node.name().endswith("AccumulateGrad"):
                node.register_prehook(functools.partial(self.start_node, module))

    def start_node(self, module, gradients):
        self.recorder.module = module


class StepCount:
    """Adam's step counter as a plain number: a tensor's value can't be read while tracing."""

    def __init__(self):
        self.value = 10

    def __iadd__(self, other):
        self.value += other
        return self

    def item(self):
        return self.value


def update(optimizer, parameter, gradient, state):
    """One parameter's update by PyTorch's own single-tensor code. state: name -> tensor, as in OPTIMIZER_STATE."""
    if optimizer in ("sgd", "momentum"):
        sgd._single_tensor_sgd([parameter], [gradient], [state.get("momentum_buffer")], weight_decay=0.0,
                               momentum=0.9 if state else 0.0, lr=0.01, dampening=0.0, nesterov=False, maximize=False,
                               has_sparse_grad=False)
        return
    common = dict(amsgrad=False, beta1=0.9, beta2=0.999, lr=1e-3, eps=1e-8, maximize=False, capturable=False)
    lists = [parameter], [gradient], [state["exp_avg"]], [state["exp_avg_sq"]], [], [StepCount()]
    if optimizer == "adam":
        adam._single_tensor_adam(*lists, None, None, weight_decay=0.0, differentiable=False, **common)
    else:
        adamw._single_tensor_adamw(*lists, weight_decay=0.01, **common)


def dropout(x, p=0.5, training=True, inplace=False):
    """Dropout with a mask of booleans, as on GPUs; the CPU's own has one of floats."""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def find_model(name):
    """The function behind a MODEL of the command line. ValueError if there is none."""
    path, _, function = name.rpartition(":")
    found = (runpy.run_path(path) if path else MODELS).get(function)
    if found is None:
        raise ValueError(f"no model {name}: --list prints the names")
    return found


def initial_value(name, tensor):
    """An `init` that lets a parameter or buffer of this name and shape take part in a finite training step."""
    last = name.rsplit(".", 1)[-1]
    if not tensor.is_floating_point() or "bias" in last or last == "running_mean":
        return ["fill", 0.0 if tensor.is_floating_point() else 0]
    if tensor.dim() <= 1:
        return ["fill", 1.0]
    is_embedding = tensor.dim() == 2 and tensor.shape[0] > 5000
    return ["normal", min(0.02 if is_embedding else 1.0, (2.0 * tensor.shape[0] / max(1, tensor.numel())) ** 0.5)]


class TrainingStep:
    """A model with fake parameters, inputs and optimizer state, all known to a recorder."""

    def __init__(self, build, size, optimizer):
        self.optimizer, self.recorder = optimizer, Recorder()
        self.model, inputs = build(size)
        self.model.train()
        self.inputs = {}
        for key, (shape, dtype, init) in inputs.items():
            self.inputs[key] = torch.zeros(shape, dtype=dtype)
            self.recorder.add(self.inputs[key], key, "input", init=init)
        for key, parameter in self.model.named_parameters():
            self.recorder.add(parameter, short(key), "parameter", init=initial_value(key, parameter))
        for key, buffer in self.model.named_buffers():
            self.recorder.add(buffer, short(key), "buffer", init=initial_value(key, buffer))
        self.state = {key: {} for key, _ in self.model.named_parameters()}
        for state in OPTIMIZER_STATE[optimizer]:
            for key, parameter in self.model.named_parameters():
                self.state[key][state] = torch.empty_like(parameter).detach()
                self.recorder.add(self.state[key][state], f"{short(key)}.{state}", "optimizer",
                                  init=["fill", 1e-4 if state == "exp_avg_sq" else 0.0])

    def run(self):
        """Runs the step under the recorder."""
        recorder, parameters = self.recorder, dict(self.model.named_parameters())
        path = ModulePath(self.model, recorder)
        with recorder:
            loss = self.model(**self.inputs)
            path.follow_backward(loss)
            recorder.phase, recorder.module = "backward", ""
            gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
            recorder.phase = "update"
            with torch.no_grad():
                for (key, parameter), gradient in zip(parameters.items(), gradients):
                    if gradient is not None:
                        recorder.set_kind(gradient, "gradient")
                        recorder.module = short(key)
                        update(self.optimizer, parameter, gradient, self.state[key])
        recorder.set_kind(loss, "output")


def capture(model, size, optimizer):
    """The StepGraph of one training step. model: as on the command line; size: models.Size."""
    build = find_model(model)
    with unittest.mock.patch.object(F, "dropout", dropout), FakeTensorMode(allow_fallback_kernels=True):
        step = TrainingStep(build, size, optimizer)
        step.run()
    given = {"l": size.layers, "h": size.hidden, "i": size.image}
    name = "_".join([model.rpartition(":")[2], f"b{size.batch}"] + ([f"s{size.seq}"] if size.seq else []) +
                    [f"{key}{value}" for key, value in given.items() if value] + [optimizer])
    head = {"v": 1, "name": name, "source": f"torch {torch.__version__}", "batch": size.batch, "seq": size.seq,
            "optimizer": optimizer}
    return StepGraph(head, step.recorder.tensors, step.recorder.ops)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", help="a name, or FILE.py:FUNCTION")
    parser.add_argument("--list", action="store_true", help="print the models' names")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, help="tokens (language models)")
    parser.add_argument("--layers", type=int, help="blocks (language models)")
    parser.add_argument("--hidden", type=int, help="features (language models and mlp)")
    parser.add_argument("--image", type=int, help="height and width in pixels (torchvision models)")
    parser.add_argument("--optimizer", choices=OPTIMIZER_STATE, default="adam")
    parser.add_argument("-o", "--output", help="NAME.jsonl.gz by default; gz if it ends so")
    options = parser.parse_args()
    if options.list or not options.model:
        print("\n".join(MODELS))
        return
    warnings.filterwarnings("ignore")
    size = Size(options.batch, options.seq, options.layers, options.hidden, options.image)
    try:
        graph = capture(options.model, size, options.optimizer)
    except (OSError, ValueError) as error:
        sys.exit(f"capture.py: {error}")
    path = options.output or f"{graph.head['name']}.jsonl.gz"
    write_graph(path, graph)
    order = list(graph.ops)
    print(f"{path}: {len(order)} ops, {len(graph.tensors)} tensors, program order's peak "
          f"{graph.peak_bytes(order) / 1e6:.3f} MB", file=sys.stderr)


if __name__ == "__main__":
    main()
