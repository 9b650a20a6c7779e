"""A memory snapshot of any size: big_snapshot.py FILE [EVENTS]

Writes FILE as torch.cuda.memory._dump_snapshot() would (pickle protocol 4, stack traces shared), without ever having it in memory: 6,000,000 events (the default)
are 1.0 GB. A made-up allocator: blocks of a few sizes come and go, 3,000 at most at a time, at addresses that are used again. Prints the peak that it counted.
"""
import random, struct, sys

path, events = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6_000_000
random.seed(1)
memo, traces = {}, {}


def text(word):
    """A text, the second time from the memo."""
    if word in memo:
        return b"j" + struct.pack("<I", memo[word])
    memo[word] = len(memo)
    return b"X" + struct.pack("<I", len(word)) + word.encode() + b"r" + struct.pack("<I", memo[word])


def number(n):
    size = (n.bit_length() + 8) // 8
    return b"\x8a" + bytes([size]) + n.to_bytes(size, "little", signed=True)


def frame(k):
    if ("frame", k) in memo:
        return b"j" + struct.pack("<I", memo["frame", k])
    out = b"}(" + text("name") + text(f"forward_{k % 37}") + text("filename") + text(f"/home/u/train/model_{k % 19}.py") + text("line") + number(10 + k) + b"u"
    memo["frame", k] = len(memo)
    return out + b"r" + struct.pack("<I", memo["frame", k])


def trace(k):
    """The frames of a stack, the second time from the memo alone."""
    if k in traces:
        return traces[k]
    first = b"".join([frame(n) for n in stacks[k]])
    traces[k] = b"".join([frame(n) for n in stacks[k]])
    return first


SIZES = [512, 4096, 65536, 1 << 20, 3 << 20, 37748736]
stacks = [[random.randrange(400) for _ in range(random.randint(6, 30))] for _ in range(300)]
live, free, address, now, peak = [], {}, 0x7F0000000000, 0, 0
with open(path, "wb", buffering=1 << 22) as out:
    out.write(b"\x80\x04}(" + text("device_traces") + b"](](")
    for i in range(events):
        if live and (len(live) >= 3000 or random.random() < 0.49):
            k = random.randrange(len(live))
            (at, size), live[k] = live[k], live[-1]
            live.pop()
            free.setdefault(size, []).append(at)
            now -= size
            action = "free_completed"
        else:
            size = random.choice(SIZES)
            if free.get(size):
                at = free[size].pop()
            else:
                at, address = address, address + size
            live.append((at, size))
            now += size
            peak = max(peak, now)
            action = "alloc"
        out.write(b"}(" + text("action") + text(action) + text("addr") + number(at) + text("size") + number(size) + text("stream") + b"K\0" + text("time_us") + number(1700000000000000 + i)
                  + text("frames") + b"](" + trace(i % 300) + b"eu")
        if i % 1000 == 999 and i + 1 < events:
            out.write(b"e(")           # PyTorch's pickles append a thousand at a time
    out.write(b"ee" + text("segments") + b"]" + text("allocator_settings") + b"}u.")
print(peak, "bytes at the peak")
