"""The graphs that torch.compile leaves in a folder: which files, and in which order."""
import gzip
import io
import os
import re
import stat

from draft import Bad, leading_int

BYTES_ALL = 1 << 30             # of all files
UNPACKED, RATIO = 64 << 20, 250   # a compressed file may hold the larger of both
DEPTH_MOST, ENTRIES_MOST = 8, 200000
READABLE = "fx_graph_readable.py"
KINDS = {"_forward": "forward", "_backward": "backward", "_inference": "inference", "_joint": "joint"}


def is_graph(base):
    return base == READABLE or base.startswith("dedicated_log_torch_trace")


def walk(top, wanted=is_graph):
    """Names below a folder of files that are wanted, sorted. No link is followed, nothing is hidden."""
    found, folders, entries = [], [("", 0)], 0
    while folders:
        below, depth = folders.pop()
        try:
            names = os.listdir(os.path.join(top, below))
        except OSError:
            continue
        for base in names:
            name = below + "/" + base if below else base
            entries += not base.startswith(".")
            if entries > ENTRIES_MOST:
                raise Bad(f"the folder has more than {ENTRIES_MOST} files")
            if base.startswith("."):
                continue
            mode = os.lstat(os.path.join(top, name)).st_mode
            if stat.S_ISDIR(mode) and depth < DEPTH_MOST:
                folders.append((name, depth + 1))
            elif stat.S_ISREG(mode) and wanted(base):
                found.append(name)
    return sorted(found, key=os.fsencode)


def parts(name):
    """What lies before "model__0_forward_1.7/fx_graph_readable.py", the folder's own name, and the 7 in it."""
    folder = name.rpartition("/")[0]
    parent, slash, own = folder.rpartition("/")
    dot = folder.rfind(".")
    return parent + slash, own, leading_int(folder[dot + 1:])[0] if dot >= 0 else 0


def order(name):
    """Processes one after the other, each in the order of its compilations: the backward graph is compiled after the
    forward graph."""
    parent, _, number = parts(name)
    return os.fsencode(parent), number, os.fsencode(name)


def origin(name, several):
    """"model__0" of "model__0_forward_1.7" and its kind. several: of several processes, whose folders stand before
    it."""
    parent, own, _ = parts(name)
    kind = None
    for word in KINDS:
        if word in own:
            own, kind = own[:own.index(word)], KINDS[word]
    process = re.search(r"pid_[^/]*(?=/)", parent)   # "run_2026_11_22-pid_17793/torchinductor/model__0"
    if not several:
        return own[:150], kind
    return (f"{process[0][:100]}/{own[:150]}" if process else parent + own), kind


def log_identity(name, several):
    """A log has no folder of its own: of several ones its name says whose it is."""
    rank = re.search(r"rank_[0-9]*", name)
    return "" if not several else rank[0] if rank else name


def content(path, left):
    """A file's lines, unpacked."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        most = min(left, max(UNPACKED, RATIO * size)) if packed else left
        try:
            data = (gzip.open(file) if packed else file).read(most + 1)
        except (EOFError, gzip.BadGzipFile, OSError) as fault:
            raise Bad(f"can't be read: {fault}") from None
    if len(data) > most:
        raise Bad("larger than %d MiB" % (most >> 20))
    return data


def files_of(top):
    """Name, lines, identity and kind of each file: the readable graphs of TORCH_COMPILE_DEBUG=1, or without any of them
    the logs that TORCH_TRACE=FOLDER leaves; and whether they are of Inductor."""
    names = walk(top)
    readable = any(name.rpartition("/")[2] == READABLE for name in names)
    names = sorted((name for name in names if (name.rpartition("/")[2] == READABLE) == readable), key=order)
    if not names:
        raise Bad("is a directory without graphs: TORCH_COMPILE_DEBUG=1 leaves fx_graph_readable.py in one, "
                  "TORCH_TRACE=FOLDER logs, XLA_FLAGS=--xla_dump_to=FOLDER modules")
    several = len(names) > 1 if not readable else len({parts(name)[0] for name in names}) > 1

    def each(left=BYTES_ALL):
        for name in names:
            identity, kind = origin(name, several) if readable else (log_identity(name, several), None)
            try:
                data = content(os.path.join(top, name), left)
            except Bad as bad:
                raise Bad(f"{name}: {bad.text}") from None
            left -= len(data)
            yield name, io.BytesIO(data), identity, kind
    return each(), readable
