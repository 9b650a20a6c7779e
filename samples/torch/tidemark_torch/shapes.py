"""Results of ops on fake tensors, where PyTorch's own shape functions are missing or differ from the kernels."""
import torch
from torch._prims_common import suggest_memory_format

aten = torch.ops.aten
PAGE = 4096  # bytes; parts of oneDNN's workspace begin at pages


def grouped_mm(a, b, offs=None, bias=None, out_dtype=None):
    """The shape of aten._grouped_mm's result, also for types that only its CPU kernel has."""
    rows, columns = a.shape[-2], b.shape[-1]
    if a.dim() == 2 and b.dim() == 2:
        shape = (offs.shape[0], rows, columns)
    else:
        shape = (a.shape[0], rows, columns) if a.dim() == 3 and b.dim() == 3 else (rows, columns)
    return a.new_empty(shape, dtype=out_dtype or a.dtype)


def row_length(elements):
    """The length of a row of floats as oneDNN lays it out: whole cache lines, and no multiple of 256 elements."""
    padded = -(-elements // 16) * 16
    return padded + 16 if padded % 256 == 0 else padded


def lstm_workspace(steps, batch, features, hidden):
    """Bytes that oneDNN's LSTM layer in f32 keeps for its backward pass: gates and hidden states of each step; states of layer,
    iteration and cell, before and after, of both sides of the layer (set_workspace_sizes() of oneDNN's rnn_utils)."""
    rows, states = steps * batch, 2 * (steps + 1) * batch
    wide = row_length(max(features, hidden))
    parts = [rows * row_length(4 * hidden), rows * row_length(hidden)] + 3 * [states * wide] + 2 * [states * hidden]
    return sum(-(-4 * part // PAGE) * PAGE for part in parts)


def rnn_layer(x, *rest):
    """aten.mkldnn_rnn_layer: PyTorch's shape function makes an empty workspace, the kernel one that the backward pass reads."""
    result = list(aten.mkldnn_rnn_layer.default(x, *rest))
    train, mode, hidden = rest[-1], rest[8], rest[9]
    if train and torch.is_grad_enabled() and mode == 2 and x.dtype is torch.float32:
        result[3] = x.new_empty(lstm_workspace(x.shape[0], x.shape[1], x.shape[2], hidden), dtype=torch.uint8)
    return tuple(result)


def rnn_layer_backward(*args):
    """aten.mkldnn_rnn_layer_backward: the gradients of the two biases, one tensor in PyTorch's shape function, are two."""
    result = list(aten.mkldnn_rnn_layer_backward.default(*args))
    result[4] = torch.empty_like(result[4])
    return tuple(result)


def suggested(x):
    """Contiguous memory in the order of dims that kernels prefer for an operand: channels last where it lies so."""
    return torch.empty_like(x, memory_format=suggest_memory_format(x))


def laid(function, *places):
    """Results of a function laid anew: places has for each the operand whose preferred order it takes, "dense" for contiguous
    memory, or None for as it is."""
    def run(*args, **kwargs):
        made = function(*args, **kwargs)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        for i, place in enumerate(places):
            if place is not None and results[i] is not None:
                results[i] = suggested(args[place]) if place != "dense" else \
                    torch.empty_like(results[i], memory_format=torch.contiguous_format)
        return tuple(results) if isinstance(made, (tuple, list)) else results[0]
    return run


def formatted(function):
    """A result of another shape than the first operand's, in the order that kernels prefer for that."""
    return lambda x, *args, **kwargs: torch.empty_like(function(x, *args, **kwargs),
                                                       memory_format=suggest_memory_format(x))


def on_cpu(function, laid_anew, operand):
    """laid_anew on CPUs, the function as it is elsewhere."""
    return lambda *args, **kwargs: (laid_anew if args[operand].device.type == "cpu" else function)(*args, **kwargs)


def with_statistics(function, weight):
    """A norm whose statistics are of its weight's type where its input is narrower, as CPU kernels have it."""
    def run(x, *args, **kwargs):
        result, *statistics = function(x, *args, **kwargs)
        mixed = x.device.type == "cpu" and args[weight - 1] is not None and args[weight - 1].dtype is torch.float32
        return (result, *[one.float() if mixed else one for one in statistics])
    return run


def like(operand):
    """A result that lies as an operand does."""
    return lambda *args, **kwargs: torch.empty_like(args[operand])


def pointwise(first, second):
    """A result of two operands of one shape, which lies as PyTorch's iterator over both has it."""
    return lambda *args, **kwargs: aten.sigmoid_backward.default(args[first], args[second])


def roomy(function):
    """A small result in memory as large as the operand's: kernels that first fill the whole (mse_loss), and make it smaller then."""
    def run(x, *args, **kwargs):
        result = function(x, *args, **kwargs)
        room = x.numel() * result.element_size()
        if room > result.untyped_storage().nbytes():
            result.untyped_storage().resize_(room)
        return result
    return run


POINTWISE = {"softplus_backward": (0, 1), "hardswish_backward": (0, 1), "hardsigmoid_backward": (0, 1),
             "hardtanh_backward": (0, 1),
             "logit_backward": (0, 1), "elu_backward": (0, 5)}
FORMATTED = ["reflection_pad3d", "replication_pad3d"]
CPU_LAID = {"native_group_norm": [0], "native_group_norm_backward": [1]}
ROOMY = ["mse_loss", "smooth_l1_loss", "binary_cross_entropy", "soft_margin_loss", "col2im", "im2col"]
LAID = {"log_sigmoid_forward": ["dense", "dense"], "glu_backward": ["dense"], "_log_softmax_backward_data": ["dense"],
        "rrelu_with_noise": ["dense"], "rrelu_with_noise_backward": ["dense"], "mse_loss_backward": ["dense"],
        "smooth_l1_loss_backward": ["dense"], "huber_loss_backward": ["dense"], "native_layer_norm_backward": ["dense"],
        "native_batch_norm": [0], "native_batch_norm_backward": [1], "roll": [0], "channel_shuffle": [0],
        "reflection_pad2d_backward": [1], "replication_pad2d_backward": [1], "reflection_pad3d_backward": [1],
        "replication_pad3d_backward": [1]}


def table():
    """op -> the function that makes its result on fake tensors."""
    own = {"_grouped_mm": grouped_mm, "mkldnn_rnn_layer": rnn_layer, "mkldnn_rnn_layer_backward": rnn_layer_backward,
           "binary_cross_entropy_backward": like(1)}
    made = {getattr(aten, name).default: function for name, function in own.items() if hasattr(aten, name)}
    made.update({getattr(aten, name).default: pointwise(*operands) for name, operands in POINTWISE.items()})
    made.update({getattr(aten, name).default: roomy(getattr(aten, name).default) for name in ROOMY})
    made.update({getattr(aten, name).default: laid(getattr(aten, name).default, *places)
                 for name, places in LAID.items()})
    made.update({getattr(aten, name).default: formatted(getattr(aten, name).default) for name in FORMATTED})
    for name, places in CPU_LAID.items():
        function = getattr(aten, name).default
        made[function] = on_cpu(function, laid(function, *places), places[0])
    for name, weight in (("native_layer_norm", 2), ("native_group_norm", 1)):
        function = getattr(aten, name).default
        made[function] = with_statistics(made.get(function, function), weight)
    made[aten.pow.Scalar] = laid(aten.pow.Scalar, "dense")
    made[aten.xlogy.Tensor] = lambda x, y: aten.atan2.default(x, y)
    return made


SHAPES = table()
