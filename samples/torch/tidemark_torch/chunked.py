"""The calls of a step whose loss was cut into chunks (loss_chunks), which `tidemark export --stage device` has written.

A chunk's ops are called as the whole was, with that one's names and sizes; what cuts, counts, sums and joins isn't of
the captured step and has no arguments. Both follow from the tensors. Losses of chunks are sums divided by the number of
all labels that count: the mean of a chunk without any is no number.
"""
import re

from .errors import CaptureError
from .graph import StepGraph
from .memory import DTYPES
from .places import Localized

CHUNK = re.compile(r"\.chunk\d+")
NLL_FORWARD = ("aten.nll_loss_forward.", "aten.nll_loss2d_forward.")
WORDS = {name: str(dtype).partition(".")[2] for dtype, name in DTYPES.items()}
VIEWS = ("aten.view.default", "aten._unsafe_view.default")   # of rows that several samples have a part of: a copy
RUN_AS = {"aten.div.Tensor": "aten.reciprocal.default", "aten.view.default": "aten.reshape.default"}   # the first of all labels
MEAN, SUM = 1, 2


class Chunked(Localized):
    """The ops of a graph with the arguments that chunks need."""

    def __init__(self, graph):   # pylint: disable=super-init-not-called
        self.tensors, self.sizes = graph.tensors, []
        losses = [op for name, op in graph.ops.items() if CHUNK.search(name) and op["op"].startswith(NLL_FORWARD)]
        self.ignored = {op["args"][4] for op in losses if "args" in op}
        self.ops = {name: self.of_chunk(op) if CHUNK.search(name)
                    and "args" in op else self.made(op) for name, op in graph.ops.items()}

    def of_chunk(self, op):
        """A chunk's op with its own names and sizes."""
        names = []
        self.walk([op["args"], [op["kwargs"][key] for key in op["kwargs"]]], names)
        renamed = dict(zip(dict.fromkeys(names), op["in"]))
        own = dict(op, result=self.name_results(op["result"], renamed, iter(op["out"])))
        if op["op"].startswith(NLL_FORWARD) and op["args"][3] == MEAN:
            own["args"] = op["args"][:3] + [SUM] + op["args"][4:]
        if op["op"] in VIEWS:
            own["op"] = "aten.reshape.default"
        return self.localize(own)

    def name_results(self, slots, renamed, outs):
        """The results of an op with other names; None where it leaves one out."""
        if isinstance(slots, list):
            return [self.name_results(slot, renamed, outs) for slot in slots]
        if slots is not None and slots not in renamed:
            renamed[slots] = next(outs, None)
        return renamed.get(slots)

    def made(self, op):
        """An op that the captured step doesn't have, with its arguments; any other as it is."""
        call = CALLS.get(op["op"]) if "args" not in op else None
        if call is None:
            return op
        first = self.tensors[op["out"][0]]
        args, kwargs = call(self, [{"t": name} for name in op["in"]], first)
        result = op["out"] if op["op"] == "aten.split.Tensor" else op["out"][0]
        return dict(op, op=RUN_AS.get(op["op"], op["op"]), args=args, kwargs=kwargs, result=result)

    def along(self, tensor, other):
        """The dim in which two tensors differ."""
        shapes = zip(self.tensors[tensor["t"]]["shape"], other["shape"])
        return next((dim for dim, (one, two) in enumerate(shapes) if one != two), 0)

    def split(self, given, first):
        """Into parts as long as the first."""
        dim = self.along(given[0], first)
        return [given[0], first["shape"][dim], dim], {}

    def counts(self, given, _):
        """Which labels count."""
        if len(self.ignored) != 1:
            raise CaptureError("the losses ignore different labels: a step with all of them in chunks can't be run")
        return [given[0], next(iter(self.ignored))], {}


def plain(_, given, __):
    """An op that takes nothing but tensors."""
    return given, {}


def typed(_, given, first):
    """One of the result's dtype."""
    return given, {"dtype": {"torch": WORDS[first["dtype"]]}}


CALLS = {
    "aten.ones.default": lambda _, __, first: ([list(first["shape"])],
                                               {"dtype": {"torch": WORDS[first["dtype"]]}, "device": "cpu"}),
    "aten.split.Tensor": Chunked.split, "aten.ne.Scalar": Chunked.counts, "aten.sum.default": plain,
    "aten.add.Tensor": plain,
    "aten.add_.Tensor": plain, "aten.mul.Tensor": plain, "aten.addmm_.default": plain, "aten._to_copy.default": typed,
    "aten.div.Tensor": lambda _, given, __: (given[1:], {}),
    "aten.clone.default": lambda _, given, __: (given, {"memory_format": {"torch": "contiguous_format"}}),
    "aten.view.default": lambda _, given, first: ([given[0], list(first["shape"])], {}),
    "aten.cat.default": lambda chunked, given, first: ([given, chunked.along(given[0], first)], {})}


def with_calls(graph):
    """The graph, with the arguments of what loss_chunks has made."""
    if not any(CHUNK.search(name) for name in graph.ops):
        return graph
    return StepGraph(graph.head, list(graph.tensors.values()), list(Chunked(graph).ops.values()))
