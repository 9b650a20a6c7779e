"""One rank of the distributed tests of torch_check.py: python torch_ranks.py WHAT RANK FOLDER. Prints losses."""
import json
import os
import sys
import warnings

import torch
import torch.distributed as dist

import tidemark_torch
import torch_steps
from tidemark_torch.workspace import allocator_peak

warnings.filterwarnings("ignore")
RANKS = 2


def losses_of(model, optimizer, inputs, count=3):
    """The losses of some steps."""
    found = []
    for _ in range(count):
        loss = model(*inputs)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def placements(folder):
    """Trains torch_steps.blocks as the plan in the folder places it."""
    torch.manual_seed(0)
    model, inputs = torch_steps.blocks()
    tidemark_torch.apply(f"{folder}/plan.json", f"{folder}/step.jsonl").distribute(model)
    shards = {str(p.placements) for p in model.parameters()}
    return losses_of(model, torch.optim.SGD(model.parameters(), lr=0.1), inputs), sorted(shards)


def made(folder):
    """The model of a folder's step, and its inputs."""
    torch.manual_seed(0)
    return getattr(torch_steps, os.path.basename(folder))()


def ranked(folder):
    """Trains each step in the folder by the graph of a rank: the losses, and how many parameters are cut."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not os.path.isdir(f"{folder}/{name}"):
            continue
        model, inputs = made(f"{folder}/{name}")
        whole = sum(p.numel() for p in model.parameters())
        step = tidemark_torch.apply(f"{folder}/{name}/plan.json", f"{folder}/{name}/rank.jsonl").step(
            model, torch.optim.SGD(model.parameters(), lr=0.1))
        found[name] = [step(*inputs).item() for _ in range(3)], whole - sum(p.numel() for p in model.parameters())
    return found


def peak(folder):
    """Bytes that a rank's step takes beside what persists. Nobody answers: collectives are none."""
    model, inputs = made(folder)
    step = tidemark_torch.apply(f"{folder}/plan.json", f"{folder}/rank.jsonl").step(
        model, torch.optim.SGD(model.parameters(), lr=0.1))
    step(*inputs)
    return allocator_peak(lambda: step(*inputs))


def pipeline(folder, rank):
    """Runs torch_steps.blocks in two stages (or four) by the schedule in the folder."""
    from torch.distributed.pipelining import PipelineStage
    from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
    torch.manual_seed(0)
    model, (x,) = torch_steps.blocks()
    with open(f"{folder}/schedule.csv", encoding="utf-8") as rows:
        cells = [row.strip().split(",") for row in rows]
    stages = 1 + max(int(cell.split("F")[0]) for row in cells for cell in row if "F" in cell)
    each = len(model.blocks) // stages
    parts = [torch.nn.Sequential(*model.blocks[i * each:(i + 1) * each]) for i in range(stages)]
    parts[-1].append(model.head)
    mine = [PipelineStage(parts[i], i, stages, torch.device("cpu")) for i in range(rank, stages, RANKS)]
    microbatches = 1 + max(int(cell.split("F")[1]) for row in cells for cell in row if "F" in cell)
    schedule = _PipelineScheduleRuntime(mine, microbatches, loss_fn=lambda y, _: y.pow(2).mean())
    schedule._load_csv(f"{folder}/schedule.csv")
    found = []
    target, losses = torch.zeros(len(x)), []
    last = any(stage.is_last for stage in mine)
    schedule.step(*([x] if rank == 0 else []), **({"target": target, "losses": losses} if last else {}))
    found = [sum(loss.item() for loss in losses) / len(losses)] if losses else []
    gradient = sum(p.grad.double().pow(2).sum().item() for stage in mine for p in stage.submod.parameters())
    return found, gradient


def main():
    what, rank, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    if what == "peak":
        from torch.testing._internal.distributed.fake_pg import FakeStore
        dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
        print(json.dumps({name: peak(f"{folder}/{name}") for name in sorted(os.listdir(folder))
                          if os.path.isdir(f"{folder}/{name}")}), flush=True)
        os._exit(0)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=RANKS)
    said = placements(folder) if what == "placements" else ranked(folder) if what == "ranked" else pipeline(
        folder, rank)
    print(json.dumps(said), flush=True)
    dist.barrier()
    os._exit(0)


if __name__ == "__main__":
    main()
