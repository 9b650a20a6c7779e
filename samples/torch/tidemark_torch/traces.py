"""What torch.profiler saw, as times of ops by what they do: from Chrome traces (export_chrome_trace) with shapes
(record_shapes=True). Needs no PyTorch.

An operator is an event of the category cpu_op. On a GPU its time is that of the kernels that name it by their
"External id", on a processor its own; operators lie in each other as their events do. From outside, the first one that
WORK knows has all the time of what lies in it. Collectives are kernels that say what they are, or Gloo's annotations.
"""
import collections
import gzip
import json
import math
import os
import re
import zlib

from .errors import CaptureError

FORMATS = ["fp64", "fp32", "fp16", "bf16", "fp8"]
BITS = {"float": 32, "float32": 32, "double": 64, "float64": 64, "half": 16, "float16": 16, "bfloat16": 16,
        "float8_e4m3fn": 8, "float8_e5m2": 8, "long int": 64, "long": 64, "long long": 64, "int64": 64, "int": 32,
        "int32": 32, "short": 16, "int16": 16, "signed char": 8, "char": 8, "int8": 8, "unsigned char": 8, "byte": 8,
        "uint8": 8, "bool": 8, "complex<float>": 64, "complex<double>": 128}
FORMAT = {"double": 0, "float64": 0, "float": 1, "float32": 1, "half": 2, "float16": 2, "bfloat16": 3,
          "float8_e4m3fn": 4, "float8_e5m2": 4}
MATMUL, ATTENTION, COPY, FUSED, EAGER = range(5)
CLASSES = ["matmuls and convolutions", "attention in one kernel", "copies and casts", "fused kernels", "other ops"]
LARGEST = 1 << 60           # bytes and extents above it are no tensor's
MOST_BYTES = 4 << 30        # of a trace

# Letters are extents, as in einsum; "*" is an operand of any shape. Operands behind these may follow.
CONTRACTIONS = {
    "mm": "mk,kn->mn", "bmm": "bmk,bkn->bmn", "addmm": "*,mk,kn->mn", "baddbmm": "*,bmk,bkn->bmn",
    "addbmm": "*,bmk,bkn->mn", "matmul": "...mk,...kn->...mn", "linear": "...k,nk->...n", "mv": "mk,k->m",
    "addmv": "*,mk,k->m", "dot": "k,k->", "vdot": "k,k->", "_scaled_mm": "mk,kn->mn",
    "_cdist_forward": "...nk,...mk->...nm"}
# Their result has the shape that all operands have together; in place, too.
ELEMENTWISE = set("""
    add sub rsub neg mul div where masked_fill maximum minimum addcmul addcdiv lerp relu sigmoid tanh exp exp2
    expm1 sqrt rsqrt reciprocal gelu silu mish hardtanh hardswish hardsigmoid elu leaky_relu softplus celu
    softshrink hardshrink threshold clamp clamp_min clamp_max log log1p log2 log10 logit abs sign sgn square erf
    erfc erfinv sin cos tan sinh cosh asin acos atan asinh acosh atanh atan2 hypot pow floor ceil round trunc frac
    remainder fmod floor_divide log_sigmoid_forward logaddexp logaddexp2 xlogy fmax fmin copysign nan_to_num lgamma
    digamma sinc isnan isinf isneginf isposinf signbit eq ne lt le gt ge equal logical_and logical_or logical_xor
    logical_not bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift complex polar
    angle conj_physical _conj_physical _prelu_kernel native_dropout dropout _fused_dropout rrelu_with_noise
    bernoulli uniform normal exponential random fill zero ones_like zeros_like empty_like full_like rand_like
    randn_like randint_like copy resize resize_as _masked_scale _local_scalar_dense
    _amp_foreach_non_finite_check_and_unscale native_dropout_backward threshold_backward sigmoid_backward
    tanh_backward gelu_backward silu_backward mish_backward hardtanh_backward hardswish_backward
    hardsigmoid_backward elu_backward leaky_relu_backward softplus_backward log_sigmoid_backward logit_backward
    softshrink_backward hardshrink_backward _prelu_kernel_backward rrelu_with_noise_backward""".split())
# Their first result is as large as their largest operand.
LIKE_LARGEST = set("""
    _softmax _safe_softmax _log_softmax _softmax_backward_data _log_softmax_backward_data
    native_layer_norm_backward _fused_rms_norm_backward native_group_norm_backward native_batch_norm
    native_batch_norm_backward batch_norm_backward _native_batch_norm_legit _native_batch_norm_legit_functional
    _native_batch_norm_legit_no_training _batch_norm_with_update cudnn_batch_norm cudnn_batch_norm_backward
    miopen_batch_norm miopen_batch_norm_backward glu_backward nll_loss_backward nll_loss2d_backward
    mse_loss_backward smooth_l1_loss_backward huber_loss_backward binary_cross_entropy_backward
    binary_cross_entropy_with_logits_backward scatter scatter_add scatter_reduce index_add index_fill index_copy
    cumsum cumprod logcumsumexp tril triu max_pool2d_with_indices_backward max_pool3d_with_indices_backward
    avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward
    adaptive_max_pool2d_backward adaptive_max_pool3d_backward""".split())
# Their result is one number.
LOSSES = {"mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
          "soft_margin_loss", "cross_entropy_loss"}
ATTENTIONS = re.compile(r"_scaled_dot_product_(flash|efficient|cudnn|fused)_attention(_overrideable|_for_cpu)?")
COLLECTIVES = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter",
               "alltoall": "all_to_all"}

# What an op does; what a collective does, near: how many of its members are in one node.
Work = collections.namedtuple("Work", "kind format flops bytes")
Message = collections.namedtuple("Message", "near size kind bytes")


class Samples:
    """Seconds of ops by Work, of collectives by Message, and what several traces say of their device."""

    def __init__(self):
        self.ops, self.messages = collections.defaultdict(list), collections.defaultdict(list)
        self.device, self.memory, self.traces = None, 0, 0
        self.kernels = self.unowned = self.others = self.collectives = 0
        self.unowned_seconds = self.other_seconds = 0.0


class Op:
    """An operator in a trace."""

    def __init__(self, event, name, waits):
        arguments = event.get("args")
        self.arguments = arguments if isinstance(arguments, dict) else {}
        self.name, self.waits, self.parent, self.seconds, self.known = name, waits, None, 0.0, False
        self.start, self.lasts = number(event.get("ts")), max(0.0, number(event.get("dur")))
        self.id = external_id(self.arguments)
        self.thread = str(event.get("pid")), str(event.get("tid"))
        self.shaped, self.operands = operands_of(self.arguments)


def number(value):
    """A finite number, else 0."""
    return float(value) if type(value) in (int, float) and abs(value) < LARGEST else 0.0


def count(value):
    """A positive whole number that a trace may have, else 0."""
    return value if type(value) is int and 0 < value <= LARGEST else 0


def external_id(arguments):
    """What ties kernels to their op; 0: nothing."""
    value = arguments.get("External id", arguments.get("external id"))
    return value if type(value) is int else 0


def dtype_of(word):
    """"c10::BFloat16", "Float", "torch.float32" as BITS has them; None: no tensor's."""
    word = word.removeprefix("c10::").removeprefix("torch.").lower() if isinstance(word, str) else ""
    return word if word in BITS else None


def operands_of(arguments):
    """Whether the shapes of all tensors are known, and [(shape, dtype)] of these."""
    shapes = arguments.get("Input Dims", arguments.get("Input dims"))
    types = arguments.get("Input type", arguments.get("Input Type"))
    if not isinstance(shapes, list) or not isinstance(types, list) or len(shapes) != len(types) or not shapes:
        return False, []
    shaped, operands = "TensorList" not in types, []
    for shape, word in zip(shapes, types):
        dtype = dtype_of(word)
        if dtype and isinstance(shape, list) and all(type(n) is int and 0 <= n <= LARGEST for n in shape):
            operands.append((shape, dtype))
        elif dtype:
            shaped = False
    return shaped, operands


def bytes_of(shape, dtype):
    """Of a tensor."""
    return min(LARGEST, math.prod(shape) * BITS[dtype] // 8)


# ---- what an op does -----------------------------------------------------------------------------

def contraction(formula, shapes):
    """The product of all extents, and the result's shape; None where shapes don't fit the letters."""
    operands, result = formula.split("->")
    sizes, batch = {}, []
    for letters, shape in zip(operands.split(","), shapes):
        if letters == "*":
            continue
        plain = letters.removeprefix("...")
        leading = len(shape) - len(plain)
        if leading < 0 or (leading and plain == letters):
            return None
        batch = broadcast([batch, shape[:leading]])
        if batch is None or any(sizes.setdefault(letter, size) != size for letter, size in zip(plain, shape[leading:])):
            return None
    if len(shapes) < len(operands.split(",")):
        return None
    lead = batch if result.startswith("...") else []
    return math.prod(lead) * math.prod(sizes.values()), lead + [sizes[letter] for letter in result.removeprefix("...")]


def broadcast(shapes):
    """The shape of an elementwise op's result, or None."""
    dims = max((len(shape) for shape in shapes), default=0)
    result = [1] * dims
    for shape in shapes:
        for i, size in enumerate(shape, dims - len(shape)):
            if size != 1 and result[i] not in (1, size):
                return None
            result[i] = size if result[i] == 1 else result[i]
    return result


def convolution_backward(shapes, said):
    """As result_of(): a product for each gradient that is asked for, of the data and of the weight."""
    gradient, data, weight = shapes[:3]
    said = said if isinstance(said, list) and len(said) > 10 else []
    transposed = str(said[7]) == "True" if said else weight[0] != gradient[1]
    products = re.findall("True|False", str(said[10]))[:2].count("True") if said else 2
    return MATMUL, 2 * products * math.prod(data if transposed else gradient) * math.prod(weight[1:]), data


def result_of(name, shapes, said):
    """Class, FLOPs and the first result's shape; None if these don't follow from operands' shapes. FLOPs of what is
    neither matmul nor attention are the elements of its largest tensor. said: its arguments that are no tensors."""
    if name in CONTRACTIONS:
        made = contraction(CONTRACTIONS[name], shapes)
        return made and (MATMUL, 2 * made[0], made[1])
    if name == "convolution_backward" and len(shapes) > 2 and min(map(len, shapes[:3])) > 2:
        return convolution_backward(shapes, said)
    if ATTENTIONS.fullmatch(name) and len(shapes) > 2 and [len(shape) for shape in shapes[:3]] == [4, 4, 4]:
        query, key, value = shapes[:3]
        return ATTENTION, 2 * math.prod(query[:3]) * key[2] * (query[3] + value[3]), query[:3] + value[3:]
    shape = None
    if name == "embedding" and len(shapes) == 2 and len(shapes[0]) == 2:
        shape = shapes[1] + shapes[0][1:]
    elif name == "gather" and len(shapes) == 2:
        shape = shapes[1]
    elif name in LOSSES:
        shape = []
    elif name in LIKE_LARGEST:
        shape = max(shapes, key=math.prod)
    elif name in ELEMENTWISE or name == "clone":
        shape = broadcast(shapes)
    return None if shape is None else (COPY if name == "clone" else EAGER, max(map(math.prod, shapes + [shape])), shape)


def work_of(op):
    """The Work of an op, or None: it isn't known, or touches no data; ops in it may."""
    if not op.shaped or not op.operands:
        return None
    moved = sum(bytes_of(*operand) for operand in op.operands)
    floats = [operand for operand in op.operands if operand[1] in FORMAT]
    form = FORMAT[max(floats, key=lambda operand: bytes_of(*operand))[1]] if floats else 1
    if op.name.startswith("triton_"):
        return Work(FUSED, form, 0, min(moved, LARGEST))
    if op.name == "aten::copy_" and len(op.operands) == 2:
        return Work(COPY, form, 0, min(moved, LARGEST))
    name = op.name.removeprefix("aten::")
    shapes, said = [shape for shape, _ in op.operands], op.arguments.get("Concrete Inputs")
    if name == op.name:
        return None
    made = result_of(name, shapes, said) or result_of(name.removesuffix("_"), shapes, said)
    if not made:
        return None
    kind, flops, shape = made
    moved -= bytes_of(*op.operands[0]) if name == "embedding" else 0     # of the table, the rows that it gives
    return Work(kind, form, min(flops, LARGEST), min(moved + bytes_of(shape, op.operands[0][1]), LARGEST))


# ---- collectives ---------------------------------------------------------------------------------

def near_members(ranks, size, cut, devices_per_node):
    """Members of a group in the node of its first one; 0: that doesn't divide the group. Where not all ranks are there,
    those that are must leave that node, else they don't tell."""
    near = sum(rank // devices_per_node == ranks[0] // devices_per_node for rank in ranks)
    if cut and near == len(ranks):
        near = min(size, devices_per_node)
    return near if near and size % near == 0 else 0


def ranks_of(said, size):
    """The members that a trace names, and whether others are missing: "[0, 8, ..., 504]" of large groups."""
    text = said if isinstance(said, str) else str(said) if isinstance(said, list) else ""
    head, dots, _ = text.partition("...")
    ranks = [int(digits) for digits in re.findall("[0-9]{1,9}", head)]
    whole = len(ranks) < size if dots else len(ranks) == size
    return (ranks, bool(dots)) if whole else ([], True)


def add_message(samples, kind, sent, received, size, seconds, near):
    """One more collective."""
    kind = next((word for begins, word in COLLECTIVES.items()
                 if re.sub("[^a-z]", "", str(kind).lower()).startswith(begins)), None)
    if not kind or size < 2 or sent <= 0 or received <= 0 or seconds <= 0:
        return
    samples.collectives += 1
    if near > 0:
        moved = {"all_gather": max(sent * size, received), "reduce_scatter": max(received * size, sent),
                 "all_to_all": max(sent, received) * size, "all_reduce": sent}[kind]
        samples.messages[Message(near, size, kind, min(moved, LARGEST))].append(seconds)


def add_nccl(samples, event, arguments, devices_per_node):
    """A kernel that says which collective it is."""
    size, bits = count(arguments.get("Group size")), BITS.get(dtype_of(arguments.get("dtype")), 0)
    ranks, cut = ranks_of(arguments.get("Process Group Ranks"), size)
    add_message(samples, arguments["Collective name"], count(arguments.get("In msg nelems")) * bits // 8,
                count(arguments.get("Out msg nelems")) * bits // 8, size, number(event.get("dur")) * 1e-6,
                near_members(ranks, size, cut, devices_per_node) if size > 1 else 0)


def add_gloo(samples, op, group, devices_per_node):
    """An annotation: it has the operand alone."""
    if len(op.operands) == 1 and group > 1:
        kind, moved = op.name.removeprefix("gloo:"), bytes_of(*op.operands[0])
        received = moved * group if "gather" in kind else moved // group if "scatter" in kind else moved
        near = near_members([], group, True, devices_per_node)
        add_message(samples, kind, moved, received, group, op.lasts * 1e-6, near)


# ---- a file --------------------------------------------------------------------------------------

def load(path):
    """A trace's JSON, gz or not. Raises CaptureError with file and line."""
    try:
        with open(path, "rb") as file:
            size, packed = os.fstat(file.fileno()).st_size, file.peek(2)[:2] == b"\x1f\x8b"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            most = min(MOST_BYTES, 250 * size + (1 << 20)) if packed and size else MOST_BYTES
            text = stream.read(1 << 16)
            if not text.lstrip().startswith((b"{", b"[")):
                raise CaptureError(f"{path}:1: not a trace of torch.profiler: expected an object with traceEvents")
            text += stream.read(most)
        if len(text) > most:
            raise CaptureError(f"{path}: it unpacks to more than {most >> 20} MiB, as no trace does")
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CaptureError(f"{path}:{error.lineno}: not a trace of torch.profiler: {error.msg}") from None
    except (EOFError, RecursionError, ValueError, gzip.BadGzipFile, zlib.error) as error:
        raise CaptureError(f"{path}: not a trace of torch.profiler: {error}") from None


def group_of(said):
    """Members of every process group; 0 where they differ or aren't said."""
    said = said if isinstance(said, dict) else {}
    groups = said.get("pg_config") or [{"pg_size": said.get("world_size")}]
    groups = groups if isinstance(groups, list) else []
    sizes = {count(group.get("pg_size")) for group in groups if isinstance(group, dict)}
    return sizes.pop() if len(sizes) == 1 else 0


def nest(ops):
    """Sorts ops so that each comes behind the one that it lies in, its parent."""
    ops.sort(key=lambda op: (op.thread, op.start, -op.lasts, op.id))
    inner = None
    for op in ops:
        while inner and (inner.thread != op.thread or inner.start + inner.lasts <= op.start):
            inner = inner.parent
        op.parent, inner = inner, op


def give_times(samples, ops, kernels, gpu):
    """Seconds of ops: of their kernels and those of ops in them, or their own."""
    owner = {op.id: op for op in ops if op.id}
    for op in ops:
        op.seconds = 0.0 if gpu else op.lasts * 1e-6
    for number_of_op, seconds in kernels:
        if number_of_op in owner:
            owner[number_of_op].seconds += seconds
        else:
            samples.unowned, samples.unowned_seconds = samples.unowned + 1, samples.unowned_seconds + seconds
    for op in reversed(ops if gpu else []):
        if op.parent:
            op.parent.seconds += op.seconds


def add_ops(samples, ops):
    """Known ops by what they do; how many aren't known, nor anything in them."""
    for op in ops:
        op.known = op.waits or bool(op.parent and op.parent.known)
        work = None if op.known or op.seconds <= 0 else work_of(op)
        if work:
            op.known = True
            samples.ops[work].append(op.seconds)
    for op in reversed(ops):
        if op.parent:
            op.parent.known |= op.known
    strangers = [op.seconds for op in ops if not op.known and op.seconds > 0 and not op.parent]
    samples.others, samples.other_seconds = samples.others + len(strangers), samples.other_seconds + sum(strangers)


def add_trace(samples, path, devices_per_node):
    """Adds a file's ops and collectives. Raises CaptureError if it isn't a trace, or is of another device."""
    file = load(path)
    file = file if isinstance(file, dict) else {"traceEvents": file}
    events, devices = file.get("traceEvents"), file.get("deviceProperties")
    if not isinstance(events, list):
        raise CaptureError(f"{path}: not a trace of torch.profiler: it has no list traceEvents")
    device = devices[0] if isinstance(devices, list) and devices and isinstance(devices[0], dict) else {}
    group, ops, kernels, before = group_of(file.get("distributedInfo")), [], [], samples.collectives
    gpu = 0
    for event in events:
        event = event if isinstance(event, dict) else {}
        kind, name, arguments = event.get("cat"), event.get("name"), event.get("args")
        arguments = arguments if isinstance(arguments, dict) else {}
        if event.get("ph") != "X" or not isinstance(name, str):
            continue
        if kind in ("kernel", "gpu_memcpy", "gpu_memset"):
            gpu += 1
            if isinstance(arguments.get("Collective name"), str):
                add_nccl(samples, event, arguments, devices_per_node)
            else:
                kernels.append((external_id(arguments), max(0.0, number(event.get("dur"))) * 1e-6))
        elif kind == "cpu_op" or (kind == "user_annotation" and name.startswith("gloo:")):
            ops.append(Op(event, name, kind != "cpu_op"))
            if kind != "cpu_op":
                add_gloo(samples, ops[-1], group, devices_per_node)
    if not ops and samples.collectives == before:
        raise CaptureError(f"{path}: no operators and no collectives are in that trace")
    if not any(op.shaped and op.operands for op in ops) and samples.collectives == before:
        raise CaptureError(f"{path}: the trace has no shapes of operands: profile with record_shapes=True")
    called = str(device.get("name", "a GPU without a name"))[:99] if gpu else "a processor"
    called = "".join(letter if letter.isprintable() else " " for letter in called)
    if samples.device not in (None, called):
        raise CaptureError(f'{path}: it is of another device, "{called}", than those before: "{samples.device}"')
    samples.device, samples.memory = called, count(device.get("totalGlobalMem")) if gpu else 0
    samples.traces, samples.kernels = samples.traces + 1, samples.kernels + gpu
    nest(ops)
    give_times(samples, ops, kernels, gpu > 0)
    add_ops(samples, ops)
