"""What is known of an ONNX model's tensors before they are made, and its nodes: attributes, operands, results.

Field numbers are those of onnx.proto. A rule of a node asks for what it needs; Unknown ends it where that isn't known.
"""
import math
import struct

from draft import DIMS_MOST, INT_MOST, Bad
from wire import BROKEN, fields, integers, signed, text_of

VALUES_MOST = 64   # numbers of one tensor that are followed
DTYPES = [None, "f32", "u8", "i8", "u16", "i16", "i32", "i64", None, "bool", "f16", "f64", "u32", "u64", "c64", "c128",
          "bf16", "f8e4m3", "f8e4m3", "f8e5m2", "f8e5m2", "u4", "i4", "u4", "u8"]   # TensorProto.DataType; None: texts
FOLLOWED = {"i64": "q", "i32": "i", "bool": "B", "f32": "f"}
SMALL = 1 << 12    # bytes of a message that is copied, and not looked at where it stands


class Unknown(Exception):
    """A result's size can't be told."""


def dtype_of(number):
    """The dtype of a TensorProto's number; None where there is none."""
    return DTYPES[number] if 0 <= number < len(DTYPES) else None


def held(body):
    """A message as bytes where it is small: those are looked at faster."""
    if isinstance(body, int):
        raise Bad(BROKEN)
    return bytes(body) if len(body) <= SMALL else body


class Value:
    """A tensor: shape and dtype are None where they aren't known; ints and reals, numbers of small ones."""
    __slots__ = ("name", "shape", "dtype", "ints", "reals", "weight", "input", "output", "inferred", "tensor")

    def __init__(self, name=""):
        self.name = name   # that it had first: what a branch makes is called as outside of it
        self.shape = self.dtype = self.ints = self.reals = self.tensor = None
        self.weight = self.input = self.output = self.inferred = False

    def numbers(self, which):
        """The numbers, ints or reals, where they are as many as the shape says."""
        found = getattr(self, which)
        known = found is not None and self.shape is not None and self.dtype is not None
        return found if known and len(found) == math.prod(self.shape) else None


def small_count(shape):
    """How many numbers a tensor has; more than are followed where one of its leading parts has."""
    count = 1
    for dim in shape:
        if not 0 <= dim <= VALUES_MOST or count > VALUES_MOST:
            return VALUES_MOST + 1
        count *= dim
    return count


def read_tensor(body, value):
    """Shape, dtype and, of small ones, numbers of a TensorProto: dims 1, data_type 2, float_data 4, int32_data 5,
    int64_data 7, name 8, raw_data 9, external_data 13, data_location 14. Returns its name, and entries of 13."""
    shape, name, places, loose, raw, packed, away = [], "", [], [], None, None, False
    for number, one in fields(body):
        if number == 9:
            raw = one
        elif number == 1:
            shape += integers(one)
        elif number == 2 and isinstance(one, int):
            value.dtype = dtype_of(one)
        elif number == 8:
            name = text_of(one)
        elif number in (4, 5, 7) and not isinstance(one, int):
            packed = one
        elif number in (4, 5, 7) and len(loose) <= VALUES_MOST:
            loose.append(one)
        elif number == 13:
            places.append(one)
        elif number == 14:
            away = one == 1
    if len(shape) > DIMS_MOST:
        raise Bad("not an ONNX model: a weight has too many dims")
    value.shape, count = shape, small_count(shape)
    if value.dtype in FOLLOWED and count <= VALUES_MOST and not away:
        numbers = numbers_of(value.dtype, count, raw, packed, loose)
        value.reals, value.ints = (numbers, None) if value.dtype == "f32" else (None, numbers)
    return name, places


def numbers_of(dtype, count, raw, packed, loose):
    """The numbers of a small tensor, None where they aren't so many. raw: little endian; packed: the same of reals, else
    varints; loose: field by field."""
    form = "<%d%s" % (count, FOLLOWED[dtype])
    if isinstance(raw, int):
        return None
    if raw is None and dtype == "f32":
        raw = packed if packed is not None else b"".join((one & 0xFFFFFFFF).to_bytes(4, "little") for one in loose)
    if raw is not None:
        return list(struct.unpack(form, raw)) if len(raw) == struct.calcsize(form) else None
    if packed is not None:
        found = integers(packed)[:count] if len(packed) <= 10 * VALUES_MOST else []
    else:
        found = [signed(one) for one in loose]
    return found if len(found) == count else None


ATTRIBUTES = {}   # by their bytes, which repeat


def attribute(body):
    """Name and fields of an AttributeProto: name 1, i 3, s 4, t 5, g 6, ints 8 (all), graphs 11 (all, g among them)."""
    found = {8: [], 11: []}
    for number, value in fields(body):
        if number == 8:
            found[8] += integers(value)
        elif number in (6, 11):
            found[11].append(value)
            found.setdefault(number, value)
        elif number in (1, 3, 4, 5):
            found.setdefault(number, value)
    return text_of(found.get(1, b"")), found


class Node:
    """A NodeProto: input 1, output 2, name 3, op_type 4, attribute 5, domain 7. The reader puts what is known of its
    operands and results into ins and outs, None for those that are left out."""

    def __init__(self, body):
        self.reads, self.makes, self.attributes, self.graphs = [], [], {}, []
        self.name = self.op = self.domain = ""
        self.ins = self.outs = ()
        for number, value in fields(held(body)):
            if number == 1:
                self.reads.append(text_of(value))
            elif number == 2:
                self.makes.append(text_of(value))
            elif number == 3:
                self.name = text_of(value)
            elif number == 4:
                self.op = text_of(value)
            elif number == 7:
                self.domain = text_of(value)
            elif number == 5:
                self.take(value)

    def take(self, body):
        """An attribute."""
        known = ATTRIBUTES.get(body) if isinstance(body, bytes) else None
        if known is None:
            known = attribute(body)
            if isinstance(body, bytes) and not known[1][11]:
                ATTRIBUTES[body] = known
        self.attributes.setdefault(known[0], known[1])
        self.graphs += known[1][11]

    # ---- attributes ----

    def int(self, name, normal):
        """Its integer, or what is normal."""
        value = self.attributes.get(name, {}).get(3)
        return signed(value) if isinstance(value, int) else normal

    def text(self, name):
        """Its text, "" without one."""
        return text_of(self.attributes.get(name, {}).get(4, b""))

    def list(self, name):
        """Its list of integers, None where there is none."""
        return self.attributes[name][8] if name in self.attributes else None

    # ---- operands ----

    def has(self, i):
        """Whether an operand is there."""
        return i < len(self.ins) and self.ins[i] is not None

    def known(self, i):
        """An operand whose shape and dtype are known, else None."""
        value = self.ins[i] if i < len(self.ins) else None
        return value if value is not None and value.shape is not None and value.dtype is not None else None

    def operand(self, i):
        """One that has to be known."""
        value = self.known(i)
        if value is None:
            raise Unknown
        return value

    def ints(self, i):
        """The integers of an operand, None where they aren't known."""
        return self.ins[i].numbers("ints") if self.has(i) else None

    def reals(self, i):
        """Its floating-point numbers."""
        return self.ins[i].numbers("reals") if self.has(i) else None

    def wanted(self, i):
        """The integers of an operand, which have to be known."""
        found = self.ints(i)
        if found is None:
            raise Unknown
        return found

    def list_or(self, name, i):
        """Integers of an attribute, or of an operand in later opsets; None where neither is there."""
        found = self.list(name)
        if found is not None and len(found) > VALUES_MOST:
            raise Unknown
        return found if found is not None else self.wanted(i) if self.has(i) else None

    # ---- results ----

    def give(self, i, shape, dtype):
        """A result gets what isn't known of it yet."""
        value = self.outs[i] if i < len(self.outs) else None
        if value is None:
            return
        if value.shape is None:
            if len(shape) > DIMS_MOST or (shape and not (min(shape) >= 0 and max(shape) <= INT_MOST)):
                raise Unknown
            value.shape, value.inferred = list(shape), True
        if value.dtype is None:
            value.dtype = dtype

    def follow(self, ints=None, reals=None):
        """The first result has these numbers, where they aren't too many."""
        value = self.outs[0] if self.outs else None
        if value is not None and ints is not None and len(ints) <= VALUES_MOST:
            if all(-INT_MOST - 1 <= one <= INT_MOST for one in ints):
                value.ints = ints
        if value is not None and reals is not None:
            value.reals = reals


def axis_of(axis, dims):
    """An axis counted from the end where it is negative."""
    if not -dims <= axis < dims:
        raise Unknown
    return axis % dims


def broadcast(a, b):
    """The shape of two that are broadcast."""
    if len(a) < len(b):
        a, b = b, a
    made = list(a)
    for i in range(-1, -1 - len(b), -1):
        if made[i] != b[i]:
            if made[i] != 1 and b[i] != 1:
                raise Unknown
            made[i] = b[i] if made[i] == 1 else made[i]
    return made
