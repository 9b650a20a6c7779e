"""PyTorch memory snapshots (torch.cuda.memory._dump_snapshot): what the allocator did, as buffers to be planned.

A pickled dict, the page that torch.cuda._memory_viz makes of it, or the same in JSON. `device_traces` has a list of
events for each device, alloc, free_completed and others, with addr and size, those asked for. `segments` is what is
reserved at the end, with its blocks. Each record is emptied once it is read: one that stands at two places is no record
at the second one.
"""
import binascii
import io
import re

from draft import BYTES_MOST, Bad, items, member, read_json
from handover import handover
from lives import Trace
from stacks import Stacks
from unpickle import SLOW_MOST, load

ACTIONS = {word: number for number, word in enumerate((
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"), 1)}
ACTIVE = ("active_allocated", "active_pending_free", "active_awaiting_free")
ADDRESSES = 1 << 64
DEVICES_MOST = 1 << 29


def is_event(record):
    return isinstance(record, dict) and "action" in record


def is_block(record):
    return isinstance(record, dict) and "state" in record and "size" in record


def is_segment(record):
    return isinstance(record, dict) and "total_size" in record


def records(value, kind):
    """The items of a list that are all of a kind; nothing of a list that has none of them. It is emptied, too."""
    found = items(value)
    for record in found if any(map(kind, found)) else ():
        if not kind(record):
            raise Bad("a list of events, blocks or segments has other things in it, or one of them twice")
        yield record
        record.clear()
    found.clear()


def size_of(record, key, whose):
    """Bytes."""
    size = record.get(key)
    if type(size) is not int or not 0 <= size <= BYTES_MOST:
        raise Bad(f"{whose} is missing, or is not a number from 0 to 2^60")
    return size


def address_of(record, key, whose):
    """An address of 64 bits, which some write as negative."""
    address = record.get(key)
    if type(address) is not int or not -ADDRESSES // 2 <= address < ADDRESSES:
        raise Bad(f"{whose} is missing, or is not a number of 64 bits")
    return address % ADDRESSES


def add_events(events, trace, stacks):
    """The events of a device."""
    for event in records(events, is_event):
        word = event["action"]
        action = ACTIONS.get(word, 0) if isinstance(word, str) else 0
        size = size_of(event, "size", "an event's size") if action else 0
        address = address_of(event, "addr", "an event's addr") if action else 0
        trace.add(action, address, size, stacks.stack_of(event.get("frames")))


def blocks_of(segment, stacks):
    """A segment's blocks: address (None: behind the one before), bytes, stack, and whether it is in use. Older ones
    have a stack in their history: it is not looked for there."""
    found = []
    for block in records(segment.get("blocks"), is_block):
        stack, state = stacks.stack_of(block.get("frames")), block["state"]
        for entry in items(block.get("history")):
            stacks.stack_of(member(entry, "frames"))   # frames count in the order of the file
        size = size_of(block, "size", "a block's size")
        address = address_of(block, "address", "a block's address") if "address" in block else None
        found.append((address, size, stack, isinstance(state, str) and state in ACTIVE))
    return found


class Held:
    """What the segments of each device hold at the end."""

    def __init__(self):
        self.blocks, self.segments = {}, {}

    def add(self, segment, stacks):
        """One more segment."""
        stacks.stack_of(segment.get("frames"))
        blocks = blocks_of(segment, stacks)
        size = size_of(segment, "total_size", "a segment's total_size")
        next_one = address = address_of(segment, "address", "a segment's address")
        device = segment.get("device")
        device = min(device, DEVICES_MOST) if type(device) is int and device > 0 else 0
        self.segments.setdefault(device, []).append((address, size))
        for at, bytes_of, stack, active in blocks:
            if active:
                self.blocks.setdefault(device, []).append((next_one if at is None else at, bytes_of, stack))
            next_one = (next_one + bytes_of) % ADDRESSES


def add_traces(lists, stacks):
    """The devices that have events, by their places in the list."""
    if not isinstance(lists, list) or any(map(is_event, lists)):
        raise Bad("device_traces is not a list of lists of events")
    traces = []
    for device, events in enumerate(lists):
        trace = Trace(device)
        add_events(events, trace, stacks)
        if trace.action:
            traces.append(trace)
    return traces


def traces_of(root, stacks):
    """What a snapshot says of each device with events."""
    if isinstance(root, list) and any(map(is_segment, root)):
        raise Bad(
            "this is a list of segments, as torch.cuda.memory_snapshot() returns it: it has no events, so nothing "
                  "says when blocks came and went; torch.cuda.memory._dump_snapshot() behind "
                  "_record_memory_history() writes them")
    if not isinstance(root, dict) or "device_traces" not in root:
        raise Bad("this pickle is not a memory snapshot: it has no device_traces (torch.cuda.memory._dump_snapshot "
                  "writes them)")
    traces, held = [], Held()
    for key, value in list(root.items()):
        if key == "device_traces":
            traces = add_traces(value, stacks)
        elif key == "segments":
            for segment in records(value, is_segment):
                held.add(segment, stacks)
    if not traces:
        raise Bad("the snapshot has no events: call torch.cuda.memory._record_memory_history() before the step")
    for trace in traces:
        trace.blocks, trace.segments = held.blocks.get(trace.device, []), held.segments.get(trace.device, [])
    return traces


def of_page(data):
    """The pickle that a page of HTML holds in base64."""
    mark = b'"base64": "'
    at = data.find(mark, 0, 1 << 16)
    if at < 0:
        raise Bad("the page holds no snapshot in base64")
    at += len(mark)
    end = re.compile(b"[A-Za-z0-9+/]*").match(data, at).end()
    if data[end:end + 1] not in (b'"', b"="):
        raise Bad("the page's snapshot is not base64" if end < len(data) else "the page ends within its snapshot")
    return binascii.a2b_base64(data[at:end - ((end - at) % 4 == 1)] + b"==")   # one letter more makes no byte


def value_of(stream):
    """What the file holds, whichever way it is written."""
    data = stream.read(SLOW_MOST + 1)
    begin = data[:1 << 16].lstrip()[:1]
    if begin in (b"{", b"["):
        return read_json(io.BytesIO(data + stream.read()), most=ADDRESSES - 1)
    if begin == b"<":
        return load(of_page(data + stream.read()), io.BytesIO())
    return load(data, stream)


def read(stream, options):
    """The buffers of a file, as parts of what tidemark takes."""
    stacks = Stacks()
    return handover(traces_of(value_of(stream), stacks), stacks, options)
