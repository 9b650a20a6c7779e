"""Tidemark's side in PyTorch: writes the graph of a training step, runs plans of it, measures the real step.

    import tidemark_torch
    with tidemark_torch.capture("step.jsonl.gz"):
        loss = model(batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    print(tidemark_torch.estimate(step, limit="24GiB"))   # will it fit, why not, what to change

The block is the user's own code. Nothing is computed or allocated: every tensor in it is a fake one (real=True runs
it for real). What a step's graph is, and the memory that an order of it needs, is in tidemark_torch.graph, which
works without PyTorch.
"""
import importlib

_HOME = {"capture": "recording", "capture_step": "recording", "capture_batches": "batches", "part": "parts",
         "fake": "recording", "CaptureError": "errors",
         "read_graph": "graph", "write_graph": "graph", "compile_backend": "compiled", "apply": "applied",
         "measure_workspace": "kernels", "estimate": "estimates", "explain_oom": "oom",
         "make_state": "first_state", "trainer_callback": "callbacks", "lightning_callback": "callbacks"}
__all__ = sorted(_HOME)
__version__ = "1.0.0"


def __getattr__(name):
    """Imports what needs PyTorch only when it is asked for."""
    if name not in _HOME:
        raise AttributeError(f"module 'tidemark_torch' has no attribute {name!r}")
    if _HOME[name] not in ("errors", "estimates", "graph", "parts"):
        importlib.import_module("tidemark_torch.errors").check_version()
    return getattr(importlib.import_module(f"tidemark_torch.{_HOME[name]}"), name)
