"""What XLA leaves in a folder with --xla_dump_to: module_0042.jit_step.cpu_after_optimizations.hlo.pb, and .txt, lie
beside those of many small modules, of what was before optimization, of each pass where those were asked for, and beside
reports."""
import io
import os
import re

import fx
import hlo
import hlo_text
from draft import Bad
from fx_folder import content, walk

TEXT_MOST = 1 << 30   # bytes
MODULE = re.compile(r"(?:.*/)?module_[^/]*?"
                    r"((?:after|before)_optimizations\.(?:hlo\.pb|txt))(?:\.gz)?").fullmatch
ENDINGS = ("after_optimizations.hlo.pb", "after_optimizations.txt", "before_optimizations.hlo.pb",
           "before_optimizations.txt")   # the better ones of one module first
# JAX's own functions that make random numbers and start values run before the step, and may be larger than a small one.
# A user's own function may begin with an underscore too, and a lambda does (jit__lambda).
HELPER = re.compile(r"\.jit__(?:threefry|(?:normal|truncated_normal|uniform|orthogonal|randint|bernoulli|categorical|"
                    r"gamma|gumbel|shuffle|permutation|choice|poisson|multi_slice|unstack|take)\.)").search


def ending(name):
    """How good a module's file is, from 0."""
    return ENDINGS.index(MODULE(name)[1])


def stem(name):
    """ "module_0042.jit_step" of "module_0042.jit_step.cpu_after_optimizations.txt": without the platform."""
    name = name[:MODULE(name).start(1)]
    before, dot, platform = name.rpartition(".")
    return before if dot and "/" not in platform else name


def modules_of(top):
    """One file of each module, those after optimization alone where there are such, in the order of their names."""
    names = walk(top, lambda base: bool(MODULE(base)))
    after = any(ending(name) < 2 for name in names)
    kept = {}
    for name in names:
        if not (after and ending(name) >= 2):
            best = kept.get(stem(name))
            kept[stem(name)] = name if best is None or ending(name) < ending(best) else best
    return list(kept.items())


def size_text(size):
    """ "1.50 MiB"."""
    unit = 0
    while size >= 1024 and unit < 5:
        size, unit = size / 1024, unit + 1
    digits = 0 if not unit or size >= 99.95 else 1 if size >= 9.995 else 2
    return f"{size:.{digits}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"


def read(stream, options):
    """The graph of one of XLA's modules, of the largest file or of that number; without any, torch.compile's."""
    found = modules_of(options.folder)
    if not found:
        return fx.read(stream, options)
    sizes = [os.lstat(os.path.join(options.folder, name)).st_size for _, name in found]
    if options.graph > len(found):
        raise Bad(f"--graph {options.graph}: the folder has {len(found)} module{'' if len(found) == 1 else 's'} of XLA")
    best = max(range(len(found)), key=lambda one: (not HELPER(found[one][1]), sizes[one]))
    chosen = options.graph - 1 if options.graph else best
    name = found[chosen][1]
    lines = [f"#{one}, {size_text(size)}\n" for (one, _), size in zip(found, sizes)] if len(found) > 1 else []
    options.path, options.graph = os.path.join(options.folder, name), 0
    try:
        data = io.BytesIO(content(options.path, TEXT_MOST))
        graph = list((hlo if ".hlo.pb" in name else hlo_text).read(data, options))
    except Bad as bad:
        raise Bad(f"{name}:{bad.line}: {bad.text}" if bad.line else f"{name}: {bad.text}") from None
    return [f"#{chosen + 1}\n", *lines, *graph]
