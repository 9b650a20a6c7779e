"""Logs of torch.compile for one rank of sharded steps: distributed_logs.py FOLDER [NAME...]

Writes for each step FOLDER/NAME.log (TORCH_LOGS=aot_joint_graph,aot_graphs) and NAME.trace/ (TORCH_TRACE). The ranks but for ddp's are a process group of
the kind "fake": collectives return at once, in one process on a CPU. With BACKEND=inductor also NAME.debug/ (TORCH_COMPILE_DEBUG).
"""
import os

from each_alone import each_alone, for_torch

BACKEND = os.environ.get("BACKEND", "aot_eager")


def ranks(*shape, names=None):
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore
    size = 1
    for n in shape:
        size *= n
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=size)
    return init_device_mesh("cpu", shape, mesh_dim_names=names)


def block(width=256, inner=1024):
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.gate, self.down = nn.LayerNorm(width), nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

        def forward(self, x):
            y = self.norm(x)
            return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))
    return Block()


def stack(n=3):
    from torch import nn
    return nn.Sequential(*[block() for _ in range(n)])


def data(*shape):
    import torch
    return torch.randn(*shape)


def ddp():
    """DDPOptimizer cuts the graph at its buckets. Its reducer wants real collectives: one rank of gloo."""
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(stack(), bucket_cap_mb=3)
    return model, (data(32, 256),)


def ddp_reducer():
    """All-reduces in the graph: compiled autograd with the reducer written in Python."""
    import torch
    torch._dynamo.config.optimize_ddp = "python_reducer"
    torch._dynamo.config.compiled_autograd = True
    return ddp()


def fsdp2():
    """Hooks gather between graphs: a graph for each block."""
    import torch
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    mesh = ranks(4)
    model = stack()
    for one in model:
        fully_shard(one, mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    fully_shard(model, mesh=mesh)
    return model, (data(32, 256),)


def simple_fsdp():
    """Weights are DTensors that each use gathers: gathers and reduce-scatters stand in the graph."""
    import torch
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.nn.utils import parametrize
    mesh = ranks(8)

    class Gather(torch.nn.Module):
        def forward(self, weight):
            return weight.redistribute(mesh, [Replicate()]).to_local(grad_placements=[torch.distributed.tensor.Partial()])
    model = stack(2)
    for module in list(model.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(distribute_tensor(weight.detach(), mesh, [Shard(0)])))
            parametrize.register_parametrization(module, name, Gather(), unsafe=True)
    return model, (data(32, 256),)


def tp_sequence():
    """Tensor and sequence parallelism: columns, rows, and activations cut along the sequence between them."""
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    mesh = ranks(4)
    model = stack(2)
    for one in model:
        parallelize_module(one, mesh, {"norm": SequenceParallel(use_local_output=False), "up": ColwiseParallel(input_layouts=Shard(1)), "gate": ColwiseParallel(input_layouts=Shard(1)),
                                       "down": RowwiseParallel(output_layouts=Shard(1))})
    return model, (data(4, 16, 256),)


def tp_2d():
    """FSDP2 over tensor parallelism, 2 x 4 devices."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = ranks(2, 4, names=("dp", "tp"))
    model = stack(2)
    for one in model:
        parallelize_module(one, mesh["tp"], {"up": ColwiseParallel(), "gate": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(one, mesh=mesh["dp"])
    return model, (data(32, 256),)


def experts():
    """Tokens go to experts on other ranks and back by all-to-all."""
    import torch
    import torch.distributed._functional_collectives as collectives
    from torch.distributed._functional_collectives import all_to_all_single_autograd
    mesh = ranks(8)

    class Experts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.router, self.expert, self.head = torch.nn.Linear(128, 8), block(128, 512), torch.nn.Linear(128, 64)

        def forward(self, x):
            gate, to = self.router(x).softmax(-1).max(-1)
            there = all_to_all_single_autograd(x[to.argsort()], [8] * 8, [8] * 8, mesh.get_group())
            back = all_to_all_single_autograd(self.expert(there), [8] * 8, [8] * 8, mesh.get_group())
            return self.head(back * gate[:, None])
    return Experts(), (data(64, 128),)


STEPS = {f.__name__: f for f in (ddp, ddp_reducer, fsdp2, simple_fsdp, tp_sequence, tp_2d, experts)}


def run(name, folder):
    import torch
    torch.manual_seed(0)
    model, given = STEPS[name]()
    out = torch.compile(model, backend=BACKEND)(*given)
    out.float().pow(2).mean().backward()


if __name__ == "__main__":
    each_alone(STEPS, run, for_torch, log=True)
