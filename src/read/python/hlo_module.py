"""An XLA HLO module in memory, as its text or a proto gives it: computations of instructions over shapes. Files in
reading order: hlo_module; hlo_text and hlo_groups, or hlo (protos), which read one; hlo_assignment, where XLA puts each
array; hlo_flat, a module as a list of ops over arrays; hlo_shares, in whose memory an op may write; hlo_bodies, what
loops and branches hold; hlo_flops; hlo_graph, from there to a graph; hlo_folder, which file of a folder is the step."""
from draft import BITS, BITS_MOST, BYTES_MOST, Bad

DEPTH_MOST = 40           # of nested tuples and calls
DEVICES_MOST = 1 << 20    # more aren't believed
NUMBER_MOST = (1 << 32) - 1
PARTITIONED_AWAY = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape")

# XLA's types as ours; what has no size of its own is opaque.
DTYPES = {"pred": "bool", "f8e4m3fn": "f8e4m3", "f8e4m3b11fnuz": "f8e4m3", "f8e4m3fnuz": "f8e4m3", "f8e3m4": "f8e4m3",
          "f8e5m2fnuz": "f8e5m2", "f8e8m0fnu": "u8", "f4e2m1fn": "u4", "s1": "i4", "u1": "u4", "s2": "i4", "u2": "u4",
          **{f"s{bits}": f"i{bits}" for bits in (4, 8, 16, 32, 64)}, "token": "opaque",
          **{name: name for name in ("u4 u8 u16 u32 u64 f16 bf16 f32 f64 c64 c128 f8e4m3 f8e5m2 opaque").split()}}


class Shape:
    """An array, or a tuple of parts: a token is one of nothing. leaves: the arrays in it. layout: equal for equal
    orders of dims, tiles and memories; "" where nobody says. unsized: of a dtype without a size, or with unbounded
    dims."""
    __slots__ = "dtype", "dims", "layout", "parts", "leaves", "bytes", "unsized"

    def __init__(self, dtype, dims=(), layout="", parts=None, unsized=False):
        self.dtype, self.dims, self.layout, self.parts = dtype, dims, layout, parts
        bits = BITS[dtype]
        self.unsized = unsized or (bits == 0 and parts is None)
        if parts is not None:
            self.leaves = [leaf for part in parts for leaf in part.leaves]
            self.bytes = sum(part.bytes for part in parts)
        else:
            self.leaves = [self]
            for dim in dims:
                bits *= dim
                if bits > BITS_MOST:
                    break
            self.bytes = 0 if self.unsized else (bits + 7) // 8
        if bits > BITS_MOST or self.bytes > BYTES_MOST:
            raise Bad("a shape's size overflows")


class Instruction:
    """operands: places of instructions in the same computation; calls: places of computations, of a loop the body and
    the condition, None where it says none; op_name, src: "" where nobody says; contracting: "1", "0,1" of a dot;
    labels: dim_labels of a convolution; aliases: (array, operand, array of it) that lie in one place; trips: of a loop,
    where XLA knows it; index: parameter's number, or part of a tuple; group: devices that take part in a collective;
    shards: devices that its sharding cuts it over."""
    op_name = src = contracting = labels = ""
    calls = aliases = operands = ()
    trips = index = group = shards = 0

    def __init__(self, name, opcode, shape, line):
        self.name, self.opcode, self.shape, self.line = name, opcode, shape, line


class Computation:
    def __init__(self, name, instructions, root):
        self.name, self.instructions, self.root = name, instructions, root


class Module:
    """entry: a place among computations. aliases: (result, parameter, array of it) that are donated. devices: as many
    as a collective or a sharding names at least. unpartitioned: it calls what XLA's partitioner takes out. sums: bytes
    by purpose of XLA's own plan, None without one; places: addresses by instruction and array."""

    def __init__(self, name="module"):
        self.name, self.computations, self.entry, self.aliases = name, [], None, []
        self.devices, self.scheduled, self.unpartitioned = 1, False, False
        self.sums, self.places = None, {}

    def add_devices(self, devices):
        if self.devices < devices <= DEVICES_MOST:
            self.devices = devices

    def add_call(self, target):
        """A custom call of that target."""
        self.unpartitioned |= target in PARTITIONED_AWAY or target.startswith("xla.sdy.") and len(target) > 8
