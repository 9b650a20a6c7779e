"""The values of small tensors that follow from constants and from small real inputs.

Models look at such tensors to choose their way (is the mask all ones? do positions count up by one?). They are computed
beside the fake tensors, so that what is captured is the way that PyTorch takes. All others have no values.
"""
import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

aten = torch.ops.aten
LARGEST = 16384  # elements
UNKNOWN = object()
ANSWERS = {aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default, aten._unique2.default,
           aten.unique_consecutive.default, aten.equal.default, aten.repeat_interleave.Tensor}


class Values:
    """Values are attributes of the fake tensors. Real storages that an unknown value was written to are spoiled."""

    def __init__(self):
        self.spoiled = {}  # address of a storage -> a value in it, which keeps the address from being used again

    def get(self, tensor):
        """The value of a fake tensor, or None."""
        value = getattr(tensor, "_tidemark_value", None)
        return None if value is None or value.untyped_storage()._cdata in self.spoiled else value

    def keep(self, tensor, value):
        """A fake tensor's value is known."""
        if value.layout is torch.strided and value.numel() <= LARGEST:
            tensor._tidemark_value = value

    def known(self, function, args, kwargs):
        """The op's result for real, or UNKNOWN where that isn't known or worth it."""
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if any(leaf.numel() > LARGEST for leaf in tensors) or torch.Tag.nondeterministic_seeded in function.tags or \
                any(self.get(leaf) is None for leaf in tensors) or (not tensors and not _is_small_source(args)):
            return UNKNOWN
        real_args, real_kwargs = tree_map_only(torch.Tensor, self.get, (args, kwargs))
        if "device" in real_kwargs:
            real_kwargs = dict(real_kwargs, device=torch.device("cpu"))
        with _disable_current_modes():
            try:
                return function(*real_args, **real_kwargs)
            except Exception:  # what the fake tensors allow and the values don't
                return UNKNOWN

    def follow(self, result, known, written):
        """After an op: its results have the values `known`; what it wrote without them has none any more."""
        if known is UNKNOWN:
            for tensor in written:
                value = getattr(tensor, "_tidemark_value", None)
                if value is not None:
                    self.spoiled[value.untyped_storage()._cdata] = value
                    tensor._tidemark_value = None
            return
        for fake, value in zip(tree_leaves(result), tree_leaves(known)):
            if isinstance(fake, FakeTensor) and isinstance(value, torch.Tensor) and fake.shape == value.shape:
                self.keep(fake, value)


def _is_small_source(args):
    """True when a tensor made of these numbers is small."""
    elements = 1
    for leaf in tree_leaves(args):
        if isinstance(leaf, (int, float)) and not isinstance(leaf, bool):
            elements *= max(1, abs(leaf))
    return elements <= LARGEST
