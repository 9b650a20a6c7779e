"""Shapes of ONNX ops that compute: products, windows, sums, layers, what onnxruntime's training writes, quantised
numbers, signals: a rule for each, which fills a node's results. (onnx/docs/Operators.md, opsets 1 to 24)
"""
import onnx_arrays
from onnx_node import Unknown, axis_of, broadcast, dtype_of


# ---- products ----

def matmul(node, second=1, dtype=None):
    """Of operand 0 and the second one."""
    a, b = node.operand(0), node.operand(second)
    if not a.shape or not b.shape:
        raise Unknown
    rows, columns = a.shape[-2:-1], b.shape[-1:] if len(b.shape) > 1 else []
    node.give(0, broadcast(a.shape[:-2], b.shape[:-2]) + rows + columns, dtype or a.dtype)


def gemm(node):
    a, b = node.operand(0), node.operand(1)
    (rows, inner), (other, columns) = a.shape, b.shape
    node.give(0, [inner if node.int("transA", 0) else rows, other if node.int("transB", 0) else columns], a.dtype)


def einsum(node):
    """"bij,bjk->bik": letters have the sizes that operands give them; what has dots or no arrow stays unknown."""
    left, arrow, right = node.text("equation").replace(" ", "").partition("->")
    sizes = {}
    for i, letters in enumerate(left.split(",")):
        shape = node.operand(i).shape
        if not arrow or "." in letters or len(letters) > len(shape):
            raise Unknown
        sizes.update(zip(letters, shape))
    node.give(0, [sizes[letter] for letter in right], node.ins[0].dtype)


# ---- windows, sums ----

def fitting(node, name, count, normal, least):
    """An attribute with a number for each dim, or what is normal."""
    given = node.list(name)
    given = given if given is not None and len(given) == count else [normal] * count
    if min(given) < least:
        raise Unknown
    return given


def windows_of(node, spatial):
    """Strides, dilations, and pads before and behind, of each of the last dims."""
    pads = fitting(node, "pads", 2 * spatial, 0, 0)
    return zip(fitting(node, "strides", spatial, 1, 1), fitting(node, "dilations", spatial, 1, 1), pads, pads[spatial:])


def slid(node, size, kernel, window):
    """How often a window fits."""
    stride, dilation, before, behind = window
    if node.text("auto_pad") in ("SAME_UPPER", "SAME_LOWER"):
        return -(-size // stride)
    room = size + before + behind - (kernel - 1) * dilation - 1
    if room < 0 or kernel < 1:
        raise Unknown
    if not node.int("ceil_mode", 0):
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + before else count


def window(node, weights=1, dtype=None):
    """weights: the operand that holds them."""
    a, convolves = node.operand(0), "Conv" in node.op
    spatial = len(a.shape) - 2
    kernel = node.operand(weights).shape[2:] if convolves else node.list("kernel_shape")
    if spatial < 1 or kernel is None or len(kernel) != spatial or min(kernel) < 1:
        raise Unknown
    channels = node.ins[weights].shape[0] if convolves else a.shape[1]
    sizes = [slid(node, *one) for one in zip(a.shape[2:], kernel, windows_of(node, spatial))]
    node.give(0, [a.shape[0], channels, *sizes], dtype or a.dtype)
    node.give(1, [a.shape[0], channels, *sizes], "i64")


def conv_transpose(node):
    """As large as is said, as strides make it where it is padded to the same size, or as windows reach."""
    a, weight = node.operand(0), node.operand(1)
    spatial, groups = len(a.shape) - 2, node.int("group", 1)
    same, said = node.text("auto_pad") in ("SAME_UPPER", "SAME_LOWER"), node.list("output_shape")
    if spatial < 1 or len(weight.shape) != len(a.shape) or groups < 1 or min(weight.shape[2:] + a.shape[2:]) < 1:
        raise Unknown
    more = node.list("output_padding")
    more = more if more is not None and len(more) == spatial else [0] * spatial
    sizes = [size * stride if same else (size - 1) * stride + extra + (kernel - 1) * dilation + 1 - before - behind
             for size, kernel, extra, (stride, dilation, before, behind) in zip(
                 a.shape[2:], weight.shape[2:], more, windows_of(node, spatial))]
    sizes = said if said is not None and len(said) == spatial else sizes
    node.give(0, [a.shape[0], weight.shape[1] * groups, *sizes], a.dtype)


def global_pool(node):
    a = node.operand(0)
    if len(a.shape) < 3:
        raise Unknown
    node.give(0, a.shape[:2] + [1] * (len(a.shape) - 2), a.dtype)


def reduce(node):
    a, arg = node.operand(0), node.op.startswith("Arg")
    axes = [node.int("axis", 0)] if arg else node.list_or("axes", 1) or []
    summed = {axis_of(axis, len(a.shape)) for axis in axes}
    if not axes and not node.int("noop_with_empty_axes", 0):
        summed = set(range(len(a.shape)))
    keep = node.int("keepdims", 1)
    shape = [1 if i in summed else dim for i, dim in enumerate(a.shape) if keep or i not in summed]
    node.give(0, shape, "i64" if arg else a.dtype)


def top_k(node):
    a, count = node.operand(0), node.ints(1)
    axis = axis_of(node.int("axis", -1), len(a.shape))
    count = count[0] if count is not None and len(count) == 1 else node.int("k", -1)
    shape = a.shape[:axis] + [count] + a.shape[axis + 1:]
    node.give(0, shape, a.dtype)
    node.give(1, shape, "i64")


def one_hot(node):
    a, (depth,), values = node.operand(0), node.wanted(1), node.operand(2)
    axis = axis_of(node.int("axis", -1), len(a.shape) + 1)
    node.give(0, a.shape[:axis] + [depth] + a.shape[axis:], values.dtype)


# ---- layers ----

def normalization(node):
    """Statistics of batch normalization are as long as its scale; those of layer normalization have one number where it
    sums."""
    a, scale = node.operand(0), node.known(1)
    node.give(0, a.shape, a.dtype)
    if node.op == "BatchNormalization":
        shape, dtype = (scale.shape, scale.dtype) if scale else (None, None)
    else:
        axis = node.int("axis", -1)
        axis = axis % len(a.shape) if -len(a.shape) <= axis < len(a.shape) else len(a.shape)
        shape, dtype = a.shape[:axis] + [1] * (len(a.shape) - axis), a.dtype
    for i in range(1, len(node.outs) if shape is not None else 0):
        node.give(i, shape, dtype)


def resize(node):
    """To sizes, or by scales; with axes those of some dims."""
    a, sizes = node.operand(0), node.ints(3)
    scales = node.reals(1 if node.op == "Upsample" or len(node.ins) == 2 else 2)
    axes = node.list("axes")
    axes = [axis_of(axis, len(a.shape)) for axis in (range(len(a.shape)) if axes is None else axes)]
    wanted, shape = sizes or scales, list(a.shape)
    if not wanted or len(wanted) != len(axes):
        raise Unknown
    for axis, one in zip(axes, wanted):
        if not sizes and not 0 < one * a.shape[axis] < onnx_arrays.WHOLE_MOST:
            raise Unknown
        shape[axis] = one if sizes else int(one * a.shape[axis])
    node.give(0, shape, a.dtype)


def depth_and_space(node):
    a, block = node.operand(0), node.int("blocksize", 0)
    batch, channels, height, width = a.shape
    if block < 1:
        raise Unknown
    if node.op == "SpaceToDepth":
        node.give(0, [batch, channels * block * block, height // block, width // block], a.dtype)
    else:
        node.give(0, [batch, channels // (block * block), height * block, width * block], a.dtype)


def recurrent(node):
    """X [steps, batch, width], W [directions, gates * hidden, width] -> Y [steps, directions, batch, hidden], Y_h and
    Y_c [directions, batch, hidden]; the batch comes first in layout 1."""
    a, weight, again = node.operand(0), node.operand(1), node.operand(2)
    steps, batch, _ = a.shape
    directions, _, _ = weight.shape
    _, _, hidden = again.shape
    hidden = node.int("hidden_size", hidden)
    if node.int("layout", 0) == 1:
        whole, last = [steps, batch, directions, hidden], [steps, directions, hidden]
    else:
        whole, last = [steps, directions, batch, hidden], [directions, batch, hidden]
    for i, shape in enumerate((whole, last, last)):
        node.give(i, shape, a.dtype)


def loss(node):
    a, labels = node.operand(0), node.operand(1)
    node.give(0, labels.shape if node.text("reduction") == "none" else [], a.dtype)
    node.give(1, a.shape, a.dtype)


def attention(node):
    """Q, K, V as [batch, heads, rows, width], or as [batch, rows, heads * width] with the heads as attributes."""
    q, v = node.operand(0), node.operand(2)
    heads, groups, flat = node.int("q_num_heads", 1), node.int("kv_num_heads", 1), len(q.shape) == 3
    if len(q.shape) != len(v.shape) or len(q.shape) not in (3, 4) or heads < 1 or groups < 1:
        raise Unknown
    width = v.shape[-1]
    node.give(0, q.shape[:-1] + [width // groups * heads if flat else width], q.dtype)
    attention_cache(node, heads if flat else q.shape[1], groups if flat else 0)


def attention_cache(node, heads, groups):
    """Keys and values with those from before (operands 4 and 5), [batch, groups, all rows, width], and the products of
    queries and keys. groups 0: K and V have them as a dim."""
    q = node.operand(0)
    for i in 1, 2:
        a, before = node.operand(i), node.known(i + 3)
        if len(a.shape) != len(q.shape) or (node.has(i + 3) and (not before or len(before.shape) != 4)):
            raise Unknown
        shape = [a.shape[0], groups, a.shape[1], a.shape[2] // groups] if groups else list(a.shape)
        shape[2] += before.shape[2] if before else 0
        node.give(i, shape, a.dtype)
        if i == 1:
            node.give(3, [q.shape[0], heads, q.shape[-2], shape[2]], q.dtype)


def determinant(node):
    """Of the last two dims."""
    a = node.operand(0)
    if len(a.shape) < 2:
        raise Unknown
    node.give(0, a.shape[:-2], a.dtype)


# ---- what onnxruntime's training writes ----

def like(node, pairs):
    """Results are like operands: pairs of their places."""
    for out, i in pairs:
        a = node.known(i)
        if a:
            node.give(out, a.shape, a.dtype)


def loss_gradient(node):
    """Of the loss's gradient, log-probabilities, labels."""
    like(node, [(0, 1)])


def adam(node):
    """Rate, step, weight, gradient, two moments -> step, moments, weight."""
    like(node, enumerate((1, 4, 5, 2)))


def preview_update(node):
    """Rate, step, all weights, all gradients, all of each state -> all new weights, all of each new state."""
    weights = len(node.ins) - 2 - len(node.outs)
    if weights > 0:
        like(node, ((i, 2 + i if i < weights else 2 + weights + i) for i in range(len(node.outs))))


# ---- quantised numbers ----

def held_by(node, i, normal):
    """The dtype of an operand, what is normal where that isn't known."""
    value = node.known(i)
    return value.dtype if value else normal


def quantize(node):
    """x, scale, zero point: the dtype is an attribute's, or the zero point's."""
    node.give(0, node.operand(0).shape, dtype_of(node.int("output_dtype", 0)) or held_by(node, 2, "u8"))


def dequantize(node):
    """x, scale, zero point: the dtype is the scale's."""
    node.give(0, node.operand(0).shape, held_by(node, 1, "f32"))


def quantize_dynamically(node):
    node.give(1, [], "f32")
    node.give(2, [], "u8")
    node.give(0, node.operand(0).shape, "u8")


def quantized_pair(node):
    a, b = node.operand(0), node.operand(3)
    node.give(0, broadcast(a.shape, b.shape), a.dtype)


def packed_matmul(node):
    """A [.., K] by packed weights: [.., N]."""
    a, wide = node.operand(0), node.int("N", 0)
    if not a.shape or wide < 1:
        raise Unknown
    node.give(0, a.shape[:-1] + [wide], a.dtype)


# ---- images and signals ----

def grid_sample(node):
    """X [batch, channels, ...], grid [batch, ..., coordinates] -> [batch, channels, ...] of the grid."""
    a, grid = node.operand(0), node.operand(1)
    if len(a.shape) < 3 or len(grid.shape) != len(a.shape):
        raise Unknown
    node.give(0, a.shape[:2] + grid.shape[1:-1], a.dtype)


def affine_grid(node):
    """theta [batch, n, n + 1], size [batch, channels, ...] -> [batch, ..., n]."""
    a, size = node.operand(0), node.wanted(1)
    if len(a.shape) != 3 or len(size) not in (4, 5):
        raise Unknown
    node.give(0, size[:1] + size[2:] + a.shape[1:2], a.dtype)


def roi_align(node):
    """X [batch, channels, height, width], regions [n, 4] -> [n, channels, output_height, output_width]."""
    (_, channels, _, _), (regions, _) = node.operand(0).shape, node.operand(1).shape
    height, width = node.int("output_height", 1), node.int("output_width", 1)
    if height < 1 or width < 1:
        raise Unknown
    node.give(0, [regions, channels, height, width], node.ins[0].dtype)


def number(node, i, otherwise):
    """The integer of an operand, or what is said where it is left out; -1: not known."""
    if not node.has(i):
        return otherwise
    found = node.ints(i)
    return found[0] if found is not None and len(found) == 1 else -1


def stft(node):
    """signal [batch, length, ...], step, window, frame length -> [batch, frames, frequencies, 2]."""
    a, shown, step = node.operand(0), node.known(2), number(node, 1, -1)
    batch, length = a.shape[:2]
    frame = number(node, 3, shown.shape[0] if shown and len(shown.shape) == 1 else -1)
    if step < 1 or not 1 <= frame <= length:
        raise Unknown
    node.give(0, [batch, (length - frame) // step + 1, frame // 2 + 1 if node.int("onesided", 1) else frame, 2],
              a.dtype)


def dft(node):
    """input [..., length, ..., 1 or 2] -> as long as dft_length says along the axis, half of it where it is one-sided,
    and complex."""
    a, sided, back = node.operand(0), node.int("onesided", 0) != 0, node.int("inverse", 0) != 0
    shape, dims = list(a.shape), len(a.shape)
    if sided or node.has(1) or dims < 2:
        axis = number(node, 2, 0) if node.has(2) else node.int("axis", 1 if len(node.ins) > 1 else -2)
        axis = axis_of(axis, dims)
        length = number(node, 1, 2 * (shape[axis] - 1) if sided and back else shape[axis])
        if length < 1 or axis == dims - 1:
            raise Unknown
        shape[axis] = length // 2 + 1 if sided and not back else length
    shape[-1] = 1 if sided and back else 2
    node.give(0, shape, a.dtype)


def signal_window(node):
    """A window of so many numbers."""
    length, dtype = number(node, 0, -1), dtype_of(node.int("output_datatype", 1))
    if dtype:
        node.give(0, [length], dtype)


RULES = {op: rule for ops, rule in (
    ("MatMul", matmul), ("Gemm", gemm), ("Einsum", einsum),
    ("Conv DeformConv MaxPool AveragePool LpPool FusedConv", window), ("ConvTranspose", conv_transpose),
    ("GlobalAveragePool GlobalMaxPool GlobalLpPool", global_pool), ("TopK", top_k), ("OneHot", one_hot),
    ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
     "ReduceSumSquare ArgMax ArgMin", reduce),
    ("BatchNormalization LayerNormalization InstanceNormalization GroupNormalization RMSNormalization", normalization),
    ("Resize Upsample", resize), ("DepthToSpace SpaceToDepth", depth_and_space), ("LSTM GRU RNN", recurrent),
    ("SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss", loss), ("Attention", attention), ("Det", determinant),
    ("SoftmaxCrossEntropyLossGrad", loss_gradient), ("AdamOptimizer", adam), ("Adagrad Adam Momentum", preview_update),
    ("QuantizeLinear", quantize), ("DequantizeLinear", dequantize), ("DynamicQuantizeLinear", quantize_dynamically),
    ("MatMulInteger", lambda node: matmul(node, 1, "i32")), ("ConvInteger", lambda node: window(node, 1, "i32")),
    ("QLinearMatMul", lambda node: matmul(node, 3, held_by(node, 7, None))),
    ("QLinearConv", lambda node: window(node, 3, held_by(node, 7, None))), ("QLinearAdd QLinearMul", quantized_pair),
    ("MatMulNBits", packed_matmul), ("GridSample", grid_sample), ("AffineGrid", affine_grid), ("RoiAlign", roi_align),
    ("STFT", stft), ("DFT", dft), ("HannWindow HammingWindow BlackmanWindow", signal_window)) for op in ops.split()}
RULES.update(onnx_arrays.RULES)


def infer(node):
    """Fills the results that are not known yet, as far as operands tell. What a strange file asks for is not known."""
    rule = RULES.get(node.op)
    try:
        if rule:
            rule(node)
    except (Unknown, LookupError, ArithmeticError, ValueError):
        pass
