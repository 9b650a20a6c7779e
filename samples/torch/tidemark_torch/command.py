"""What the commands of the package share: options that say which step, and running under the heap shim."""
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

from .errors import CaptureError, check_version, explain, misfit_of

LONGEST = 100     # letters of a model that a graph's name has: it becomes a file's


def add_step_options(parser):
    """The options that say which step."""
    parser.add_argument("model", nargs="?",
                        help="FILE.py:FUNCTION, torchvision:NAME, timm:NAME, hf:NAME, config.json, "
                             "FILE.pt2 or a name of --list")
    parser.add_argument("--list", action="store_true", help="print the names that need no prefix")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, help="tokens (language models)")
    parser.add_argument("--layers", type=int, help="blocks (language models)")
    parser.add_argument("--hidden", type=int, help="features (language models and mlp)")
    parser.add_argument("--image", type=int, help="height and width in pixels (image models)")
    parser.add_argument("--optimizer", default="adam",
                        help="none sgd momentum adam adamw muon lion adafactor rmsprop adagrad adamax adadelta nadam radam asgd rprop")
    parser.add_argument("--foreach", choices=["yes", "no"],
                        help="multi-tensor updates; as PyTorch would choose by default")
    parser.add_argument("--fused", choices=["yes", "no"], help="fused updates; as PyTorch would choose by default")
    parser.add_argument("--autocast", choices=["bf16", "fp16"], help="mixed precision by torch.autocast, as on a GPU")
    parser.add_argument("--mode", choices=["train", "forward", "eval"], default="train",
                        help="forward: no backward pass; eval: no gradients either")
    parser.add_argument("--accumulate", type=int, default=1, help="backward passes for each update")
    parser.add_argument("--clip", type=float, help="clip the gradients' norm to this")
    parser.add_argument("--keep-gradients", action="store_true", help="zero_grad(set_to_none=False)")
    parser.add_argument("--dtype", choices=["f32", "bf16", "f16"], help="of parameters and inputs")
    parser.add_argument("--checkpoint", action="store_true",
                        help="activation checkpointing, as models of transformers switch it on")
    parser.add_argument("--lora", type=int, metavar="RANK",
                        help="freeze the model and train adapters of this rank, as peft does")
    parser.add_argument("--target", choices=["attention", "all"], default="all",
                        help="with --lora: which linear layers get adapters; never the output layer")
    parser.add_argument("--base", choices=["f32", "bf16", "f16", "nf4", "int8"],
                        help="with --lora: the frozen weights (bf16; nf4 and int8: those of linear layers, the rest bf16)")


def yes(word):
    """True, False or None."""
    return None if word is None else word == "yes"


def make_step(options, batch=None):
    """The step that the options ask for, or the same at another batch: a function to call once a step, and the graph's name."""
    import torch
    from .models import Size
    from .steps import OPTIMIZERS, TrainingStep
    from .zoo import build
    if options.optimizer not in OPTIMIZERS or (OPTIMIZERS[options.optimizer] or (1,))[0] is None:
        raise CaptureError(f"no optimizer {options.optimizer}: there are {' '.join(OPTIMIZERS)}")
    size = Size(batch or options.batch, options.seq, options.layers, options.hidden, options.image)
    before = torch.get_default_dtype()
    dtype = options.dtype or (options.base or "bf16" if options.lora else None)
    kinds = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "nf4": torch.bfloat16,
             "int8": torch.bfloat16}
    torch.set_default_dtype(kinds.get(dtype, before))
    try:
        made = build_somehow(build, options.model, size)
    finally:
        torch.set_default_dtype(before)
    if callable(made) and not isinstance(made, tuple):
        if options.lora or options.checkpoint:
            raise CaptureError(f"{options.model} is a whole step: --lora and --checkpoint need (module, inputs)")
        return made, graph_name(options, size)
    made = (fine_tuned(made[0], options), *made[1:])
    step = TrainingStep(*made, options.optimizer, yes(options.foreach), yes(options.fused), options.autocast,
                        options.mode,
                        options.accumulate, options.clip, not options.keep_gradients)
    return step, graph_name(options, size)


def fine_tuned(module, options):
    """The module with checkpointing and adapters, where the options ask for them."""
    if (options.base or options.target != "all") and not options.lora:
        raise CaptureError("--base and --target need --lora RANK")
    if options.checkpoint:
        if not hasattr(module, "gradient_checkpointing_enable"):
            raise CaptureError(
                f"{type(module).__name__} can't switch checkpointing on: --checkpoint is for models of transformers")
        module.gradient_checkpointing_enable()
    if not options.lora:
        return module
    from .adapters import with_adapters
    if options.checkpoint:
        module.enable_input_require_grads()
    return with_adapters(module, options.lora, options.target, options.base or "bf16")


def build_somehow(build, name, size):
    """Builds under the active mode; for real where the model's shapes or first weights depend on numbers that fake
    tensors don't have."""
    from torch._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException,
                                               unset_fake_temporarily)
    try:
        return build(name, size)
    except (DataDependentOutputException, DynamicOutputShapeException, NotImplementedError):
        with unset_fake_temporarily():
            return build(name, size)


def graph_name(options, size):
    """A name that says what was captured."""
    path = pathlib.Path(options.model)
    if path.name == "config.json":
        path = path.resolve().parent
    stem = options.model.rpartition(":")[2] if ".py:" in options.model else path.stem if os.path.exists(path) else \
        options.model.partition(":")[2] or options.model      # os.path: such words may be longer than a file's name
    words = [stem.replace("/", "_")[:LONGEST], f"b{size.batch}"]
    words += [f"{letter}{value}" for letter, value in (("s", size.seq), ("l", size.layers), ("h", size.hidden),
                                                       ("i", size.image)) if value]
    words += [options.optimizer if options.mode == "train" else options.mode]
    words += [word for word, wanted in (("foreach", options.foreach == "yes"), ("fused", options.fused == "yes"))
              if wanted]
    words += [options.autocast] if options.autocast else []
    words += [f"lora{options.lora}", options.target, options.base or "bf16"] if options.lora else []
    return "_".join(words + (["checkpoint"] if options.checkpoint else []))


def under_heap_shim(module):
    """Runs a module of the package again with heap_shim.c preloaded, and exits as it does. Returns if it runs so already."""
    if "heap_shim" in os.environ.get("LD_PRELOAD", ""):
        return
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/heap_shim.so"
        source = pathlib.Path(__file__).with_name("heap_shim.c")
        try:
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", library], check=True)
        except (OSError, subprocess.CalledProcessError):
            raise CaptureError("no C compiler (cc): it is needed to measure the heap") from None
        environment = dict(os.environ, LD_PRELOAD=library)
        sys.exit(subprocess.run([sys.executable, "-m", module] + sys.argv[1:], env=environment).returncode)


def run(main, needs_torch=True):
    """Runs a command: errors become one line and exit status 3."""
    warnings.filterwarnings("ignore")
    try:
        if needs_torch:
            check_version()
        sys.exit(main())
    except CaptureError as error:
        text = str(error)
    except (OSError, ValueError, KeyError, ImportError) as error:
        text = misfit_of(error) or (f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else str(error))
    except Exception as error:
        if os.environ.get("TIDEMARK_TRACEBACK"):
            raise
        text = explain(error) + " (TIDEMARK_TRACEBACK=1 shows where)"
    shown = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    print(f"tidemark_torch: {shown}", file=sys.stderr)
    sys.exit(3)
