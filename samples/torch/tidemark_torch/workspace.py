"""What kernels allocate for themselves, measured while a step runs for real."""
import ctypes
import os

import torch

LEAST = 4096  # bytes; less is the interpreter's own traffic


KERNELS = {"convolution": ("convolution", "_slow_conv", "mkldnn_convolution"), "attention": ("_scaled_dot_product",),
           "recurrent layer": ("mkldnn_rnn", "_cudnn_rnn"),
           "resampling": ("upsample", "_upsample", "grid_sampler"),
           "transform": ("_fft", "linalg_", "_linalg_", "matrix_exp")}
UNKNOWN = "kernels' own memory (workspace) isn't in this graph"


def unknown_workspace(ops):
    """What to say of a graph whose ops nobody has measured; None where none of them is known to need memory of its own."""
    counts = {kind: sum(op["op"].partition(".")[2].startswith(names) for op in ops) for kind, names in KERNELS.items()}
    words = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
    return f"{UNKNOWN}: {', '.join(words)}; python -m tidemark_torch --workspace measures it, each kind of call alone" if words else None


def say(head, ops, measured):
    """Writes into a graph's head what the program's card is to say: what was assumed of data, and of workspace."""
    unknown = None if measured else unknown_workspace(ops)
    texts = head.get("assumed", []) + [head[key] for key in ("grows", "compiled") if key in head]
    texts += [unknown] if unknown else []
    head.pop("read", None)
    if texts:
        head["read"] = {"format": "native graph", "assumed": [text.replace("\n", " ")[:900] for text in texts]}


class Heap:
    """The counters of the preloaded heap_shim.c, in bytes."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self.live, self.peak, self.start_peak = library.heap_live, library.heap_peak, library.heap_start_peak
        self.live.restype = self.peak.restype = ctypes.c_longlong


MARK = 982451653  # bytes, a prime: a block that only allocator_peak() asks for


def allocator_peak(run, before=None):
    """Bytes of PyTorch's CPU allocator at the most during run(), beyond those before it, from the profiler's records. It doesn't see that
    memory goes which was there before it began: `before` runs under it first, and run() may let go of what that has left."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler says that it started, and that there is no GPU
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        if before is not None:
            before()
            torch.empty(MARK, dtype=torch.uint8)  # no page of it is touched
        run()
    live = most = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            most = max(most, live)
            if event.nbytes() == -MARK:
                live = most = 0
    return most


def heap():
    """The heap's counters, or None where heap_shim.c isn't preloaded."""
    return Heap() if "heap_shim" in os.environ.get("LD_PRELOAD", "") else None


class Meter:
    """Measures the memory that an op needs beside its results: on a GPU, or on the heap under the shim."""

    def __init__(self, active):
        self.gpu = active and torch.cuda.is_available()
        self.heap = heap() if active and not self.gpu else None

    def start(self):
        """Call before an op; what it returns is for stop()."""
        if self.gpu:
            torch.cuda.reset_peak_memory_stats()
            return torch.cuda.memory_allocated()
        if self.heap:
            self.heap.start_peak()
            return self.heap.live()
        return None

    def stop(self, before, made):
        """Bytes beyond the storages that the op has made; 0 where nothing is measured."""
        if before is None:
            return 0
        most = torch.cuda.max_memory_allocated() if self.gpu else self.heap.peak()
        extra = most - before - sum(storage.record["bytes"] for storage in made)
        return extra if extra >= LEAST else 0
