"""Which way a program goes where it looks at a value that fake tensors don't have.

Numbers are taken to be finite. A branch one side of which only raises an error takes the other side: a step that works
does so. What else depends on such a value is tried both ways by capture_step(): see recording.py.
"""
import dis
import functools
import math
import os
import sys

import torch

aten = torch.ops.aten
HERE, TORCH = os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep
OPTIMIZERS = TORCH + "optim" + os.sep
ENDS = ("RETURN", "JUMP", "POP_JUMP", "FOR_ITER", "YIELD", "SEND", "RERAISE")

# Comparisons of a tensor with itself and with infinity (the sign of which counts), for numbers that are finite.
SELF = {aten.eq: True, aten.ge: True, aten.le: True, aten.ne: False, aten.gt: False, aten.lt: False}
INFINITY = {aten.eq: (False, False), aten.ne: (True, True), aten.lt: (True, False), aten.le: (True, False),
            aten.gt: (False, True), aten.ge: (False, True)}
CHECKS = {aten.isnan: False, aten.isinf: False, aten.isposinf: False, aten.isneginf: False, aten.isfinite: True}
KEEP = {aten.all, aten.any, aten.view, aten.reshape, aten.squeeze, aten.unsqueeze, aten.clone, aten._is_all_true,
        aten._is_any_true}
TURN = {aten.logical_not, aten.bitwise_not}
BOTH = {aten.mul, aten.logical_and, aten.bitwise_and, aten.__and__}
EITHER = {aten.logical_or, aten.bitwise_or, aten.__or__}


def truth(function, args):
    """True or False where all elements of an op's result are known to be that; else None."""
    packet = function.overloadpacket
    if packet in CHECKS:
        return CHECKS[packet]
    if packet in SELF and len(args) > 1:
        if args[0] is args[1]:
            return SELF[packet]
        return INFINITY[packet][args[1] < 0] if isinstance(args[1], float) and math.isinf(args[1]) else None
    known = [getattr(one, "_tidemark_truth", None) for one in args[:2]]
    if packet in BOTH or packet in EITHER:
        ends = packet in EITHER
        return ends if ends in known else None if None in known else not ends
    if not known or known[0] is None or packet not in KEEP | TURN:
        return None
    return known[0] if packet in KEEP else not known[0]


@functools.lru_cache(None)
def instructions(code):
    """The instructions of a function, and their places by offset."""
    found = list(dis.get_instructions(code))
    return found, {one.offset: place for place, one in enumerate(found)}


def raises(found, place):
    """True where what runs from an instruction on raises an error before it branches."""
    for one in found[place:]:
        if one.opname == "RAISE_VARARGS":
            return True
        if one.opname.startswith(ENDS):
            return False
    return False


def forced(frame):
    """The truth value with which a function doesn't raise an error at once: True or False; None: both ways go on."""
    found, places = instructions(frame.f_code)
    place = places.get(frame.f_lasti)
    for jump in range(place, min(place + 4, len(found))) if place is not None else ():
        name = found[jump].opname
        if "JUMP" in name and name.endswith(("_IF_TRUE", "_IF_FALSE")):
            on_true = name.endswith("_TRUE")   # jumps where true
            here, there = raises(found, jump + 1), raises(found, places[found[jump].argval])
            return None if here == there else on_true if here else not on_true
    return None


def asking():
    """The frame that asks for a value: the innermost that isn't ours."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame


def place_of(frame):
    """Where that is, as "steps.py:50": the innermost function of the program's or of an optimizer."""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(TORCH) or file.startswith(OPTIMIZERS):
            break
        frame = frame.f_back
    return "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
