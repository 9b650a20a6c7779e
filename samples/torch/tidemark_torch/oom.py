"""What to do about torch.OutOfMemoryError: the card of the step that ran out of memory.

    with tidemark_torch.explain_oom(step):
        train()

prints, where the block runs out of a GPU's memory, what was asked for and what was there, the memory's snapshot where
one is recorded (torch.cuda.memory._record_memory_history()), what the step holds at its peak and what makes it fit.
The error goes on.
"""
import contextlib
import os
import re
import sys
import tempfile

import torch

from .advice import size
from .errors import CaptureError, explain
from .estimates import check_limit, estimate
from .program import run_program

UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "bytes": 1}
FIGURE = r"([\d.]+) (KiB|MiB|GiB|bytes)"
FIGURES = {"asked": r"[Tt]ried to allocate " + FIGURE, "total": r"total capacity of " + FIGURE,
           "free": r"of which " + FIGURE + " is free", "in_use": r"has " + FIGURE + " memory in use",
           "allocated": FIGURE + r" (?:is|memory is) allocated by PyTorch",
           "reserved": FIGURE + r" is reserved by PyTorch but unallocated"}


def read_oom(text):
    """The figures of such an error's text in bytes, by the names in FIGURES; reserved is without what is allocated."""
    found = {name: re.search(pattern, text) for name, pattern in FIGURES.items()}
    return {name: int(float(match[1]) * UNITS[match[2]]) for name, match in found.items() if match}


def sentences(figures):
    """What the figures of the error say."""
    if "asked" in figures:
        is_known = {"free", "total"} <= figures.keys()
        there = f", {size(figures['free'])} of {size(figures['total'])} were free" if is_known else ""
        yield f"{size(figures['asked'])} were asked for{there}"
    if "allocated" in figures:
        yield f"tensors hold {size(figures['allocated'])}"
    holes = figures.get("reserved", 0)
    if holes and holes >= figures.get("asked", holes + 1):
        yield (f"{size(holes)} are reserved and free, but not in one piece: "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, set before the program starts, may be enough")
    elif holes:
        yield f"{size(holes)} more are reserved in pieces"


def snapshot_report():
    """What the program says of the recorded memory; None where nothing is recorded."""
    with contextlib.suppress(Exception), tempfile.TemporaryDirectory() as folder:   # no CUDA, an older PyTorch
        snapshot = torch.cuda.memory._snapshot()
        if not any(trace for trace in snapshot["device_traces"]):
            return None
        path = os.path.join(folder, "oom.pickle")
        torch.cuda.memory._dump_snapshot(path)
        return run_program("plan", path)
    return None


def card(error, step=None, limit=None):
    """The card of an out-of-memory error, as text."""
    lines = [": ".join(["out of memory"] + list(filter(None, ["; ".join(sentences(read_oom(str(error))))])))]
    report = snapshot_report()
    if report:
        lines += ["", "the recorded memory:", report.rstrip()]
    if step is not None:
        try:
            lines += ["", "the step as planned:", str(estimate(step, check_limit(limit)))]
        except CaptureError as why:
            lines += ["", f"the step can't be planned: {why}"]
        except Exception as why:   # of the user's own code, on fake tensors
            lines += ["", f"the step can't be planned: {explain(why)}"]
    return "\n".join(lines)


@contextlib.contextmanager
def explain_oom(step=None, limit=None, out=None):
    """Prints the card of a torch.OutOfMemoryError that leaves the block to `out` (standard error), and lets it go on.

    step   a function that runs one step: it is planned, and changes that make it fit are listed.
    limit  of memory; by default the GPU's.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        print(card(error, step, limit), file=out or sys.stderr)
        raise
