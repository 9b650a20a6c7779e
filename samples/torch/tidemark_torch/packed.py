"""Sequences of several lengths on fake tensors: PyTorch reads and writes their lengths in memory."""
import torch
from torch.utils._python_dispatch import _disable_current_modes

aten = torch.ops.aten

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


def ctc_loss(recorder, scores, targets, _scores, target_lengths, *_more):
    """aten._ctc_loss: the losses, and the table of paths. Where the lengths have no values, all targets are taken to be as long as can be."""
    known = recorder.values.get(target_lengths)
    batch = target_lengths.numel()
    if known is None:
        longest = targets.shape[-1] if targets.dim() > 1 else targets.shape[0] // max(1, batch)
        recorder.hints.assumed[f"the longest of {batch} targets has {longest} elements"] += 1
    else:
        with _disable_current_modes():
            longest = int(known.max())
    steps = scores.shape[0]
    return scores.new_empty(batch), scores.new_empty((batch, steps, 2 * longest + 1))


def ctc_loss_backward(_recorder, _gradient, scores, *_more):
    """aten._ctc_loss_backward: the gradient of the scores."""
    return torch.empty_like(scores)


# Ops whose results depend on lengths.
BY_LENGTHS = {aten._pack_padded_sequence.default: pack, aten._ctc_loss.Tensor: ctc_loss,
              aten._ctc_loss_backward.Tensor: ctc_loss_backward}


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
