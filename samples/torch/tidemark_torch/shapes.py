"""Results of ops on fake tensors, where PyTorch's own shape functions are missing or differ from the kernels."""
import torch

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


def table():
    """op -> the function that makes its result on fake tensors."""
    made = {("_grouped_mm", "default"): grouped_mm, ("mkldnn_rnn_layer", "default"): rnn_layer,
            ("mkldnn_rnn_layer_backward", "default"): rnn_layer_backward}
    return {getattr(getattr(aten, op), overload): function for (op, overload), function in made.items() if hasattr(aten, op)}


SHAPES = table()
