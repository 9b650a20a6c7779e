"""Shapes of ONNX ops that work element by element, cut, join and turn arrays, and the small numbers behind sizes that
are computed in the graph: a rule for each, which fills a node's results.
"""
import math
from itertools import product
from operator import mul

from onnx_node import Unknown, Value, axis_of, broadcast, dtype_of, read_tensor

WHOLE_MOST = 1e15   # a real beyond it is no size
COMPARED = {"Equal": lambda a, b: a == b, "Less": lambda a, b: a < b, "Greater": lambda a, b: a > b,
            "LessOrEqual": lambda a, b: a <= b, "GreaterOrEqual": lambda a, b: a >= b,
            "And": lambda a, b: bool(a and b),
            "Or": lambda a, b: bool(a or b), "Xor": lambda a, b: (not a) != (not b)}


def quotient(a, b):
    """Cut to a whole number as in C."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest(a, b):
    """Of which sign it is an attribute says, where that matters."""
    if b != -1 and (a < 0 or b < 0):
        raise Unknown
    return a % b


CALCULATED = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": mul, "Div": quotient, "Mod": rest,
              "Max": max,
              "Min": min, **{op: lambda a, b, truth=truth: int(truth(a, b)) for op, truth in COMPARED.items()}}
SCALED = {"Mul": mul, "Div": lambda a, b: a / b if b > 0 else 0.0}


# ---- element by element ----

def pairs(a, b):
    """Numbers of two operands, of which one may be a single number."""
    if len(a) != len(b) and 1 not in (len(a), len(b)):
        raise Unknown
    return zip(a * len(b) if len(a) == 1 else a, b * len(a) if len(b) == 1 else b)


def elementwise(node, first=0, dtype=None):
    """All operands broadcast, with the dtype of the first one that is no condition."""
    shape = node.operand(first).shape
    for i in range(len(node.ins)):
        if i != first:
            shape = broadcast(shape, node.operand(i).shape)
    node.give(0, shape, dtype or node.ins[first].dtype)
    if len(node.ins) == 2:
        for which, found, table in ("ints", node.ints, CALCULATED), ("reals", node.reals, SCALED):
            a, b = found(0), found(1)
            if a is not None and b is not None and node.op in table:
                node.follow(**{which: [table[node.op](*pair) for pair in pairs(a, b)]})


def comparison(node):
    elementwise(node, dtype="bool")


def where(node):
    elementwise(node, first=1)
    condition, a, b = node.ints(0), node.ints(1), node.ints(2)
    if None not in (condition, a, b) and len(condition) == len(a) == len(b):
        node.follow([one if true else other for true, one, other in zip(condition, a, b)])


def copy_numbers(node):
    node.follow(node.ints(0), node.reals(0))


def whole(node):
    """Floor."""
    a, reals = node.operand(0), node.reals(0)
    node.give(0, a.shape, a.dtype)
    if reals is not None:
        node.follow(reals=[float(int(one)) if 0 <= one < WHOLE_MOST else one for one in reals])


def same(node):
    """The first result like the first operand; of dropout the mask behind it."""
    a = node.operand(0)
    node.give(0, a.shape, a.dtype)
    if node.op == "Dropout":
        node.give(1, a.shape, "bool")
    if node.op == "Identity":
        copy_numbers(node)


def truth_of(node):
    node.give(0, node.operand(0).shape, "bool")
    if node.op == "Not" and node.ints(0) is not None:
        node.follow([int(not one) for one in node.ints(0)])


def bit_cast(node):
    """The same bits as another dtype of that width: no number is known any more."""
    a, dtype = node.operand(0), dtype_of(node.int("to", 0))
    if dtype:
        node.give(0, a.shape, dtype)


def cast(node):
    """To texts, which have no dtype here, too."""
    a, like, ints, reals = node.operand(0), node.known(1), node.ints(0), node.reals(0)
    dtype = like.dtype if like else dtype_of(node.int("to", 0))
    node.give(0, a.shape, dtype)
    if dtype in ("i64", "i32", "bool"):
        node.follow([int(one) if -WHOLE_MOST < one < WHOLE_MOST else -1 for one in reals]
                    if reals is not None else ints)
    elif ints is not None:
        node.follow(reals=[float(one) for one in ints])


# ---- shapes as numbers ----

def shape_op(node):
    shape = node.operand(0).shape
    shape = shape[slice(node.int("start", 0), node.int("end", len(shape)))]
    node.give(0, [len(shape)], "i64")
    node.follow(list(shape))


def size_op(node):
    elements = math.prod(node.operand(0).shape)
    node.give(0, [], "i64")
    node.follow([elements])


def constant(node):
    """Attributes value, value_int, value_ints, value_float."""
    value, ints = Value(), node.list("value_ints")
    if "value" in node.attributes:
        if 5 in node.attributes["value"]:
            read_tensor(node.attributes["value"][5], value)
        if value.dtype is None:
            raise Unknown
    elif ints is not None:
        value.dtype, value.shape, value.ints = "i64", [len(ints)], ints
    elif "value_int" in node.attributes:
        value.dtype, value.shape, value.ints = "i64", [], [node.int("value_int", 0)]
    elif "value_float" in node.attributes:
        value.dtype, value.shape = "f32", []
    else:
        raise Unknown
    node.give(0, value.shape, value.dtype)
    node.follow(value.ints, value.reals)


def constant_of_shape(node):
    shape, fill = node.wanted(0), Value()
    fill.dtype = "f32"
    if 5 in node.attributes.get("value", ()):
        read_tensor(node.attributes["value"][5], fill)
    node.give(0, shape, fill.dtype)
    repeat(node, fill.ints, shape)


def repeat(node, ints, shape):
    """The result is one number as often as its shape says."""
    if ints is not None and len(ints) == 1 and math.prod(shape) <= 64:
        node.follow(ints * math.prod(shape))


def range_op(node):
    (start,), (end,), (step,) = node.wanted(0), node.wanted(1), node.wanted(2)
    numbers = range(start, end, step)
    node.give(0, [len(numbers)], node.ins[0].dtype)
    if len(numbers) <= 64:
        node.follow(list(numbers))


# ---- other shapes of the same elements ----

def reshape(node):
    a, shape = node.operand(0), node.list_or("shape", 1)
    if shape is None or shape.count(-1) > 1:
        raise Unknown
    if not node.int("allowzero", 0):
        shape = [a.shape[i] if dim == 0 else dim for i, dim in enumerate(shape)]
    if -1 in shape:
        others = math.prod(dim for dim in shape if dim != -1)
        shape = [math.prod(a.shape) // others if dim == -1 else dim for dim in shape]
    node.give(0, shape, a.dtype)
    copy_numbers(node)


def flatten(node):
    a, axis = node.operand(0), node.int("axis", 1)
    axis += len(a.shape) if axis < 0 else 0
    if not 0 <= axis <= len(a.shape):
        raise Unknown
    node.give(0, [math.prod(a.shape[:axis]), math.prod(a.shape[axis:])], a.dtype)


def squeeze(node):
    a, axes = node.operand(0), node.list_or("axes", 1)
    leave = None if axes is None else {axis_of(axis, len(a.shape)) for axis in axes}
    node.give(0, [dim for i, dim in enumerate(a.shape) if (dim != 1 if leave is None else i not in leave)], a.dtype)
    copy_numbers(node)


def unsqueeze(node):
    a, axes = node.operand(0), node.list_or("axes", 1)
    if axes is None:
        raise Unknown
    count = len(a.shape) + len(axes)
    new, old = {axis_of(axis, count) for axis in axes}, iter(a.shape)
    if len(new) != len(axes):
        raise Unknown
    node.give(0, [1 if i in new else next(old) for i in range(count)], a.dtype)
    copy_numbers(node)


def strides_of(shape):
    """How far apart neighbours along each dim lie."""
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def pick(node, ranges, strides):
    """The result has the first operand's integers at all places of these ranges, in their order."""
    ints = node.ints(0)
    if ints is not None:
        node.follow([ints[sum(map(mul, at, strides))] for at in product(*ranges)])


def transpose(node):
    a, order = node.operand(0), node.list("perm")
    order = [axis_of(axis, len(a.shape)) for axis in (range(-1, -1 - len(a.shape), -1) if order is None else order)]
    if len(order) != len(a.shape):
        raise Unknown
    node.give(0, [a.shape[axis] for axis in order], a.dtype)
    strides = strides_of(a.shape)
    pick(node, [range(a.shape[axis]) for axis in order], [strides[axis] for axis in order])


def expand(node):
    a, shape = node.operand(0), node.wanted(1)
    shape = broadcast(shape, a.shape)
    node.give(0, shape, a.dtype)
    repeat(node, node.ints(0), shape)


def tile(node):
    a, times = node.operand(0), node.wanted(1)
    if len(times) != len(a.shape):
        raise Unknown
    node.give(0, list(map(mul, a.shape, times)), a.dtype)


# ---- parts and joins ----

def gather(node):
    a, at = node.operand(0), node.operand(1)
    axis = axis_of(node.int("axis", 0), len(a.shape))
    node.give(0, a.shape[:axis] + at.shape + a.shape[axis + 1:], a.dtype)
    ints, places = node.ints(0), node.ints(1)
    if ints is not None and places is not None and len(a.shape) == 1:
        node.follow([ints[place] if -len(ints) <= place < len(ints) else 0 for place in places])


def gather_elements(node):
    a, at = node.operand(0), node.operand(1)
    node.give(0, at.shape, a.dtype)


def gather_nd(node):
    a, at, batch = node.operand(0), node.operand(1), node.int("batch_dims", 0)
    last = at.shape[-1]
    if batch < 0 or batch + last > len(a.shape):
        raise Unknown
    node.give(0, at.shape[:-1] + a.shape[batch + last:], a.dtype)


def slice_op(node):
    """Each axis from start to end by a step, as Python slices, but that one runs backwards from the first element at
    least."""
    a, starts, ends = node.operand(0), node.list_or("starts", 1), node.list_or("ends", 2)
    axes, steps = node.list_or("axes", 3), node.list_or("steps", 4)
    if starts is None or ends is None:
        raise Unknown
    axes, steps = range(len(starts)) if axes is None else axes, [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unknown
    ranges = [range(dim) for dim in a.shape]
    for axis, start, end, step in zip(axes, starts, ends, steps):
        axis = axis_of(axis, len(a.shape))
        dim = a.shape[axis]
        ranges[axis] = range(*slice(max(start, -dim) if step < 0 else start, end, step).indices(dim))
    node.give(0, list(map(len, ranges)), a.dtype)
    pick(node, ranges, strides_of(a.shape))


def concat(node):
    a = node.operand(0)
    axis = axis_of(node.int("axis", 1), len(a.shape))
    shapes = [node.operand(i).shape for i in range(len(node.ins))]
    if any(len(shape) != len(a.shape) for shape in shapes):
        raise Unknown
    node.give(0, a.shape[:axis] + [sum(shape[axis] for shape in shapes)] + a.shape[axis + 1:], a.dtype)
    for which, found in ("ints", node.ints), ("reals", node.reals):
        parts = [found(i) for i in range(len(node.ins))] if len(a.shape) == 1 else [None]
        if None not in parts and sum(map(len, parts)) <= 64:
            node.follow(**{which: [one for part in parts for one in part]})


def split(node):
    """In parts of given sizes, or in parts that are alike but the last one."""
    a, sizes, outs = node.operand(0), node.list_or("split", 1), node.int("num_outputs", len(node.outs))
    axis = axis_of(node.int("axis", 0), len(a.shape))
    left = a.shape[axis]
    if outs <= 0 or (sizes is not None and len(sizes) < len(node.outs)):
        raise Unknown
    each = -(-left // outs)
    for i in range(len(node.outs)):
        size = min(each, left) if sizes is None else sizes[i]
        if size > left:
            raise Unknown
        left -= size
        node.give(i, a.shape[:axis] + [size] + a.shape[axis + 1:], a.dtype)


def pad(node):
    a, pads = node.operand(0), node.list_or("pads", 1)
    axes = node.list_or("axes", 3) if node.has(3) else range(len(a.shape))
    if pads is None or len(pads) != 2 * len(axes):
        raise Unknown
    shape = list(a.shape)
    for i, axis in enumerate(axes):
        shape[axis_of(axis, len(shape))] += pads[i] + pads[i + len(axes)]
    node.give(0, shape, a.dtype)


RULES = {op: rule for ops, rule in (
    ("Relu LeakyRelu PRelu Elu Selu Celu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Gelu Mish Swish "
     "ThresholdedRelu Softmax LogSoftmax Hardmax Erf Exp Log Sqrt Reciprocal Abs Neg Ceil Round Sign Sin Cos Tan Asin "
     "Acos Atan Sinh Cosh Asinh Acosh Atanh Clip CumSum CumProd Trilu Identity Dropout ScatterND ScatterElements "
     "Scatter LRN Shrink RandomNormalLike RandomUniformLike EyeLike ReverseSequence RotaryEmbedding BitwiseNot "
     "MeanVarianceNormalization LpNormalization TensorScatter BiasGelu FastGelu QuickGelu QLinearSigmoid "
     "QLinearLeakyRelu QLinearSoftmax ReluGrad GeluGrad FastGeluGrad BiasGeluGrad_dX TanhGrad SigmoidGrad DropoutGrad "
     "SoftmaxGrad SoftmaxGrad_13 LogSoftmaxGrad LogSoftmaxGrad_13", same),
    ("Add Sub Mul Div Mod Pow Max Min Sum Mean BitwiseAnd BitwiseOr BitwiseXor BitShift", elementwise),
    (" ".join(COMPARED), comparison), ("Floor", whole), ("Not IsNaN IsInf Bernoulli", truth_of), ("Where", where),
    ("Cast CastLike", cast), ("BitCast", bit_cast), ("Shape", shape_op), ("Size", size_op), ("Constant", constant),
    ("ConstantOfShape", constant_of_shape), ("Range", range_op), ("Reshape", reshape), ("Flatten", flatten),
    ("Squeeze", squeeze), ("Unsqueeze", unsqueeze), ("Transpose", transpose), ("Expand", expand), ("Tile", tile),
    ("Gather", gather), ("GatherElements", gather_elements), ("GatherND", gather_nd), ("Slice", slice_op),
    ("Concat", concat), ("Split", split), ("Pad", pad)) for op in ops.split()}
