#!/usr/bin/env python3
"""Runs training steps on a GPU and writes what was predicted beside what PyTorch says of them.

    python samples/torch/gpu_truth.py [-o truth.csv] [NAME ...]

Each step is captured on fake tensors of the same device, then made and run for real, the third time counts. A line has
the graph's peak beside torch.cuda.max_memory_allocated, and the simulated allocator's reservation beside
max_memory_reserved. What kernels allocate for themselves is in neither prediction: it is the difference. Ten minutes.
Needs the package tidemark_torch and the program tidemark; --device cpu tries it without a GPU (no reservation there).
"""
import argparse
import csv
import gc
import sys
import tempfile

import torch

import tidemark_torch
from tidemark_torch import command
from tidemark_torch.program import ask_program

SIZES = "num_hidden_layers=8,hidden_size=1024,intermediate_size=2816,num_attention_heads=16,num_key_value_heads=16"
GPT = ("gpt2", "--layers", "12", "--hidden", "768", "--batch", "4")
ROUNDED = 512   # bytes that the caching allocator rounds a tensor up to
# Model, and the options that make it a step of some GiB.
STEPS = {
    "gpt": (*GPT, "--seq", "1024"),
    "gpt_foreach": (*GPT, "--seq", "512", "--foreach", "yes"),
    "gpt_fused": (*GPT, "--seq", "512", "--fused", "yes"),
    "gpt_autocast": (*GPT, "--seq", "1024", "--autocast", "bf16"),
    "resnet50": ("torchvision:resnet50", "--batch", "64"),
    "vit": ("torchvision:vit_b_16", "--batch", "32"),
    "llama": (f"hf:llama:{SIZES}", "--seq", "2048"),
    "qwen3": (f"hf:qwen3:{SIZES}", "--seq", "2048"),
    "bert": ("hf:bert", "--batch", "16", "--seq", "512"),
    "accumulate": ("torchvision:resnet50", "--batch", "32", "--accumulate", "2", "--optimizer", "momentum"),
}
COLUMNS = ["step", "predicted_allocated", "allocated", "difference", "predicted_reserved", "reserved",
           "reserved_difference"]


def options_of(words):
    """A step's options, as the package's command line has them."""
    parser = argparse.ArgumentParser()
    command.add_step_options(parser)
    return parser.parse_args(words)


def predict(words, device):
    """(bytes allocated, bytes reserved) at the peak, without running anything."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/step.jsonl.gz"
        with tidemark_torch.fake(), torch.device(device):
            step, _ = command.make_step(options_of(words))
            graph = tidemark_torch.capture_step(path, step)
        memory = ask_program("plan", path, "--set", "order=program")["memory"]
    for tensor in graph.tensors.values() if device != "cpu" else ():
        tensor["bytes"] = -(-tensor["bytes"] // ROUNDED) * ROUNDED
    return graph.peak_bytes(list(graph.ops), workspace=False), memory["pytorch"]["reserved_bytes"]


def measure(words, device):
    """The same of the third real step, as PyTorch counts it; on a CPU nothing is reserved."""
    with torch.device(device):
        step, _ = command.make_step(options_of(words))
    for _ in range(2):
        step()
    gc.collect()
    if device == "cpu":
        from tidemark_torch.workspace import allocator_peak
        held = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in gc.get_objects()
                if isinstance(tensor, torch.Tensor)}
        return sum(held.values()) + allocator_peak(step), None
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def row_of(name, words, device):
    """A line of the table."""
    predicted, predicted_reserved = predict(words, device)
    allocated, reserved = measure(words, device)
    share = f"{predicted / allocated - 1:+.2%}"
    return [name, predicted, allocated, share, predicted_reserved, reserved or "",
            f"{predicted_reserved / reserved - 1:+.2%}" if reserved else ""]


def main():
    """Writes the table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {' '.join(STEPS)}")
    parser.add_argument("-o", "--output", help="a CSV file; standard output by default")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in STEPS]
    if unknown:
        parser.error(f"no step {unknown[0]}: there are {' '.join(STEPS)}")
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("gpu_truth: PyTorch sees no GPU")
    out = open(options.output, "w", encoding="utf-8", newline="") if options.output else sys.stdout
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for name in options.names or STEPS:
        table.writerow(row_of(name, STEPS[name], options.device))
        out.flush()
        gc.collect()


if __name__ == "__main__":
    main()
