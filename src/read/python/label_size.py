"""The size that another tool's drawing tells in a node's label.

XLA: f32[8,128]{1,0}; TVM: Tensor[(8, 128), float32]; FX: |dtype=torch.float32|shape=(8, 128)|stride=...; Keras:
Output shape: (None, 10), or input: | output: | [(None, 3)] | [(None, 10)]; torchviz: weight (8, 128). What a label says of
strides, or of what an op saved, has other words before it.
"""
import re

from draft import BYTES_MOST

KINDS = ("f", "s", "u", "c", "i", "fp", "bf", "float", "bfloat", "int", "uint", "complex")
WORD = re.compile(r"([A-Za-z]*)([ \t\n]*[+-]?[0-9]+)?")
EXTENT = re.compile(r"None|[ \t\n]*[+-]?[0-9]+")


def plain(text, tags):
    """A label without tags, escapes and a record's fields."""
    if tags:
        text = re.sub(r"<[^>]*>?", lambda found: " " * len(found[0]), text)
    return re.sub(r"[{}|]", " ", re.sub(r"\\.", "\n", text, flags=re.S))


def bits_at(text, at):
    """Bits of an element where a word like float32, bf16 or pred begins, 0: none does; and the place behind it. A letter alone,
    as in s8, may be a name."""
    found = WORD.match(text, at)
    word, end = found[1].lower(), found.end()
    behind = text[end:end + 1]
    if len(word) == 4 and behind != "_" and word in ("pred", "bool"):
        return 8, end
    bits = int((found[2] or "0")[:25])
    known = word in KINDS and bits in (4, 8, 16, 32, 64, 128) and (len(word) > 1 or behind == "[")
    return (bits if known else 0), end


def elements_at(text, at, empty):
    """Of the list of sizes that begins there, "(8, 128)", "[None]", or "[]" if it may be empty: elements, whether an extent is
    not known, the place behind it; None: none begins."""
    count, unknown = 1, False
    if text[at] not in "([":
        return None
    at += 1
    while at < len(text) and text[at] not in ")]":
        found = EXTENT.match(text, at)
        if not found or text[found.end():found.end() + 1] not in (",", ")", "]", " "):
            return None
        extent = 1 if found[0] == "None" else int(found[0][:25])
        unknown |= found[0] == "None"
        count *= extent
        if extent < 0 or count >= 1 << 63:
            return None
        at = found.end()
        while at < len(text) and text[at] in ", ":
            at += 1
        empty = True
    if at >= len(text) or not empty:
        return None
    while at < len(text) and text[at] in ")] ":
        at += 1
    return count, unknown, at


def announced(label, at, last):
    """Whether a list there is the result's: behind "shape" or "Tensor", or the last words of the label behind a name."""
    head = label[:at].rstrip(" ([=:")
    if head.endswith("torch.Size"):
        return announced(label, len(head) - 10, last)
    if head.endswith("Tensor"):
        return True
    if head[-5:].lower() == "shape":
        return head[-11:-6].lower() != "input"
    return last and not re.search("[=:]", label[len(head):at])


def label_size(label, tags):
    """(bytes, whether no dtype is there and float32 is taken, whether an extent of None counts as 1), or None: it tells none."""
    label = plain(label, tags)
    bits, elements, unknown, at, whole = 0, None, False, 0, False
    while at < len(label) and not whole:
        place = at
        if at == 0 or not (label[at - 1].isascii() and label[at - 1].isalnum()):
            width, end = bits_at(label, at)
            if width > 0:
                whole = label[end:end + 1] == "["
                bits = width if whole or not bits else bits
                place = end
        found = elements_at(label, place, whole) if place < len(label) else None
        if found and (whole or announced(label, place, found[2] >= len(label))):
            elements, unknown = found[0], found[1]
        whole = whole and found is not None
        at += 1
    if elements is None or elements * (bits or 32) >= 1 << 63:
        return None
    size = (elements * (bits or 32) + 7) // 8
    return (size, bits == 0, unknown) if size <= BYTES_MOST else None
