"""Fake modules and tensors: shapes without memory."""
import contextlib
import functools
import gc

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from .autocasting import gpu_autocast
from .values import UNKNOWN, Values

FAKE = FakeTensorMode(allow_fallback_kernels=True)


def copy_fake(tensor, memo):
    """copy.deepcopy of a fake tensor, whose memory PyTorch's own would read."""
    if id(tensor) not in memo:
        with torch.no_grad():
            copy = tensor.detach().clone(memory_format=torch.preserve_format)
        if tensor.requires_grad and tensor.is_leaf:
            copy.requires_grad_()
        if getattr(tensor, "_is_param", False):
            copy._is_param = True
        memo[id(tensor)] = copy
    return memo[id(tensor)]


def convert_fake(swap_tensors):
    """torch.utils.swap_tensors, by which Module.to() converts fake parameters: it refuses those that something has a weak reference
    to, as fake modes do."""
    def swap(first, second):
        if not isinstance(first, FakeTensor) or not isinstance(second, FakeTensor):
            return swap_tensors(first, second)
        first.data = second
        first.fake_device = second.fake_device
        return None
    return swap


def format_fake(tensor, how):
    """A fake tensor in an f-string: one of a single element is the number that .item() gives, as a real one is."""
    if tensor.dim() == 0:
        with contextlib.suppress(DataDependentOutputException):
            return format(tensor.item(), how)
    return object.__format__(tensor, how)


FakeTensor.__deepcopy__ = copy_fake
FakeTensor.__format__ = format_fake
torch.utils.swap_tensors = convert_fake(torch.utils.swap_tensors)


def program_caches():
    """What functools.lru_cache and functools.cache have made, but for PyTorch's own."""
    kind = type(functools.lru_cache(lambda: None))
    return [found for found in gc.get_objects() if type(found) is kind
            and str(found.__module__).partition(".")[0] != "torch"]


@contextlib.contextmanager
def caches_emptied():
    """What programs put into such caches meanwhile is fake: they are emptied, since a real step would find it there."""
    before = {id(cache): cache.cache_info().misses for cache in program_caches()}
    try:
        yield
    finally:
        for cache in program_caches():
            if cache.cache_info().misses != before.get(id(cache), 0):
                cache.cache_clear()


class NoNumber(DataDependentOutputException):
    """A number that a model asks for as it is made, and that nobody has computed."""

    def __str__(self):
        return ("the model reads a number of a fake tensor as it is made (.item()): make it outside of tidemark_torch.fake(), "
                "and capture it all the same: nothing of the step is computed")


class Numbers(TorchDispatchMode):
    """Small numbers that models compute as they are made have values: `.item()` of a linspace. Not while a step is
    recorded: recorders have their own."""
    active = True

    def __init__(self):
        super().__init__()
        self.values = Values()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.active:
            return function(*args, **kwargs)
        known = self.values.known(function, args, kwargs)
        if isinstance(known, (bool, int, float, complex)):
            return known
        written = [value for argument, value in zip(function._schema.arguments, args)
                   if argument.alias_info is not None and argument.alias_info.is_write]
        try:
            result = function(*args, **kwargs)
        except DataDependentOutputException as error:
            raise NoNumber(error.func) from None
        if function is torch.ops.aten.lift_fresh.default and not isinstance(args[0], FakeTensor):
            self.values.keep(result, args[0])
        else:
            self.values.follow(result, known, [value for value in written if isinstance(value, torch.Tensor)])
        return result


@contextlib.contextmanager
def fake():
    """A context under which modules and tensors are made fake: they have shapes, but no memory. Use it around the
    making of models that are too large for the machine."""
    with caches_emptied(), FAKE, Numbers(), gpu_autocast(), patched(torch.nn.init, "_no_grad_trunc_normal_",
                                                                    lambda tensor, *_args, **_kwargs: tensor):
        yield


@contextlib.contextmanager
def patched(module, name, value):
    """Replaces an attribute of a module for a while; does nothing where there is no such module or attribute."""
    before = getattr(module, name, None)
    if before is None:
        yield
        return
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)
