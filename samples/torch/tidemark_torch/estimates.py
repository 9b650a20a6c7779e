"""Will a step fit, why not, and what to change: the answers of the program tidemark as Python values.

    with tidemark_torch.fake():
        step = make_step()                       # a function that runs one step of training
    print(tidemark_torch.estimate(step, limit="24GiB"))

Nothing is allocated or computed. The program says what a device needs, PyTorch's allocator simulated.
"""
import collections
import dataclasses
import os
import re
import tempfile

from .advice import advice_of, size
from .errors import CaptureError
from .graph import read_graph, write_graph
from .parts import peaks_of
from .program import ask_program

LARGEST_GROUPS = 6
# What a change does to the training run, in the order in which changes are listed.
RESULTS = {"same": "same results", "rounded": "same results but for rounding",
           "split": "same results but for rounding; batch norm, if any, sees smaller batches",
           "devices": "same results but for rounding, on more devices", "run": "changes the run"}
GROUPS = {"devices": 1, "run": 2}    # as `tidemark fit` lists them; others are 0


@dataclasses.dataclass
class Change:
    """Something that makes the step fit. settings: of `tidemark plan --set`; extra_seconds: a step, by the clock of the
    device that was asked for (by default an A100)."""
    settings: list
    needed_bytes: int
    extra_seconds: float
    same_results: bool
    text: str


@dataclasses.dataclass
class Holder:
    """Tensors alike that are there at the peak. name: an op's type and its module, with * for a layer's number."""
    name: str
    kind: str
    count: int
    bytes: int


@dataclasses.dataclass
class Estimate:
    """What a step needs. needed_bytes: of the device, as `allocator` judges it; fits: None without a limit; why: what
    is there at the peak, the largest first; advice: what of it needn't be, in sentences; changes: the fastest first,
    those that change the run last; unknown: what the figure leaves out or assumes; parts: the peak in bytes of each
    part of the step (tidemark_torch.part, or each optimizer's step), in program order."""
    needed_bytes: int
    peak_bytes: int
    allocator: str
    limit_bytes: int
    fits: bool
    verdict: str
    peak_op: str
    why: list
    advice: list
    changes: list
    unknown: list
    parts: dict = dataclasses.field(default_factory=dict)

    def __str__(self):
        lines = [self.verdict, f"at the peak ({self.peak_op}):"]
        lines += [f"  {size(held.bytes):>12}  {held.count} x {held.name} ({held.kind})" for held in self.why]
        lines += [f"{name}: at most {size(peak)}" for name, peak in self.parts.items()]
        lines += self.advice
        if self.changes:
            lines.append("to make it fit; what changes the run is last:")
            lines += [f"  {change.text}" for change in self.changes]
        elif self.fits is False:
            lines.append("no single change makes it fit")
        return "\n".join(lines + [f"not known: {text}" for text in self.unknown])


def plain(name):
    """A module's path with * for numbers, so that equal layers are one."""
    return re.sub(r"(^|\.)\d+(?=\.|$)", r"\1*", name)


def holders_of(graph, order=None):
    """(the op at the peak of an order, program order by default; Holders of what is there then, the largest first)."""
    order = order or list(graph.ops)
    live = graph.live_bytes(order)
    place = max(range(len(live)), key=live.__getitem__)
    groups = collections.defaultdict(lambda: [0, 0])
    spans = graph.lifetimes(order)
    for name, tensor in graph.tensors.items():
        first, last = spans.get(name, (0, -1))
        if "alias" in tensor or not (graph.is_persistent(name) or first <= place <= last):
            continue
        op = graph.ops.get(graph.writer.get(name))
        base = plain(name) if op is None else " ".join(filter(None, (op["op"].split(".")[1], plain(op.get("mod", "")))))
        if op is None and tensor["kind"] in ("parameter", "optimizer", "buffer"):
            base = {"parameter": "parameters", "optimizer": "optimizer state", "buffer": "buffers"}[tensor["kind"]]
        entry = groups[base, tensor["kind"]]
        entry[0] += 1
        entry[1] += tensor["bytes"]
    workspace = graph.ops[order[place]].get("workspace", 0)
    found = [Holder(name, kind, *figures) for (name, kind), figures in groups.items()]
    found += [Holder("workspace of the op", "temporary", 1, workspace)] * (workspace > 0)
    return order[place], sorted(found, key=lambda holder: -holder.bytes)


def change_of(way):
    """A way of `tidemark fit` as a Change."""
    settings = list(way["set"])
    needed, extra = way["needed_bytes"], way["extra_seconds"]
    text = " ".join(f"--set {word}" for word in settings)
    text = f"{way['in_pytorch']} ({text}): {size(needed)}, {extra * 1e3:+.3f} ms a step, {RESULTS.get(way['changes'], way['changes'])}"
    return Change(settings, needed, extra, way["changes"] == "same", text)


def estimate(step, limit=None, settings=(), changes=True):
    """What one step of training needs on a device.

    step      a function that runs one step; it is called a few times on fake tensors, and leaves all as it was. Or the
              path of a captured step.
    limit     of the device's memory: "24GiB", bytes, or the name of a preset ("rtx4090-24gb").
    settings  of `tidemark plan --set`, such as "devices=8" and "strategy=zero".
    changes   False: doesn't look for what makes the step fit.

    Raises CaptureError where the step can't be captured or the program refuses. Some 30 s for 8 billion parameters.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/step.jsonl.gz"
        if callable(step):
            from .recording import capture_step
            graph = capture_step(None, step)
            write_graph(path, graph)
        else:
            path = os.fspath(step)
            graph = read_graph(path)
        return estimate_graph(path, graph, limit, settings, changes)


def limit_words(limit):
    """A limit as the program's settings."""
    if limit is None:
        return []
    text = str(limit)
    return [f"memory={text}" if text[:1].isdigit() else f"device={text}"]


def estimate_graph(path, graph, limit, settings, changes):
    """The Estimate of a graph in a file."""
    words = [part for text in [*limit_words(limit), *settings] for part in ("--set", text)]
    as_it_is = [] if any(text.startswith("order=") for text in settings) else ["--set", "order=program"]
    plan = ask_program("plan", path, *words, *as_it_is)
    memory = plan["memory"]
    cap = memory.get("cap_bytes")
    fits = None if cap is None else memory["fits"] in ("yes", "expandable")
    ways = []
    if changes and cap is not None and not fits:
        found = [way for way in ask_program("fit", path, *words)["ways"] if way["fits"]]
        ways = [change_of(way) for way in sorted(found, key=lambda way: GROUPS.get(way["changes"], 0))]
    op, holders = holders_of(graph)
    record = graph.ops[op]
    where = f"{record['op']}{' in ' + record['mod'] if record.get('mod') else ''}, {record['phase']}"
    unknown = graph.head.get("read", {}).get("assumed", []) or graph.head.get("assumed", [])
    if cap is not None and str(limit)[:1].isdigit() and not any(text.startswith("device=") for text in settings):
        unknown = [*unknown,
                   f"no device was named: {size(memory['ledger']['context'])} of the limit are taken for its context, "
                   "and times are those of an A100"]
    return Estimate(memory["needed_bytes"], memory["peak_bytes"], memory["allocator"], cap, fits, memory["verdict"],
                    where,
                    holders[:LARGEST_GROUPS], advice_of(graph), ways, list(unknown),
                    {name: peak for name, (peak, _) in peaks_of(graph).items()})


def check_limit(limit):
    """A limit, or that of the GPU that is there; None where there is none."""
    import torch
    if limit is None and torch.cuda.is_available():
        return torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    if limit is not None and not str(limit):
        raise CaptureError("an empty limit")
    return limit
