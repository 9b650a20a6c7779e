"""What a step on fake tensors leaves in the user's objects, taken out again.

A model may make a tensor when it first runs and keep it: a mask, a table of positions, the scale of a GradScaler. On
fake tensors that would be a fake one, and the training that goes on afterwards would stop at it. What the step replaces
is to end where it lets go of it, so none of the user's tensors is held here: only its memory, by a tensor of our own.
"""
import collections
import copy
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes, is_traceable_wrapper_subclass


def parts(tensor):
    """The tensors that have the memory of one."""
    if not is_traceable_wrapper_subclass(tensor):
        return [tensor]
    return [part for name in tensor.__tensor_flatten__()[0] for part in parts(getattr(tensor, name))]


class Held:
    """A tensor's memory. get(): the tensor, or one like it if the step has let go of it."""

    def __init__(self, tensor, holds):
        self.tensor, self.like = weakref.ref(tensor), tensor.__class__
        self.again, self.requires_grad = tensor, tensor.requires_grad
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return
        count = torch._C._storage_Use_Count
        memory = [part.untyped_storage()._cdata for part in parts(tensor) if part.layout is torch.strided]
        before = [count(address) for address in memory]
        with _disable_current_modes():
            self.again = tensor.detach()
        for address, users in zip(memory, before):
            if count(address) > users:
                holds[address] += 1

    def get(self):
        """The tensor."""
        tensor = self.tensor()
        if tensor is not None:
            return tensor
        if issubclass(self.like, torch.nn.Parameter):
            return torch.nn.Parameter(self.again, self.requires_grad)
        return self.again.requires_grad_(self.requires_grad)


class Snapshot:
    """What a nest of dicts, lists and tuples holds. restore(): the same again. What has tensors in it is made anew,
    since a list that the step drops would hold its tensors, unless it is to be the `same`."""

    def __init__(self, value, holds, same=False, deep=True):
        self.value, self.items = value, None
        if isinstance(value, torch.Tensor):
            self.value = Held(value, holds)
        elif isinstance(value, dict) and deep is not None:
            self.items = {key: Snapshot(item, holds, deep=deep or None) for key, item in value.items()}
        elif isinstance(value, (list, tuple, collections.deque)) and deep is not None:
            self.items = [Snapshot(item, holds, deep=deep or None) for item in value]
        self.has_tensors = isinstance(self.value, Held) or self.items is not None and any(
            item.has_tensors for item in (self.items.values() if isinstance(value, dict) else self.items))
        if isinstance(value, tuple) and self.has_tensors:
            self.value = type(value)
        elif self.items is not None and self.has_tensors and not same:
            self.value = copy.copy(value)
            self.value.clear()

    def restore(self):
        """The value."""
        if isinstance(self.value, Held):
            return self.value.get()
        if self.items is None or isinstance(self.value, tuple):
            return self.value
        if isinstance(self.items, dict):
            found = {key: item.restore() for key, item in self.items.items()}
            self.value.clear()
            self.value.update(found)
            return self.value
        found = [item.restore() for item in self.items]
        if isinstance(self.value, type):
            return self.value(*found) if hasattr(self.value, "_fields") else self.value(found)
        self.value.clear()
        self.value.extend(found)
        return self.value


def fakes(place):
    """The keys of a dict that hold fake tensors."""
    return {key for key, value in place.items() if isinstance(value, FakeTensor)}


class Kept:
    """Modules and scalers as they were before a step."""

    def __init__(self, holds):
        self.holds = holds
        self.modules = []  # [[(dict, the keys of its fake tensors, what it held)]]
        self.scalers = []  # that were made ready by the step

    def note_module(self, module):
        """To be called with a module before it runs."""
        self.modules.append([(place, fakes(place), Snapshot(dict(place), self.holds, deep=False))
                             for place in (module.__dict__, module._buffers)])

    def scaler_hook(self):
        """GradScaler's function that makes its scale, which tells of it."""
        before = torch.amp.GradScaler._lazy_init_scale_growth_tracker

        def make_scale(scaler, device):
            self.scalers.append(scaler)
            return before(scaler, device)
        return make_scale

    def restore(self):
        """A module in which fake tensors have come to lie gets back what it held, with the flags that may say that they
        are there; a scaler makes its scale again."""
        for places in self.modules:
            if any(fakes(place) - old for place, old, _ in places):
                for place, _, held in places:
                    place.clear()
                    place.update(held.restore())
        for scaler in self.scalers:
            scaler._scale = scaler._growth_tracker = None
            scaler._per_optimizer_states.clear()
