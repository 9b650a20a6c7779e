"""Collectives of a rank's graph, over torch.distributed.

A plan counts what a collective reads and makes, and nothing beside. Where PyTorch's own need a copy (a dim that isn't the first), pieces pass
through a small buffer: STAGE bytes and no more.
"""
import torch
import torch.distributed as dist

from .errors import CaptureError
from .places import read_cuts

STAGE = {"cpu": 1 << 14}   # bytes; elsewhere:
STAGE_ELSEWHERE = 1 << 24


def as_bytes(tensor):
    """Backends know no booleans."""
    return tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor


def rows_at_once(tensor, parts):
    """How many rows of a tensor pass through the buffer at once, from so many ranks."""
    room = STAGE.get(tensor.device.type, STAGE_ELSEWHERE)
    return max(1, room // max(tensor.element_size() * tensor[:1].numel() * parts, 1))


def place_for(tensor, target, made):
    """Memory for a result: that of the tensor that it replaces, or its own."""
    return tensor.new_empty(made["shape"]) if target is None else target


def blocked(tensor, dim, blocks):
    """A tensor whose dim is seen as blocks: the dim behind it is what is cut."""
    return tensor.unflatten(dim, (blocks, tensor.shape[dim] // blocks))


class Exchange:
    """Makes the functions of a graph's collectives. mesh: a DeviceMesh with the graph's axes."""

    def __init__(self, mesh):
        self.mesh = mesh

    def group(self, axis):
        """(the group of an axis, this rank's place in it, its size)."""
        group = self.mesh.get_group(axis)
        return group, self.mesh.get_local_rank(axis), dist.get_world_size(group)

    def function(self, op, tensors):
        """What runs a collective, on a tensor and on the one in whose place the result goes, or None."""
        kind = op["op"].partition(".")[2]
        make = {"all_gather": self.all_gather, "all_reduce": self.all_reduce, "reduce_scatter": self.reduce_scatter,
                "all_to_all": self.all_to_all,
                "slice": self.slice, "keep_one": self.keep_one}.get(kind)
        if make is None:
            raise CaptureError(
                f"{op['id']}: {op['op']} is between stages of a pipeline: apply(...).write_schedule() is for that")
        axis = op["axis"]
        place = list(self.mesh.mesh_dim_names).index(axis)
        before, after = (read_cuts(op.get(key)).get(place) for key in ("from", "to"))
        made = tensors[op["out"][0]]
        run = make(self.group(axis), before, after, made)
        run.__name__ = f"{kind}_{axis}"
        return run

    def gathered(self, tensor, group, size):
        """Pieces along the first dim, from all ranks: (first row, rows, [what each rank has])."""
        step = rows_at_once(tensor, size + 1)
        room = torch.empty((size + 1, min(step, len(tensor)), *tensor.shape[1:]), dtype=as_bytes(tensor).dtype,
                           device=tensor.device)
        for start in range(0, len(tensor), step):
            rows = min(step, len(tensor) - start)
            stage = room.view(-1)[:(size + 1) * tensor[:rows].numel()].view(size + 1, rows, *tensor.shape[1:])
            stage[size].copy_(as_bytes(tensor[start:start + rows]))
            dist.all_gather_into_tensor(stage[:size].flatten(0, 1), stage[size], group=group)
            yield start, rows, list(stage[:size].view(tensor.dtype) if tensor.dtype == torch.bool else stage[:size])

    def all_gather(self, on, before, after, made):
        """Cut along a dim -> whole."""
        (group, _, size), (dim, blocks) = on, before

        def run(tensor, target=None):
            whole = place_for(tensor, target, made)
            if dim == 0 and blocks == 1 and tensor.is_contiguous() and whole.is_contiguous() and target is None:
                dist.all_gather_into_tensor(as_bytes(whole), as_bytes(tensor), group=group)
                return whole
            parts = blocked(whole, dim, blocks).chunk(size, dim + 1)
            mine = blocked(tensor, dim, blocks)
            self.spread(mine, parts, group, size)
            return whole
        return run

    def spread(self, mine, parts, group, size):
        """Writes what each rank has into its part. The pieces run along the first dim that is longer than one."""
        along = next((dim for dim in range(mine.dim()) if mine.shape[dim] > 1), 0)
        mine, parts = mine.movedim(along, 0), [part.movedim(along, 0) for part in parts]
        for start, rows, pieces in self.gathered(mine, group, size):
            for part, piece in zip(parts, pieces):
                part[start:start + rows].copy_(piece)

    def all_reduce(self, on, before, after, made):
        """Summands -> their sum."""
        group = on[0]

        def run(tensor, target=None):
            target = tensor.clone() if target is None else target
            flat = target
            if not target.is_contiguous():   # a view of a matrix turned: its memory has no holes
                shape, strides = zip(*sorted(zip(target.shape, target.stride()), key=lambda pair: -pair[1]))
                dense = all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 1)) and strides[-1] == 1
                flat = target.as_strided((target.numel(),), (1,)) if dense else target.contiguous()
            dist.all_reduce(flat, group=group)
            if flat is not target and flat.data_ptr() != target.data_ptr():
                target.copy_(flat)
            return target
        return run

    def reduce_scatter(self, on, before, after, made):
        """Summands -> their sum, cut along a dim."""
        (group, at, size), (dim, blocks) = on, after

        def run(tensor, target=None):
            out = place_for(tensor, target, made)
            sources = blocked(tensor, dim, blocks).chunk(size, dim + 1)
            target = blocked(out, dim, blocks)
            along = next((dim for dim in range(target.dim()) if target.shape[dim] > 1), 0)
            sources, target = [source.movedim(along, 0) for source in sources], target.movedim(along, 0)
            step = rows_at_once(target, size)
            room = torch.empty((size, min(step, len(target)), *target.shape[1:]), dtype=target.dtype,
                               device=target.device)
            for start in range(0, len(target), step):
                rows = min(step, len(target) - start)
                stage = room.view(-1)[:size * target[:rows].numel()].view(size, rows, *target.shape[1:])
                for piece, source in zip(stage, sources):
                    piece.copy_(source[start:start + rows])
                dist.all_reduce(stage, group=group)
                target[start:start + rows].copy_(stage[at])
            return out
        return run

    def all_to_all(self, on, before, after, made):
        """Cut along one dim -> cut along another."""
        (group, at, size), (dim, blocks), (to, to_blocks) = on, before, after
        to += to < dim   # where it is when the other dim stands first

        def run(tensor, target=None):
            out = place_for(tensor, target, made)
            source, target, rows_of_block = tensor.movedim(dim, 0), out.movedim(dim, 0), tensor.shape[dim] // blocks
            for block in range(blocks):
                for start, rows, pieces in self.gathered(source[block * rows_of_block:(block + 1) * rows_of_block],
                                                         group, size):
                    for rank, piece in enumerate(pieces):
                        first = (block * size + rank) * rows_of_block + start
                        blocked(target[first:first + rows], to, to_blocks).copy_(
                            blocked(piece, to, to_blocks).chunk(size, to + 1)[at])
            return out
        return run

    def slice(self, on, before, after, made):
        """Whole -> this rank's part."""
        (_, at, size), (dim, blocks) = on, after

        def run(tensor, target=None):
            if "alias" in made and blocks == 1:   # to be written in place
                return tensor.chunk(size, dim)[at]
            out = place_for(tensor, target, made)
            blocked(out, dim, blocks).copy_(blocked(tensor, dim, blocks).chunk(size, dim + 1)[at])
            return out
        return run

    def keep_one(self, on, before, after, made):
        """Whole -> summands: the first rank's is the tensor."""
        first = on[1] == 0

        def run(tensor, target=None):
            out = place_for(tensor, target, made)
            return out.copy_(tensor) if first else out.zero_()
        return run
