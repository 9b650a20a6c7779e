"""Takes a plan back into training.

    applied = tidemark_torch.apply("plan.json", "step.jsonl.gz")

    step = applied.step(model, optimizer)      # the plan's order as an FX graph over your own parameters
    loss = step(x, y)
    applied.checkpoint(model)                  # what it recomputes, as selective activation checkpointing
    torch.compile(model, backend=applied.compile_backend())     # ... as tags for torch.compile's partitioner
    tidemark_torch.apply("plan.json", "rank.jsonl").step(model, optimizer)     # a sharded plan, in every process
    applied.distribute(model, mesh)            # its placements, as DTensors; applied.code() is the program text for it
    applied.write_schedule("schedule.csv", "pipeline.csv")     # a pipeline's schedule for torch.distributed.pipelining

The plan is what `tidemark plan GRAPH --json` writes, and the graph is the one that it is of. Where the plan recomputes
or offloads and step() is to run it, the graph must hold that, too: `tidemark export GRAPH --as native --stage device`
with the plan's settings writes it, for a sharded plan as well: the graph of one rank.
"""
import json

from .errors import CaptureError, check_since
from .graph import read_graph, StepGraph


def as_list(value):
    """What was given, as a list."""
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


class Applied:
    """A plan that can be run. See the module's text for its methods."""

    def __init__(self, plan, graph):
        if isinstance(plan, dict):
            self.plan, self.name = plan, "the plan"
        else:
            with open(plan, encoding="utf-8") as text:
                try:
                    self.plan = json.load(text)
                except ValueError as error:
                    raise CaptureError(f"{plan} isn't a plan file ({error}): tidemark plan GRAPH --json writes one") from None
            self.name = str(plan)
        if "order" not in self.plan:
            raise CaptureError(f"{self.name} isn't a plan file: tidemark plan GRAPH --json writes one")
        if graph is None or isinstance(graph, StepGraph):
            self.the_graph = graph
        else:
            self.the_graph = graph.graph if hasattr(graph, "graph") else read_graph(graph)

    @property
    def graph(self):
        """The graph that the plan is of."""
        if self.the_graph is None:
            raise CaptureError("the graph is needed, too: tidemark_torch.apply(plan, graph)")
        return self.the_graph

    @property
    def order(self):
        """The ops as the plan runs them."""
        return self.plan["order"]["ops"]

    def step(self, modules, optimizers=None, tensors=None, mesh=None):
        """The step in the plan's order: call it with the step's inputs. modules, optimizers: those of the captured
        step, one or a list in the order in which it uses them. tensors: name -> tensor for other things that stay.
        Where the graph is that of one rank, every process makes the step: parameters and optimizer state are cut in
        place, and collectives run on mesh, a DeviceMesh with the plan's axes; made if it is None."""
        from .reordered import Reordered
        graph, order = self.graph, self.order
        lacking = [name for name in order if name not in graph.ops]
        if lacking:
            raise CaptureError(
                f"the plan runs {lacking[0]}, which the graph lacks: give the graph as planned, which `tidemark "
                               "export GRAPH --as native --stage device` writes with the plan's settings")
        if graph.head.get("mesh"):
            from .ranked import RankStep
            return RankStep(graph, order, as_list(modules), as_list(optimizers), tensors or {}, mesh)
        return Reordered(graph, order, as_list(modules), as_list(optimizers), tensors or {})

    def checkpoint(self, module):
        """Puts a model under checkpoints that keep what the plan keeps. Returns what undo() takes them off with."""
        check_since((2, 5), "selective checkpoints")
        from .checkpointing import Checkpointed, Decisions
        return Checkpointed(Decisions(self.graph, self.order), module)

    def compile_backend(self, to="eager"):
        """A backend for torch.compile that keeps and computes again what the plan says. to: eager runs the pieces as
        they are; inductor compiles them, which is less tried."""
        check_since((2, 5), "tags for the partitioner")
        from .checkpointing import Decisions
        from .tags import tagging_backend
        if to not in ("inductor", "eager"):
            raise CaptureError(f"to={to!r}: a compiled piece goes to 'inductor' or 'eager'")
        return tagging_backend(Decisions(self.graph, self.order), to)

    def distribute(self, module, mesh=None):
        """Makes DTensors of a module's parameters as the plan places them; its inputs become such at each call. mesh: a
        DeviceMesh with the plan's axes; made if it is None. Returns the mesh."""
        check_since((2, 5), "DTensors")
        from .distribution import Placements, distribute
        return distribute(Placements(self.plan), self.graph, module, mesh)

    def code(self):
        """Program text that does so, for the parameters."""
        from .distribution import Placements
        placements = Placements(self.plan)
        return placements.code([name for name, record in self.graph.tensors.items()
                                if record["kind"] == "parameter" and "alias" not in record])

    def write_schedule(self, path, pipeline):
        """Writes a pipeline's schedule for torch.distributed.pipelining. pipeline: the file that `tidemark export GRAPH
        --as csv --view pipeline` writes with the plan's settings."""
        from .distribution import write_schedule
        write_schedule(pipeline, path)


def apply(plan, graph=None):
    """An Applied for a plan (a file or its parsed JSON) of a graph (a file, a StepGraph or a finished capture)."""
    return Applied(plan, graph)
