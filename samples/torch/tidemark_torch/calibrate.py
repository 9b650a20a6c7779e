"""Makes a device file, which tidemark reads as device=@FILE, from traces of torch.profiler.

    python -m tidemark_torch calibrate TRACE... --base PRESET [-o FILE]
    python -m tidemark_torch calibrate STEPS.csv --base PRESET [-o FILE]

STEPS.csv has measured steps, one a row: see tidemark_torch/measured.py. TRACE is what export_chrome_trace() has written, gz or not, profiled with record_shapes=True; several traces, of several
steps or ranks, count together. PRESET (h100-80gb, cpu; `tidemark help device` lists them) has the peaks, and all that
too few ops tell.

One figure after the other: the launch from the smallest ops; memory traffic from copies, casts and fused kernels; other
ops by it; matrix products by the format that takes most of their time, other formats and attention by them; links from
collectives within a node and across nodes. The traffic's curve is first moved as a whole, by the median of its ops,
then point by point. Of ops alike the median counts, of collectives the lower quartile: in a longer one, members wait
for each other.

Needs NumPy and the program tidemark (on the PATH, or named by TIDEMARK), but no PyTorch.
"""
import argparse
import collections
import math
import os
import pathlib
import re
import sys

from .errors import CaptureError
from .measured import fit_steps, read_rows
from .program import Refusal, run_program
from .traces import ATTENTION, CLASSES, COPY, EAGER, FORMATS, FUSED, MATMUL, Samples, add_trace

LEAST_SHAPES = 4                # fewer tell nothing
LEAST_TINY = 5
ROWS_MOST = 300                 # of a fit: those that take most time
TINY_BYTES, TINY_FLOPS = 32768, 1000000     # ops whose time a launch sets
ABOVE_LAUNCH = 1.5              # others take as much more than it, at least
SMALL_MESSAGE, LARGE_MESSAGE = 65536, 1048576
EAGER_LEAST, EAGER_MOST = 500, 10000        # thousandths, where only other ops tell the memory's speed
SHARE_LEAST = 20                # thousandths: a peak that is reached worse is not this device's
DEVICES_PER_NODE = 8
POWER_EXPONENT = 0.45    # as in src/scenario/devices.c

# Figures of a device file in its order, and the unit that each is written in. %: kept in thousandths; M: a curve by
# size.
UNITS = {"memory": "GiB", "memory_bandwidth": "GB/s", "fp64": "TFLOP/s", "fp32": "TFLOP/s", "fp16": "TFLOP/s",
         "bf16": "TFLOP/s", "fp8": "TFLOP/s", "power": "W", "matrix": "%", "ramp": "us", "traffic": "M",
         "attention": "%", "narrow": "%", "eager": "%", "launch": "us", "intra_bandwidth": "GB/s",
         "intra_latency": "us", "inter_bandwidth": "GB/s", "inter_latency": "us"}
SCALES = {"B": 1, "MB": 1e6, "GB": 1e9, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "B/s": 1, "MB/s": 1e6,
          "GB/s": 1e9, "TB/s": 1e12, "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15, "ns": 1e-9, "us": 1e-6,
          "ms": 1e-3, "s": 1, "%": 10, "W": 1, "kW": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

Row = collections.namedtuple("Row", "what seconds count")       # Work or Message, and how many took these seconds
# What a figure rests on: ops or collectives, their shapes, median error of these, and of those left out of the fit.
Told = collections.namedtuple("Told", "count shapes off left_out", defaults=(0, 0, 0.0, None))


# ---- figures -------------------------------------------------------------------------------------

def figure_text(name, value):
    """As a device file has it."""
    unit = UNITS[name]
    if unit == "M":
        return ",".join(f"{size / 1e6:.6g}M:{share / 10:.6g}%" for size, share in value)
    return f"{value / SCALES[unit]:.6g}{unit}"


def figure_value(text):
    """From such a text, as the program has written it."""
    if ":" in text:
        points = [point.split(":") for point in text.split(",")]
        return [(figure_value(size), round(figure_value(share))) for size, share in points]
    number, unit = re.fullmatch(r"([0-9.]+(?:e[+-][0-9]+)?)(\D+)", text).groups()
    return float(number) * SCALES[unit]


def base_figures(preset):
    """A preset's figures, by name, as the program tidemark has them. Raises CaptureError."""
    try:
        said = run_program("help", preset)
    except Refusal:
        said = ""
    lines = dict(re.findall(r"^ +([a-z0-9_]+)=(\S+)$", said, re.M))
    if not UNITS.keys() <= lines.keys():
        raise CaptureError(f"--base: there is no preset {preset}: `tidemark help device` lists them")
    return {name: figure_value(lines[name]) for name in UNITS}


# ---- times, as tidemark counts them --------------------------------------------------------------

def logarithm(size):
    """To base 2, in 1/1024, linear between powers of two."""
    size = max(1, int(size))
    exponent = size.bit_length() - 1
    return (exponent << 10) + ((size - (1 << exponent) << 10) >> exponent)


def efficiency(curve, size):
    """Thousandths of a peak that ops of a size reach."""
    above = next((i for i, (point, _) in enumerate(curve) if point > size), len(curve))
    if above in (0, len(curve)):
        return curve[max(0, above - 1)][1]
    (low, share), (high, other) = curve[above - 1:above + 1]
    low, high = logarithm(low), logarithm(high)
    return share + int((other - share) * (logarithm(size) - low) / (high - low)) if high > low else other


def sustained(figures, name):
    """Thousandths of a format's peak that the board's power leaves."""
    watts = figures.get(name, 0) / (2e12 if name == "fp8" else 1e12)
    if name not in ("fp16", "bf16", "fp8") or not 0 < figures["power"] < watts:
        return 1000
    return math.floor(1000 * (figures["power"] / watts) ** POWER_EXPONENT + 0.5)


def op_seconds(figures, work):
    """Of an op that is a kernel of its own: the longest of its traffic, its products and a launch."""
    moved = work.bytes * figures["eager"] / 1000 if work.kind == EAGER else work.bytes
    seconds = moved * 1000 / (figures["memory_bandwidth"] * max(1, efficiency(figures["traffic"], moved)))
    if work.kind in (MATMUL, ATTENTION):
        flops = work.flops * 1000 / (work.kind == ATTENTION and figures["attention"] or 1000)
        name = FORMATS[work.format]
        share = figures["matrix"] * sustained(figures, name) * (figures["narrow"] / 1000 if name == "fp8" else 1)
        seconds = max(seconds, figures["ramp"] + flops * 1e6 / (figures[name] * max(1, share)))
    return max(seconds, figures["launch"])


def flat_seconds(rate, latency, members, kind, size):
    """Of a collective over one kind of link: the faster of ring and halving or tree."""
    def transfer(hops, part):
        return hops * latency + size * part / rate
    hops, halving = (members - 1).bit_length(), members & (members - 1) == 0
    if members < 2:
        return 0.0
    if kind == "all_to_all":
        return min(transfer(members - 1, (members - 1) / members ** 2), transfer(hops, hops / (2 * members)))
    ring = transfer(hops if halving else members - 1, (members - 1) / members)
    if kind != "all_reduce":
        return ring
    return 2 * ring if halving else min(2 * ring, transfer(2 * hops, 2))


def message_seconds(figures, message):
    """Of a collective: the hierarchical one across nodes."""
    near, far = [(figures[f"{where}_bandwidth"], figures[f"{where}_latency"]) for where in ("intra", "inter")]
    nodes, kind, size = message.size // message.near, message.kind, message.bytes
    if nodes < 2 or message.near < 2:
        return flat_seconds(*(near if nodes < 2 else far), message.size, kind, size)
    across = flat_seconds(*far, nodes, kind, size / message.near)
    if kind == "all_to_all":
        return flat_seconds(*near, message.near, kind, size / nodes) + across
    within = flat_seconds(*near, message.near, "all_gather", size)
    return across + within * (2 if kind == "all_reduce" else 1)


def seconds_of(figures, row):
    """What a row is predicted to take."""
    return max(1e-12, (op_seconds if hasattr(row.what, "flops") else message_seconds)(figures, row.what))


# ---- fits ----------------------------------------------------------------------------------------

PULL = 1e-4             # weight of a factor's squared logarithm
STEPS = 12
DIFFERENCE = 0.04       # of a logarithm: shares are rounded
NOISE = 0.005           # no fit is trusted better
HARDLY = 0.01           # a row's logarithm by a factor's: below it the row doesn't tell
VAGUE = 0.35            # a larger deviation is none
LIMIT = 2.3             # factors stay between 1/10 and 10


def median(values, weights=None):
    """By weight; 0 of nothing."""
    pairs, below = sorted(zip(values, weights or [1] * len(values))), 0.0
    half = sum(weight for _, weight in pairs) / 2
    for value, weight in pairs:
        below += weight
        if below >= half:
            return value
    return 0.0


def fit_factors(predict, measured, factors):
    """Positive factors under which predict(factors) is near to what was measured: least squares of logarithms by
    Gauss-Newton steps with halving (Nocedal and Wright, section 10.3), each factor weakly drawn to 1; rows far off
    count less (Huber's weights). Returns the factors, which of them rows tell, and the rows' errors, fitted and
    left out (by their leverage)."""
    import numpy

    def off_by(x):
        return numpy.log(numpy.array(predict(numpy.exp(x))) / measured)

    def loss(off, x):
        return (weight * off * off).sum() + PULL * (x * x).sum()

    def slopes(x):
        return numpy.stack([(off_by(x + step) - off_by(x - step)) / (2 * DIFFERENCE)
                            for step in DIFFERENCE * numpy.eye(factors)], 1)
    told, measured = numpy.ones(factors, bool), numpy.array(measured)
    while True:
        x, weight = numpy.zeros(factors), numpy.ones(len(measured))
        off, moved = off_by(x), True
        for _ in range(STEPS):
            if not moved:
                break
            slope = slopes(x)[:, told]
            trusted = max(0.02, 1.345 * 1.4826 * numpy.sort(abs(off))[len(off) // 2])
            weight = numpy.minimum(1, trusted / numpy.maximum(1e-9, abs(off))) if len(off) > 3 else weight
            root, pull = numpy.sqrt(weight), PULL ** 0.5
            down = numpy.zeros(factors)
            down[told] = numpy.linalg.lstsq(numpy.vstack([root[:, None] * slope, pull * numpy.eye(told.sum())]),
                                            numpy.concatenate([root * off, pull * x[told]]), rcond=None)[0]
            before, moved = loss(off, x), False
            for share in (1, 0.5, 0.25, 0.125):
                other = numpy.clip(x - share * down, -LIMIT, LIMIT)
                if not moved and loss(off_by(other), other) < before * (1 - 1e-9):
                    x, off, moved = other, off_by(other), True
        slope = slopes(x)
        inverse = numpy.linalg.inv((slope[:, told].T * weight) @ slope[:, told] + PULL * numpy.eye(told.sum()))
        noise = max(NOISE ** 2, (weight * off * off).sum() / max(1, weight.sum() - told.sum()))
        doubt = numpy.zeros(factors)
        doubt[told] = numpy.sqrt(noise * numpy.diag(inverse))
        doubt[told & (abs(slope).max(0) < HARDLY)] = 1e9
        if doubt.max() <= VAGUE:
            break
        told[doubt.argmax()] = False
        if not told.any():
            x, off, inverse = numpy.zeros(factors), off_by(numpy.zeros(factors)), numpy.zeros((0, 0))
            break
    slope = slope[:, told]
    leverage = numpy.minimum(0.99, weight * numpy.einsum("if,fg,ig->i", slope, inverse, slope))
    return numpy.exp(x), told, abs(numpy.expm1(off)), abs(numpy.expm1(off / (1 - leverage)))


def share_of(thousandths):
    """Rounded as device files have it."""
    return max(1, min(60000, math.floor(thousandths + 0.5)))


class Calibration:
    """Figures, the base's at first, and which of them were told by what."""

    def __init__(self, figures, samples):
        self.figures, self.told = dict(figures), {}
        self.ops = [Row(what, sorted(seconds)[len(seconds) // 2], len(seconds))
                    for what, seconds in sorted(samples.ops.items())]
        self.messages = [Row(what, sorted(seconds)[len(seconds) // 4], len(seconds))
                         for what, seconds in sorted(samples.messages.items())]
        if samples.memory:
            self.figures["memory"], self.told["memory"] = samples.memory, Told()
        self.find_launch()
        self.find_traffic()
        self.find_products()
        self.find_links("intra", [row for row in self.messages if row.what.near == row.what.size])
        self.find_links("inter", [row for row in self.messages if row.what.near < row.what.size])

    def tell(self, name, rows):
        """Rows have told a figure, which is set by now."""
        off = median([abs(seconds_of(self.figures, row) / row.seconds - 1) for row in rows])
        self.told[name] = Told(sum(row.count for row in rows), len(rows), off)

    def pick(self, kinds, form=None):
        """Ops of these classes whose time a launch doesn't set and, of products, memory traffic doesn't."""
        def computes(row):
            reached = self.figures["memory_bandwidth"] * efficiency(self.figures["traffic"], row.what.bytes) / 1000
            return row.what.flops > 0 and row.what.bytes / reached < 0.7 * row.seconds
        return [row for row in self.ops if row.what.kind in kinds and form in (None, row.what.format)
                and row.seconds >= ABOVE_LAUNCH * self.figures["launch"]
                and (row.what.kind not in (MATMUL, ATTENTION) or computes(row))]

    def faster(self, rows):
        """How much faster the device is than it is counted with. What else than the figure at hand might set a time is
        taken away: the launch, which is below all that was picked, and of products the memory."""
        plain = dict(self.figures, launch=0.0)
        if rows and getattr(rows[0].what, "kind", None) in (MATMUL, ATTENTION):
            plain["memory_bandwidth"] = 1e18
        return median([seconds_of(plain, row) / row.seconds for row in rows], [row.seconds * row.count for row in rows])

    def move(self, rows, names, factors, apply):
        """Moves what apply(figures, factors) moves. Which factors rows tell; the figures rest on them."""
        rows = sorted(rows, key=lambda row: -row.seconds * row.count)[:ROWS_MOST]

        def predict(factor):
            moved = apply(self.figures, factor)
            return [seconds_of(moved, row) for row in rows]
        factor, told, off, left_out = fit_factors(predict, [row.seconds for row in rows], factors)
        self.figures = apply(self.figures, factor)
        for name in names:
            self.told[name] = self.told[name]._replace(off=median(off), left_out=median(left_out))
        return told

    def find_launch(self):
        """From the smallest ops."""
        rows = [row for row in self.ops if row.what.bytes <= TINY_BYTES and row.what.flops <= TINY_FLOPS]
        if sum(row.count for row in rows) >= LEAST_TINY:
            self.figures["launch"] = median([row.seconds for row in rows], [row.count for row in rows])
            self.tell("launch", rows)

    def scale_shares(self, name, peak, times, rows):
        """A curve as a whole or a share, or its peak where the shares can't be."""
        now = self.figures[name]
        most = max(share for _, share in now) if isinstance(now, list) else now
        if SHARE_LEAST <= most * times <= 1000:
            self.figures[name] = ([(size, share_of(share * times)) for size, share in now] if isinstance(now, list)
                                  else share_of(now * times))
            self.tell(name, rows)
        else:
            self.figures[peak] *= times
            self.tell(peak, rows)

    def below_peak(self, name, peak, rows):
        """More than the peak: then that is higher."""
        now = self.figures[name]
        most = max(share for _, share in now) if isinstance(now, list) else now
        if most > 1000:
            self.scale_shares(name, peak, most / 1000, rows)
            self.scale_shares(name, peak, 1000 / most, rows)

    def find_curve(self, name, peak, rows):
        """The same, and then point by point, by ops that are of one kind."""
        def apply(figures, factor):
            points = zip(figures[name], factor)
            return dict(figures, **{name: [(size, share_of(share * times)) for (size, share), times in points]})
        self.scale_shares(name, peak, self.faster(rows), rows)
        self.tell(name, rows)
        self.move(rows, [name], len(self.figures[name]), apply)
        self.below_peak(name, peak, rows)

    def find_share(self, peak, rows):
        """What large products reach of their peak, then that and the ramp by all."""
        def apply(figures, factor):
            return dict(figures, matrix=share_of(figures["matrix"] * factor[0]), ramp=figures["ramp"] * factor[1])
        self.scale_shares("matrix", peak, self.faster(rows), rows)
        self.tell("matrix", rows)
        self.tell("ramp", rows)
        if not self.move(rows, ["matrix", "ramp"], 2, apply)[1]:
            del self.told["ramp"]
        self.below_peak("matrix", peak, rows)

    def find_traffic(self):
        """The memory's curve, and what ops move that aren't fused."""
        streams = self.pick({COPY, FUSED})
        if len(streams) >= LEAST_SHAPES:
            self.find_curve("traffic", "memory_bandwidth", streams)
        others = self.pick({EAGER})
        if len(others) < LEAST_SHAPES:
            return
        times = (sum(seconds_of(self.figures, row) * row.count for row in others)
                 / sum(row.seconds * row.count for row in others))
        # By their sums: ops are too different for a median.
        eager = self.figures["eager"] / times
        if len(streams) >= LEAST_SHAPES or EAGER_LEAST <= eager <= EAGER_MOST:
            self.figures["eager"] = share_of(eager)
            self.tell("eager", others)
        else:                   # another memory than the base's
            self.scale_shares("traffic", "memory_bandwidth", times, others)

    def find_products(self):
        """The share by the format that takes most time; other formats and attention by it."""
        by_format = [self.pick({MATMUL}, form) for form in range(len(FORMATS))]
        times = [sum(row.seconds * row.count for row in rows if len(rows) >= LEAST_SHAPES) for rows in by_format[:-1]]
        if max(times) == 0:
            return
        main = times.index(max(times))
        self.find_share(FORMATS[main], by_format[main])
        for form, name in enumerate(FORMATS):
            rows = self.pick({MATMUL}, form)
            if form != main and len(rows) >= LEAST_SHAPES:
                name = "narrow" if name == "fp8" else name
                self.figures[name] *= self.faster(rows)
                self.figures["narrow"] = share_of(self.figures["narrow"])
                self.tell(name, rows)
        rows = self.pick({ATTENTION})
        if rows:
            self.figures["attention"] = share_of((self.figures["attention"] or 1000) * self.faster(rows))
            self.tell("attention", rows)

    def find_links(self, where, rows):
        """Latency by small messages, bandwidth by large ones, then both by all."""
        rate, hop = f"{where}_bandwidth", f"{where}_latency"

        def apply(figures, factor):
            return dict(figures, **{rate: figures[rate] * factor[0], hop: figures[hop] * factor[1]})
        small = [row for row in rows if row.what.bytes <= SMALL_MESSAGE]
        large = [row for row in rows if row.what.bytes >= LARGE_MESSAGE]
        if small:
            self.figures[hop] /= self.faster(small)
        if large:
            self.figures[rate] *= self.faster(large)
        if rows:
            self.tell(rate, rows)
            self.tell(hop, rows)
            told = self.move(rows, [rate, hop], 2, apply)
            for name, by_size, by_fit in ((rate, large, told[0]), (hop, small, told[1])):
                if not by_size and not by_fit:
                    del self.told[name]


# ---- what was found ------------------------------------------------------------------------------

def number_of(count, word):
    """1 trace, 2 traces."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def report(calibration, base, preset, samples):
    """Lines for people: what every figure was and is, on how many ops it rests, which stay."""
    lines = [f"measured in {number_of(samples.traces, 'trace')} of {samples.device}"]
    for kind, name in enumerate(CLASSES):
        seconds = [second for work, all_of in samples.ops.items() if work.kind == kind for second in all_of]
        lines += [f"{len(seconds)} {name}, {sum(seconds):.4g} s"] if seconds else []
    if samples.others:
        lines.append(f"{samples.others} ops of {samples.other_seconds:.4g} s don't count: what they compute isn't "
                     "known, or their operands aren't in the trace")
    lines.append("measured:")
    for name in UNITS:
        if name not in calibration.told:
            continue
        told = calibration.told[name]
        head = f"  {name:<17} {figure_text(name, calibration.figures[name])}, was {figure_text(name, base[name])}"
        if not told.count:
            lines.append(head + ": the device says so")
            continue
        what = "collective" if name.startswith("int") else "op"
        left_out = "" if told.left_out is None else f", {100 * told.left_out:.1f} % of shapes left out of the fit"
        lines += [head, f"  {'':<17} from {number_of(told.count, what)} of {number_of(told.shapes, 'shape')}, "
                        f"off by {100 * told.off:.1f} % (median){left_out}"]
    stay = [name for name in UNITS if name not in calibration.told]
    return lines + [f"as {preset} has them: {', '.join(stay + ['and all else'])}"]


def device_file(calibration, lines, preset, name):
    """The file's text."""
    figures = [f"{name}={figure_text(name, calibration.figures[name])}" for name in UNITS if name in calibration.told]
    return "\n".join([f"# {line}" for line in lines] + [f"base={preset}", f"name={name}"] + figures) + "\n"


class Steps:
    """What a table of measured steps tells, as a Calibration has it."""

    def __init__(self, base, preset, rows):
        self.told, off, left_out = fit_steps(base, preset, rows)
        self.figures = dict(base, **self.told)
        self.lines = [f"fitted to {number_of(len(rows), 'measured step')}: off by {100 * max(off):.2f} % at most, "
                      f"{100 * max(left_out):.2f} % where left out of the fit"]
        self.lines += [f"  {name:<17} {figure_text(name, value)}, was {figure_text(name, base[name])}"
                       for name, value in self.told.items()]
        self.lines += [f"  {where}: {100 * error:.1f} % off" for (_, _, where), error in zip(rows, off) if error > 0.1]
        self.lines.append(f"as {preset} has them: all else")


def name_of(path):
    """A device's name: the file's without folder and ending, of letters that a name may have."""
    return re.sub("[^A-Za-z0-9._-]", "-", pathlib.Path(path).name.partition(".")[0])[:39] or "measured"


def write(path, text):
    """Writes a file that appears whole or not at all. Raises CaptureError."""
    path = os.path.realpath(path)
    unfinished = f"{path}.{os.getpid()}"
    try:
        with open(unfinished, "x", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(unfinished, path)
    except OSError as error:
        pathlib.Path(unfinished).unlink(missing_ok=True)
        raise CaptureError(f"{path}: {error.strerror}") from None


def main(arguments):
    """Reads traces or tables, and fits."""
    parser = argparse.ArgumentParser(prog="python -m tidemark_torch calibrate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--base", required=True, metavar="PRESET",
                        help="the preset that has the peaks, and what the traces don't tell")
    parser.add_argument("--devices-per-node", type=int, default=DEVICES_PER_NODE, metavar="N",
                        help="tells links within nodes from links between them (8)")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="standard output by default; the device is called as the file is")
    options = parser.parse_args(arguments)
    if options.devices_per_node < 1:
        parser.error("--devices-per-node: expected a number from 1 on")
    try:
        import numpy  # noqa: F401
    except ImportError:
        raise CaptureError("NumPy is missing: pip install numpy") from None
    base, samples = base_figures(options.base), Samples()
    tables = [path for path in options.traces if path.endswith(".csv")]
    if tables:
        if len(tables) < len(options.traces):
            parser.error("traces and tables of steps: each makes a file of its own")
        found = Steps(base, options.base, [row for path in tables for row in read_rows(path)])
        return tell(found, found.lines, options)
    for path in options.traces:
        add_trace(samples, path, options.devices_per_node)
    if samples.unowned:
        print(f"note: {samples.unowned} of {number_of(samples.kernels, 'kernel')}, {samples.unowned_seconds:.3g} s, "
              "belong to no operator in their trace (CUDA graphs, another thread's) and don't count", file=sys.stderr)
    calibration = Calibration(base, samples)
    return tell(calibration, report(calibration, base, options.base, samples), options)


def tell(calibration, lines, options):
    """Writes the device file, or prints it."""
    text = device_file(calibration, lines, options.base, name_of(options.output or "measured"))
    if options.output not in (None, "-"):
        write(options.output, text)
        print("\n".join(lines + [f"--set device=@{options.output} counts with it"]))
    else:
        print(text, end="")
    return 0
