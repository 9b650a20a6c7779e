"""Protocol buffers: the fields of a message that lies in memory as bytes or as a view of them, of which nothing is copied."""
import re

from draft import Bad

BROKEN = "it is truncated or broken"


def varint(data, at):
    """A number, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        if byte < 128:
            return value + (byte << shift) & 0xFFFFFFFFFFFFFFFF, at
        value += (byte & 127) << shift
    raise Bad("a number is too long")


def fields(data):
    """Number and value of each field of a message: a number, or bytes. All of the time goes by here: what takes two
    bytes at most is read in place."""
    try:
        at, end = 0, len(data)
        while at < end:
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = (tag + (data[at] << 7) - 128, at + 1) if data[at] < 128 else varint(data, at - 1)
            kind = tag & 7 if tag > 7 else 7   # there is no field 0
            if kind == 2:
                size = data[at]
                at += 1
                if size > 127:
                    size, at = (size + (data[at] << 7) - 128, at + 1) if data[at] < 128 else varint(data, at - 1)
                at += size
                if at > end:
                    raise Bad(BROKEN)
                yield tag >> 3, data[at - size:at]
            elif kind == 0:
                value = data[at]
                at += 1
                if value > 127:
                    value, at = (value + (data[at] << 7) - 128, at + 1) if data[at] < 128 else varint(data, at - 1)
                yield tag >> 3, value
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
                at += size
                if at > end:
                    raise Bad(BROKEN)
                yield tag >> 3, int.from_bytes(data[at - size:at], "little")
            else:
                raise Bad(BROKEN)
    except (IndexError, TypeError):   # at its end, and of a number
        raise Bad(BROKEN) from None


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Signed(dict):
    """Numbers of 64 bits by the bytes that they are written in, which repeat."""

    def __missing__(self, data):
        self[data] = signed(varint(data, 0)[0])
        return self[data]


SIGNED, VARINT = Signed().__getitem__, re.compile(rb"[\x80-\xff]*[\x00-\x7f]").findall


def integers(value):
    """All numbers of a repeated field, packed or not."""
    if isinstance(value, int):
        return [signed(value)]
    value = bytes(value)
    if value[-1:] > b"\x7f":
        raise Bad(BROKEN)
    return list(map(SIGNED, VARINT(value)))


def numbers(data, *wanted):
    """The last value of each of some fields of a message, 0 where it has none."""
    found = {number: value for number, value in fields(data) if isinstance(value, int)}
    return [found.get(number, 0) for number in wanted]


def messages(data, wanted):
    """The bytes of each field of that number."""
    return [value for number, value in fields(data) if number == wanted and isinstance(value, bytes)]


def text_of(value):
    """A text, up to its first NUL."""
    text = "" if isinstance(value, int) else str(value, "utf-8", "replace")
    return text.partition("\0")[0] if "\0" in text else text
