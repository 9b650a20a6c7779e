"""Where a plan puts tensors, as DTensors, and its pipeline, as a schedule of torch.distributed.pipelining."""
import csv
import json
import re

from .errors import CaptureError

PASS = {"forward": "F", "backward": "B", "input gradients": "I", "weight gradients": "W"}
PLACEMENT = re.compile(r"(_StridedShard|Shard|Replicate|Partial)\(([^)]*)\)")


# ---- pipelines ----

def read_slots(path):
    """{rank: [(pass, microbatch, stage)]} of a pipeline, as `tidemark export --view pipeline` writes it: CSV or JSON."""
    with open(path, encoding="utf-8") as text:
        if text.read(1) == "{":
            text.seek(0)
            return {row["rank"]: [(slot["pass"], slot["microbatch"], slot["stage"]) for slot in row["slots"]]
                    for row in json.load(text)["rank"]}
        text.seek(0)
        rows = list(csv.DictReader(text))
    if not rows or "stage" not in rows[0]:
        raise CaptureError(f"{path} is no pipeline: tidemark export GRAPH --as csv --view pipeline writes one")
    slots = {}
    for row in rows:
        slots.setdefault(int(row["rank"]), []).append((row["pass"], int(row["microbatch"]), int(row["stage"])))
    return slots


def write_schedule(pipeline, path):
    """Writes a pipeline as the CSV that _PipelineScheduleRuntime._load_csv() reads: a row for each rank, 0F0 for the
    forward pass of stage 0 and microbatch 0, 0B0 for its backward pass, 0I0 and 0W0 for its two parts."""
    slots = read_slots(pipeline)
    with open(path, "w", encoding="utf-8", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        for rank in range(len(slots)):
            writer.writerow(f"{stage}{PASS[which]}{microbatch}" for which, microbatch, stage in slots[rank])


# ---- placements ----

def read_placement(words):
    """The placements in a text such as "[Shard(0), Replicate()]", as (name, {argument: number}) pairs."""
    found = []
    for name, inside in PLACEMENT.findall(words):
        values = {}
        for part in filter(None, (piece.strip() for piece in inside.split(","))):
            key, _, value = part.rpartition("=")
            if name != "Partial":
                values[key or "dim"] = int(value)
        found.append((name, values))
    return found


class Placements:
    """The placements of a plan: mesh, {axis: size}, and of, {tensor: text in DTensor's words}."""

    def __init__(self, plan):
        shard = plan.get("shard") or {}
        self.mesh, self.of = shard.get("mesh") or {}, {}
        if not self.mesh or not shard.get("annotations"):
            raise CaptureError(
                "the plan places nothing: plan with strategy=data, megatron, tap, minred or auto, and devices=N")
        for name, words in shard["annotations"].items():
            self.of[name] = words["dtensor"]

    def make(self, name):
        """The placements of a tensor, as DTensor has them. What has strides inside a dim is cut in plain pieces:
        results are the same, and DTensor exchanges what is missing."""
        from torch.distributed.tensor import Replicate, Shard
        if not self.of.get(name):
            return [Replicate() for _ in self.mesh]
        return [Shard(values["dim"]) if kind in ("Shard", "_StridedShard") else Replicate()
                for kind, values in read_placement(self.of[name])]

    def make_mesh(self, device):
        """A mesh of this plan's shape over all processes."""
        from torch.distributed.device_mesh import init_device_mesh
        return init_device_mesh(device, tuple(self.mesh.values()), mesh_dim_names=tuple(self.mesh))

    def code(self, names):
        """Program text that places parameters and inputs so."""
        lines = ["from torch import nn", "from torch.distributed.device_mesh import init_device_mesh",
                 "from torch.distributed.tensor import Replicate, Shard, distribute_module, distribute_tensor", "",
                 f"mesh = init_device_mesh(\"cuda\", {tuple(self.mesh.values())}, mesh_dim_names={tuple(self.mesh)})",
                 "PLACEMENTS = {"]
        for name in names:
            lines.append(f"    {name!r}: [{', '.join(str(one) if not one.is_shard() else f'Shard({one.dim})' for one in self.make(name))}],"
                         .replace("R]", "Replicate()]").replace("R,", "Replicate(),"))
        lines += ["}", "", "", "def place(path, module, mesh):",
                  "    for name, parameter in module.named_parameters(recurse=False):",
                  "        whole = f\"{path}.{name}\" if path else name",
                  "        placed = distribute_tensor(parameter.detach(), mesh, PLACEMENTS.get(whole, [Replicate()] * mesh.ndim))",
                  "        module.register_parameter(name, nn.Parameter(placed, parameter.requires_grad))", "", "",
                  "distribute_module(model, mesh, place)", ""]
        return "\n".join(lines)


def place_parameters(placements, module, mesh):
    """Makes DTensors of a module's parameters and buffers, as a plan places them. Shared ones stay shared."""
    from torch import nn
    from torch.distributed.tensor import distribute_tensor
    done = {}
    names = {id(tensor): name for name, tensor in [*module.named_parameters(), *module.named_buffers()]}
    for part in module.modules():
        for kind, store in (("parameter", part._parameters), ("buffer", part._buffers)):
            for key, tensor in store.items():
                if tensor is None:
                    continue
                if id(tensor) not in done:
                    placed = distribute_tensor(tensor.detach(), mesh, placements.make(names[id(tensor)]))
                    done[id(tensor)] = nn.Parameter(placed, tensor.requires_grad) if kind == "parameter" else placed
                store[key] = done[id(tensor)]


def distribute(placements, graph, module, mesh=None):
    """Runs a module as a plan places it: parameters, and the inputs of each call, are DTensors; what it returns is
    whole on every device. Every process passes the same inputs. Returns the mesh."""
    import torch
    from torch.distributed.tensor import DTensor, Replicate, distribute_tensor
    from torch.distributed.tensor.experimental import implicit_replication
    from torch.utils._pytree import tree_map_only
    device = next(module.parameters()).device.type
    mesh = mesh or placements.make_mesh(device)
    place_parameters(placements, module, mesh)
    inputs = [name for name, record in graph.tensors.items() if record["kind"] == "input" and "alias" not in record]

    def spread(tensor):
        name = next((name for name in inputs if graph.tensors[name]["shape"] == list(tensor.shape)), None)
        return tensor if isinstance(tensor, DTensor) else distribute_tensor(tensor, mesh, placements.make(name))

    def gather(tensor):
        return tensor.redistribute(placements=[Replicate()] * mesh.ndim).to_local() if isinstance(tensor, DTensor) else tensor

    forward = module.forward

    def distributed(*args, **kwargs):
        args, kwargs = tree_map_only(torch.Tensor, spread, (args, kwargs))
        with implicit_replication():
            return tree_map_only(torch.Tensor, gather, forward(*args, **kwargs))
    module.forward = distributed
    return mesh
