"""torch.autocast("cuda") on tensors of a machine without a GPU.

There PyTorch switches it off with a warning, and its CPU autocast casts for fewer operators: norms, softmaxes, powers
and sums stay in 16 bits. While a step is captured on fake tensors, a region of autocast("cuda") is one of
autocast("cpu") in which the operators that only CUDA's lists have (aten/src/ATen/autocast_mode.h) are cast, too."""
import contextlib
import functools

import torch
import torch.utils.checkpoint as torch_checkpoint
from torch.amp.autocast_mode import autocast

WIDE = """__rdiv__ __rpow__ acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus
layer_norm native_layer_norm group_norm rms_norm frobenius_norm nuclear_norm norm linalg_vector_norm linalg_matrix_norm
cosine_similarity poisson_nll_loss
cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d
upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
_upsample_bicubic2d_aa""".split()
BY_DTYPE = "prod softmax log_softmax cumprod cumsum sum".split()   # computed in the dtype that the call asks for
NARROW = "addmv addr mv prelu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell".split()
WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add".split()
KEY = "AutocastCPU"
EARLIER = ('torch.autocast("cuda") that was made before the capture is off, as PyTorch has it without a GPU: '
           "make it in the step, or under tidemark_torch.fake()")


def overloads_of(name):
    """Its operators that make new tensors."""
    packet = getattr(torch.ops.aten, name, None)
    for overload in packet.overloads() if packet is not None else ():
        operator = getattr(packet, overload)
        schema = operator._schema
        if torch._C._dispatch_has_kernel(operator.name()) and not schema.is_mutable and not overload.endswith("out") and \
                "dimname" not in overload and \
                any(isinstance(argument.type, torch._C.TensorType) for argument in schema.arguments):
            yield operator


def below(operator):
    """Calls it without autocast."""
    def call(*args, **kwargs):
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)):
            return operator(*args, **kwargs)
    return call


def eligible(value):
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64


def cast(value, dtype):
    """Nested arguments with their floating tensors in a dtype."""
    if isinstance(value, (list, tuple)):
        return type(value)(cast(part, dtype) for part in value)
    return value.to(dtype) if eligible(value) else value


def casting(operator, dtype_of):
    call = below(operator)

    def run(*args, **kwargs):
        dtype = dtype_of(args)
        return call(*cast(args, dtype), **{key: cast(value, dtype) for key, value in kwargs.items()})
    return run


def widest(args):
    return torch.float32 if any(eligible(value)
                                and value.dtype == torch.float32 for value in torch.utils._pytree.tree_leaves(args)) \
        else torch.get_autocast_dtype("cpu")


def with_dtype(operator):
    """One that takes its result's dtype: f32, where the call says none."""
    call = below(operator)

    def run(*args, **kwargs):
        if eligible(args[0]) and kwargs.get("dtype") is None and not any(isinstance(value, torch.dtype)
                                                                         for value in args):
            kwargs["dtype"] = torch.float32
        return call(*args, **kwargs)
    return run


@functools.cache
def kernels():
    """What to run for each operator that the CPU's lists lack."""
    found = {}
    for names, make in ((WIDE, lambda operator: casting(operator, lambda args: torch.float32)),
                        (NARROW, lambda operator: casting(operator, lambda args: torch.get_autocast_dtype("cpu"))),
                        (WIDEST, lambda operator: casting(operator, widest)), (BY_DTYPE, with_dtype)):
        for name in names:
            for operator in overloads_of(name):
                if make is with_dtype and all(argument.name != "dtype" for argument in operator._schema.arguments):
                    continue
                has = torch._C._dispatch_has_kernel_for_dispatch_key
                if has(operator.name(), "AutocastCUDA") and not has(operator.name(), KEY):
                    found[operator.name().removeprefix("aten::")] = make(operator)
    return found


class OnGpu:
    """Regions of autocast("cuda") of the captured step."""

    def __init__(self):
        self.depth, self.library, self.assumed = 0, None, None

    def enter(self):
        self.depth += 1
        if self.depth == 1:
            self.library = torch.library.Library("aten", "IMPL")
            for name, kernel in kernels().items():
                self.library.impl(name, kernel, KEY)

    def leave(self):
        self.depth -= 1
        if self.depth == 0:
            self.library._destroy()
            self.library = None


class Again(int):
    """What a checkpoint keeps instead of enabled=True of a region of autocast("cuda"), for when it runs again."""


REGIONS = OnGpu()
PLAIN = autocast.__init__, autocast.__enter__, autocast.__exit__
SAVED = torch_checkpoint._get_autocast_kwargs


def saved(*args, **kwargs):
    """What a checkpoint saves of autocast: also that it is a GPU's."""
    device, cpu = SAVED(*args, **kwargs)
    return device, {**cpu, "enabled": Again(cpu["enabled"])} if REGIONS.depth else cpu


def start(self, device_type, dtype=None, enabled=True, cache_enabled=None):
    """autocast.__init__"""
    of_gpu = bool(enabled) and (device_type == "cuda" or isinstance(enabled, Again))
    if of_gpu:
        device_type, dtype = "cpu", dtype or torch.get_autocast_dtype("cuda")
    PLAIN[0](self, device_type, dtype, bool(enabled), cache_enabled)
    self.of_gpu = of_gpu


def enter(self):
    """autocast.__enter__"""
    if not hasattr(self, "of_gpu") and self.device == "cuda" and REGIONS.assumed is not None:
        REGIONS.assumed[EARLIER] += 1
    if getattr(self, "of_gpu", False):
        REGIONS.enter()
    return PLAIN[1](self)


def leave(self, *error):
    """autocast.__exit__"""
    try:
        return PLAIN[2](self, *error)
    finally:
        if getattr(self, "of_gpu", False):
            REGIONS.leave()


@contextlib.contextmanager
def gpu_autocast(assumed=None):
    """A context in which autocast("cuda") does on CPU tensors what it does on a GPU's, where there is no GPU. assumed: counts
    regions that were made outside of such a context, which PyTorch has switched off."""
    before = autocast.__init__, autocast.__enter__, autocast.__exit__, REGIONS.assumed
    checkpoint_before = torch_checkpoint._get_autocast_kwargs
    try:
        if not torch.cuda.is_available():
            autocast.__init__, autocast.__enter__, autocast.__exit__ = start, enter, leave
            torch_checkpoint._get_autocast_kwargs = saved
        REGIONS.assumed = assumed
        yield
    finally:
        autocast.__init__, autocast.__enter__, autocast.__exit__, REGIONS.assumed = before
        torch_checkpoint._get_autocast_kwargs = checkpoint_before
