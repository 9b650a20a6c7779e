"""What grows from step to step: memory that a step leaves behind beyond what it has found."""
import collections
import gc
import os
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .left import saved_tensors

LEAST = 1024   # bytes a step; less is a number in a log
HERE, TORCH = os.path.dirname(__file__), os.path.dirname(torch.__file__)


def line_of_program():
    """(file, line) of the innermost function that is the user's own."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((HERE, TORCH)):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def kind_of(storage):
    """What makes storages alike."""
    return storage.record["bytes"], storage.record["dtype"], tuple(storage.record["shape"])


def remaining(memory):
    """The storages that stay beyond what the step has let go of, the largest first, and how many bytes they are; to be
    called after the step's last op, when nothing of its result is held."""
    gone, stay = collections.Counter(), []
    for storage in memory.storages + memory.unread:
        lifted = storage.from_start and storage.record["kind"] == "constant"
        if storage.from_start and not lifted and storage.died is not None:
            gone[kind_of(storage)] += 1
        elif (lifted or not storage.from_start) and storage.died is None and not memory.is_gone(storage):
            stay.append(storage)
    more = []
    for storage in stay:
        gone[kind_of(storage)] -= 1
        if gone[kind_of(storage)] < 0:
            more.append(storage)
    less = sum(kind[0] * count for kind, count in gone.items() if count > 0)
    more.sort(key=lambda storage: -storage.record["bytes"])
    return more, sum(storage.record["bytes"] for storage in more) - less


def key_of(place, value):
    """Where a container has a value: a text such as "['loss']"; None where it isn't one."""
    if isinstance(place, dict):
        key = next((key for key, one in place.items() if one is value), None)
        return None if key is None else f"[{key!r}]" if isinstance(key, (str, int)) else "[...]"
    if isinstance(place, (list, tuple, collections.deque)):
        return next((f"[{i}]" for i, one in enumerate(place) if one is value), None)
    return None


def variable(cell):
    """How a function calls what lies in a cell of its closure, as "log of step"; None where it has none."""
    for closure in gc.get_referrers(cell):
        functions = gc.get_referrers(closure) if isinstance(closure, tuple) else ()
        for function in functions:
            if getattr(function, "__closure__", None) is closure:
                place = [one is cell for one in closure].index(True)
                return f"{function.__code__.co_freevars[place]} of {function.__qualname__.rpartition('.')[2]}"
    return None


def holder(value, depth=4):
    """How the program calls what holds an object, as "log[0] of step"; None where that isn't found."""
    for place in gc.get_referrers(value):
        found = variable(place) if type(place).__name__ == "cell" else None
        if found is not None:
            return found
        key = key_of(place, value)
        if key is None or depth == 0:
            continue
        if isinstance(place, dict) and "__name__" in place and "__builtins__" in place:
            return f"{key[2:-2]} of {place['__name__']}"
        owner = next((one for one in gc.get_referrers(place) if getattr(one, "__dict__", None) is place), None)
        if owner is not None:
            return f"{type(owner).__name__}.{key[2:-2]}"
        found = holder(place, depth - 1)
        if found is not None:
            name, of, rest = found.partition(" of ")
            return name + key + of + rest
    return None


def describe(storage):
    """What to say of a storage that stays: what it is, where it was made, and what holds it."""
    tensors = [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor) and isinstance(one, FakeTensor)]
    own = [one for one in tensors if one.untyped_storage()._cdata == storage.address]
    held = next((name for name in map(holder, own) if name), None)
    if held is None:
        roots = [one for one in tensors if one.grad_fn is not None and storage.address in {
            saved.untyped_storage()._cdata for saved in saved_tensors([one]) if isinstance(saved, torch.Tensor)}]
        held = next((f"the graph of {name}" for name in map(holder, roots) if name), None)
    made = "" if storage.line is None else f" made at {os.path.basename(storage.line[0])}:{storage.line[1]}"
    return f"{storage.record['dtype']}{storage.record['shape']}{made}" + (f", held by {held}" if held else "")


def sentence(more, by):
    """What to say of a step that grows."""
    return f"each step leaves {by} bytes more than it finds, in {len(more)} tensors: {describe(more[0])}"
