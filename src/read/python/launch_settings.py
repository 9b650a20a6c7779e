"""What a launcher's file comes to: axes of the mesh, the strategy, ZeRO's stage, batch and microbatches, recomputation."""
import re

from draft import Bad

DEVICES_MOST = 1 << 20
SOFTWARE = {"torchtitan": "torchtitan", "megatron": "megatron-lm", "nemo": "megatron-bridge"}
KNOBS = ("reshard_after_forward", "reduce_dtype", "seq", "optimizer", "moments", "float8", "kernels")


def number_in(text):
    """The whole number that a text begins with, 0 without one."""
    found = re.match(r"\s*[+-]?\d{1,18}", text)
    return int(found[0]) if found else 0


class Resolving:
    """The values of a file's slots on their way to settings: lists of (0, "" or "note", text)."""

    def __init__(self, launch):
        self.launcher, self.values, self.lines = launch.launcher, launch.values, []

    def text(self, slot):
        return self.values.get(slot, "")

    def number(self, slot, otherwise):
        """A slot's number from 1 on."""
        value = number_in(self.text(slot))
        return value if value > 0 else otherwise

    def add(self, text, note=""):
        self.lines.append((0, note, text))

    def put(self, knob, value, least):
        """A knob's number, where it's more than that."""
        if value > least:
            self.add(f"{knob}{value}")

    def recompute(self):
        how, what, share, every = self.text("recompute"), self.text("what"), self.text("share"), self.number("every", 1)
        selective, titan = how == "selective", self.launcher == "torchtitan"
        if how == "knapsack":
            part = re.match(r"\d*\.?\d*", share or "0.5")[0].rstrip(".")
            self.add(f"recompute=knapsack:{100 * float(part or 0):.0f}%")
        elif titan and selective and what != "op":
            self.put("recompute=every:", self.number("what", 2), 0)
        elif titan and selective:
            self.add("recompute=products")
        elif selective and what and what != "core_attn":
            self.add(f"recompute=ops:{what}")
        elif how and not selective and every > 1 and self.text("method") == "uniform":
            self.put("recompute=layers:", every, 0)
        elif how:
            self.add(f"recompute={how}")

    def batch(self, wide, pp):
        """wide: devices that have samples of their own."""
        batch, local, count = self.number("batch", 0), self.number("local", 0), self.number("accumulation", 0)
        micro = self.number("piece", 1) if local and pp > 1 else self.number("micro", local)
        batch = batch or (local or micro * (count or 1)) * wide
        if batch and micro and batch % (micro * wide):
            raise Bad(f"{batch} samples a step can't be microbatches of {micro} on each of {wide} devices")
        if micro:
            count = batch // (micro * wide)
        self.put("batch=", batch, 0)
        self.put("microbatches=", count, 0)

    def zero(self, shard):
        """shard: devices that share states."""
        zero = self.number("zero", 0)
        if self.launcher == "torchtitan" or (not self.text("zero") and self.text("kind") == "fsdp"):
            return 3 if shard > 1 else 0
        return self.number("kind", 0) if zero == 4 else zero   # 4: Megatron's FSDP says apart what it cuts

    def pipeline(self, pp):
        each, layers = self.number("chunk_layers", 0), self.number("layers", 0)
        chunks = layers // pp // each if each and layers else self.number("chunks", 1)
        schedule = "interleaved" if chunks > 1 else self.text("schedule")
        self.put("chunks=", chunks if pp > 1 else 1, 1)
        if pp > 1 and schedule:
            self.add(f"schedule={schedule}")

    def mesh(self, devices, wide, shard):
        """wide: devices of all axes but tp, pp and cp; shard: that share states."""
        tp, pp, cp, ep = (self.number(axis, 1) for axis in ("tp", "pp", "cp", "ep"))
        zero = self.zero(shard * cp)
        self.add("strategy=" +
                 ("megatron" if tp * cp * ep > 1 else "zero" if zero else "data" if devices > pp else "none"))
        for axis, size in ("dp", wide // ep), ("tp", tp), ("pp", pp), ("cp", cp), ("ep", ep):
            self.put(axis + "=", size, 0)
        if tp > 1 and self.launcher != "torchtitan":
            self.add("sp=on" if self.text("sp") else "sp=off")
        self.put("zero=", zero, -1)
        self.put("replicate=", wide // shard if zero else 1, 1)

    def degrees(self, devices):
        tp, pp, cp, ep = (self.number(axis, 1) for axis in ("tp", "pp", "cp", "ep"))
        nodes, copies, shard = self.number("nodes", 1), self.number("replicate", 1), self.number("shard", 0)
        node, inner = self.number("per_node", 0), tp * pp * cp
        if inner > DEVICES_MOST or copies * (shard + ep) > DEVICES_MOST:
            raise Bad("more than 2^20 devices")
        said = devices if devices > 1 else self.number("devices", nodes * node)   # who sets them before the file wants those
        if not said:
            said = inner * copies * (shard or ep)
            self.add(f"no number of devices: counted with {said}; say devices=N before it", "note")
        wide = said // inner
        if self.text("shard") == "node":
            shard = wide // nodes
        if self.launcher == "deepspeed" and shard:
            copies = wide // shard
        shard = shard or wide // copies
        if wide % ep or wide * inner != said or shard < 1 or (copies > 1 and copies * shard != wide):
            raise Bad(
                f"{said} devices can't be tp {tp} x pp {pp} x cp {cp}, with ep {ep} and {copies} replicas; devices=N "
                      "before it counts instead")
        self.put("devices=", said, 0)
        self.put("devices_per_node=", node or said // nodes, 0 if node or nodes > 1 else said)
        self.mesh(said, wide, shard)
        self.pipeline(pp)
        self.batch(wide, pp)


def settings(launch, devices):
    """Settings and notes of a file. devices: how many there are where the file doesn't say; 1: nobody knows."""
    resolving = Resolving(launch)
    resolving.degrees(devices)
    precision = resolving.text("dtype") or resolving.text("precision")
    if precision or launch.launcher in ("deepspeed", "megatron"):
        resolving.add(f"precision={precision or 'fp32'}")
    for knob in KNOBS:
        if resolving.text(knob):
            resolving.add(f"{knob}={resolving.text(knob)}")
    resolving.recompute()
    if launch.launcher in SOFTWARE:
        resolving.add("software=" + SOFTWARE[launch.launcher])
    return resolving.lines
