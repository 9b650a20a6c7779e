"""What a plan recomputes, as PyTorch's selective activation checkpointing and as tags for torch.compile.

PyTorch runs a checkpointed module again as a whole when the backward pass first needs one of its results; a policy says
which results are kept nevertheless. The policy here keeps what the plan keeps.
"""
import collections

import torch
from torch import nn
from torch.utils import checkpoint as torch_checkpoint

from .errors import CaptureError

SYNTHETIC = {"aten.as_strided.default", "aten.view.dtype"}  # ops that a capture adds under the name view_N


def recomputed_ops(order):
    """The ops that an order runs again."""
    return {name.partition(".again")[0] for name in order if ".again" in name}


def is_inside(path, region):
    """True for a module path in a module or below it."""
    return path == region or path.startswith(region + ".") or not region


class Decisions:
    """What is kept and what is run again, for each op of the forward pass.

    graph: the step as captured; order: the plan's, with the ops that it runs again.
    """

    def __init__(self, graph, order):
        self.graph, self.again = graph, recomputed_ops(order)
        if not self.again:
            raise CaptureError("the plan recomputes nothing: plan with recompute=selective, full or auto")
        self.forward = [name for name, op in graph.ops.items() if op["phase"] == "forward" and
                        op["op"] != "tidemark.release" and not self.is_synthetic(name, op)]
        self.needed = self.needed_later()
        self.written = {graph.root(source) for op in graph.ops.values() for _, source in op.get("inplace", [])}

    @staticmethod
    def is_synthetic(name, op):
        """True for a view that the capture has added."""
        return op["op"] in SYNTHETIC and name.startswith("view_")

    def needed_later(self):
        """The storages that the backward pass reads, or an op that is run again."""
        needed = set()
        for name, op in self.graph.ops.items():
            if op["op"] != "tidemark.release" and (op["phase"] != "forward" or name in self.again):
                needed.update(self.graph.root(tensor) for tensor in op["in"])
        return needed

    def is_kept(self, name):
        """True for an op whose result stays for the backward pass. What is written in place is always made anew:
        autograd takes no other tensor for it."""
        roots = {self.graph.root(out) for out in self.graph.ops[name]["out"]}
        return name not in self.again and bool(roots & self.needed) and not roots & self.written

    def of_region(self, region):
        """str(op) -> whether to keep, for each time that it runs in a module, in order."""
        kept = collections.defaultdict(list)
        for name in self.forward:
            if is_inside(self.graph.ops[name]["mod"], region):
                kept[self.graph.ops[name]["op"]].append(self.is_kept(name))
        return kept

    def is_touched(self, region):
        """True when something in a module is run again."""
        return any(is_inside(self.graph.ops[name]["mod"], region) for name in self.again if name in self.graph.ops)


def holds_layers(module):
    """True for a module with a list of blocks somewhere below it."""
    for child in module.modules():
        if isinstance(child, (nn.ModuleList, nn.ModuleDict)) and len(child):
            return True
        if isinstance(child, nn.Sequential):
            kinds = collections.Counter(type(block) for block in child if next(block.children(), None) is not None)
            if kinds and max(kinds.values()) > 1:
                return True
    return False


def find_regions(decisions, root):
    """The modules to checkpoint: [(path, module)]. Blocks of a model, or else the outermost modules that hold none."""
    found = []

    def descend(path, module):
        if not decisions.is_touched(path):
            return
        is_list = isinstance(module, (nn.ModuleList, nn.ModuleDict))
        if path and not is_list and not holds_layers(module):
            found.append((path, module))
            return
        for name, child in module.named_children():
            descend(f"{path}.{name}" if path else name, child)

    descend("", root)
    return found


class Policy:
    """The policy of one module: called by PyTorch for each op in it."""

    def __init__(self, kept):
        self.kept, self.seen = kept, collections.Counter()

    def contexts(self):
        """The pair of contexts for one call of the module."""
        before = collections.Counter(self.seen)

        def decide(context, function, *_args, **_kwargs):
            name = str(function)
            counts = before if context.is_recompute else self.seen
            kept, place = self.kept.get(name), counts[name]
            counts[name] += 1
            keep = bool(kept) and kept[place % len(kept)]
            return torch_checkpoint.CheckpointPolicy.MUST_SAVE if keep else torch_checkpoint.CheckpointPolicy.PREFER_RECOMPUTE
        return torch_checkpoint.create_selective_checkpoint_contexts(decide)


class Checkpointed:
    """Modules under checkpoint. `paths` names them; undo() takes it back; also a context."""

    def __init__(self, decisions, root):
        self.paths, self.modules = [], []
        for path, module in find_regions(decisions, root):
            self.paths.append(path)
            self.modules.append(module)
            self.wrap(module, Policy(decisions.of_region(path)))
        if not self.paths:
            raise CaptureError(
                "no module of this model holds what the plan recomputes: pass the module whose step was captured")

    @staticmethod
    def wrap(module, policy):
        """Runs a module's forward under checkpoint."""
        forward = module.forward

        def checkpointed(*args, **kwargs):
            if not torch.is_grad_enabled():
                return forward(*args, **kwargs)
            return torch_checkpoint.checkpoint(forward, *args, use_reentrant=False, context_fn=policy.contexts,
                                               **kwargs)
        module.forward = checkpointed

    def undo(self):
        """Takes the checkpoints off."""
        for module in self.modules:
            vars(module).pop("forward", None)
        self.modules = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.undo()
        return False
