"""What a plan recomputes, as tags on the joint graph of torch.compile: its partitioner keeps and computes again as
the tags say. Ops are found by the module that they are in, their name, and how often that was run there before.
"""
import collections
import re

import torch
from torch.utils.checkpoint import CheckpointPolicy

from .errors import CaptureError

SAME = {torch.ops.aten.detach.default, torch.ops.aten.alias.default}  # which a capture leaves out
ALSO = {"native_dropout": "bernoulli"}  # what dropout is in an eager step


def module_path(node):
    """The path of the module that an FX node was made in, as the capture names modules."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    text = list(stack.values())[-1][0]
    text = re.sub(r"^L\['\w+'\]", "", text).replace("_modules", "")
    return ".".join(part for part in re.split(r"[.\[\]']+", text) if part)


def base_name(name):
    """An op's name without namespace, overload and the mark of in-place ones."""
    return name.split(".")[1].rstrip("_") if "." in name else name.rstrip("_")


def is_needless(node):
    """True for the copy that PyTorch 2.13's tracer makes where dropout changes nothing (probability 0, evaluation). An
    eager step makes none."""
    made_by = node.meta.get("source_fn_stack") or [("", None)]
    return node.target is torch.ops.aten.clone.default and "dropout" in getattr(made_by[-1][1], "__name__", "").lower() and \
        all(user.op != "output" for user in node.users)


def take_out_copies(graph):
    """Lets the readers of needless copies read what was copied."""
    for node in list(graph.nodes):
        if is_needless(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


class Tagger:
    """Tags the nodes of a joint graph. decisions: a plan's, see tidemark_torch.checkpointing."""

    def __init__(self, decisions):
        self.of = collections.defaultdict(list)
        for name in decisions.forward:
            op = decisions.graph.ops[name]
            policy = CheckpointPolicy.MUST_RECOMPUTE if name in decisions.again else \
                CheckpointPolicy.MUST_SAVE if decisions.is_kept(name) else None
            self.of[op["mod"], base_name(op["op"])].append(policy)

    def __call__(self, graph):
        """Tags a graph in place."""
        take_out_copies(graph)
        seen, tagged = collections.Counter(), 0
        for node in graph.nodes:
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload) or \
                    node.meta.get("partitioner_tag") == "is_backward":
                continue
            if node.target in SAME:
                node.meta.update({key: node.args[0].meta[key] for key in ("recompute", "ac_graph_id")
                                  if key in node.args[0].meta})
                continue
            path, base = module_path(node), base_name(str(node.target))
            if (path, base) not in self.of and base in ALSO:
                base = ALSO[base]
            place = seen[path, base]
            seen[path, base] += 1
            policies = self.of.get((path, base), [])
            if place < len(policies) and policies[place] is not None:
                node.meta["recompute"], node.meta["ac_graph_id"] = policies[place], 0
                tagged += policies[place] is CheckpointPolicy.MUST_RECOMPUTE
        if not tagged:
            raise CaptureError("nothing that the plan recomputes is in this compiled graph: compile the module whose step was captured")


def run_late(module):
    """Orders a backward graph so that what is computed again is computed just before its first use."""
    from torch import fx
    old, new, copies = module.graph, fx.Graph(), {}

    def add(node):
        stack = [node]
        while stack:
            top = stack[-1]
            missing = [source for source in top.all_input_nodes if source not in copies]
            if top in copies or not missing:
                if top not in copies:
                    copies[top] = new.node_copy(top, copies.__getitem__)
                stack.pop()
            else:
                stack += reversed(missing)

    nodes = list(old.nodes)
    for node in nodes:
        if node.op == "placeholder":
            add(node)
    for node in nodes:
        if node.meta.get("partitioner_tag") == "is_backward" or node.op == "output" or node.is_impure():
            add(node)
    new.lint()
    return fx.GraphModule(module, new)


def tagging_backend(decisions, to):
    """A backend for torch.compile whose partitioner follows a plan. to: inductor or eager."""
    tagger = Tagger(decisions)
    if to == "eager":
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.partitioners import min_cut_rematerialization_partition

        def partition(joint, inputs, **options):
            tagger(joint.graph)
            forward, backward = min_cut_rematerialization_partition(joint, inputs, **options)
            return forward, run_late(backward)

        def run(module, _inputs):
            def boxed(arguments):
                return torch.fx.Interpreter(module).boxed_run(arguments)  # lets go of arguments after their last use
            boxed._boxed_call = True
            return boxed
        return aot_autograd(fw_compiler=run, bw_compiler=run, partition_fn=partition)

    def backend(module, inputs, **options):
        from torch._inductor import config
        from torch._inductor.compile_fx import compile_fx
        with config.patch(joint_custom_pre_pass=tagger):
            return compile_fx(module, inputs, **options)
    return backend
