"""What tidemark takes of a device's trace: lines "#..." that name the devices, one of JSON with what is said of it, and
then for each buffer, in lists of numbers of 64 bits as this machine has them, the event it comes with, the one that
gives it back, its bytes, its offset in the real memory (-1: none), bytes of what else is there where it comes, and
which of `says` is of it (-1: it was there before)."""
import json
from array import array

from addresses import offsets
from draft import Bad
from growth import bytes_text, growth
from lives import Lives
from stacks import cut

PLACES_MOST = 10


def chosen(traces, options):
    """The device that is asked for, or the one with the most events."""
    if options.device is not None:
        found = [trace for trace in traces if trace.device == options.device]
        if not found:
            raise Bad(f"the snapshot has no events of device {options.device}")
        return found[0]
    if options.graph > len(traces):
        raise Bad(f"--graph {options.graph}: it has events of {len(traces)} device{'s' * (len(traces) != 1)}")
    return traces[options.graph - 1] if options.graph else max(traces, key=lambda trace: len(trace.action))


def places(lives, stacks):
    """The places that hold most at the peak, the largest first."""
    sums = {}
    for lower, upper, size, stack in zip(lives.lower, lives.upper, lives.size, lives.origin):
        if lower <= lives.peak_event < upper:
            row = sums.setdefault(stacks.place(stack), [0, 0])
            row[0] -= size
            row[1] += 1
    largest = sorted((size, frame, count) for frame, (size, count) in sums.items() if size)
    return [{"place": cut(stacks.text(frame), 199), "bytes": -size, "buffers": count}
            for size, frame, count in (largest[:PLACES_MOST] if len(stacks.frames) > 1 else ())]


def said(trace, traces, lives, stacks):
    """What the trace says itself, as `tidemark layout --json` has it."""
    spoken = trace.grows if trace.grows is not None else growth(trace, lives, stacks)
    return {"device": trace.device, "devices": len(traces), "events": lives.events, "buffers": len(lives.size),
            "before": lives.stack.count(-1), "after": lives.upper.count(lives.events), "peak_bytes": lives.peak,
            "allocated_bytes": lives.allocated, "reserved_bytes": lives.reserved,
            "fragmentation_bytes": max(lives.reserved - lives.allocated, 0), "saved_bytes": 0,
            **({"grows": spoken} if spoken else {}), "peak_places": places(lives, stacks)}


def intake(facts, kind):
    """What the graph's card says of it."""
    several = " (--graph N takes another)" if facts["devices"] > 1 else ""
    return {"version": f"device {facts['device']}{several}, {facts['events']} events",
            "assumed": f"; the trace's order is the only one\n{facts['before']} buffers were there before the first "
                       f"event, {facts['after']} are behind the last",
            "peak_by": f"sizes rounded up to 512; reserved at most {bytes_text(facts['reserved_bytes'])}, "
                       f"{bytes_text(facts['fragmentation_bytes'])} of it fragmentation", "segments": kind}


def says_of(lives, stacks):
    """What ops' records have of their stacks, each once, and which of it is of each buffer."""
    numbers, known = {None: 0}, {-1: -1}
    for stack in set(lives.stack) - {-1}:
        known[stack] = numbers.setdefault(stacks.says(stack), len(numbers))
    return list(numbers)[1:], array("q", [known[stack] for stack in lives.stack])


def handover(traces, stacks, options):
    """The parts, texts and bytes."""
    trace = chosen(traces, options)
    lives = Lives(trace)
    facts = said(trace, traces, lives, stacks)
    says, which = says_of(lives, stacks)
    yield f"#{traces.index(trace) + 1}\n"
    for one in traces if len(traces) > 1 else ():
        yield f"#device {one.device}, {len(one.action)} events\n"
    yield json.dumps({"said": facts, **intake(facts, lives.kind), "peak_event": lives.peak_event, "says": says}) + "\n"
    for numbers in (lives.lower, lives.upper, lives.size, offsets(trace, lives), lives.alive, which):
        yield numbers.tobytes()
