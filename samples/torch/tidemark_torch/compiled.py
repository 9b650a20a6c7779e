"""A backend for torch.compile: writes the partitioned graphs as they will run, and passes them on.

    torch.compile(model, backend=tidemark_torch.compile_backend("step"))

writes step_forward_0.jsonl.gz, step_backward_0.jsonl.gz and so on, one of each for every compiled piece, and hands
the pieces to Inductor (to="inductor") or runs them as they are (to="eager"). A forward graph's outputs include what it
saves for the backward pass, whose inputs they are. Where the package is installed, torch.compile knows it by name:

    torch.compile(model, backend="tidemark", options={"stem": "step", "to": "inductor"})

Without options the stem is that of the environment variable TIDEMARK_STEM, or "compiled".
"""
import os

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._guards import detect_fake_mode

from .graph import write_graph
from .recording import capture


def compile_backend(stem, to="inductor"):
    """A backend that writes STEM_forward_N.jsonl.gz and STEM_backward_N.jsonl.gz."""
    if to not in ("inductor", "eager"):
        raise ValueError(f"to={to!r}: a compiled piece goes to 'inductor' or 'eager'")
    counts = {"forward": 0, "backward": 0}

    def write(phase, module, inputs):
        name = f"{stem}_{phase}_{counts[phase]}"
        counts[phase] += 1
        graph = piece(module, inputs, phase, name)
        write_graph(f"{name}.jsonl.gz", graph)

    if to == "eager":
        def run(phase):
            def compiler(module, inputs):
                write(phase, module, inputs)
                return make_boxed_func(module.forward)
            return compiler
        return aot_autograd(fw_compiler=run("forward"), bw_compiler=run("backward"))

    def backend(module, inputs, **options):
        from torch._inductor.compile_fx import compile_fx, compile_fx_inner

        def inner(piece_module, piece_inputs, **more):
            write("backward" if more.get("is_backward") else "forward", piece_module, piece_inputs)
            return compile_fx_inner(piece_module, piece_inputs, **more)
        return compile_fx(module, inputs, inner_compile=inner, **options)
    return backend


_BACKENDS = {}  # (stem, to) -> backend, which counts its pieces


def tidemark(module, inputs, options=None, **more):
    """The backend "tidemark" of torch.compile. options: stem, and where pieces go (to)."""
    given = dict(options or {})
    chosen = given.pop("stem", os.environ.get("TIDEMARK_STEM", "compiled")), given.pop("to", "inductor")
    if given:
        raise ValueError(f"no option {sorted(given)[0]!r}: there are stem and to")
    if chosen not in _BACKENDS:
        _BACKENDS[chosen] = compile_backend(*chosen)
    return _BACKENDS[chosen](module, inputs, **more)


def piece(module, inputs, phase, name):
    """The StepGraph of a compiled piece, run on fake tensors. What it returns stays to the end."""
    mode = detect_fake_mode(inputs) or torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    with mode, torch.no_grad():
        session = capture(None, name=name)
        session.looks_back, session.compiles = False, True
        with session:
            kept = module(*inputs)
    del kept
    graph = session.graph
    for op in graph.ops.values():
        op["phase"] = phase
    return graph
