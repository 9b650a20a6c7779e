"""Which tensors share memory, what they are called, and when their memory goes.

A storage is the memory behind a tensor and all its views. A tensor is known by its storage and how it lies in it, so
that it doesn't matter which Python object stands for it: autograd makes new ones of what it saves. When a storage has
gone is asked of PyTorch itself (weak references), since what holds it may be out of Python's sight.
"""
import collections
import weakref

import torch

PERSISTENT = {"input", "parameter", "buffer", "constant", "optimizer"}
DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
          torch.complex64: "c64", torch.complex128: "c128", torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
          torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}


def geometry(tensor):
    """How a tensor lies in its storage."""
    return (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.is_conj(),
            tensor.is_neg())


def nested(value, path=()):
    """(path, tensor) of all tensors in a nest of dicts, lists and tuples: an optimizer's state."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from nested(item, (*path, key))
    elif isinstance(value, (list, tuple, collections.deque)):
        for place, item in enumerate(value):
            yield from nested(item, (*path, place))


def name_of(parameter, path):
    """What a tensor in a parameter's state is called: "0.weight.exp_avg", "0.weight.moments.0"."""
    return ".".join([parameter, *map(str, path)])


def is_plain(shape, stride):
    """True for a tensor that lies row by row, as a new one does."""
    expected = 1
    for extent, step in zip(reversed(shape), reversed(stride)):
        if extent != 1 and step != expected:
            return False
        expected *= extent
    return True


def use_count():
    """What PyTorch counts of a storage behind a single tensor, once Python has asked for it."""
    tensor = torch.empty(1)
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


ALONE = use_count()


class Storage:
    """The memory behind a tensor: `record` is the tensor record that names it; `names`: geometry -> newest name;
    `written`: the same, but of what was made or written, not of views."""
    __slots__ = ("record", "names", "written", "address", "weak", "ended", "gradient", "updates", "written_to",
                 "in_update", "trained", "hint", "first", "last", "died", "from_start", "made", "line")

    def __init__(self, record, from_start):
        self.record, self.names, self.written = record, {}, {}
        self.address = self.weak = None       # of the memory; of the memory whose end is looked for: the real one's
        self.ended = None                     # a weak reference that tells when to look for it
        self.gradient = self.updates = False  # a parameter's gradient; something made of one by the update
        self.written_to = self.in_update = False   # by an op in place; touched by the update
        self.trained = False                  # gets a gradient: a parameter that isn't a module's, or an input
        self.hint = None                      # what reading a number from it gives
        self.first = self.last = -1           # the op that makes it; the last op that touches it
        self.died = None                      # the op before which it went
        self.from_start, self.made = from_start, True   # there before the step; made by an earlier run of it
        self.line = None                      # of the program, where it was made

    def is_state(self):
        """True for what was there before the step and stays, unless the step replaces it."""
        return self.from_start and self.record["kind"] in PERSISTENT


class Memory:
    """All storages of a step."""

    def __init__(self, holds, let_go):
        self.tensors, self.storages, self.taken = [], [], set()
        self.of_address, self.watched = {}, []
        self.left, self.unread = {}, []   # address -> what is there and has not been touched; what went untouched
        self.holds = holds    # address -> how many tensors of ours share a storage that the user may let go of
        self.let_go = let_go  # called with a storage whose real memory has gone: what stands for it goes, too

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

    def add(self, tensor, name, kind, from_start=False, original=None):
        """A tensor whose storage is new: its Storage. original: the real tensor that it stands for."""
        record = self.record(tensor, name, kind)
        record["bytes"] = tensor.untyped_storage().nbytes()
        storage = Storage(record, from_start)
        storage.names[geometry(tensor)] = storage.written[geometry(tensor)] = record["id"]
        self.storages.append(storage)
        until = tensor if original is None else original
        self.watch(tensor.untyped_storage(), storage, until if from_start else None)
        return storage

    def add_bytes(self, memory, size, name, kind):
        """A storage of so many bytes behind `memory`, of which no tensor is known yet: its Storage."""
        record = {"id": self.unique(name), "bytes": size, "dtype": "u8", "shape": [size], "kind": kind}
        self.tensors.append(record)
        storage = Storage(record, False)
        self.storages.append(storage)
        self.watch(memory, storage)
        return storage

    def alias(self, tensor, name, storage):
        """A new name for (a part of) a storage."""
        record = self.record(tensor, name, storage.record["kind"], storage.record["id"])
        storage.names[geometry(tensor)] = record["id"]
        return record["id"]

    def watch(self, memory, storage, until=None):
        """From now on `memory` is that of `storage`. until: a tensor of it, or the real one that it stands for, while
        which lives nothing has to be looked for."""
        storage.address = memory._cdata
        self.of_address[storage.address] = storage
        self.look_for_end(memory if until is None else until.untyped_storage(), storage, until)
        left = self.left.pop(storage.weak, None)
        if left is not None:
            storage.line = left.line
            self.forget(left)

    def look_for_end(self, memory, storage, until):
        """Notes when `memory` goes, once the tensor `until` has gone."""
        if memory is not None:
            storage.weak = memory._weak_ref()
        if until is None:
            self.watched.append(storage)
        else:
            storage.ended = weakref.ref(until, lambda _: self.watched.append(storage))

    def note_left(self, tensor, made=True, line=None):
        """Something that is there before the step, which may let go of it untouched. made: by an earlier run."""
        memory = tensor.untyped_storage()
        if memory._cdata in self.of_address or memory._cdata in self.left or not memory.nbytes():
            return
        whole = tensor.numel() * tensor.element_size() == memory.nbytes()
        record = {"bytes": memory.nbytes(), "dtype": DTYPES.get(tensor.dtype, "opaque") if whole else "u8",
                  "shape": list(tensor.shape) if whole else [memory.nbytes()], "kind": "activation"}
        storage = Storage(record, True)
        storage.made, storage.line = made, line
        self.look_for_end(memory, storage, tensor)
        self.left[storage.weak] = storage

    def adopt(self, before):
        """What another Memory knows of and is still there was there before the step of this one."""
        for old in before.storages + list(before.left.values()):
            if old.weak is not None and old.address not in (None, old.weak) and before.is_gone(old):
                self.let_go(old)
            if old.weak is not None and before.is_gone(old):
                before.forget(old)
            if old.weak is None:
                continue
            storage = Storage({**old.record, "kind": "activation"}, True)
            storage.weak, storage.line, old.weak = old.weak, old.line, None
            until = old.ended and old.ended()
            if until is None:
                self.watched.append(storage)
            else:
                self.look_for_end(None, storage, until)
            self.left[storage.weak] = storage

    def name_left(self):
        """Makes records of what was there before the step and wasn't touched by it: what has gone, and what stays."""
        for storage in self.unread + [storage for storage in self.left.values() if storage.made]:
            kind = "buffer" if storage.died is None else "activation"
            storage.record = {**storage.record, "id": self.unique("left_1"), "kind": kind}
            self.tensors.append(storage.record)
            self.storages.append(storage)

    def is_gone(self, storage):
        """True when nobody but us holds a storage."""
        ours = self.holds.get(storage.weak, 0)
        return torch._C._storage_Use_Count(storage.weak) <= (ALONE + ours - 1 if ours else 0)

    def bury(self, now):
        """Notes which storages have gone since the last call. now: the number of the op that comes next."""
        count, holds = torch._C._storage_Use_Count, self.holds
        gone = [storage for storage in self.watched if storage.weak is None or not count(storage.weak) or
                storage.weak in holds and self.is_gone(storage)]
        if not gone:
            return
        for storage in gone:
            if storage.weak is not None and storage.address not in (None, storage.weak):
                self.let_go(storage)   # the real memory has gone: what stands for it goes, unless there are views of it
            if storage.weak is not None and self.is_gone(storage):
                storage.died = now
                if storage.weak in self.left:
                    self.unread.append(storage)
                self.forget(storage)
        self.watched = [storage for storage in self.watched if storage.weak is not None]

    def forget(self, storage):
        """Lets PyTorch use the address again."""
        if self.of_address.get(storage.address) is storage:
            del self.of_address[storage.address]
        if storage.weak is not None:
            if self.left.get(storage.weak) is storage:
                del self.left[storage.weak]
            torch.UntypedStorage._free_weak_ref(storage.weak)
            storage.weak = storage.ended = None

    def close(self):
        """Forgets all storages."""
        for storage in self.storages + list(self.left.values()):
            self.forget(storage)

    def set_kind(self, storage, kind):
        """Changes the kind of a storage; its other names follow when the graph is written."""
        storage.record["kind"] = kind
