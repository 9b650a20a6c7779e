"""TensorFlow Lite models: a flatbuffer with the operators of a forward pass in their order, shapes and dtypes.

Model: operator_codes, subgraphs, buffers. SubGraph: tensors, inputs, outputs, operators. A tensor whose buffer has bytes is
a parameter. The first subgraph is taken, --graph N another one.
"""
import struct

from draft import BITS, BYTES_MOST, DIMS_MOST, Bad, Draft, content, unique

DTYPES = ["f32", "f16", "i32", "u8", "i64", "opaque", "bool", "i16", "c64", "i8", "f64", "c128", "u64", "opaque",
          "opaque",
          "u32", "u16", "i4", "bf16"]
OPS = ("ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR "
       "FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM "
       "MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS "
       "SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND "
       "TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT "
       "LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL "
       "LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW "
       "ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV "
       "REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS "
       "SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG "
       "ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM "
       "BATCH_MATMUL").split()
VIEWS = ("reshape", "squeeze", "expand_dims")
MOST = 1 << 20   # tensors or operators


class Table:
    """A table of the flatbuffer: its fields by their numbers."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        back = self.number("<i", at)
        self.fields = at - back
        self.size = self.number("<H", self.fields)

    def number(self, form, at):
        """A number at a place; Bad where the file ends before it."""
        if not 0 <= at <= len(self.data) - struct.calcsize(form):
            raise Bad("it is truncated or broken")
        return struct.unpack_from(form, self.data, at)[0]

    def field(self, index):
        """Where a field lies; 0 where it has its default."""
        at = 4 + 2 * index
        offset = self.number("<H", self.fields + at) if at < self.size else 0
        return self.at + offset if offset else 0

    def scalar(self, index, form, normal=0):
        """A number."""
        at = self.field(index)
        return self.number(form, at) if at else normal

    def vector(self, index, form="<I"):
        """A vector's numbers; of offsets their places."""
        at = self.field(index)
        if not at:
            return []
        at += self.number("<I", at)
        count, size = self.number("<I", at), struct.calcsize(form)
        if count > MOST or at + 4 + count * size > len(self.data):
            raise Bad("a vector is longer than the file")
        return [self.number(form, at + 4 + i * size) for i in range(count)]

    def tables(self, index):
        """A vector of tables."""
        at = self.field(index)
        if not at:
            return []
        first = at + self.number("<I", at) + 4
        return [Table(self.data, first + 4 * i + offset) for i, offset in enumerate(self.vector(index))]

    def text(self, index):
        """A text."""
        at = self.field(index)
        if not at:
            return ""
        at += self.number("<I", at)
        count = self.number("<I", at)
        if count > 4096 or at + 4 + count > len(self.data):
            raise Bad("a name is longer than the file")
        return str(self.data[at + 4:at + 4 + count], "utf-8", "replace").replace("\0", "")

    def length(self, index):
        """How long a vector is."""
        at = self.field(index)
        return self.number("<I", at + self.number("<I", at)) if at else 0


def op_name(code):
    """Its word; a custom operator's own."""
    number = max(code.scalar(0, "<b"), code.scalar(3, "<i"))
    if number == OPS.index("CUSTOM"):
        return "custom." + (code.text(1) or "op")
    return OPS[number] if 0 <= number < len(OPS) else "op%d" % number


class Reading:
    """A subgraph on its way."""

    def __init__(self, graph, model):
        self.draft, self.names, self.made = Draft(), [], {}
        buffers = model.tables(4)
        full = [buffer.length(0) > 0 or buffer.scalar(1, "<Q") > 1 for buffer in buffers]
        inputs, outputs = set(graph.vector(1, "<i")), set(graph.vector(2, "<i"))
        self.tensors, self.missing = graph.tables(0), 0
        for i, tensor in enumerate(self.tensors):
            place = tensor.scalar(2, "<I")
            kind = "input" if i in inputs else "parameter" if place < len(full) and full[place] else "buffer" if tensor.scalar(
                5, "<B") else "output" if i in outputs else "activation"
            self.names.append(self.add(tensor, kind, i))

    def add(self, tensor, kind, index):
        """A tensor; -1 in its signature is an extent that the file doesn't fix."""
        shape, dtype = tensor.vector(0, "<i"), tensor.scalar(1, "<b")
        dtype = DTYPES[dtype] if 0 <= dtype < len(DTYPES) else "opaque"
        known = len(shape) <= DIMS_MOST and all(one >= 0 for one in shape)
        count = 1
        for one in shape if known else ():
            count *= one
        if count * BITS[dtype] > 8 * BYTES_MOST:
            raise Bad("a tensor has more than 2^60 bytes")
        self.missing += not known or dtype == "opaque"
        name = unique(tensor.text(3) or "t%d" % index, self.draft.tensors)
        return self.draft.tensor(name, (count * BITS[dtype] + 7) // 8 if known else 0, kind, dtype=dtype,
                                 shape=shape if known else None)

    def operator(self, operator, codes):
        """One op, whose missing operands are -1."""
        code = operator.scalar(0, "<I")
        if code >= len(codes):
            raise Bad("an operator without a code")
        name, places = codes[code].lower(), (operator.vector(1, "<i"), operator.vector(2, "<i"))
        if any(one >= len(self.names) for place in places for one in place):
            raise Bad(f"{name} names a tensor that isn't there")
        ins, outs = ([self.names[one] for one in place if one >= 0] for place in places)
        if not outs or any(one in self.made for one in outs):
            raise Bad(f"{name} makes nothing, or what another one makes")
        op = self.draft.op(unique(outs[0], self.draft.ops), "tflite." + name, phase="forward")
        op["in"], op["out"] = list(dict.fromkeys(ins)), list(dict.fromkeys(outs))
        self.made.update((one, op) for one in outs)
        if name in VIEWS and ins and self.draft.tensors[outs[0]]["kind"] == "activation":
            root = self.draft.tensors[ins[0]]
            self.draft.tensors[outs[0]]["alias"] = root.get("alias") or ins[0]


def read(stream, options):
    """The graph of a file, in lines."""
    data = content(stream)
    if len(data) < 8 or data[4:8] != b"TFL3":
        raise Bad("it doesn't begin as a TensorFlow Lite model does")
    model = Table(data, struct.unpack_from("<I", data)[0])
    graphs, number = model.tables(2), options.graph or 1
    if not 1 <= number <= len(graphs):
        raise Bad(f"--graph {number}: it has {len(graphs)} graphs")
    reading = Reading(graphs[number - 1], model)
    codes = [op_name(code) for code in model.tables(1)]
    for operator in graphs[number - 1].tables(3):
        reading.operator(operator, codes)
    assumed = ["an operator's workspace is not in the file"]
    return reading.draft.records(model.text(3)[:80] or "tflite",
                                 {"format": "TensorFlow Lite model", "missing": reading.missing,
                                                                  "assumed": assumed})
