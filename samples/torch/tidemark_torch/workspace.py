"""What kernels allocate for themselves, measured while a step runs for real."""
import ctypes
import os

import torch

LEAST = 4096  # bytes; less is the interpreter's own traffic


class Heap:
    """The counters of the preloaded heap_shim.c, in bytes."""

    def __init__(self):
        library = ctypes.CDLL(None)
        self.live, self.peak, self.start_peak = library.heap_live, library.heap_peak, library.heap_start_peak
        self.live.restype = self.peak.restype = ctypes.c_longlong


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
