"""Ops that a plan cuts along a dim which they need whole: norms of a batch and softmaxes, by sums and maxima that all ranks add up.

The plan counts no memory for these sums, so nothing as large as the operand is made beside the result.
"""
import torch
import torch.distributed as dist

from .errors import CaptureError

AT_ONCE = {"cpu": 1 << 11}   # elements of a temporary; elsewhere:
AT_ONCE_ELSEWHERE = 1 << 22


def add_up(tensor, groups, op=dist.ReduceOp.SUM):
    """A small tensor, added up over several groups of ranks."""
    for group in groups:
        dist.all_reduce(tensor, op, group=group)
    return tensor


def in_rows(dim, *tensors):
    """Pieces of some tensors along a dim that isn't `dim`."""
    along = 0 if dim % tensors[0].dim() else tensors[0].dim() - 1
    room = AT_ONCE.get(tensors[0].device.type, AT_ONCE_ELSEWHERE)
    step = max(1, room * tensors[0].shape[along] // max(max(tensor.numel() for tensor in tensors), 1))
    yield from zip(*(tensor.split(step, along) for tensor in tensors))


def whole_logsum(top, local, groups):
    """From the logarithms of each rank's sums of exponentials: that of all of them. Where a rank has none, -inf."""
    local = torch.where(torch.isneginf(top), top, local)
    most = add_up(local.clone(), groups, dist.ReduceOp.MAX)
    total = add_up(torch.nan_to_num_((local - most).exp_(), 0.0), groups)
    return local, most + total.log_()


def softmax(function, dim, groups, logarithm):
    """softmax or log_softmax of rows of which each rank has a part."""
    def run(scores, *args, **kwargs):
        made = function(scores, *args, **kwargs)
        top, at = scores.max(dim, keepdim=True)
        found = made.gather(dim, at).float()
        local, whole = whole_logsum(top.float(), top.float() - (found if logarithm else found.log()), groups)
        if logarithm:
            return made.add_((local - whole).to(made.dtype))
        return made.mul_(torch.nan_to_num_((local - whole).exp_(), 0.0).to(made.dtype))
    return run


def softmax_backward(function, dim, groups, logarithm):
    """... and its gradient."""
    def run(grad, made, *args):
        result = function(grad, made, *args)
        shape = list(grad.shape)
        shape[dim] = 1
        own = grad.new_empty(shape,
                             dtype=torch.float32 if grad.dtype in (torch.bfloat16, torch.float16) else grad.dtype)
        for total, piece, out in in_rows(dim, own, grad, made):
            total.copy_((piece if logarithm else piece * out).sum(dim, keepdim=True))
        rest = (own - add_up(own.clone(), groups)).to(result.dtype)
        for into, out, left in in_rows(dim, result, made, rest):
            into.addcmul_(out.exp() if logarithm else out, left)
        return result
    return run


def of_channels(tensor, dims):
    """One number for each channel, as wide as an image."""
    return tensor.view(1, -1, *[1] * (dims - 2))


def batch_norm(function, groups, parts):
    """A batch norm over the samples of all ranks."""
    def run(x, weight, bias, mean, variance, training, momentum, eps):
        if not training:
            return function(x, weight, bias, mean, variance, training, momentum, eps)
        dims, count = [dim for dim in range(x.dim()) if dim != 1], x.numel() // x.shape[1] * parts
        spread, own = torch.var_mean(x, dims, correction=0)
        whole = add_up(own / parts, groups)
        spread = add_up((spread + (own - whole).square_()) / parts, groups)
        made = function(x, weight, bias, whole, spread, False, momentum, eps)[0]
        if mean is not None:
            mean.lerp_(whole.to(mean.dtype), momentum)
            variance.lerp_((spread * (count / (count - 1))).to(variance.dtype), momentum)
        return made, whole, spread.add_(eps).rsqrt_()
    return run


def batch_norm_backward(function, groups, parts):
    """... and its gradient. Those of weight and bias come of the same sums, so they are whole."""
    def run(grad, x, weight, mean, variance, save_mean, save_inverse, training, eps, mask):
        own = [False, mask[1] or training, mask[2] or training]
        _, of_weight, of_bias = function(grad, x, weight, mean, variance, save_mean, save_inverse, training, eps, own)
        if not mask[0] or not training:
            first = function(grad, x, weight, mean, variance, save_mean, save_inverse, training, eps,
                             [mask[0], False, False])[0] if mask[0] else None
            return first, of_weight if mask[1] else None, of_bias if mask[2] else None
        of_weight, of_bias = whole = add_up(torch.stack([of_weight, of_bias]), groups)
        sums = whole / (x.numel() // x.shape[1] * parts)
        scale = save_inverse if weight is None else save_inverse * weight
        slope = -scale * save_inverse * sums[0]
        made = x * of_channels(slope.to(x.dtype), x.dim())
        made.addcmul_(grad, of_channels(scale.to(x.dtype), x.dim())).add_(
            of_channels((-scale * sums[1] - slope * save_mean).to(x.dtype), x.dim()))
        return made, of_weight.clone() if mask[1] else None, of_bias.clone() if mask[2] else None
    return run


SOFTMAXES = {"aten._softmax": (softmax, False), "aten._safe_softmax": (softmax, False),
             "aten._log_softmax": (softmax, True),
             "aten._softmax_backward_data": (softmax_backward, False),
             "aten._log_softmax_backward_data": (softmax_backward, True)}
BATCH_NORMS = {"aten.native_batch_norm": (batch_norm, 0), "aten.native_batch_norm_backward": (batch_norm_backward, 1)}


def with_sums(localized, op, function, group_of):
    """The function of an op that needs a dim of which this rank has a part, or None: it needs none. group_of: axis -> its group."""
    packet = op["op"].rpartition(".")[0]
    if packet in SOFTMAXES:
        make, logarithm = SOFTMAXES[packet]
        dim = op["args"][2 if "backward" in packet else 1]
        axes = localized.axes_of(op["in"][0], [dim])
        run = make(function, dim, [group_of(axis) for axis in axes], logarithm) if axes else None
    elif "batch_norm" in packet and op["args"]:
        of = op["args"][BATCH_NORMS.get(packet, (None, 1 if "backward" in packet else 0))[1]]["t"]
        dims = [dim for dim in range(len(localized.tensors[of]["shape"])) if dim != 1]
        axes, parts = localized.axes_of(of, dims), 1
        if axes and packet not in BATCH_NORMS:
            raise CaptureError(f"{op['id']}: ranks can't run {op['op']} on a part of the samples yet: torch.backends.cudnn.enabled = False at capture gives another kernel")
        for axis in axes:
            parts *= localized.sizes[axis]
        run = BATCH_NORMS[packet][0](function, [group_of(axis) for axis in axes], parts) if axes else None
    else:
        return None
    if run is not None:
        run.__name__ = f"{function.overloadpacket.__name__}_over_ranks"
    return run
