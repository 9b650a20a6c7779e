"""From a flat HLO module to a graph: kinds, phases, names, what is written in place, and what is said of it."""
from draft import BYTES_MOST, Bad, Draft
from hlo_bodies import Bodies
from hlo_flat import whole
from hlo_flops import Flops

COLLECTIVES = {name: "comm." + kind for kind, names in {
    "all_reduce": ("all-reduce", "all-reduce-start"), "all_gather": ("all-gather", "all-gather-start"),
    "reduce_scatter": ("reduce-scatter",), "all_to_all": ("all-to-all", "ragged-all-to-all"),
    "collective_permute": ("collective-permute", "collective-permute-start")}.items() for name in names}
DULL = "while", "body", "cond", "closed_call", "rematted_computation", "checkpoint", "shard_map", ""
STATE = (".mu[", ".nu[", ".trace[", ".count", ".m[", ".v[", ".v_row[", ".v_col[", ".sum_of_squares[", "opt_state")
TAPED = "gradient_tape/"   # the gradients of TensorFlow


def module_of(op_name):
    """"jit(step)/transpose(jvp(MLP))/Dense_0/dot_general" is MLP.Dense_0: the last part says what it does, and wrappers
    are off."""
    found = []
    for part in op_name.split("/")[:-1]:
        if part.startswith("jit(") and len(part) > 4:
            continue
        while "(" in part and part.endswith(")"):
            part = part[part.index("(") + 1:-1]
        if part not in DULL:
            found.append(part)
    return ".".join(found)[:599]


def argument_name(instruction):
    """ "params['h']['kernel']" and so on: the framework's name of an argument, where it has one."""
    return instruction.op_name or instruction.name


def argument_kind(name, donated):
    """By the names that JAX gives arguments, and by what the step gives back in their place."""
    if name.startswith("opt") or any(part in name for part in STATE):
        return "optimizer"
    named = name.startswith(("param", "weight", "variables")) or ".params[" in name
    return "parameter" if donated or named else "input"


def is_whole(module):
    """Before XLA's partitioner: sizes are those of all devices together. The partitioner names the entry NAME_spmd and
    leaves shardings at its parameters and its root only; before it, collectives are in shard_maps only."""
    entry = module.computations[module.entry]
    if module.scheduled or "_spmd" in entry.name:
        return False
    cut = sends = False
    inside = module.unpartitioned
    for computation in module.computations:
        for place, instruction in enumerate(computation.instructions):
            kept = instruction.opcode == "parameter" or (computation is entry and place == entry.root)
            cut |= instruction.shards > 1
            inside |= instruction.shards > 1 and not kept
            sends |= instruction.opcode in COLLECTIVES
    return inside or (cut and not sends)


class Phases:
    """Whether ops say of which phase they are: JAX marks what it differentiates, but before 0.7 ("jit(main)") only in
    functions and modules that have names: where a product stands outside of them, what is forward and what backward
    isn't said. Other frameworks than JAX and TensorFlow mark nothing."""

    def __init__(self, ops):
        both = {(op.of.op_name, op.path) for op in ops}
        texts = {text for pair in both for text in pair}
        self.named = any(texts)   # ops say what they come from
        taped = any(TAPED in name for name, _ in both)
        self.differentiates = taped or any("transpose(jvp" in text for text in texts)
        marks = taped or any("jit(" in text for text in texts) or any(
            "jvp(" in name or "pmap(" in name for name, _ in both)
        unmarked = any("jvp(" not in name and "jvp(" not in path and
                       ("/dot_general" in name or "/conv_general_dilated" in name) for name, path in both)
        self.told = marks and not (unmarked and any("jit(main)/" in text for text in texts))

    def of(self, op, gradient):
        """jvp() is forward, transpose(jvp()) backward. What stands outside of it and needs a gradient updates."""
        if not self.differentiates:
            return "forward"
        name = op.path if op.path and "jvp(" not in op.of.op_name else op.of.op_name
        if "transpose(" in name or TAPED in name:
            return "backward"
        if "jvp(" in name or not gradient:
            return "forward"
        return "update" if name else "backward"


class Names:
    """Names of tensors or ops, each once: with '2, '3, ... behind it."""

    def __init__(self):
        self.taken, self.last = set(), {}

    def new(self, name):
        given, number = name, self.last.get(name, 1)
        while given in self.taken:
            number += 1
            given = f"{name}'{number}"
        self.last[name] = number
        self.taken.add(given)
        return given


class Making:
    """A graph on its way to a draft."""

    def __init__(self, module, flat):
        self.module, self.flat, self.draft = module, flat, Draft()
        self.phases, self.flops = Phases(flat.ops), Flops(module)
        self.tensor_names, self.op_names, self.modules = Names(), Names(), {}
        self.names, self.gradients = {}, set()   # names by tensor; tensors that depend on a gradient
        self.keeps = {tensor.storage for tensor in flat.tensors if tensor.result}   # results of the whole lie there
        self.donated = {parameter for _, parameter, _ in module.aliases}
        self.missing = self.unknown_trips = self.bytes = 0

    def kind(self, tensor):
        if tensor.parameter is not None:
            return argument_kind(argument_name(tensor.of), tensor.parameter in self.donated)
        if tensor.constant:
            return "constant"
        if tensor.result and tensor.storage.parameter is None:
            return "output"
        return "gradient" if tensor in self.gradients else "activation"

    def add_tensor(self, tensor):
        shape, of = tensor.shape, tensor.of
        name = argument_name(of) if tensor.parameter is not None else of.name
        number = f"#{tensor.leaf}" if len(of.shape.leaves) > 1 else ""
        name = self.names[tensor] = self.tensor_names.new(tensor.prefix[:400] + name[:600] + number)
        replaced = tensor.parameter is not None and not tensor.stays and tensor not in self.keeps
        self.draft.tensor(name, shape.bytes, self.kind(tensor), dtype=shape.dtype, shape=shape.dims,
                          alias=self.names[tensor.over] if tensor.over else None, replaced=replaced or None,
                          address=None if tensor.over else self.module.places.get((of, tensor.leaf)))
        self.missing += shape.unsized
        self.bytes += shape.bytes
        if self.bytes > BYTES_MOST:
            raise Bad(f'sizes add up to more than 2^60 bytes at "{name[:100]}"', of.line)

    def add_op(self, op):
        of, names = op.of, self.names
        gradient = not self.gradients.isdisjoint(op.reads)
        phase = self.phases.of(op, gradient)
        if gradient or phase == "backward":
            self.gradients.update(op.writes)
        for tensor in op.writes:
            self.add_tensor(tensor)
        module = self.modules.get((of.op_name, op.path))
        if module is None:
            module = self.modules[of.op_name, op.path] = module_of(of.op_name) or module_of(op.path)
        self.unknown_trips += of.opcode == "while" and of.trips == 0
        record = self.draft.op(self.op_names.new(op.prefix[:400] + of.name[:600]),
                               COLLECTIVES.get(of.opcode) or "xla." + of.opcode[:100],
                               phase=phase if self.phases.told else None, mod=module or None, src=of.src or None,
                               flops=self.flops.of(of, op.computation), workspace=op.workspace or None,
                               size=(of.group or self.module.devices) if of.opcode in COLLECTIVES else None)
        record["in"], record["out"] = [names[tensor] for tensor in op.reads], [names[tensor] for tensor in op.writes]
        inplace = [[names[tensor], names[tensor.over]] for tensor in op.writes if tensor.over]
        if inplace:
            record["inplace"] = inplace

    def graph(self):
        """Ops say what depends on a gradient, which their results' kinds need: what they write comes with them."""
        for tensor in self.flat.tensors:
            if tensor.writer is None:
                self.add_tensor(tensor)
        for op in self.flat.ops:
            self.add_op(op)

    # ---- what is said of it ----

    def assumed(self, every):
        yield ("what is a parameter, optimizer state or input is told by the names of arguments, and by what the step "
               "gives back in their place")
        yield ("fusions are open: each op in them has a result of its own" if self.flat.opened else
               "fusions are one op each: nothing inside them is stored")
        trips = self.unknown_trips
        if trips:
            many = ("", "s") if trips == 1 else ("s", "")
            yield f"{trips} loop{many[0]} count{many[1]} as one trip for the time: XLA doesn't say how many"
        if every:
            yield (f"this is before it is cut over {self.module.devices} devices: sizes are of all of them together, "
                   "but within a shard_map")
        if not self.phases.named:
            yield "no op says what it comes from (op_name): what is forward, backward and update is not known"
        elif not self.phases.told:
            yield ("what is forward, backward and update is not known: names of ops (op_name) say it in modules by "
                   "JAX 0.7 or later")

    def lines(self, form):
        """The records of the graph."""
        module, every = self.module, is_whole(self.module)
        devices, mesh = "", None
        if module.devices > 1:
            devices = f", for all {module.devices} devices" if every else f", of one of {module.devices} devices"
            mesh = None if every else {"spmd": module.devices}
        intake = {"format": form, "version": ("scheduled" if module.scheduled else "not scheduled") + devices,
                  "missing": self.missing, "derived": not module.scheduled, "assumed": list(self.assumed(every))}
        if not module.scheduled:
            intake["advice"] = "jax.jit(step).lower(...).compile().as_text() has " + (
                "what one device runs, in XLA's own order" if every else "XLA's own order")
        if module.sums:
            intake["peak"] = sum(module.sums.values())
            intake["peak_by"] = (
                "XLA's buffer assignment: arguments {arguments}, temporaries {temporary}, results beside them "
                "{outputs}, constants {constants} B; with the holes in its layout, which layout=file shows"
            ).format(**module.sums)
        return self.draft.records(module.name, intake, mesh)


def graph(module, options, form):
    """The step: fusions closed, one op each, or open, an op for each instruction in it."""
    flat = whole(module, options.fusions == "open")
    Bodies(flat.budget).find(flat)
    making = Making(module, flat)
    making.graph()
    return making.lines(form)
