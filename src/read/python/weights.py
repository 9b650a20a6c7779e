"""What the headers of safetensors and GGUF files say, in half a sentence; no weight is read, and of other files nothing
is said."""
import json
import math
import struct
from collections import Counter

from draft import content, member, size_text

NUMBERS_MOST = 1e17
TRAINED = 16   # bytes a number with Adam in mixed precision
KINDS_MOST = 16
GGML = ("F32 F16 Q4_0 Q4_1 - - Q5_0 Q5_1 Q8_0 Q8_1 Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ4_NL "
        "IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M BF16 - - - - - - - - MXFP4").split()
VALUES = [1, 1, 2, 2, 4, 4, 4, 1, None, None, 8, 8, 8]   # bytes of GGUF's types of metadata; 8: a text, 9: a list


def safetensors(data):
    """Dtype and numbers of each tensor."""
    length, = struct.unpack_from("<Q", data)
    header = json.loads(bytes(data[8:8 + length])) if length <= len(data) - 8 else {}
    for tensor in header.values():
        if isinstance(member(tensor, "dtype"), str):
            yield tensor["dtype"], math.prod(tensor["shape"])


class Gguf:
    """A GGUF file up to its tensors, number by number."""

    def __init__(self, data):
        self.data, self.at = data, 8

    def take(self, form):
        """The next numbers."""
        at, self.at = self.at, self.at + struct.calcsize("<" + form)
        return struct.unpack_from("<" + form, self.data, at)

    def text(self):
        """A text, which is left out."""
        length, = self.take("Q")
        self.at += length

    def value(self):
        """One of metadata, left out, too."""
        (kind,), count = self.take("I"), 1
        if kind == 9:
            kind, count = self.take("IQ")
        if kind != 8:
            self.at += VALUES[kind] * count
        for _ in range(count if kind == 8 else 0):
            self.text()

    def tensors(self):
        """Dtype and numbers of each tensor."""
        tensors, pairs = self.take("QQ")
        for _ in range(pairs):
            self.text()
            self.value()
        for _ in range(tensors):
            self.text()
            shape = self.take("%dQ" % min(*self.take("I"), 99))
            kind, _ = self.take("IQ")
            yield GGML[kind] if kind < len(GGML) and GGML[kind] != "-" else "another type", math.prod(shape)


def read(stream, _options):
    """"291 tensors, 8030 million numbers in BF16: to load it takes ...; " """
    data = content(stream)
    try:
        tensors = list(Gguf(data).tensors() if data[:4] == b"GGUF" else safetensors(data))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError, struct.error):   # it is none
        return []
    kinds = Counter()
    for dtype, numbers in tensors:
        kinds[dtype if dtype in kinds or len(kinds) < KINDS_MOST else "other types"] += numbers
    if not 0 < sum(kinds.values()) < NUMBERS_MOST:
        return []
    return [f"{len(tensors)} tensors",
            *(f", {count / 1e6:.4g} million numbers in {dtype[:12]}" for dtype, count in kinds.items()),
            f": to load it takes {size_text(len(data))}, to train it with Adam in mixed precision "
            f"{size_text(TRAINED * sum(kinds.values()))}, activations aside; "]
