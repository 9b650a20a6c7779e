"""What a step on fake tensors leaves in the user's objects, taken out again.

A model may make a tensor when it first runs and keep it: a mask, a table of positions, the scale of a GradScaler. On
fake tensors that would be a fake one, and the training that goes on afterwards would stop at it.
"""
import torch
from torch._subclasses.fake_tensor import FakeTensor


def fakes(place):
    """The keys of a dict that hold fake tensors."""
    return {key for key, value in place.items() if isinstance(value, FakeTensor)}


class Kept:
    """Modules and scalers as they were before a step."""

    def __init__(self):
        self.modules = []  # [(its dicts, copies of them from before)]
        self.scalers = []  # that were made ready by the step

    def note_module(self, module):
        """To be called with a module before it runs."""
        places = module.__dict__, module._buffers
        self.modules.append((places, [dict(place) for place in places]))

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
        for places, before in self.modules:
            if any(fakes(place) - fakes(old) for place, old in zip(places, before)):
                for place, old in zip(places, before):
                    place.clear()
                    place.update(old)
        for scaler in self.scalers:
            scaler._scale = scaler._growth_tracker = None
            scaler._per_optimizer_states.clear()
