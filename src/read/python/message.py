"""What the text of a GPU's out-of-memory error says, of PyTorch 1 and 2 and of JAX, in half a sentence."""
import re

from draft import size_text

FIGURE = r"(\d{1,15}(?:\.\d+)?) ([bKMGT])[a-zA-Z]*"   # "2.00 GiB", "8.81 GB" (as MPS writes the same), "5368709120 bytes"
UNITS = "bKMGT"
# PyTorch 2.0 and 2.1 write "capacty".
PLACES = {
    "asked": r"(?:ried|trying) to allocate #|emory allocating #",
    "total": r"otal capaci?ty of #|# total capacity;|max allowed: #",
    "free": r"of which #|# free;",
    "held": r"MPS allocated: #|# is allocated by PyTorch|# already allocated;",
    "pieces": r"# is reserved by PyTorch but unallocated",
    "reserved": r"# reserved in total by PyTorch",
}


def read(stream, _options):
    """"2.00 GiB were asked for, ...; ", nothing of a text without figures."""
    text, found = stream.read().decode("utf-8", "replace"), {}
    for name, places in PLACES.items():
        match = re.search(places.replace("#", FIGURE), text)
        if match:
            value, unit = [group for group in match.groups() if group][:2]
            found[name] = int(float(value) * 1024 ** UNITS.index(unit))
    asked, held = found.get("asked"), found.get("held")
    if asked is None:
        return
    yield size_text(asked) + " were asked for"
    if "free" in found and "total" in found:
        yield f", {size_text(found['free'])} of {size_text(found['total'])} were free"
    if held is not None:
        yield f", tensors hold {size_text(held)}"
    pieces = found.get("pieces", found.get("reserved", 0) - (held or 0))
    if pieces >= asked:
        yield (f", {size_text(pieces)} are reserved and free, but not in one piece: "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may be enough")
    yield "; "
