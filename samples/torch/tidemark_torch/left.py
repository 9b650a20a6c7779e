"""What earlier steps have left: tensors that something still holds, and what graphs keep for a backward pass.

A loss that a program keeps holds all that its backward pass would read. A step that binds the name anew lets go of it.
"""
import functools
import gc

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass


@functools.lru_cache(None)
def saved_names(kind):
    """The attributes of a kind of autograd node that hold what it has saved."""
    return [name for name in dir(kind) if name.startswith("_raw_saved_")]


def saved_by(node):
    """The tensors that an autograd node has saved. Where hooks pack them, as checkpoints do, they aren't unpacked."""
    for name in saved_names(type(node)):
        try:
            saved = getattr(node, name)
            yield from [getattr(one, "data", None) for one in (saved if isinstance(saved, (list, tuple)) else [saved])]
        except RuntimeError:   # a backward pass has freed it
            pass


def saved_tensors(tensors):
    """What the graphs behind some tensors have saved."""
    nodes, seen = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None], set()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [following for following, _ in node.next_functions]
            yield from saved_by(node)


def has_memory(value):
    """True for a tensor with one storage, on a device or fake."""
    return isinstance(value, torch.Tensor) and value.layout is torch.strided and \
        not is_traceable_wrapper_subclass(value) and not torch._C._functorch.is_functorch_wrapped_tensor(value) and \
        value.device.type != "meta"


def tensors_left():
    """All tensors that are there, on a device or fake."""
    gc.collect()
    found = [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]
    yield from filter(has_memory, [*found, *saved_tensors(found)])
