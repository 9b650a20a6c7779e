"""The numbers that an optimizer hands to its ops: learning rate, bias corrections, momentum.

A captured step has those of one step. A step that runs a plan needs those of its own, whatever schedule there is, so
the optimizer's own code is run on a twin beforehand: the same optimizer with parameters on the meta device, where
nothing is computed. Only its counters are real.
"""
import copy

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .errors import CaptureError
from .memory import nested

aten = torch.ops.aten
SILENT = {aten.detach.default, aten.alias.default, aten._local_scalar_dense.default, aten.lift_fresh.default}
VIEWS = {"aten.as_strided.default", "aten.view.dtype", "tidemark.release"}


def is_number(leaf):
    """True for a number that may change from step to step."""
    return isinstance(leaf, float)


class _Listen(TorchDispatchMode):
    """Notes every op: its name, how many tensors it takes, and its numbers in order."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function not in SILENT:
            leaves = tree_leaves((args, [kwargs[key] for key in sorted(kwargs)]))
            self.calls.append((str(function), sum(isinstance(leaf, torch.Tensor) for leaf in leaves),
                               [leaf for leaf in leaves if is_number(leaf)]))
        return function(*args, **kwargs)


def plain_numbers(op):
    """The numbers of a graph's op in the order of _Listen, and how many tensors it takes."""
    numbers, tensors = [], 0

    def walk(argument):
        nonlocal tensors
        if isinstance(argument, list):
            for item in argument:
                walk(item)
        elif isinstance(argument, dict):
            tensors += "t" in argument
            numbers.extend(float(value) for key, value in argument.items() if key == "float")
        elif is_number(argument):
            numbers.append(argument)

    walk(op["args"])
    for key in sorted(op["kwargs"]):
        walk(op["kwargs"][key])
    return numbers, tensors


class Twin:
    """The twin of an optimizer. call(): the calls of its next step."""

    def __init__(self, optimizer):
        self.optimizer, memo = optimizer, {}
        for group in optimizer.param_groups:
            for p in group["params"]:
                memo[id(p)] = torch.nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad)
                for _, value in nested(optimizer.state.get(p, {})):
                    if not self.is_counter(p, value):
                        memo[id(value)] = torch.empty_like(value, device="meta")
        gradients = [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]
        try:
            for p, _ in gradients:
                p.grad = None  # is not to be copied
            self.twin = copy.deepcopy(optimizer, memo)
            for key, value in vars(optimizer).items():   # copies of optimizers have only what PyTorch's own do
                vars(self.twin).setdefault(key, value)
        finally:
            for p, gradient in gradients:
                p.grad = gradient
        self.pairs = [(p, memo[id(p)]) for p, _ in gradients]

    @staticmethod
    def is_counter(parameter, value):
        """True for what an optimizer counts steps with."""
        return value.numel() == 1 and value.shape != parameter.shape

    def follow(self):
        """Takes over the optimizer's settings and counters."""
        for mine, real in zip(self.twin.param_groups, self.optimizer.param_groups):
            mine.update({key: value for key, value in real.items() if key != "params"})
            if mine.get("foreach") is None and "foreach" in mine and not mine.get("fused"):
                mine["foreach"] = all(p.is_cuda for p in real["params"])
        for p, meta in self.pairs:
            for path, value in nested(self.optimizer.state.get(p, {})):
                if self.is_counter(p, value):
                    place = self.twin.state[meta]
                    for key in path[:-1]:
                        place = place[key]
                    if not isinstance(place, tuple):
                        place[path[-1]] = value.detach().cpu().clone()

    def calls(self, trained):
        """The ops of the next step: [(name, tensors, numbers)]. trained: the parameters that have gradients."""
        self.follow()
        for p, meta in self.pairs:
            meta.grad = torch.empty_like(meta) if id(p) in trained else None
        step = getattr(type(self.twin).step, "__wrapped__", type(self.twin).step)  # without hooks and profiling
        try:
            with torch.no_grad(), _Listen() as listen:
                step(self.twin)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            name = type(self.optimizer).__name__
            raise CaptureError(
                f"{name} decides by what it computes ({str(error).splitlines()[0][:100]}): no graph can run it; "
                               "apply a plan of forward and backward, and call its step() yourself") from error
        return listen.calls


def find_calls(ops, calls, start):
    """Where the calls of an optimizer stand among a graph's ops, in program order: their places, or None.
    ops: [(name, record)]."""
    for first in range(start, len(ops) - len(calls) + 1):
        places, at = [], first
        for name, tensors, numbers in calls:
            while at < len(ops) and ops[at][1]["op"] in VIEWS and ops[at][1]["op"] != name:
                at += 1
            if at == len(ops) or ops[at][1]["op"] != name:
                break
            found, count = plain_numbers(ops[at][1])
            if count != tensors or len(found) != len(numbers):
                break
            places.append(at)
            at += 1
        if len(places) == len(calls):
            return places
    return None


class Numbers:
    """The numbers of all optimizers of a step. slots: op -> place of its first number in values()."""

    def __init__(self, graph, optimizers, trained):
        self.twins, self.slots, self.count = [], {}, 0
        ops = [(name, op) for name, op in graph.ops.items() if op["phase"] == "update" and "args" in op and
               ".again" not in name]
        self.trained, start = trained, 0
        for optimizer in optimizers:
            twin = Twin(optimizer)
            calls = twin.calls(trained)
            places = find_calls(ops, calls, start)
            if places is None:
                raise CaptureError(f"the graph's update isn't one of this {type(optimizer).__name__}: capture the step "
                                   "with the optimizer (and its foreach and fused) that is to run it, after its first steps")
            for place, (_, _, numbers) in zip(places, calls):
                if numbers:
                    self.slots[ops[place][0]] = self.count
                    self.count += len(numbers)
            start = places[-1] + 1 if places else start
            self.twins.append((twin, [(name, len(numbers)) for name, _, numbers in calls]))

    def values(self):
        """The numbers of the step that comes next."""
        numbers = []
        for twin, expected in self.twins:
            calls = twin.calls(self.trained)
            if [(name, len(found)) for name, _, found in calls] != expected:
                raise CaptureError(
                    f"{type(twin.optimizer).__name__} takes another way at this step than in the captured one")
            for _, _, found in calls:
                numbers += found
        return numbers
