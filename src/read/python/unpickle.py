"""Python's pickles of nothing but dicts, lists, texts and numbers: none of them imports, builds or calls anything.

The unpickler is Python's own, which refuses whatever isn't there to be found. Where it fails, its slow brother in
Python says at which byte, and doesn't fall for lengths and indices that only want memory.
"""
import io
import pickle
import re

from draft import Bad

SLOW_MOST = 16 << 20   # bytes that the slow one goes over again
CALLS = ("GLOBAL STACK_GLOBAL REDUCE BUILD INST OBJ NEWOBJ NEWOBJ_EX EXT1 EXT2 EXT4 PERSID BINPERSID NEXT_BUFFER "
         "READONLY_BUFFER").split()
TEXTS = {"encoding": "utf-8", "errors": "surrogateescape"}   # what Python 2 wrote


class Refused(Exception):
    """What a pickle may not do."""

    def __init__(self, name="GLOBAL"):
        super().__init__(f"the pickle wants to import, build or call something ({name}): nothing is executed, and "
                         "memory snapshots need none")


class Fast(pickle.Unpickler):
    """Python's own, in C."""

    def find_class(self, module_name, global_name):
        raise Refused

    def persistent_load(self, pid):
        raise Refused("PERSID")


def refusal(name):
    """What the slow one does in the place of such an opcode."""
    def refuse(_machine):
        raise Refused(name)
    return refuse


def frame(machine):
    """A frame is no more than bytes that are read at once: one that is longer than the file hides no other fault."""
    machine.read(8)


class Slow(pickle._Unpickler):   # pylint: disable=protected-access
    """Python's own, in Python."""
    dispatch = {**pickle._Unpickler.dispatch, pickle.FRAME[0]: frame,
                **{getattr(pickle, name)[0]: refusal(name) for name in CALLS}}


def words(fault):
    """What is wrong, in words."""
    if isinstance(fault, Refused):
        return str(fault)
    if isinstance(fault, (EOFError, MemoryError, OverflowError)) or re.search("truncated|exhausted", str(fault)):
        return "the pickle is truncated"
    if isinstance(fault, KeyError) and type(fault.args[0]) is int:
        return f"0x{fault.args[0]:02x} is not an opcode of pickle protocols 0 to 5"
    if isinstance(fault, IndexError):
        return "the pickle takes from an empty stack, or misses a mark"
    if isinstance(fault, UnicodeError):
        return "a text in the pickle is not UTF-8"
    return "the pickle is broken: " + str(fault)


class Whole(io.BytesIO):
    """Bytes that end where more is asked for: the slow one takes less for what it wanted."""

    def read(self, size=-1):
        got = super().read(size)
        if len(got) < size:
            raise EOFError
        return got

    def readline(self, size=-1):
        got = super().readline(size)
        if got[-1:] != b"\n":
            raise EOFError
        return got


class Rest(io.RawIOBase):
    """A stream of which the beginning is read already. count: bytes that were taken."""

    def __init__(self, begin, stream):
        super().__init__()
        self.begin, self.stream, self.count = io.BytesIO(begin), stream, 0

    def readable(self):
        return True

    def readinto(self, room):
        got = self.begin.readinto(room) or self.stream.readinto(room)
        self.count += got
        return got


def load(data, stream):
    """The value of a pickle that begins with data and goes on in a stream, of which it doesn't keep the bytes."""
    rest = Rest(data, stream)
    try:
        return Fast(io.BufferedReader(rest, 1 << 20), **TEXTS).load()
    except MemoryError:
        if len(data) > SLOW_MOST:
            raise
    except Exception as fault:   # whatever it is, the pickle asked for it
        if len(data) > SLOW_MOST:
            raise Bad(f"before byte {rest.count}: {words(fault)}") from None
    file = Whole(data)
    slow = Slow(file, **TEXTS)
    try:
        return slow.load()
    except Exception as fault:
        raise Bad(f"byte {file.tell()}: {words(fault)}") from None
