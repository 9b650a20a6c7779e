"""What every step of a trace leaves behind, by the place that asks for it.

A step ends where the trace marks it; where it marks none, where a forward pass follows an update, or the trace ends
behind one; where nobody says what an update is, where allocations repeat. A place grows where it holds no less at any
step's end than at the one before, and more at least at the last one and at half of them: what is made once (optimizer
state) doesn't, nor what comes and goes (gradients).
"""
from bisect import bisect_right
from itertools import accumulate

from lives import ALLOC
from stacks import cut

ENDS_MOST, ENDS_LEAST = 17, 3   # the last ones of a long trace
PLACES_SAID = 3


def bytes_text(size):
    """Bytes for people."""
    value, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{size} B" if units[0] == "B" else f"{value:.{digits}f} {units[0]}"


# ---- where steps end ----

def by_updates(trace, stacks):
    """By what stacks say."""
    phases = [stacks.phase(stack) for stack in range(len(stacks.stacks))]
    ends, updated = [], False
    for step, (action, stack) in enumerate(zip(trace.action, trace.stack)):
        if action != ALLOC or not stack:
            continue
        phase = phases[stack]
        if updated and phase == "forward":
            ends.append(step)
        updated = phase == "update" or (updated and phase != "forward")
    return ends + [len(trace.action)] if updated else ends


def period(keys):
    """The shortest period of the end of a list of keys, latest first, that covers most of what any covers, and how many
    times; (0, 0): it has none."""
    count, left, right, most = len(keys), 0, 0, 0
    same = [0] * count   # so many from there on are as from 0 on
    for i in range(1, count):
        length = min(same[i - left], right - i) if i < right else 0
        while i + length < count and keys[length] == keys[i + length]:
            length += 1
        same[i] = length
        if i + length > right:
            left, right = i, i + length
        if length >= (ENDS_LEAST - 1) * i:
            most = max(i + length, most)
    for i in range(1, count):
        if same[i] >= (ENDS_LEAST - 1) * i and i + same[i] >= most - most // 8:
            return i, (i + same[i]) // i
    return 0, 0


def by_repeats(trace):
    """By allocations that repeat, those of equal stacks, or of equal sizes where there is none."""
    steps = [step for step, action in enumerate(trace.action) if action == ALLOC][::-1]
    every, times = period([trace.stack[step] or (trace.size[step],) for step in steps])
    return [steps[i * every] + 1 for i in reversed(range(times))]


def ends_of(trace, stacks):
    """The events before which steps ended, ascending."""
    return (sorted(trace.marks) or by_updates(trace, stacks) or by_repeats(trace))[-ENDS_MOST:]


# ---- what grows ----

def held_at(ends, lives, stacks):
    """Bytes at each end, by the frames that asked for them."""
    places, change = {}, {}
    for lower, upper, size, stack in zip(lives.lower, lives.upper, lives.size, lives.origin):
        first, behind = bisect_right(ends, lower), bisect_right(ends, upper)
        if first < behind:
            if stack not in places:
                places[stack] = stacks.place(stack)
            row = change.setdefault(places[stack], [0] * (len(ends) + 1))
            row[first] += size
            row[behind] -= size
    return {frame: list(accumulate(row))[:-1] for frame, row in change.items()}


def grows(held):
    """Whether it is more from end to end."""
    more = [later - earlier for earlier, later in zip(held, held[1:])]
    return min(more) >= 0 and 2 * sum(one > 0 for one in more) >= len(more) and more[-1] > 0


def growth(trace, lives, stacks):
    """In words; "": nothing grows, or too few steps are known."""
    ends = ends_of(trace, stacks)
    steps = len(ends) - 1
    if len(ends) < ENDS_LEAST:
        return ""
    held = held_at(ends, lives, stacks)
    growing = sorted((held[frame][0] - held[frame][-1], frame) for frame in held if grows(held[frame]))
    if not growing:
        return ""
    places = [f"{bytes_text(-size // steps)} by {cut(stacks.text(frame), 299) or 'no stack trace'}"
              for size, frame in growing[:PLACES_SAID]]
    rest = -sum(size for size, _ in growing[PLACES_SAID:])
    if len(growing) > PLACES_SAID:
        places.append(f"{bytes_text(rest // steps)} by {len(growing) - PLACES_SAID} further places")
    all_of = -sum(size for size, _ in growing)
    return cut(f"{bytes_text(all_of // steps)} more each step, over {steps} steps: {'; '.join(places)}", 1199)
