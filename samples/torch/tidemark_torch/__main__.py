"""Captures one step of a model from the command line.

    python -m tidemark_torch MODEL [OPTION...] [-o FILE]

MODEL is FILE.py:FUNCTION, a function of your own. It may take batch, seq, layers, hidden or image by name (or one
argument that has them all), and it returns one of

    (module, inputs)   inputs: a tensor, a tuple or a dict; module(*inputs) or module(**inputs) gives the loss: a scalar,
                       or something with a `loss`. The step is loss.backward(), optimizer.step(), optimizer.zero_grad().
    a function         that runs the whole step when called; it is called twice, and the second call is captured

A function that takes batch is captured at three batches, so that the file knows how the step grows.
MODEL may be a model's name, too: torchvision:resnet50, timm:vit_tiny_patch16_224, hf:llama, hf:meta-llama/Llama-3.2-1B,
hf:gpt2:n_layer=2,n_head=4, or one that --list prints; the config.json of a Hugging Face model, or a folder with one; or FILE.pt2,
which torch.export.save wrote. Nothing is allocated, downloaded or computed, unless --real asks for it.

    python -m tidemark_torch calibrate TRACE... --base PRESET [-o FILE]

makes a device file from traces of torch.profiler: see calibrate --help.
"""
import argparse
import contextlib
import sys

from . import command
from .errors import check_version


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tidemark_torch", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_step_options(parser)
    parser.add_argument("--real", action="store_true",
                        help="run the step for real, and record what kernels need for themselves (workspace)")
    parser.add_argument("--workspace", action="store_true",
                        help="measure what kernels need for themselves by running each kind of call once, alone, on the CPU; the step isn't run")
    parser.add_argument("--one-batch", action="store_true",
                        help="capture at this batch alone: in about half the time; how the step grows with its batch is then inferred")
    parser.add_argument("--hint", action="append", default=[], metavar="NAME=VALUE",
                        help="what to assume of data: item, nonzero, masked_select, unique, repeat_interleave")
    parser.add_argument("-o", "--output", help="NAME.jsonl.gz by default; gz if it ends so")
    return parser.parse_args()


def main():
    """Captures, and says in a line what was; or calibrates."""
    if sys.argv[1:2] == ["calibrate"]:
        from . import calibrate
        return calibrate.main(sys.argv[2:])
    options = parse()
    check_version()
    if options.list or not options.model:
        from .models import MODELS
        print("\n".join(MODELS))
        return 0
    if options.real or options.workspace:
        command.under_heap_shim("tidemark_torch")
    import torch
    from .batches import capture_batches
    from .recording import capture_step, fake
    from .zoo import takes_batch
    hints = {key: float(value) for key, _, value in (hint.partition("=") for hint in options.hint)}
    if options.real or options.workspace:
        torch.set_num_threads(1)
    with contextlib.nullcontext() if options.real else fake():
        torch.manual_seed(0)
        step, name = command.make_step(options)
        path = options.output or f"{name}.jsonl.gz"
        if options.real or options.one_batch or not takes_batch(options.model):
            graph = capture_step(path, step, real=options.real, hints=hints, name=name)
        else:
            def step_at(batch):      # each takes as long as the first
                print(f"capturing at batch {batch}, too, so that other batches can be planned (--one-batch: no)",
                      file=sys.stderr)
                return command.make_step(options, batch)[0]
            graph = capture_batches(path, lambda batch: step if batch == options.batch else step_at(batch),
                                    options.batch, hints=hints, name=name)
    if options.workspace and not options.real:
        from .graph import write_graph
        from .kernels import measure_workspace
        kinds, failed = measure_workspace(graph)
        write_graph(path, graph)
        print(f"workspace: {kinds} kinds of calls run alone" +
              (f"; {failed} of them couldn't be, their workspace is unknown" if failed else ""),
              file=sys.stderr)
    order = list(graph.ops)
    print(f"{path}: {len(order)} ops, {len(graph.tensors)} tensors, program order's peak "
          f"{graph.peak_bytes(order) / 1e6:.3f} MB", file=sys.stderr)
    for text in graph.head.get("assumed", []):
        print(f"assumed: {text}", file=sys.stderr)
    for key in ("grows", "compiled"):
        if key in graph.head:
            print(graph.head[key], file=sys.stderr)
    return 0


def start():
    """The command tidemark-torch. What needs no PyTorch, such as --help, comes before it is looked for."""
    command.run(main, needs_torch=False)


if __name__ == "__main__":
    start()
