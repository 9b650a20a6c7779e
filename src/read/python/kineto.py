"""The memory events of a profiler's trace (torch.profiler with profile_memory=True, Chrome JSON) as a snapshot.

A trace is a list of JSON objects, of which three kinds matter: "[memory]" with address, bytes (negative where memory is
given back) and totals; spans of ops and of Python functions, in which it lies; and "ProfilerStep#N". Of several steps
the one with the most memory events is taken, the later one of equals. What was allocated before it and lives on is a
block of a segment, as what a snapshot finds at its end. Most events say nothing here: they aren't even parsed.
"""
import json
import math
import re
from bisect import bisect_left
from collections import namedtuple

from draft import BYTES_MOST, Bad, member, leading_int
from growth import growth
from handover import handover
from lives import ALLOC, FREE_COMPLETED, Lives, Trace
from stacks import Stacks, clean

OBJECT_MOST = 4 << 20   # bytes of one event
CPU = 4096              # behind all other devices
DEPTH_MOST = 200        # spans around a moment
ADDRESSES = 1 << 64
UNNAMED = 1 << 63       # the address of what has none
NUMBERS = 1e30          # none is larger

LIST = re.compile(rb'"traceEvents"[ \t\r\n]*:[ \t\r\n]*(.?)', re.S)
GAP = re.compile(rb"[ \t\r\n,]*")
BRACE = re.compile(rb'[^"{}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"{}]*)*[{}]', re.S)
SPANS = (b'cpu_op"', b'"python_function"', b'"user_annotation"')

Moment = namedtuple("Moment", "at order thread device address bytes allocated reserved stack")
Span = namedtuple("Span", "thread begin back frame")   # back: its end, negative; frame None: a step


# ---- one event after the other ----

def end_of(data, begin):
    """Where the object ends that begins there."""
    depth, at = 0, begin
    while depth or at == begin:
        brace = BRACE.match(data, at, begin + OBJECT_MOST)
        if not brace and len(data) - begin > OBJECT_MOST:
            raise Bad(f"an event has more than {OBJECT_MOST} bytes", data.count(b"\n", 0, begin + OBJECT_MOST) + 1)
        if not brace:
            raise Bad("the trace ends within its events", data.count(b"\n") + 1)
        at = brace.end()
        depth += 1 if data[at - 1:at] == b"{" else -1
    return at


def objects(data):
    """The events' texts, and where they end."""
    found = LIST.search(data)
    if not found:
        raise Bad("the trace has no traceEvents")
    if found.group(1) != b"[":
        raise Bad("traceEvents is not a list")
    at = found.end()
    while True:
        begin = GAP.match(data, at).end()
        first = data[begin:begin + 1]
        if first == b"]":
            return
        if first != b"{":
            raise Bad("an event is not an object" if first else "the trace ends within its events",
                      data.count(b"\n", 0, begin + 1) + 1)
        at = end_of(data, begin)
        yield data[begin:at], at


def number(value, key, kinds=(int,)):
    """A member that is a number, else 0."""
    found = member(value, key)
    return found if type(found) in kinds and abs(found) < NUMBERS else 0


def moment_of(event, order):
    """A [memory] event."""
    args = member(event, "args")
    address, size, allocated = number(args, "Addr"), number(args, "Bytes"), number(args, "Total Allocated")
    if (type(member(args, "Addr")) is not int or not -UNNAMED <= address < ADDRESSES or abs(size) > BYTES_MOST
            or abs(allocated) > BYTES_MOST):
        raise Bad("a [memory] event lacks Addr, or its bytes are out of range")
    device = number(args, "Device Id")
    device = CPU if number(args, "Device Type") == 0 else device if 0 < device < CPU else 0
    return Moment(number(event, "ts", (int, float)), order, number(event, "tid"), device, address % ADDRESSES, size,
                  allocated, number(args, "Total Reserved"), 0)


def frame_of(name, stacks):
    """ "model.py(12): forward" of Python, and the name of an op."""
    close = name.find("): ")
    begin = name.rfind("(", 0, close) if close >= 0 else -1
    if begin < 0:
        return stacks.frame("", 0, clean(name))
    return stacks.frame(clean(name[:begin]), leading_int(name[begin + 1:close])[0], clean(name[close + 3:]))


def span_of(event, stacks):
    """A span; None of what has no name or time."""
    name, begin, time = member(event, "name"), number(event, "ts", (int, float)), number(event, "dur", (int, float))
    if not isinstance(name, str) or not time > 0:
        return None
    return Span(number(event, "tid"), begin, -begin - time,
                None if name.startswith("ProfilerStep#") else frame_of(name, stacks))


def read_events(data, stacks):
    """Moments and spans."""
    moments, spans = [], []
    for text, end in objects(data):
        memory = b'"[memory]"' in text
        if not memory and not any(mark in text for mark in SPANS):
            continue
        try:
            event = json.loads(text, parse_constant=int)   # which NaN is not
            found = moment_of(event, len(moments)) if memory else span_of(event, stacks)
        except (ValueError, RecursionError):
            raise Bad("the event that ends here is no JSON", data.count(b"\n", 0, end) + 1) from None
        except Bad as bad:
            raise Bad(bad.text, data.count(b"\n", 0, end) + 1) from None
        if found and (not memory or found.bytes):
            (moments if memory else spans).append(found)
    return moments, spans


# ---- who asks for memory ----

def with_stacks(moments, spans, stacks):
    """The moments by time, each with the spans around it as its stack. Spans are in the order of threads and times, the
    outer one before what is in it."""
    found, around, following = [], [], 0
    for moment in sorted(moments, key=lambda one: (one.thread, one.at, one.order)):
        while following < len(spans) and spans[following][:2] <= (moment.thread, moment.at):
            span = spans[following]
            following += 1
            leave(around, span.thread, span.begin)
            if span.frame is not None and len(around) < DEPTH_MOST:
                around.append(span)
        leave(around, moment.thread, moment.at)
        found.append(moment._replace(stack=stacks.add(tuple([span.frame for span in reversed(around)]))))
    return sorted(found)


def leave(around, thread, time):
    """Spans that have ended by then aren't around it."""
    while around and (around[-1].thread != thread or -around[-1].back < time):
        around.pop()


# ---- one step of them ----

def choose(moments, spans):
    """Begin and end of the step with the most moments; all of the trace where none is marked."""
    times, best = [moment.at for moment in moments], (0, -math.inf, math.inf)
    for span in spans:
        if span.frame is None:
            count = bisect_left(times, -span.back) - bisect_left(times, span.begin)
            if count and (count, span.begin) > best[:2]:
                best = count, span.begin, -span.back
    return best[1:]


def blocks_before(moments, begin):
    """What is there as a step begins: at each address the last that was allocated before it, or what is given back
    later though the trace never saw it allocated. What the trace never names is one block. moments: one device's, by
    time."""
    blocks, last, opening, unnamed = [], {}, {}, moments[0].allocated - moments[0].bytes
    for moment in moments:
        opening.setdefault(moment.address, moment)
        if moment.at < begin:
            last[moment.address] = moment
    for address in sorted(opening, key=lambda one: (one + UNNAMED) % ADDRESSES):   # below 0 what is above 2^63
        first, there = opening[address], last.get(address)
        if first.bytes < 0 < unnamed:
            unnamed += first.bytes
        there = first if first.at >= begin and first.bytes < 0 else there if there and there.bytes > 0 else None
        if there:
            blocks.append((address, abs(there.bytes), there.stack if there.bytes > 0 else 0))
    return blocks + [(UNNAMED, unnamed, 0)] if unnamed > 0 else blocks


def take(moments, device, begin, end):
    """The trace of a device in that time; None where nothing happens. moments: its own."""
    trace = Trace(0 if device == CPU else device)
    within = [moment for moment in moments if begin <= moment.at < end]
    for moment in within:
        trace.add(ALLOC if moment.bytes > 0 else FREE_COMPLETED, moment.address, abs(moment.bytes), moment.stack)
    if not within:
        return None
    trace.blocks = blocks_before(moments, begin)
    trace.segments = [(UNNAMED, max(0, *(moment.reserved for moment in within)))]
    return trace


def grows_in(moments, device, spans, stacks):
    """What grows from step to step of the whole trace, of which one is taken."""
    whole, times = take(moments, device, -math.inf, math.inf), [moment.at for moment in moments]
    whole.marks = [bisect_left(times, -span.back) for span in spans if span.frame is None]
    return growth(whole, Lives(whole), stacks)


def traces_of(data, stacks):
    """The devices in their order; the host's memory only where no other device has any."""
    moments, spans = read_events(data, stacks)
    if not moments:
        raise Bad("this trace says what ran when, not what a step holds: profile with profile_memory=True (and "
                  "with_stack=True), or capture the step with tidemark_torch (samples/torch); "
                  "python -m tidemark_torch calibrate takes a device's speed from it")
    spans.sort(key=lambda span: span[:3])
    moments = with_stacks(moments, spans, stacks)
    begin, end = choose(moments, spans)
    own, traces = {}, []
    for moment in moments:
        own.setdefault(moment.device, []).append(moment)
    for device in sorted(own)[:-1] if len(own) > 1 and CPU in own else sorted(own):
        trace = take(own[device], device, begin, end)
        if trace and begin > -math.inf:
            trace.grows = grows_in(own[device], device, spans, stacks)
        traces += [trace] if trace else []
    return traces


def read(stream, options):
    """The buffers of a file, as parts of what tidemark takes."""
    stacks = Stacks()
    return handover(traces_of(stream.read(), stacks), stacks, options)
