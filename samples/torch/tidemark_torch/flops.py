"""FLOPs of ops: 2 per multiply-add of products, convolutions and attention, 1 per element otherwise."""
import torch
from torch.utils._pytree import tree_leaves

try:
    from torch.utils.flop_counter import flop_registry
except ImportError:
    flop_registry = {}

aten = torch.ops.aten


def attention(query, key, value):
    """Two products for each query and key."""
    batch, heads, queries, width = query.shape
    return 2 * batch * heads * queries * key.shape[-2] * (width + value.shape[-1])


def count(function, args, kwargs, result):
    """FLOPs of an op that has run."""
    packet = function.overloadpacket
    name = packet.__name__
    if name == "_scaled_dot_product_flash_attention_for_cpu":
        return attention(*args[:3])
    if name == "_scaled_dot_product_flash_attention_for_cpu_backward":
        return 5 * attention(*args[1:4]) // 2
    if name == "mkldnn_rnn_layer":
        return 2 * args[0].shape[0] * args[0].shape[1] * (args[1].numel() + args[2].numel())
    if name == "mkldnn_rnn_layer_backward":  # gradients of inputs and of weights
        return 4 * args[0].shape[0] * args[0].shape[1] * (args[1].numel() + args[2].numel())
    if name == "_trilinear":
        return 2 * args[0].shape[0] * max(args[1].numel(), result.numel())  # samples and the weight, or its gradient
    if packet in flop_registry:
        try:
            return int(flop_registry[packet](*args, **kwargs, out_val=result))
        except Exception:  # a form that the registry doesn't know
            pass
    return max((t.numel() for t in tree_leaves((result, args)) if isinstance(t, torch.Tensor)), default=0)
