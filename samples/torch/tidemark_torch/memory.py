"""Which tensors share memory, what they are called, and when their memory goes.

A storage is the memory behind a tensor and all its views. A tensor is known by its storage and how it lies in it, so
that it doesn't matter which Python object stands for it: autograd makes new ones of what it saves. When a storage has
gone is asked of PyTorch itself (weak references), since what holds it may be out of Python's sight.
"""
import torch

PERSISTENT = {"input", "parameter", "buffer", "constant", "optimizer"}
DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
          torch.complex64: "c64", torch.complex128: "c128", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
          torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}


def geometry(tensor):
    """How a tensor lies in its storage."""
    return (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.is_conj(), tensor.is_neg())


def is_plain(shape, stride):
    """True for a tensor that lies row by row, as a new one does."""
    expected = 1
    for extent, step in zip(reversed(shape), reversed(stride)):
        if extent != 1 and step != expected:
            return False
        expected *= extent
    return True


class Storage:
    """The memory behind a tensor: `record` is the tensor record that names it; `names`: geometry -> newest name; `written`: the
    same, but of what was made or written, not of views."""
    __slots__ = ("record", "names", "written", "address", "weak", "gradient", "updates", "hint", "last", "died", "from_start")

    def __init__(self, record, from_start):
        self.record, self.names, self.written = record, {}, {}
        self.address = self.weak = None
        self.gradient = self.updates = False  # a parameter's gradient; something made of one by the update
        self.hint = None                      # what reading a number from it gives
        self.last, self.died = -1, None       # the last op that touches it; the op before which it went
        self.from_start = from_start


class Memory:
    """All storages of a step."""

    def __init__(self):
        self.tensors, self.storages, self.taken = [], [], set()
        self.of_address, self.watched = {}, []

    def find(self, tensor):
        """The Storage of a tensor, or None if it has not been seen."""
        return self.of_address.get(tensor.untyped_storage()._cdata)

    def unique(self, name):
        """A name that no other tensor has."""
        found, count = name, 2
        while found in self.taken:
            found, count = f"{name}.{count}", count + 1
        self.taken.add(found)
        return found

    def record(self, tensor, name, kind, alias=None):
        """A new tensor record."""
        if tensor.dtype not in DTYPES:
            DTYPES[tensor.dtype] = "opaque"
        record = {"id": self.unique(name), "bytes": tensor.numel() * tensor.element_size(),
                  "dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "kind": kind}
        if alias is not None:
            record["alias"] = alias
        elif not is_plain(tensor.shape, tensor.stride()):
            record["stride"] = list(tensor.stride())
        self.tensors.append(record)
        return record

    def add(self, tensor, name, kind, from_start=False):
        """A tensor whose storage is new: its Storage."""
        record = self.record(tensor, name, kind)
        record["bytes"] = tensor.untyped_storage().nbytes()
        storage = Storage(record, from_start)
        storage.names[geometry(tensor)] = storage.written[geometry(tensor)] = record["id"]
        self.storages.append(storage)
        self.watch(tensor, storage)
        return storage

    def add_bytes(self, memory, size, name, kind):
        """A storage of so many bytes behind `memory`, of which no tensor is known yet: its Storage."""
        record = {"id": self.unique(name), "bytes": size, "dtype": "u8", "shape": [size], "kind": kind}
        self.tensors.append(record)
        storage = Storage(record, False)
        self.storages.append(storage)
        storage.address, storage.weak = memory._cdata, memory._weak_ref()
        self.of_address[storage.address] = storage
        self.watched.append((storage.weak, storage))
        return storage

    def alias(self, tensor, name, storage):
        """A new name for (a part of) a storage."""
        record = self.record(tensor, name, storage.record["kind"], storage.record["id"])
        storage.names[geometry(tensor)] = record["id"]
        return record["id"]

    def watch(self, tensor, storage):
        """From now on the tensor's memory is that of `storage`, and, unless it stays anyway, its end is looked for."""
        memory = tensor.untyped_storage()
        storage.address, storage.weak = memory._cdata, memory._weak_ref()
        self.of_address[storage.address] = storage
        if not (storage.from_start and storage.record["kind"] in PERSISTENT):
            self.watched.append((storage.weak, storage))

    def bury(self, now):
        """Notes which storages have gone since the last call. now: the number of the op that comes next."""
        expired = torch.UntypedStorage._expired
        gone = [storage for weak, storage in self.watched if expired(weak)]
        for storage in gone:
            storage.died = now
            self.forget(storage)
        if gone:
            self.watched = [pair for pair in self.watched if pair[1].died is None]

    def forget(self, storage):
        """Lets PyTorch use the address again."""
        if storage.weak is not None:
            if self.of_address.get(storage.address) is storage:
                del self.of_address[storage.address]
            torch.UntypedStorage._free_weak_ref(storage.weak)
            storage.weak = None

    def close(self):
        """Forgets all storages."""
        for storage in self.storages:
            self.forget(storage)

    def set_kind(self, storage, kind):
        """Changes the kind of a storage; its other names follow when the graph is written."""
        storage.record["kind"] = kind
