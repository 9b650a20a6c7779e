"""The real addresses of buffers, as offsets in one memory: segments lie anywhere in 64 bits of addresses, and what
segments and buffers ever covered is put together, without what lies between."""
from array import array
from bisect import bisect_right

from draft import BYTES_MOST
from lives import SEGMENT_ALLOC, rounded


def joined(trace, lives):
    """Ranges that overlap or touch are one."""
    covered = set(zip(lives.address, lives.size))
    covered.update(trace.segments)
    covered.update((address, size) for action, address, size in zip(trace.action, trace.address, trace.size)
                   if action >= SEGMENT_ALLOC)
    ranges = []
    for begin, size in sorted(covered):
        if size > 0 and ranges and begin <= ranges[-1][1]:
            ranges[-1][1] = max(begin + size, ranges[-1][1])
        elif size > 0:
            ranges.append([begin, begin + size])
    return ranges


def offsets(trace, lives):
    """The offset of each buffer; -1 of those without bytes, and of all where they cover more than 2^60 bytes or go
    round the end of all addresses."""
    ranges, base, moved = joined(trace, lives), 0, []
    for begin, end in ranges:
        moved.append(base - begin)
        base = rounded(base + end - begin)
    if base > BYTES_MOST or (ranges and ranges[-1][1] >= 1 << 64):
        return array("q", [-1]) * len(lives.size)
    begins, known = [begin for begin, _ in ranges], {}
    for address in set(lives.address) if ranges else ():
        known[address] = address + moved[bisect_right(begins, address) - 1]
    return array("q", [known[address] if size > 0 else -1 for address, size in zip(lives.address, lives.size)])
