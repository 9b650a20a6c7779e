"""Measures the real step: what PyTorch itself needs for it, without anyone watching.

    python -m tidemark_torch.truth MODEL [OPTION...]     options as for python -m tidemark_torch

The step is run three times for real on the CPU, with every allocation counted (heap_shim.c); the third run's growth
counts. Prints a JSON object, in bytes: `heap`, the peak of the heap's growth, kernels' workspace included, and
`allocator`, the same for what passes through PyTorch's own allocator. Both are without what is there before the step.
On a GPU (--device cuda) both come from the caching allocator's statistics.
"""
import argparse
import gc
import json
import sys

from . import command


def measure(step, with_profiler=True):
    """Peaks of a step's growth in bytes. step: a function to call once a step."""
    from .workspace import Heap, allocator_peak
    heap = Heap()
    for _ in range(2):
        step()
    gc.collect()
    start = heap.live()
    heap.start_peak()
    kept = step()
    result = {"heap": heap.peak() - start}
    del kept
    if with_profiler:
        gc.collect()
        result["allocator"] = allocator_peak(step, before=step)
    return result


def main():
    """Prints the measured peaks."""
    parser = argparse.ArgumentParser(prog="python -m tidemark_torch.truth", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_step_options(parser)
    options = parser.parse_args()
    command.under_heap_shim("tidemark_torch.truth")
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step, _ = command.make_step(options)
    print(json.dumps(measure(step)))
    return 0


if __name__ == "__main__":
    command.run(main)
