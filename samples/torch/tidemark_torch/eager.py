"""What PyTorch does otherwise while somebody watches.

Under a dispatch mode the autograd engine, and some derivatives, take ways that make no in-place writes. The step is
to be the one that runs without us, so these ops are turned back into what they are then.
"""
import os
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
HERE = os.path.dirname(__file__)
WRAPPERS = tuple(os.path.join("torch", *path)
                 for path in (("_compile.py",), ("_dynamo", "eval_frame.py"), ("utils", "_stats.py")))
# Derivatives that write into zeros of their own making: node -> {op: the op that runs unwatched}.
IN_PLACE = {aten.index_put.default: aten._index_put_impl_.default, aten.index_add.default: aten.index_add_.default,
            aten.scatter.src: aten.scatter_.src, aten.scatter.value: aten.scatter_.value,
            aten.scatter_add.default: aten.scatter_add_.default,
            aten.index_fill.int_Scalar: aten.index_fill_.int_Scalar,
            aten.masked_scatter.default: aten.masked_scatter_.default, aten.put.default: aten.put_.default}
HALVES = ("MaximumBackward0", "MinimumBackward0")   # they write over what they have halved where both are equal


def counts(tensor):
    """How many hold a tensor and its storage."""
    holders = tensor._use_count() if hasattr(tensor, "_use_count") else 0
    return holders, torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


class _Sample(TorchDispatchMode):
    """Reads the counts of a gradient that only the engine holds."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is aten.add.Tensor and torch._C._current_graph_task_id() != -1:
            self.free = max(counts(args[0]), counts(args[1]))
        return function(*args, **(kwargs or {}))


def free_counts():
    """What counts() says of a gradient that only the engine holds, seen from a dispatch mode."""
    sample = _Sample()
    with torch.enable_grad():
        x = torch.ones(4, requires_grad=True)
        loss = (x * 2 + x * 3).sum()
        with sample:
            torch.autograd.backward(loss)
    return sample.free


def called_by_engine():
    """True when no Python function of a user stands between the engine and the op."""
    frame = sys._getframe(1)
    while frame is not None and (os.path.dirname(frame.f_code.co_filename) == HERE or
                                 frame.f_code.co_filename.endswith(WRAPPERS)):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name in ("_engine_run_backward", "backward", "grad") and \
        os.path.join("torch", "autograd") in frame.f_code.co_filename


class Eager:
    """Turns ops back. `memory` tells what was made by whom."""

    def __init__(self):
        self.free = free_counts()
        self.zeros = None  # the address of the zeros that a derivative made last

    def is_free(self, tensor):
        """True when the engine may write over a gradient."""
        return counts(tensor) <= self.free and tensor.layout is torch.strided and _dense(tensor)

    def real_call(self, function, args, kwargs):
        """(function, args) as they are without a mode."""
        if torch._C._current_graph_task_id() == -1 or torch.is_grad_enabled():
            return function, args
        if function is aten.add.Tensor and not kwargs and len(args) == 2 and called_by_engine():
            old, new = args
            if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor) and old.shape == new.shape and \
                    old.dtype == new.dtype:
                if self.is_free(old):
                    return aten.add_.Tensor, args
                if self.is_free(new):
                    return aten.add_.Tensor, (new, old)
        elif function in IN_PLACE and called_by_engine() and self.zeros is not None and args[0].untyped_storage()._cdata == self.zeros:
            more = (True,) if function is aten.index_put.default and len(args) == 4 else ()
            return IN_PLACE[function], args + more
        elif function is aten.masked_fill.Scalar and called_by_engine() and \
                torch._C._current_autograd_node().name() in HALVES:
            return aten.masked_fill_.Scalar, args
        elif function in (aten.new_zeros.default, aten.zeros_like.default, aten.zeros.default):
            self.zeros = "next"
        return function, args

    def made(self, result):
        """To be called with what an op has made: remembers zeros."""
        if self.zeros == "next":
            self.zeros = result.untyped_storage()._cdata


def _dense(tensor):
    """True when a tensor's elements fill a piece of memory without holes or overlaps."""
    expected = 1
    for step, extent in sorted((s, e) for s, e in zip(tensor.stride(), tensor.shape) if e != 1):
        if step != expected:
            return False
        expected *= extent
    return True
