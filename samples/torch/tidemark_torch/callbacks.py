"""Trainers that plan their first step before they run it.

    Trainer(..., callbacks=[tidemark_torch.trainer_callback(limit="24GiB")])          # transformers
    lightning.Trainer(..., callbacks=[tidemark_torch.lightning_callback()])           # lightning, pytorch_lightning

Each prints the card of tidemark_torch.estimate once, on rank 0, before training begins, and stops where stop=True is
given and the step doesn't fit. The limit is the GPU's memory unless one is given.
"""
import contextlib
import importlib
import itertools
import sys

import torch

from .errors import CaptureError, explain
from .estimates import check_limit, estimate


def report(step, limit, stop, out):
    """Prints a step's estimate; raises CaptureError where it doesn't fit and training is to stop."""
    try:
        found = estimate(step, check_limit(limit))
    except Exception as error:   # training goes on: it needn't be captured
        print(f"tidemark: the step can't be planned: {explain(error)}", file=out or sys.stderr)
        return
    print(found, file=out or sys.stderr)
    if stop and found.fits is False:
        raise CaptureError(found.verdict)


def moved(batch, device):
    """A batch on a device."""
    from torch.utils._pytree import tree_map_only
    batch = dict(batch) if hasattr(batch, "keys") else batch
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), batch)


def trainer_callback(limit=None, stop=False, out=None):
    """A callback of transformers' Trainer."""
    from transformers import TrainerCallback

    class PlanFirstStep(TrainerCallback):
        """Plans the step that the trainer is about to run."""

        def on_train_begin(self, args, state, control, model=None, optimizer=None, train_dataloader=None, **_):
            if not state.is_world_process_zero or model is None or optimizer is None or train_dataloader is None:
                return
            rounds = max(1, args.gradient_accumulation_steps)
            device = next(model.parameters()).device
            batches = [moved(batch, device) for batch in itertools.islice(iter(train_dataloader), rounds)]
            kind = torch.bfloat16 if args.bf16 else torch.float16 if args.fp16 else None

            def step():
                for batch in batches:
                    with torch.autocast(device.type, dtype=kind) if kind else contextlib.nullcontext():
                        loss = model(**batch)["loss"] / rounds
                    loss.backward()
                    del loss
                if args.max_grad_norm:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                model.zero_grad()
            before = model.training
            model.train()
            report(step, limit, stop, out)
            model.train(before)
    return PlanFirstStep()


def lightning_callback(limit=None, stop=False, out=None):
    """A callback of Lightning's Trainer."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        with contextlib.suppress(ImportError):
            base = importlib.import_module(name).Callback
            break
    else:
        raise CaptureError("Lightning is missing: pip install lightning")

    class PlanFirstStep(base):
        """Plans the step that the trainer is about to run."""

        def on_train_start(self, trainer, pl_module):
            if trainer.global_rank:
                return
            batch = moved(next(iter(trainer.train_dataloader)), pl_module.device)

            def step():
                loss = pl_module.training_step(batch, 0)
                (loss["loss"] if isinstance(loss, dict) else loss).backward()
                del loss
                for optimizer in trainer.optimizers:
                    optimizer.step()
                    optimizer.zero_grad()
            report(step, limit, stop, out)
    return PlanFirstStep()
