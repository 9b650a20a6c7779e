"""How many devices take part in a collective, as the text of a module says it: lists of devices, an iota of devices, or
axes of a mesh. What XLA writes differs from version to version."""
import re

from hlo_module import NUMBER_MOST

AXES_MOST = 64
NUMBER = re.compile(r"[0-9]+")
AXIS = re.compile(r"'([^']*)'=([0-9]+)")
NAMED = re.compile(r"'([^']*)'([^,]*)")


def believed(size, devices):
    """Below 2^32; above, nobody says."""
    return size if size < NUMBER_MOST else 0, devices if devices < NUMBER_MOST else 0


def numbers(text):
    return [int(digits[:20]) for digits in NUMBER.findall(text)]


def mesh_groups(line):
    """mesh['a'=4,'b'=2] ... {'b', 'a':(1)2}: the part of an axis follows it as (size before)size."""
    mesh, closed, rest = line.partition("]")
    named, ended, _ = rest.partition("{")[2].partition("}")
    if not closed or not ended:
        return 0, 0
    axes = AXIS.findall(mesh)[:AXES_MOST]
    sizes = {name: int(digits[:20]) for name, digits in reversed(axes)}
    size, devices = 1, 1 if axes else 0
    for name, part in NAMED.findall(named)[:AXES_MOST]:
        cut = numbers(part.partition(")")[2])
        size *= cut[0] if cut else sizes.get(name, 1)
    for _, digits in axes:
        devices *= int(digits[:20])
    return believed(size, devices)


def groups(value, line):
    """Devices of a group, and of all together as far as that is said; 0: nobody says. value: up to the first comma
    outside of brackets; line: from there to the line's end."""
    if value.startswith("mesh["):
        return mesh_groups(line)
    if value.startswith("["):
        found = numbers(value.partition("]")[0])
        return believed(found[1], found[0] * found[1]) if len(found) > 1 else (0, 0)
    return believed(len(numbers(value.partition("}")[0])), max(numbers(value), default=-1) + 1)
