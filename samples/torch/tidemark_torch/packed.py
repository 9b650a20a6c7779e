"""Packed sequences on fake tensors: PyTorch reads and writes the numbers of their steps in memory."""
import torch
from torch.utils._python_dispatch import _disable_current_modes


def pack(recorder, padded, lengths, batch_first):
    """aten._pack_padded_sequence: the elements, and how many sequences have each step. Where the lengths have no values, all
    sequences are taken to be whole."""
    batch, steps = padded.shape[:2] if batch_first else padded.shape[1::-1]
    known = recorder.values.get(lengths)
    if known is None:
        recorder.hints.assumed[f"all {batch} sequences of a packed batch are {steps} long"] += 1
    with _disable_current_modes():
        known = torch.full((batch,), steps) if known is None else known
        counts = (known[None] > torch.arange(int(known.max()))[:, None]).sum(1)
        total = int(counts.sum())
    made = lengths.new_empty(len(counts))
    recorder.values.keep(made, counts)
    return padded.new_empty((total, *padded.shape[2:])), made


def follow_padding(recorder, native):
    """torch._VF._pad_packed_sequence with the ops of the native one, which writes the lengths into memory."""
    def pad(data, batch_sizes, batch_first, padding_value, total_length):
        with _disable_current_modes():
            fake = hasattr(batch_sizes, "fake_mode")
            counts = None if fake else batch_sizes.tolist()
        if recorder.real or fake:
            return native(data, batch_sizes, batch_first, padding_value, total_length)
        steps = max(total_length, len(counts))
        output = torch.full((steps, counts[0], *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
        lengths = torch.empty(counts[0], dtype=torch.int64)
        start = done = 0
        for i, (before, now) in enumerate(zip(counts, counts[1:] + [0]), 1):
            if now != before:
                piece = data.narrow(0, done, before * (i - start)).view(i - start, before, *data.shape[1:])
                output.narrow(0, start, i - start).narrow(1, 0, before).copy_(piece)
                start, done = i, done + before * (i - start)
        with _disable_current_modes():
            value = torch.tensor([sum(count > k for count in counts) for k in range(counts[0])])
        recorder.values.keep(lengths, value)
        return output.transpose(0, 1) if batch_first else output, lengths
    return pad
