"""Makes an optimizer's state before the first step, as a plan asks for that holds only so.

    tidemark_torch.make_state(optimizer)

An optimizer makes it in its first update, where it lies between tensors that go and leave holes.
"""
import inspect

import torch

from .errors import CaptureError


def sgd_state(optimizer, group, chosen):
    """SGD makes its momentum in the middle of a step: of the gradient, which is what 0 comes to without dampening."""
    if group["momentum"] and group["dampening"]:
        raise CaptureError("SGD with dampening begins with the first gradient: run a step of your own first")
    for p in chosen if group["momentum"] else ():
        if optimizer.state[p].get("momentum_buffer") is None:
            optimizer.state[p]["momentum_buffer"] = torch.zeros_like(p)


@torch.no_grad()
def make_state(optimizer, parameters=None):
    """Makes what the first step of one of PyTorch's own optimizers would make, without a step: counters are at their
    start, and results stay the same. It takes no memory but the state's. parameters: whose state; None: that of all
    that are trained. State that is there stays."""
    kind, chosen = type(optimizer), None if parameters is None else {id(p) for p in parameters}
    if not kind.__module__.startswith("torch.optim") or not hasattr(kind, "_init_group"):
        raise CaptureError(f"{kind.__name__} makes its state in its own way: run a step of your own first")
    before = [(p, p.grad) for group in optimizer.param_groups for p in group["params"]]
    try:
        for group in optimizer.param_groups:
            for p in group["params"]:   # to be found, nothing reads it
                p.grad = p.detach() if p.requires_grad and (chosen is None or id(p) in chosen) else None
            if isinstance(optimizer, torch.optim.SGD):
                sgd_state(optimizer, group, [p for p in group["params"] if p.grad is not None])
            else:
                lists = len(inspect.signature(optimizer._init_group).parameters) - 1
                optimizer._init_group(group, *([] for _ in range(lists)))
    finally:
        for p, gradient in before:
            p.grad = gradient
