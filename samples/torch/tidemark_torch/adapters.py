"""LoRA on a frozen model (Hu et al. 2021), as peft trains it, and frozen weights of 4 or 8 bits (QLoRA, Dettmers et al. 2023).

Weights of 4 bits are kept as bitsandbytes keeps them with double quantisation: two to a byte, a scale of 8 bits for
each block of 64, and for 256 of these a scale in f32. Weights of 8 bits have a scale in f32 for each row; inputs are
rounded to 8 bits, too, products are of 32, and inputs are saved (LLM.int8 without outliers, Dettmers et al. 2022).
Either way one layer's weight is unpacked at a time, in the backward pass, and of 4 bits in the forward pass, too."""
import re

import torch
import torch.nn.functional as F
from torch import nn

from .errors import CaptureError

BLOCK, BLOCKS = 64, 256
BASES = ("f32", "bf16", "f16", "nf4", "int8")
# The quantiles of a normal distribution that 4 bits stand for (QLoRA, appendix E).
NF4 = (-1.0, -0.6961928, -0.5250731, -0.3949175, -0.2844414, -0.1847734, -0.0910500, 0.0, 0.0795803, 0.1609302,
       0.2461123,
       0.3379152, 0.4407098, 0.5626170, 0.7229568, 1.0)


@torch.library.custom_op("tidemark::unpack_blocks", mutates_args=())
def unpack_blocks(codes: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Numbers of 8 bits as f32, each block by its scale."""
    return (codes.float() - 128) * scale.repeat_interleave(BLOCKS)[:len(codes)]


@unpack_blocks.register_fake
def _(codes, scale):
    return codes.new_empty(codes.shape, dtype=torch.float32)


@torch.library.custom_op("tidemark::unpack_nf4", mutates_args=())
def unpack_nf4(packed: torch.Tensor, scale: torch.Tensor, rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """A weight of 4 bits in another dtype."""
    table = torch.tensor(NF4, device=packed.device)
    numbers = torch.stack([table[(packed >> 4).long()], table[(packed & 15).long()]], 1).flatten()[:rows * columns]
    return (numbers * scale.repeat_interleave(BLOCK)[:rows * columns]).to(dtype).view(rows, columns)


@unpack_nf4.register_fake
def _(packed, scale, rows, columns, dtype):
    return packed.new_empty((rows, columns), dtype=dtype)


@torch.library.custom_op("tidemark::round_rows", mutates_args=())
def round_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Numbers of 8 bits, and a scale for each row."""
    scale = x.float().abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return (x / scale).round().to(torch.int8), scale


@round_rows.register_fake
def _(x):
    return x.new_empty(x.shape, dtype=torch.int8), x.new_empty((len(x), 1), dtype=torch.float32)


@torch.library.custom_op("tidemark::multiply_int8", mutates_args=())
def multiply_int8(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The product with a transposed weight, in 32 bits."""
    return (x.float() @ weight.float().t()).to(torch.int32)


@multiply_int8.register_fake
def _(x, weight):
    return x.new_empty((len(x), len(weight)), dtype=torch.int32)


@torch.library.custom_op("tidemark::scale_product", mutates_args=())
def scale_product(product: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A product of 32 bits in another dtype."""
    return (product * rows * columns.view(1, -1)).to(dtype)


@scale_product.register_fake
def _(product, rows, columns, dtype):
    return product.new_empty(product.shape, dtype=dtype)


def in_blocks(numbers, length):
    """[blocks, length], the last one filled up."""
    return F.pad(numbers.flatten(), (0, -numbers.numel() % length)).view(-1, length)


class Nf4(nn.Linear):
    """A frozen linear layer of 4 bits."""

    def __init__(self, linear):
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        blocks = in_blocks(linear.weight.detach().float(), BLOCK)
        scale = blocks.abs().amax(1).clamp(min=1e-12)
        borders = torch.tensor([(low + high) / 2 for low, high in zip(NF4, NF4[1:])])
        codes = torch.bucketize(blocks / scale[:, None], borders).to(torch.uint8).flatten()[:linear.weight.numel()]
        codes = in_blocks(codes, 2)
        self.weight = nn.Parameter((codes[:, 0] << 4 | codes[:, 1])[:, None], requires_grad=False)
        offset = scale.mean()
        second = in_blocks(scale - offset, BLOCKS)
        largest = second.abs().amax(1).clamp(min=1e-12)
        self.register_buffer("scale",
                             ((second / largest[:, None] * 127).round() + 128).to(torch.uint8).flatten()[:len(scale)])
        self.register_buffer("scale_of_scales", largest / 127)
        self.register_buffer("offset", offset)
        self.bias = linear.bias

    def unpacked(self, dtype):
        scale = unpack_blocks(self.scale, self.scale_of_scales)
        scale += self.offset
        return unpack_nf4(self.weight.view(-1), scale, self.out_features, self.in_features, dtype)

    def product(self, x):
        return F.linear(x, self.unpacked(x.dtype), self.bias), None

    def forward(self, x):
        return Unpacked.apply(x, self)


class Int8(nn.Linear):
    """A frozen linear layer of 8 bits."""

    def __init__(self, linear):
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = linear.weight.detach().float()
        scale = weight.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
        self.weight = nn.Parameter((weight / scale).round().to(torch.int8), requires_grad=False)
        self.register_buffer("scale", scale)
        self.bias = linear.bias

    def unpacked(self, dtype):
        return self.weight.to(dtype).mul_(self.scale)

    def product(self, x):
        rows = x.reshape(-1, x.shape[-1])
        codes, scale = round_rows(rows)
        result = scale_product(multiply_int8(codes, self.weight), scale, self.scale, x.dtype)
        return (result if self.bias is None else result.add_(self.bias)).view(*x.shape[:-1], -1), rows

    def forward(self, x):
        return Unpacked.apply(x, self)


class Unpacked(torch.autograd.Function):
    """A linear layer whose weight is unpacked for each use and not saved; its input is as long as the library saves it."""

    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        result, ctx.input = layer.product(x)
        return result

    @staticmethod
    def backward(ctx, grad):
        return grad @ ctx.layer.unpacked(grad.dtype), None


PACKED = {"nf4": Nf4, "int8": Int8}


def linear_layers(model):
    """Names of linear layers, but for the output layer: the head that the model names, or its last layer."""
    kinds = [nn.Linear]
    try:
        from transformers.pytorch_utils import Conv1D
        kinds.append(Conv1D)
    except ImportError:
        pass
    names = {name: layer for name, layer in model.named_modules() if isinstance(layer, tuple(kinds))}
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if head is None and names:
        head = names[list(names)[-1]]
    return {name: layer for name, layer in names.items() if layer is not head}


def pack(model, names, base):
    """Puts layers of fewer bits in the place of linear ones."""
    for name, layer in names.items():
        if isinstance(layer, nn.Linear):
            owner, _, last = name.rpartition(".")
            setattr(model.get_submodule(owner), last, PACKED[base](layer))


def with_adapters(model, rank, target="all", base="bf16"):
    """The model with adapters of a rank, which alone are trained (f32, where the base has fewer bits). target: all linear
    layers but the head, or those of attention."""
    try:
        import peft
    except ImportError:
        raise CaptureError("peft is missing: pip install peft") from None
    names = linear_layers(model)
    if base in PACKED:
        pack(model, names, base)
    wanted = [name for name in names if target == "all" or re.search("attn|attention", name, re.IGNORECASE)]
    if not wanted:
        raise CaptureError("the model has no linear layer" +
                           (" whose name says attention: use --target all" if names else ""))
    return peft.get_peft_model(model, peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=wanted))
