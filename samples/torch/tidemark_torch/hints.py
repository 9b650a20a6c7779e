"""Values and shapes that depend on data, which fake tensors don't have: what is assumed instead.

    capture(..., hints={"item": 0, "nonzero": 0.25})

`item`: the number that .item() gives (booleans: whether it isn't 0). `nonzero`, `masked_select`, `unique`,
`repeat_interleave`: the part of the elements that is found, or a function of the tensor that returns their number.
What was assumed is written into the graph. Numbers are finite, and checks pass: see tidemark_torch.ways.
"""
import collections
import os
import sys

import torch

from .errors import CaptureError
from .ways import asking, forced, place_of

aten = torch.ops.aten
DISTRIBUTIONS = os.path.join("torch", "distributions", "")
CHECKING = ("distribution.py", "constraints.py", "geometric.py", "continuous_bernoulli.py")   # raise an error otherwise
DRAWING = "von_mises.py"                          # draws again
VALID, BINS = "torch.distributions takes its arguments for valid", "bincount counts up to "
DEFAULTS = {"item": 0, "nonzero": 0.5, "masked_select": 0.5, "unique": 1.0, "repeat_interleave": 1.0}


class Hints:
    """Answers for fake tensors. `assumed` counts what was."""

    def __init__(self, given):
        unknown = set(given or {}) - set(DEFAULTS)
        if unknown:
            raise ValueError(f"no hint {sorted(unknown)[0]!r}: there are {', '.join(DEFAULTS)}")
        self.value, self.given, self.memory = {**DEFAULTS, **(given or {})}, set(given or {}), None
        self.places = {}                # where unknown values were read -> their type
        self.refuses = False            # whether a branch that depends on one is an error
        self.turn, self.turned = 0, None   # 1, -1: other values are read, at a place (None: everywhere)
        self.assumed = collections.Counter()

    def texts(self):
        """A sentence for each assumption."""
        return [f"{text}{f' ({count} times)' if count > 1 else ''}" for text, count in self.assumed.items()]

    def advice(self):
        """What to try where a step has failed after numbers were assumed; empty where none were."""
        if not self.assumed:
            return ""
        return f" (assumed: {self.texts()[0]}; say what fits by hints, --hint item=N on the command line, or capture with real=True)"

    def item(self, tensor):
        """The number in a tensor of one element."""
        storage = self.memory.find(tensor)
        if storage is not None and storage.hint is not None:
            return type_of(tensor)(storage.hint)
        asks = file_of_distribution() if tensor.dtype is torch.bool else None
        if asks in CHECKING or asks == DRAWING:
            self.assumed[VALID if asks in CHECKING else "torch.distributions draws once"] += 1
            return True
        if tensor.dtype is torch.bool and "item" not in self.given:
            return self.decide(getattr(tensor, "_tidemark_truth", None))
        hint = self.value["item"]
        value = self.read(type_of(tensor), type_of(tensor)(hint(tensor) if callable(hint) else hint))
        self.assumed[f".item() gives {value}"] += 1
        return value

    def decide(self, known=None):
        """The way that a branch takes which depends on an unknown value."""
        frame = asking()
        known = forced(frame) if known is None else known
        if known is not None:
            return known
        if self.refuses:
            raise CaptureError(f"{place_of(frame)} decides by a value that fake tensors don't have: capture_step() "
                               "tries both ways, hints={'item': 1} says what it is, real=True computes it")
        value = self.read(bool, False)
        self.assumed[f"{place_of(frame)} goes on as if it were {value}"] += 1
        return value

    def read(self, kind, value):
        """An assumed value, or another one where the other ways are tried."""
        place = place_of(asking())
        self.places.setdefault(place, kind)
        if not self.turn or "item" in self.given or self.turned not in (None, place):
            return value
        return not value if kind is bool else kind(1) if kind is int else kind(self.turn * 1e6)

    def count(self, what, tensor, of):
        """How many of the elements of a tensor are found."""
        hint = self.value[what]
        number = int(hint(tensor)) if callable(hint) else int(of * hint)
        number = max(0, min(of, number)) if what != "repeat_interleave" else max(0, number)
        self.assumed[f"{what} finds {number} of {of}"] += 1
        return number

    def answer(self, function, args, kwargs):
        """The result of an op whose result depends on data; NotImplemented for others."""
        base = function.overloadpacket
        if base is aten._local_scalar_dense:
            return self.item(args[0])
        if base is aten.nonzero:
            return args[0].new_empty((self.count("nonzero", args[0], args[0].numel()), args[0].dim()),
                                     dtype=torch.int64)
        if base is aten.bincount:
            weights, least = (list(args) + [None, 0])[1:3] if len(args) > 1 else (kwargs.get("weights"), 0)
            least = kwargs.get("minlength", least)
            if least:
                self.assumed[f"{BINS}{least}"] += 1
                return args[0].new_empty(least, dtype=torch.int64 if weights is None else weights.dtype)
        if base is aten.masked_select:
            return args[0].new_empty(self.count("masked_select", args[0], args[0].numel()))
        if base in (aten._unique2, aten._unique, aten.unique_consecutive, aten.unique_dim):
            return self.unique(args[0])
        if base is aten.repeat_interleave and function._overloadname == "Tensor":
            size = kwargs.get("output_size")
            return args[0].new_empty(self.count("repeat_interleave", args[0], args[0].numel())
                                     if size is None else size)
        if base in (aten.index, aten.index_put, aten.index_put_, aten._index_put_impl_):
            return self.by_mask(function, args, kwargs)
        if base is aten.equal:
            return self.decide()
        return NotImplemented

    def unique(self, tensor):
        """The distinct values, where each one went, how often each occurs."""
        found = self.count("unique", tensor, tensor.numel())
        return (tensor.new_empty(found), tensor.new_empty(tensor.shape, dtype=torch.int64),
                tensor.new_empty(found, dtype=torch.int64))

    def by_mask(self, function, args, kwargs):
        """Indexing by booleans, which are as good as the places where they are true."""
        indices = []
        for index in args[1]:
            if index is not None and index.dtype in (torch.bool, torch.uint8):
                found = self.count("nonzero", index, index.numel())
                indices += [index.new_empty(found, dtype=torch.int64) for _ in range(index.dim())]
            else:
                indices.append(index)
        return function(args[0], indices, *args[2:], **kwargs)


def file_of_distribution():
    """The file of torch.distributions that asks whether arguments or samples are right; None: it isn't asking."""
    frame = sys._getframe(2)
    while frame is not None and DISTRIBUTIONS not in frame.f_code.co_filename:
        frame = frame.f_back
    return None if frame is None else os.path.basename(frame.f_code.co_filename)


def type_of(tensor):
    """The Python type of a tensor's elements."""
    return bool if tensor.dtype is torch.bool else complex if tensor.is_complex() else \
        float if tensor.is_floating_point() else int
