"""MODeL's joint program (Steiner et al., ICML 2023) by CP-SAT: one op a step, an interval of steps and of addresses for every storage.

    python tests/bench/published_joint.py GRAPH SECONDS [shared]     prints [[seconds, arena, bound] ...] after 10 s and at the end; null: nothing

Seconds are processor time, so that other programs take none of it.
shared: ops may share a step, of which there are as few as MODeL has, 1.01 times the longest path.
"""
import gzip
import json
import sys
import threading
import time

from ortools.sat.python import cp_model

EARLY = 10       # seconds
PERSISTENT = ("input", "parameter", "buffer", "constant", "optimizer")


def read(path):
    with gzip.open(path, "rt") as stream:
        records = [json.loads(line) for line in stream]
    return {r["id"]: r for r in records if r["k"] == "tensor"}, [r for r in records if r["k"] == "op"]


def main(path, seconds, shared):
    tensors, ops = read(path)

    def root(name):
        while tensors[name].get("alias"):
            name = tensors[name]["alias"]
        return name

    model, n = cp_model.CpModel(), len(ops)
    writer = {name: i for i, op in enumerate(ops) for name in op["out"]}
    if shared:
        depth = []
        for op in ops:
            depth.append(1 + max((depth[writer[name]] for name in op["in"] if name in writer), default=0))
        n = -(-101 * max(depth) // 100)
    at = [model.NewIntVar(0, n - 1, "") for _ in ops]
    if not shared:
        model.AddNoOverlap([model.NewFixedSizeIntervalVar(step, 1, "") for step in at])
    touch = {}
    for i, op in enumerate(ops):
        for name in op["in"]:
            if name in writer:
                model.Add(at[writer[name]] + 1 <= at[i])
        for name in {root(name) for name in op["in"] + op["out"]}:
            touch.setdefault(name, []).append(i)
        model.AddHint(at[i], min(i, n - 1))
    base, rectangles, total = 0, ([], []), sum(t["bytes"] for t in tensors.values())
    unit = 4096
    arena = model.NewIntVar(0, total // unit + 1, "")
    written = {pair[0] for op in ops for pair in op.get("inplace", [])}
    for name, users in touch.items():
        tensor = tensors[name]
        size = -(-tensor["bytes"] // unit)
        for other in (i for i in users if any(out in written and root(out) == name for out in ops[i]["out"])):
            for i in users:     # keeps its place among all that touch the storage
                if i != other:
                    model.Add(at[min(i, other)] < at[max(i, other)])
        if tensor["kind"] in PERSISTENT and name not in writer and not tensor.get("replaced"):
            base += tensor["bytes"]
            continue
        if size == 0:
            continue
        start, end = model.NewIntVar(0, n, ""), model.NewIntVar(0, n, "")
        if name in writer:
            model.Add(start == at[writer[name]])
        else:
            model.Add(start == 0)
        if tensor["kind"] == "output":
            model.Add(end == n)
        else:
            model.AddMaxEquality(end, [at[i] + 1 for i in users])
        length, place = model.NewIntVar(1, n, ""), model.NewIntVar(0, total // unit, "")
        rectangles[0].append(model.NewIntervalVar(start, length, end, ""))
        rectangles[1].append(model.NewFixedSizeIntervalVar(place, size, ""))
        model.Add(place + size <= arena)
    model.AddNoOverlap2D(*rectangles)
    model.AddCumulative(rectangles[0], [interval.SizeExpr() for interval in rectangles[1]], arena)
    model.Minimize(arena)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    early = [None, 0]

    def note(kept):
        found = kept.BestObjectiveBound(), kept.ObjectiveValue()
        if time.process_time() <= EARLY:
            early[:] = found[1], found[0]

    class Watch(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self):
            note(self)

    def raised(bound):
        if time.process_time() <= EARLY:
            early[1] = bound

    def watch():
        while time.process_time() < seconds:
            time.sleep(0.1)
        solver.StopSearch()

    solver.best_bound_callback = raised
    threading.Thread(target=watch, daemon=True).start()
    found = solver.Solve(model, Watch()) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    last = [solver.ObjectiveValue() if found else None, solver.BestObjectiveBound()]
    print(json.dumps([[second, value and base + unit * int(value), base + unit * int(bound)] for second, (value, bound) in ((EARLY, early), (seconds, last))]))


main(sys.argv[1], float(sys.argv[2]), len(sys.argv) > 3)
