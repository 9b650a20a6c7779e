"""From the events of a device to buffers with lives.

A life is counted in events: from that of the alloc to that of the free_completed, which gives the memory back. Events
may be missing at the beginning: the recorder keeps the latest ones only. What was there before is known from its free,
or from the blocks at the end.
"""
from array import array

from draft import BYTES_MOST, Bad

ALIGNMENT = 512   # what PyTorch's allocator rounds sizes to
ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP = range(1, 8)


class Trace:
    """The events of a device: action (0: another one), address of 64 bits, bytes, number of the stack. blocks: what is
    in use at their end: address, bytes, stack; segments: address, bytes. marks: events before which a step has ended;
    grows: what is known of it from a longer trace."""

    def __init__(self, device):
        self.device, self.blocks, self.segments, self.marks, self.grows = device, [], [], [], None
        self.action, self.address, self.size, self.stack = bytearray(), array("Q"), array("q"), array("l")

    def add(self, action, address, size, stack):
        """One more event."""
        self.action.append(action)
        self.address.append(address)
        self.size.append(size)
        self.stack.append(stack)


def rounded(size):
    """As the allocator takes it."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Lives:
    """Buffers, each in an item of all lists. lower, upper: events; size as it was asked for; alive: bytes of what else
    is there where it comes; stack -1: it was there before the first event."""

    def __init__(self, trace):
        self.events = len(trace.action)
        self.lower, self.upper, self.size, self.alive = (array("q") for _ in range(4))
        self.address, self.stack = array("Q"), array("q")
        self.origin = array("l")   # stacks of those that were there before, too
        self.here = {}             # address -> the buffer that lies there now, None where it is free again
        self.sum = self.before = self.before_rounded = 0
        self.now = self.now_rounded = 0   # more than at first; at their most:
        self.most = self.most_rounded = self.peak_event = 0
        self.follow(trace)
        for address, size, stack in trace.blocks:
            if address not in self.here:   # the trace says nothing of it: it was there all the time
                self.add_before(address, size, self.events, stack)
        self.alive = array("q", [alive + self.before_rounded for alive in self.alive])
        self.peak, self.allocated = self.before + self.most, self.before_rounded + self.most_rounded
        self.reserved, self.kind = reserved(trace)

    def add(self, lower, upper, size, address, stack):
        """One more buffer."""
        self.sum += rounded(size)
        if self.sum > BYTES_MOST:
            raise Bad("the sizes of the events add up to more than 2^60 bytes")
        self.lower.append(lower)
        self.upper.append(upper)
        self.size.append(size)
        self.alive.append(self.now_rounded)
        self.address.append(address)
        self.origin.append(stack)

    def add_before(self, address, size, upper, stack):
        """One that was there before the first event."""
        self.add(0, upper, size, address, stack)
        self.stack.append(-1)
        self.before += size
        self.before_rounded += rounded(size)

    def end(self, buffer, step):
        """The memory of a buffer is given back."""
        self.upper[buffer] = step
        self.now -= self.size[buffer]
        self.now_rounded -= rounded(self.size[buffer])

    def follow(self, trace):
        """All events. What gives memory back is free_completed, or free_requested in a trace that has nothing else."""
        freeing = FREE_COMPLETED if FREE_COMPLETED in trace.action else FREE_REQUESTED
        events = zip(trace.action, trace.address, trace.size, trace.stack)
        for step, (action, address, size, stack) in enumerate(events):
            if action == ALLOC:
                self.alloc(step, address, size, stack)
            elif action == freeing:
                self.free(step, address, size)
            if step == 0:
                self.most, self.most_rounded = self.now, self.now_rounded

    def alloc(self, step, address, size, stack):
        """Where something lies there, its free is not in the trace, but the address is used again."""
        there = self.here.get(address)
        if there is not None:
            self.end(there, step)
        self.here[address] = len(self.size)
        self.add(step, self.events, size, address, stack)
        self.stack.append(stack)
        self.now += size
        self.now_rounded += rounded(size)
        if self.now > self.most:
            self.most, self.peak_event = self.now, step
        self.most_rounded = max(self.most_rounded, self.now_rounded)

    def free(self, step, address, size):
        """Where nothing was allocated since the trace began, and nothing freed, something was there before."""
        there = self.here.get(address)
        if there is not None:
            self.end(there, step)
        elif address not in self.here and step > 0:
            self.now -= size
            self.now_rounded -= rounded(size)
            self.add_before(address, size, step, 0)
        self.here[address] = None


def reserved(trace):
    """The largest sum of segments, those of the end, less and more what the events before did; and which of PyTorch's
    segments they are."""
    now = most = least = 0
    kind = None
    for action, size in zip(trace.action, trace.size):
        if action in (SEGMENT_ALLOC, SEGMENT_MAP):
            kind = "expandable" if action == SEGMENT_MAP else "default"
            now += size
            most = max(now, most)
        elif action in (SEGMENT_FREE, SEGMENT_UNMAP):
            now -= size
            least = min(now, least)
        if not -BYTES_MOST <= now <= BYTES_MOST:
            break
    end = sum(size for _, size in trace.segments)
    if not -BYTES_MOST <= now <= BYTES_MOST or end > BYTES_MOST:
        raise Bad("the sizes of the segments add up to more than 2^60 bytes")
    return max(end - now if trace.segments else 0, -least) + most, kind   # nothing reserved can have been negative
