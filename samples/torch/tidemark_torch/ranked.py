"""The step of one rank of a sharded plan, as an FX graph over its own parts of the user's parameters.

The graph is the one of a rank. Every rank runs it, with the plan's collectives where the plan has them, so it needs what the plan says. DTensor, which
chooses redistributions itself, is not involved.
"""
import torch
import torch.distributed as dist

from .errors import CaptureError
from .exchange import Exchange
from .graph import StepGraph
from .places import (class_axes, gather_rows, Localized, look_up, mean_axes, NLL, part_of, pick_classes, read_cuts,
                     rows_of, share,
                     weigh)
from .replay import find_function
from .reordered import Builder, Reordered, Seeded
from .sums import with_sums


def localized_graph(graph):
    """A rank's graph whose ops are called with the rank's names and sizes."""
    localized = Localized(graph)
    tensors = []
    for record in graph.tensors.values():
        if read_cuts(record.get("placement")) and "stride" in record:   # that of the whole tensor
            record = {key: value for key, value in record.items() if key != "stride"}
        tensors.append(record)
    return localized, StepGraph(graph.head, tensors, list(localized.ops.values()))


class RankSeeds(Seeded):
    """Every rank draws from the same base."""

    def next(self):
        super().next()
        dist.broadcast(self.base, 0)


class RankBuilder(Builder):
    """Makes the FX graph of a rank."""

    def __init__(self, graph, order, numbers, seeds, device, exchange, localized):
        self.exchange, self.localized, self.whole = exchange, localized, {}
        super().__init__(graph, order, numbers, seeds, device)

    def add(self, name, op):
        if not op["op"].startswith("comm."):
            super().add(name, op)
            return
        targets = tuple(self.node[target] for _, target in op.get("inplace", []))
        node = self.fx.call_function(self.exchange.function(op, self.graph.tensors), (self.node[op["in"][0]], *targets))
        node.meta["tidemark"] = name
        self.node[op["out"][0]] = node
        if op.get("from") and "P" in op["from"]:
            self.whole[op["in"][0]] = op["out"][0]

    def newest(self, root):
        """An output that is a rank's share is returned as the sum of all."""
        while root in self.whole:
            root = self.whole[root]
        return self.node[root]

    def function(self, name, op):
        function = find_function(name, op)
        if function is None:
            return None
        axes, rows = rows_of(self.localized, op)
        if axes:
            return (gather_rows if "backward" in op["op"] else look_up)(function, self.place_on(axes) * rows, rows)
        if op["op"].rpartition(".")[0] in NLL:
            return self.loss(op, function)
        summed = with_sums(self.localized, op, function, lambda axis: self.group_of(axis)[0])
        if summed is not None:
            return summed
        axes = mean_axes(self.localized, op, function)
        if not axes:
            return function
        parts = 1
        for axis in axes:
            parts *= self.localized.sizes[axis]
        return share(function, parts)

    def group_of(self, axis):
        """(the group of an axis by its number, this rank's place in it, its size)."""
        return self.exchange.group(list(self.graph.head["mesh"])[axis])

    def place_on(self, axes):
        """Which part of a dim this rank has that some axes cut."""
        place = 0
        for axis in axes:
            place = place * self.localized.sizes[axis] + self.group_of(axis)[1]
        return place

    def loss(self, op, function):
        """nll_loss on a part of the samples or of the classes. Its backward pass has the weight of all samples."""
        places = NLL[op["op"].rpartition(".")[0]]
        axes, classes = class_axes(self.localized, op)
        every = self.localized.axes_of(op["args"][places[0]]["t"])
        if axes:
            function = pick_classes(function, places, self.place_on(axes) * classes, classes)
        if not every or "backward" in op["op"]:
            return function
        return weigh(function, [self.group_of(axis)[0] for axis in every], op["args"][3] == 1)


class RankStep(Reordered):
    """A step of one rank: call it with whole inputs, or with this rank's parts. Parameters, buffers and optimizer state are cut in place."""

    def __init__(self, graph, order, modules, optimizers, tensors, mesh=None):
        if graph.head.get("ranks") is not None:
            raise CaptureError("the graph is of one stage of a pipeline: apply(...).write_schedule() is for that")
        if not dist.is_initialized():
            raise CaptureError("the plan is for several devices: start a process for each, and call torch.distributed.init_process_group first")
        self.mesh = mesh or self.make_mesh(graph, modules)
        self.sizes, self.at = list(graph.head["mesh"].values()), [self.mesh.get_local_rank(axis)
                                                                  for axis in graph.head["mesh"]]
        self.exchange = Exchange(self.mesh)
        self.localized, graph = localized_graph(graph)
        super().__init__(graph, order, modules, optimizers, tensors)
        self.seeds.__class__ = RankSeeds
        self.cut_in_place()

    @staticmethod
    def make_mesh(graph, modules):
        """A mesh of the graph's shape over all processes."""
        from torch.distributed.device_mesh import init_device_mesh
        mesh, count = graph.head["mesh"], 1
        for size in mesh.values():
            count *= size
        if count != dist.get_world_size():
            raise CaptureError(f"the plan is for {count} devices, and there are {dist.get_world_size()} processes")
        device = next((p.device.type for module in modules for p in module.parameters()), "cpu")
        return init_device_mesh(device, tuple(mesh.values()), mesh_dim_names=tuple(mesh))

    def make_builder(self, graph, order, device):
        return RankBuilder(graph, order, self.numbers, self.seeds, device, self.exchange, self.localized)

    def part(self, tensor, record):
        """What this rank has of a tensor, whole or its part already."""
        cuts = record.get("placement")
        if list(tensor.shape) == record["shape"] or not read_cuts(cuts):
            return tensor
        part = part_of(tensor, cuts, self.sizes, self.at)
        if list(part.shape) != record["shape"]:
            raise CaptureError(f"the plan cuts {record['id']} {list(tensor.shape)} unevenly, to {record['shape']} at most: only plans with equal parts can be "
                               "run by ranks; take another number of devices")
        return part.contiguous()

    @torch.no_grad()
    def cut_in_place(self):
        """Leaves this rank's parts in the user's parameters and optimizer state."""
        for name, tensor in self.names.of.items():
            record = self.graph.tensors.get(name)
            if record is not None and isinstance(tensor, torch.Tensor):
                part = self.part(tensor.detach(), record)
                if part.shape != tensor.shape:
                    tensor.data = part.clone()

    def value(self, name, given):
        record = self.graph.tensors[name]
        if name in given:
            given = {**given, name: self.part(given[name], record)}
        return super().value(name, given)
