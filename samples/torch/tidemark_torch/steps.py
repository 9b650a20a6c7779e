"""A whole training step from a module and its inputs: loss, backward, optimizer, zero_grad."""
import contextlib

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023: one moment of each parameter."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.01):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                if not self.state[p]:
                    self.state[p]["exp_avg"] = torch.zeros_like(p)
                moment = self.state[p]["exp_avg"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(moment.lerp(p.grad, 1 - first).sign_(), alpha=-group["lr"])
                moment.lerp_(p.grad, 1 - second)


def tables_of(module):
    """Weights of embeddings, and of the output layer: what a model of transformers names, or its last linear layer."""
    head = module.get_output_embeddings() if hasattr(module, "get_output_embeddings") else None
    layers = [layer for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    tables = [layer.weight for layer in module.modules() if isinstance(layer, torch.nn.Embedding)]
    return tables + [layer.weight for layer in ([head] if head is not None else layers[-1:])]


class MuonAndAdamW:
    """torch.optim.Muon for matrices (Jordan et al. 2024), AdamW for tables and all that isn't a matrix."""

    def __init__(self, params, tables=(), lr=1e-3, **options):
        params, tables = list(params), {id(table) for table in tables}
        matrices = [p for p in params if p.dim() == 2 and id(p) not in tables]
        others = [p for p in params if p.dim() != 2 or id(p) in tables]
        self.parts = ([torch.optim.Muon(matrices, lr=lr)] if matrices else []) + \
            ([torch.optim.AdamW(others, lr=lr, **options)] if others else [])

    def step(self):
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none=True):
        for part in self.parts:
            part.zero_grad(set_to_none=set_to_none)


OPTIMIZERS = {
    "none": None,
    "sgd": (torch.optim.SGD, {"lr": 0.01}),
    "momentum": (torch.optim.SGD, {"lr": 0.01, "momentum": 0.9}),
    "adam": (torch.optim.Adam, {"lr": 1e-3}),
    "adamw": (torch.optim.AdamW, {"lr": 1e-3}),
    "muon": (MuonAndAdamW if hasattr(torch.optim, "Muon") else None, {"lr": 1e-3}),
    "lion": (Lion, {"lr": 1e-4}),
    "adafactor": (getattr(torch.optim, "Adafactor", None), {"lr": 1e-2}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 1e-3}),
    "adagrad": (torch.optim.Adagrad, {"lr": 1e-2}),
    "adamax": (torch.optim.Adamax, {"lr": 1e-3}),
    "adadelta": (torch.optim.Adadelta, {}),
    "nadam": (torch.optim.NAdam, {"lr": 1e-3}),
    "radam": (torch.optim.RAdam, {"lr": 1e-3}),
    "asgd": (torch.optim.ASGD, {"lr": 1e-3}),
    "rprop": (torch.optim.Rprop, {"lr": 1e-3}),
}
AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


def loss_of(output):
    """The scalar to go backward from: a `loss`, a scalar, or the mean of all floating numbers."""
    if hasattr(output, "loss") and output.loss is not None:
        return output.loss
    if isinstance(output, dict) and isinstance(output.get("loss"), torch.Tensor):
        return output["loss"]
    if isinstance(output, torch.Tensor):
        return output if output.dim() == 0 else output.float().mean()
    values = output.values() if isinstance(output, dict) else output
    return sum(loss_of(value) for value in values if not isinstance(value, torch.Tensor) or value.is_floating_point())


class Classifier(torch.nn.Module):
    """A network and the cross entropy of its scores; of several heads, the sum."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        scores = self.model(x)
        if isinstance(scores, torch.Tensor):
            return F.cross_entropy(scores, y)
        heads = scores.values() if isinstance(scores, dict) else scores
        return sum(F.cross_entropy(head, y) for head in heads if head is not None)


class TrainingStep:
    """Call it to run a step. mode: train (with the optimizer, a name of OPTIMIZERS), forward or eval (without
    gradients). foreach and fused: as for torch.optim, None as PyTorch would choose. accumulate: how many backward
    passes the gradients of one update come from."""

    def __init__(self, module, inputs, optimizer="adam", foreach=None, fused=None, autocast=None, mode="train",
                 accumulate=1, clip=None, set_to_none=True):
        self.module, self.inputs, self.mode = module, inputs, mode
        self.autocast, self.accumulate, self.clip, self.set_to_none = autocast, accumulate, clip, set_to_none
        self.optimizer = None
        module.train(mode != "eval")
        kind = OPTIMIZERS[optimizer] if mode == "train" else None
        if kind is not None:
            more = {} if foreach is None else {"foreach": foreach}
            more.update({} if fused is None else {"fused": fused})
            parameters = [p for p in module.parameters() if p.requires_grad]
            if optimizer == "muon":
                more["tables"] = tables_of(module)
            self.optimizer = kind[0](parameters, **kind[1], **more)

    def forward(self):
        """The loss."""
        first = next(self.module.parameters(), None)
        device = first.device.type if first is not None else "cpu"
        device = "cuda" if isinstance(first, FakeTensor) else device   # the GPU that the step is captured for
        context = torch.autocast(device, AUTOCAST[self.autocast]) if self.autocast else contextlib.nullcontext()
        with context:
            args, kwargs = (self.inputs, {}) if isinstance(self.inputs, (tuple, list)) else ((), self.inputs)
            return loss_of(self.module(*args, **kwargs))

    def __call__(self):
        if self.mode == "eval":
            with torch.no_grad():
                return self.forward()
        if self.mode == "forward":
            return self.forward()
        for _ in range(self.accumulate):
            loss = self.forward()
            loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.clip)
        if self.optimizer:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=self.set_to_none)
        else:
            self.module.zero_grad(set_to_none=self.set_to_none)
        return loss
