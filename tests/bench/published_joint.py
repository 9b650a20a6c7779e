"""MODeL's joint program (Steiner et al., ICML 2023) by CP-SAT: one op a step, an interval of steps and of addresses for every storage.

    python tests/bench/published_joint.py GRAPH SECONDS     prints [arena, bound] in bytes; null: nothing found
"""
import gzip
import json
import sys

from ortools.sat.python import cp_model

PERSISTENT = ("input", "parameter", "buffer", "constant", "optimizer")


def read(path):
    with gzip.open(path, "rt") as stream:
        records = [json.loads(line) for line in stream]
    return {r["id"]: r for r in records if r["k"] == "tensor"}, [r for r in records if r["k"] == "op"]


def main(path, seconds):
    tensors, ops = read(path)

    def root(name):
        while tensors[name].get("alias"):
            name = tensors[name]["alias"]
        return name

    model, n = cp_model.CpModel(), len(ops)
    at = [model.NewIntVar(0, n - 1, "") for _ in ops]
    model.AddNoOverlap([model.NewFixedSizeIntervalVar(step, 1, "") for step in at])
    writer = {name: i for i, op in enumerate(ops) for name in op["out"]}
    touch = {}
    for i, op in enumerate(ops):
        for name in op["in"]:
            if name in writer:
                model.Add(at[writer[name]] + 1 <= at[i])
        for name in {root(name) for name in op["in"] + op["out"]}:
            touch.setdefault(name, []).append(i)
        model.AddHint(at[i], i)
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
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers = seconds, 2
    found = solver.Solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    print(json.dumps([base + unit * int(solver.ObjectiveValue()) if found else None, base + unit * int(solver.BestObjectiveBound())]))


main(sys.argv[1], float(sys.argv[2]))
