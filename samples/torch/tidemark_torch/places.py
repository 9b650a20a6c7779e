"""Where a rank has tensors, and what its graph's ops are called with.

The graph of one rank (`tidemark export GRAPH --as native --stage device` with a plan's settings) says of each tensor how it is cut, in words for each
axis of the mesh: R on every device, P summands, S(1) cut along dim 1, S(1:3) each of three blocks of dim 1 cut alike. Its ops have the arguments of the
whole step: names and sizes become the rank's own here.
"""
import math
import re

import torch

from .errors import CaptureError

WORD = re.compile(r"S\((\d+)(?::(\d+))?\)")

# Where ops have the sizes of their result among their arguments.
SIZED = {**{f"aten.{name}": 1 for name in (
    "view", "_unsafe_view", "reshape", "expand", "new_zeros", "new_ones", "new_empty", "new_full", "slice_backward",
    "select_backward",
    "diagonal_backward", "unfold_backward", "_reshape_alias", "as_strided", "new_empty_strided",
    "value_selecting_reduction_backward")},
         **{f"aten.{name}": 0 for name in ("zeros", "ones", "empty", "full", "rand", "randn", "empty_strided")}}
STRIDED = {"aten._reshape_alias", "aten.as_strided", "aten.new_empty_strided", "aten.empty_strided"}
ROWS = {"aten.embedding_dense_backward": 2}           # ... the number of rows
ANY_PART = {"aten.zeros", "aten.ones", "aten.empty", "aten.full", "aten.rand", "aten.randn", "aten.empty_strided"}  # sources whose parts are alike
SPLIT = {"aten.split": 1, "aten.split_with_sizes": 1}
RANGES = {"aten.slice": (1, 2, 3), "aten.slice_backward": (2, 3, 4)}   # dim, start, end
NORMS = {"aten.native_group_norm": (3, 0), "aten.native_group_norm_backward": (5, 1)}   # samples, the operand
CONVOLUTIONS = {"aten.convolution": (8, 0, 1), "aten.convolution_backward": (9, 1, 2)}   # groups, operand, weight


def read_cuts(words):
    """{axis number: (dim, blocks)} of the axes that cut a tensor."""
    found = {}
    for axis, word in enumerate(words or []):
        match = WORD.fullmatch(word)
        if match:
            found[axis] = int(match[1]), int(match[2] or 1)
    return found


def part_of(tensor, words, sizes, at):
    """What one rank has of a whole tensor. sizes, at: devices on each axis, and which of them."""
    for axis, (dim, blocks) in sorted(read_cuts(words).items()):
        if tensor.shape[dim] % (blocks * sizes[axis]):
            raise CaptureError(f"{list(tensor.shape)} isn't cut evenly by {sizes[axis]} along dim {dim}")
        tensor = tensor.unflatten(dim, (blocks, -1)).chunk(sizes[axis], dim + 1)[at[axis]].flatten(dim, dim + 1)
    return tensor


def dense_strides(shape, like):
    """Strides without holes, the dims in the order of other strides."""
    strides, step = [0] * len(shape), 1
    for dim in sorted(range(len(shape)), key=lambda dim: (like[dim], -dim)):
        strides[dim], step = step, step * max(shape[dim], 1)
    return strides


class Localized:
    """The ops of a rank's graph with the rank's own arguments."""

    def __init__(self, graph):
        self.tensors, self.sizes = graph.tensors, list(graph.head["mesh"].values())
        self.ops = {name: op if op["op"].startswith("comm.")
                    or "args" not in op else self.localize(op) for name, op in graph.ops.items()}

    def cut(self, name, dim):
        """(in how many parts a tensor's dim is cut, in how many blocks)."""
        cuts = [(self.sizes[axis], blocks)
                for axis, (along, blocks) in read_cuts(self.tensors[name].get("placement")).items()
                if along == dim % max(len(self.tensors[name]["shape"]), 1)]
        return math.prod(size for size, _ in cuts), max((blocks for _, blocks in cuts), default=1)

    def axes_of(self, name, dims=None):
        """The axes that cut a tensor, along some dims."""
        shape = self.tensors[name]["shape"]
        wanted = None if dims is None else {dim % max(len(shape), 1) for dim in dims}
        return [axis for axis, (dim, _) in read_cuts(self.tensors[name].get("placement")).items() if wanted is None
                or dim in wanted]

    def localize(self, op):
        """An op with the rank's names and sizes."""
        names, own = [], dict(op)
        self.walk([op["args"], [op["kwargs"][key] for key in op["kwargs"]]], names)
        names = list(dict.fromkeys(names))
        if len(names) != len(op["in"]):
            raise CaptureError(f"{op['id']} reads {len(op['in'])} tensors and is called with {len(names)}: capture the step with tidemark_torch")
        renamed = dict(zip(names, op["in"]))
        own["args"] = self.rename(op["args"], renamed)
        own["kwargs"] = {key: self.rename(value, renamed) for key, value in op["kwargs"].items()}
        if op["out"] or op["op"].partition(".")[2].startswith("view"):
            self.resize(own, op["op"].rpartition(".")[0])
        return own

    def walk(self, argument, names):
        """Collects the tensors in an argument."""
        if isinstance(argument, list):
            for item in argument:
                self.walk(item, names)
        elif isinstance(argument, dict) and "t" in argument:
            names.append(argument["t"])

    def rename(self, argument, renamed):
        """An argument with other names."""
        if isinstance(argument, list):
            return [self.rename(item, renamed) for item in argument]
        return {"t": renamed[argument["t"]]} if isinstance(argument, dict) and "t" in argument else argument

    def first(self, slots):
        """The first name of a result."""
        while isinstance(slots, list):
            slots = slots[0]
        return slots

    def resize(self, op, packet):
        """Puts the rank's sizes in the place of the step's."""
        args, out = op["args"], self.tensors.get(self.first(op["result"]))
        if out is None:
            return
        if packet in SIZED and op["op"] != "aten.view.dtype":
            place = SIZED[packet]
            if packet in STRIDED and len(args) > place + 1:
                args[place + 1] = dense_strides(out["shape"], args[place + 1])
            args[place] = list(out["shape"])
        elif packet in ROWS:
            args[ROWS[packet]] = out["shape"][0]
        elif packet in SPLIT:
            dim = args[2] if len(args) > 2 else 0
            parts = [self.tensors[name]["shape"][dim] for name in op["result"] if name in self.tensors]
            args[1] = parts if isinstance(args[1], list) else parts[0]
        elif packet in NORMS:
            first, of = NORMS[packet]
            shape, whole = self.tensors[args[of]["t"]]["shape"], args[first + 1]
            args[first:first + 4] = shape[0], shape[1], math.prod(shape[2:]), args[first + 3] * shape[1] // whole
        elif packet in CONVOLUTIONS and self.axes_of(args[CONVOLUTIONS[packet][1]]["t"], [1]):
            groups, of, weight = CONVOLUTIONS[packet]
            shape, kernel = self.tensors[args[of]["t"]]["shape"], self.tensors[args[weight]["t"]]["shape"]
            if args[groups] > 1:
                args[groups] = shape[1] // kernel[1]
        elif packet.startswith("aten.") and not op["in"] and packet not in ANY_PART and self.axes_of(out["id"]):
            raise CaptureError(f"{op['id']} ({op['op']}) makes a part of what depends on the place: no rank can run this plan; another strategy cuts it elsewhere")
        if packet == "aten.convolution_backward" and args[3] is not None:
            args[3] = [self.tensors[args[0]["t"]]["shape"][1]]
        if packet in RANGES:
            self.shorten(op, packet)

    def shorten(self, op, packet):
        """A range along a dim that is cut: the same share of each part."""
        args = op["args"]
        at = [place for place in RANGES[packet]]
        dim = args[at[0]] if len(args) > at[0] else 0
        long, short = (self.tensors[op["in"][0]], self.tensors[self.first(op["result"])])
        if packet == "aten.slice_backward":
            long, short = short, long
        parts, _ = self.cut(long["id"], dim)
        whole = long["shape"][dim] * parts
        if parts == 1 or len(args) <= at[1] + 1:
            return
        start, end = (min(max(number + whole if number < 0 else number, 0), whole)
                      for number in (args[at[1]] or 0, whole if args[at[2]] is None else args[at[2]]))
        if start % parts or end % parts or (end - start) // parts != short["shape"][dim]:
            raise CaptureError(f"{op['id']} takes {start}:{end} of a dim that is cut in {parts}: no rank can run this plan; another strategy cuts it elsewhere")
        args[at[1]], args[at[2]] = start // parts, end // parts


def mean_axes(localized, op, function):
    """The axes over which an op's result is a mean: what a rank computes counts for its share only. None: it is none."""
    packet = op["op"].rpartition(".")[0]
    if packet == "aten.mean":
        dims = op["args"][1] if len(op["args"]) > 1 and isinstance(op["args"][1], list) and op["args"][1] else None
        return localized.axes_of(op["in"][0], dims) or None
    arguments = getattr(getattr(function, "_schema", None), "arguments", [])
    place = next((i for i, argument in enumerate(arguments) if argument.name == "reduction"), None)
    if place is None:
        return None
    given = op["kwargs"].get("reduction", op["args"][place] if place < len(op["args"]) else 1)
    of = op["in"][1] if "backward" in packet else op["in"][0]
    return (localized.axes_of(of) or None) if given == 1 else None


def share(function, parts):
    """A function whose result is multiplied by a rank's share."""
    def shared(*args, **kwargs):
        return function(*args, **kwargs).div_(parts)
    shared.__name__ = f"share_of_{getattr(getattr(function, 'overloadpacket', function), '__name__', 'mean')}"
    return shared


NLL = {"aten.nll_loss_forward": (0, 1, 4), "aten.nll_loss_backward": (1, 2, 5), "aten.nll_loss2d_forward": (0, 1, 4),
       "aten.nll_loss2d_backward": (1, 2, 5)}
IGNORED = -100


def class_axes(localized, op):
    """(axes that cut the classes of a loss, how many a rank has)."""
    scores = localized.tensors[op["args"][NLL[op["op"].rpartition(".")[0]][0]]["t"]]
    dim = 1 if len(scores["shape"]) > 1 else 0
    return localized.axes_of(scores["id"], [dim]), scores["shape"][dim]


def pick_classes(function, place, first, classes):
    """nll_loss on the classes of this rank: the others' count as ignored."""
    _, target, ignored = place

    def picked(*args):
        args = list(args)
        here = args[target] - first
        args[target] = here.masked_fill_((here < 0) | (here >= classes) | (args[target] == args[ignored]), IGNORED)
        args[ignored] = IGNORED
        return function(*args)
    picked.__name__ = f"{function.overloadpacket.__name__}_of_classes"
    return picked


def weigh(function, groups, mean):
    """nll_loss_forward on a part of the samples or classes: the mean is one by the weight of all of them."""
    def weighed(*args):
        loss, weight = function(*args)
        if not mean:
            return loss, weight
        whole = weight.clone()
        for group in groups:
            torch.distributed.all_reduce(whole, group=group)
        return torch.nan_to_num_(loss.mul_(weight), 0.0).div_(whole), weight
    weighed.__name__ = f"weighed_{function.__name__}"
    return weighed


def rows_of(localized, op):
    """(axes that cut the rows of an embedding, first row of each part): none where the table is whole."""
    packet = op["op"].rpartition(".")[0]
    table = op["in"][0] if packet == "aten.embedding" else localized.first(op["result"]) if packet == "aten.embedding_dense_backward" else None
    return (localized.axes_of(table, [0]), localized.tensors[table]["shape"][0]) if table is not None else ([], 0)


def look_up(function, first, rows):
    """An embedding in the rows of this rank: zeros for what the others have."""
    def looked_up(weight, ids, *args):
        here = ids - first
        away = (here < 0) | (here >= rows)
        return function(weight, here.masked_fill_(away, 0), *args).masked_fill_(away.unsqueeze(-1), 0)
    looked_up.__name__ = "embedding_in_rows"
    return looked_up


def gather_rows(function, first, rows):
    """Its gradient: what belongs to others is passed over, as padding is."""
    def gathered(grad, ids, count, padding, scale):
        here = ids - first
        return function(grad, here.masked_fill_((here < 0) | (here >= rows) | (ids == padding), -2), count, -2, scale)
    gathered.__name__ = "gradient_of_rows"
    return gathered
