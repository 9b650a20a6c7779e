"""The layers that models are made of, as ops and tensors of a forward graph: what PyTorch runs with fused kernels."""
import contextlib
from math import prod

from draft import BITS, BYTES_MOST, Bad, Draft


class Net:
    """A forward pass on its way. Tensors are known by name; shapes, dtypes and roots (of views) stand beside."""

    def __init__(self, batch, seq, asked=None):
        self.draft, self.batch, self.seq, self.path, self.count = Draft(), batch, seq, [], 0
        self.capacity = 100   # of experts, in percent of their fair share
        asked = asked or {}   # kernels: fused or eager; attention: flash, in one kernel, or math; dropout: 0 or 1
        self.fused, self.flash = asked.get("kernels") == "fused", asked.get("attention", "flash") == "flash"
        self.eager_loss, self.drops = asked.get("loss") == "eager", asked.get("dropout") != "0"
        self.float = asked.get("dtype", "f32")   # of parameters; what the library computes in fp32 is cast
        self.causal, self.share, self.dropped = True, 0, False   # share: of attention's weights that dropout makes 0
        self.narrow_loss = False   # of logits that the library doesn't cast
        self.shape, self.dtype, self.root, self.shared = {}, {}, {}, {}   # shared: keys and values, by their shapes
        self.by_heads = set()   # what lies in memory head by head, not token by token
        self.sees, self.image = None, 0   # what puts tokens of images in their places; how many a sample has
        self.layer = 0, 1   # the one that is made, and how many there are

    @contextlib.contextmanager
    def inside(self, name):
        """A module."""
        self.path.append(str(name))
        yield
        self.path.pop()

    def tensor(self, name, shape, kind, dtype="f32", alias=None):
        """A new tensor; a view has its root's kind."""
        size = (prod(shape) * BITS[dtype] + 7) // 8
        if size > BYTES_MOST or any(extent < 1 for extent in shape):
            raise Bad(f"{name} would have the shape {list(shape)}: sizes are out of range")
        root = self.root.get(alias, alias)
        kind = self.draft.tensors[root]["kind"] if root else kind
        self.draft.tensor(name, size, kind, dtype=dtype, shape=list(shape), alias=root)
        self.shape[name], self.dtype[name] = tuple(shape), dtype
        if root:
            self.root[name] = root
        return name

    def given(self, name, *shape, kind="parameter", dtype=None):
        """What is there from the start, of the current module; of equal names one."""
        name = ".".join(self.path + [name])
        return name if name in self.shape else self.tensor(name, shape, kind, dtype or self.float)

    def op(self, kind, ins, *shapes, dtypes=(), view=False):
        """An op with results of those shapes; the first one."""
        name = "%s_%d" % (kind.split(".")[1], self.count)
        self.count += 1
        record = self.draft.op(name, kind, phase="forward", mod=".".join(self.path))
        record["in"] = [one for one in ins if one]
        for i, shape in enumerate(shapes):
            dtype = dtypes[i] if i < len(dtypes) else self.dtype[record["in"][0]]
            record["out"].append(self.tensor(name + (".%d" % i if i else ""), shape, "activation", dtype,
                                             record["in"][0] if view else None))
        return record["out"][0]

    # ---- views and maps ----

    def view(self, x, *shape):
        """The same elements in another shape."""
        return x if self.shape[x] == shape else self.op("aten.view.default", [x], shape, view=True)

    def part(self, x, width):
        """Some of the last dim."""
        return self.op("aten.slice.Tensor", [x], self.shape[x][:-1] + (width,), view=True)

    def parts(self, x, *widths):
        """All of the last dim, piece by piece."""
        return [self.part(x, width) for width in widths]

    def join(self, *xs):
        """Joined along the last dim."""
        width = sum(self.shape[x][-1] for x in xs)
        return self.op("aten.cat.default", xs, self.shape[xs[0]][:-1] + (width,))

    def map(self, kind, x):
        """One element of each."""
        return self.op("aten." + kind, [x], self.shape[x])

    def cast(self, x, dtype="f32"):
        """The same numbers in another format."""
        return x if self.dtype[x] == dtype else self.op("aten._to_copy.default", [x], self.shape[x], dtypes=(dtype,))

    def act(self, kind, x):
        """A non-linearity; relu2 is a relu squared, gelu_new is written out."""
        if kind == "relu2":
            return self.map("pow.Tensor_Scalar", self.map("relu.default", x))
        if kind in ("gelu_new", "gelu_fast"):   # 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
            half, cube = self.map("mul.Tensor", x), self.map("mul.Tensor", self.map("pow.Tensor_Scalar", x))
            inner = self.map("tanh.default", self.map("mul.Tensor", self.add(x, cube)))
            return self.times(half, self.map("add.Tensor", inner))
        kind = {"swish": "silu"}.get(kind, kind)
        return self.map((kind if kind in ("silu", "relu", "tanh", "sigmoid") else "gelu") + ".default", x)

    def two(self, kind, a, b):
        """An element of the wider one for each, b broadcast."""
        return self.op("aten." + kind + ".Tensor", [a, b],
                       max(self.shape[a], self.shape[b], key=lambda s: (len(s), prod(s))))

    def add(self, a, b):
        """Their sum."""
        return self.two("add", a, b)

    def times(self, a, b):
        """Their product."""
        return self.two("mul", a, b)

    def drop(self, x, share):
        """Some elements made 0, where there is such a share of them."""
        self.dropped = self.dropped or share > 0
        return self.op("aten.native_dropout.default", [x], self.shape[x], self.shape[x],
                       dtypes=(self.dtype[x], "bool")) \
            if share and self.drops else x

    def heads(self, x, heads):
        """[b, s, heads * d] -> [b, heads, s, d]."""
        b, s, width = self.shape[x]
        x = self.view(x, b, s, heads, width // heads)
        return self.op("aten.permute.default", [x], (b, heads, s, width // heads), view=True)

    # ---- products, norms, tables ----

    def linear(self, name, x, out, bias=False, weight=None):
        """x by a weight [out, in]."""
        with self.inside(name):
            shape = self.shape[x]
            weight = weight or self.given("weight", out, shape[-1])
            bias = self.given("bias", out) if bias else None
            turned = self.op("aten.t.default", [weight], (shape[-1], out), view=True)
            rows = self.view(x, prod(shape[:-1]), shape[-1])
            made = self.op("aten.addmm.default" if bias else "aten.mm.default", [bias, rows, turned],
                           (prod(shape[:-1]), out))
            return self.view(made, *shape[:-1], out)

    def norm(self, name, x, kind="rms", width=None):
        """An RMSNorm, cast behind its weights ("late"), one whose root alone is of fp32 ("t5") or whose weights are
        around 1 ("gemma"), a LayerNorm ("layer"), one without a bias ("torch"), which some write out ("scale"), or
        without parameters ("none")."""
        with self.inside(name):
            shape, few = self.shape[x], self.shape[x][:-1] + (1,)
            weight = self.given("weight", width or shape[-1]) if kind != "none" else None
            if kind in ("rms", "late", "gemma", "t5") and self.fused:
                return self.op("aten._fused_rms_norm.default", [x, weight], shape, few, dtypes=(self.float, "f32"))
            if kind in ("rms", "late", "gemma", "t5", "scale") and not self.fused:
                return self.norm_written_out(x, weight, kind)
            bias = self.given("bias", shape[-1]) if kind == "layer" else None
            x = self.cast(x) if kind == "none" and not self.fused else x
            made = self.op("aten.native_layer_norm.default", [x, weight, bias], shape, few, few, dtypes=(
                self.dtype[x], "f32", "f32"))
            return self.cast(made, self.float)

    def norm_written_out(self, x, weight, kind):
        """As the library's classes have it, a kernel for each of its ops."""
        few, narrow, x = self.shape[x][:-1] + (1,), x, self.cast(x)
        if kind == "scale":
            mean = self.op("aten.mean.dim", [x], few)
            square = self.map("pow.Tensor_Scalar", self.op("aten.sub.Tensor", [x, mean], self.shape[x]))
        else:
            square = self.map("pow.Tensor_Scalar", x)
        root = self.map("rsqrt.default", self.map("add.Tensor", self.op("aten.mean.dim", [square], few)))
        x = self.op("aten.sub.Tensor", [x, mean], self.shape[x]) if kind == "scale" else x
        made = self.times(root, narrow) if kind == "t5" else self.times(x, root)
        if kind == "gemma":
            weight = self.map("add.Tensor", self.cast(weight))
        if kind in ("rms", "t5"):   # the others multiply in fp32
            return self.times(weight, self.cast(made, self.float))
        return self.cast(self.times(made, self.cast(weight) if kind == "scale" else weight), self.float)

    def table(self, name, rows, width, ids):
        """The rows that ids name."""
        with self.inside(name):
            weight = self.given("weight", rows, width)
            return self.op("aten.embedding.default", [weight, ids], self.shape[ids] + (width,))

    def gated(self, name, x, inner, bias=False, act="silu", norm=None, packed=False):
        """down(act(gate x) up x). packed: the library has one product of both."""
        with self.inside(name):
            width = self.shape[x][-1]
            if packed and not self.fused:
                gate, up = self.parts(self.linear("gate_up_proj", x, 2 * inner, bias), inner, inner)
            else:
                gate, up = self.linear("gate_proj", x, inner, bias), self.linear("up_proj", x, inner, bias)
            if self.fused and (act in ("silu", "swish") or act.startswith("gelu")):
                mixed = self.op("tidemark.swiglu" if act[0] == "s" else "tidemark.geglu", [gate, up], self.shape[up])
            else:
                mixed = self.times(self.act("gelu" if act.startswith("gelu") else act, gate), up)
            return self.linear("down_proj", self.norm(norm, mixed) if norm else mixed, width, bias)

    def plain(self, name, x, inner, bias=False, act="gelu"):
        """fc2(act(fc1 x))."""
        with self.inside(name):
            made = self.act(act, self.linear("fc1", x, inner, bias))
            return self.linear("fc2", made, self.shape[x][-1], bias)

    # ---- experts ----

    def experts(self, x, count, chosen, inner, sigmoid=False, act="silu", gated=True, offset=False, biases=False):
        """A router and its experts, each with its fair share of the tokens."""
        if not 1 <= chosen <= count:
            raise Bad(f"a token goes to {chosen} of {count} experts: expected 1 or more of them")
        width, tokens = self.shape[x][-1], self.batch * self.seq
        slots = self.batch * -(-self.seq * chosen * self.capacity // (100 * count))
        flat = self.view(x, tokens, width)
        scores = self.linear("gate", flat, count, biases)
        scores = self.map("sigmoid.default" if sigmoid else "_softmax.default",
                          scores if self.fused else self.cast(scores))
        picks = self.add(scores, self.given("gate.e_score_correction_bias", 1, count)) if offset else scores
        stack = self.op("tidemark.dispatch_scored", [flat, picks], (count, slots, width), (count, slots, 1),
                        dtypes=(self.dtype[flat], self.dtype[scores]))
        shares = self.draft.ops[stack]["out"][1]
        with self.inside("experts"):
            def product(name, stack, out):
                weight = self.given(name, count, self.shape[stack][2], out)
                made = self.op("tidemark.grouped_mm", [stack, weight], (count, slots, out))
                return self.add(made, self.given(name + "_bias", count, 1, out)) if biases else made
            if gated and not self.fused:   # one stack of both
                gate, up = self.parts(product("gate_up_proj", stack, 2 * inner), inner, inner)
            else:
                gate = product("gate_proj", stack, inner) if gated else None
                up = product("up_proj", stack, inner)
            if gated and self.fused:
                mixed = self.op("tidemark.swiglu_scaled", [gate, up, shares], self.shape[up])
            elif gated:
                mixed = self.times(self.act(act, gate), up)
            else:
                mixed = self.times(self.act(act, up), shares) if self.fused else self.act(act, up)
            stack = product("down_proj", mixed, width)
            if not self.fused:   # what they make is weighed behind them, in fp32
                stack = self.op("aten.mul.Tensor", [stack, shares], self.shape[stack], dtypes=("f32",))
        made = self.op("tidemark.combine_plain", [stack, scores], (tokens, width))
        return self.view(self.cast(made, self.float), *self.shape[x])

    # ---- attention ----

    def turn(self, x, width, joins=False):
        """Rotary positions of the first part of each head [b, heads, s, d]; joins: with what is left, if any."""
        rest = self.shape[x][3] - width
        kept = self.part(x, rest) if rest else None
        x = self.part(x, width) if rest else x
        path, self.path = self.path, []
        seq = self.shape[x][2]
        own = width if seq == self.seq else f"{width}.{seq}"
        waves = [self.given(f"rotary.{name}{own}", 1, 1, seq, width, kind="buffer") for name in ("cos", "sin")]
        self.path = path
        halves = self.parts(x, width // 2, width - width // 2)
        turned = self.join(self.map("neg.default", halves[1]), halves[0])
        x = self.add(self.times(x, waves[0]), self.times(turned, waves[1]))
        if not rest and (self.fused or not joins):
            return x
        x = self.join(*(one for one in (x, kept) if one))
        self.by_heads.add(x)
        return x

    def seen(self, b, columns):
        """What each token sees: [b, 1, s, columns], one for all layers."""
        path, self.path = self.path, []
        seen = self.given("mask", b, 1, self.seq, columns, kind="buffer", dtype="bool")
        self.path = path
        return seen

    def masked(self, q, k, v, mask=None):
        """Attention in the kernel that takes a mask, which the library makes in every layer and autograd keeps."""
        b, heads, s, _ = self.shape[q]
        columns, width = self.shape[k][2], self.shape[v][3]
        mask = mask or self.op("aten.where.self", [self.seen(b, columns)], (b, 1, s, columns), dtypes=(self.float,))
        made = self.op("aten._scaled_dot_product_efficient_attention.default", [q, k, v, mask], (b, heads, s, width),
                       (b, heads, s), (), (), dtypes=(self.dtype[q], "f32", "i64", "i64"))
        made = self.op("aten.permute.default", [made], (b, s, heads, width), view=True)
        return self.view(made, b, s, heads * width)

    def attend(self, q, k, v, mask=None, scaled=True, capped=False):
        """Softmax attention, in one kernel or written out: [b, heads, s, d] -> [b, s, heads * d]. mask: what is
        added to the scores, which FlashAttention doesn't take."""
        b, heads, s, head = self.shape[q]
        columns, width = self.shape[k][2], self.shape[v][3]
        if mask and self.flash and not self.fused:
            return self.masked(q, k, v, mask)
        if not self.flash or mask or (capped and not self.fused):
            return self.written_out(q, k, v, mask, scaled, capped)
        made = self.op("aten._scaled_dot_product_flash_attention.default", [q, k, v], (b, heads, s, width),
                       (b, heads, s),
                       dtypes=(self.dtype[q], "f32"))
        if self.causal:   # the half that its mask hides isn't computed
            self.draft.ops[made]["flops"] = b * heads * s * columns * (head + width)
        made = self.op("aten.permute.default", [made], (b, s, heads, width), view=True)
        if q in self.by_heads and not self.fused:   # the kernel's result lies in memory as its queries do
            made = self.map("clone.default", made)
        return self.view(made, b, s, heads * width)

    def copies(self, x, heads):
        """Keys or values of every head of queries."""
        b, few, s, width = self.shape[x]
        if few == heads:
            return x
        x = self.op("aten.unsqueeze.default", [x], (b, few, 1, s, width), view=True)
        x = self.map("clone.default", self.op("aten.expand.default", [x], (b, few, heads // few, s, width), view=True))
        return self.view(x, b, heads, s, width)

    def written_out(self, q, k, v, mask, scaled, capped):
        """Attention as ops that keep the scores."""
        b, heads, s, head = self.shape[q]
        few = self.shape[k][1] < heads   # copies lie head by head in memory
        k, v = self.copies(k, heads), self.copies(v, heads)
        columns, width = self.shape[k][2], self.shape[v][3]

        def flat(x, copied=False):   # a view of a batch of one and of what lies head by head, else a copy
            return self.view(x if b == 1 or copied or x in self.by_heads else self.map("clone.default", x), b * heads,
                             *self.shape[x][2:])
        turned = self.op("aten.transpose.int", [k], (b, heads, head, columns), view=True)
        left, right = flat(q), flat(turned, few or k in self.by_heads)
        scores = self.view(self.op("aten.bmm.default", [left, right], (b * heads, s, columns)), b, heads, s, columns)
        scores = self.map("div.Tensor", scores) if scaled else scores
        if capped:
            scores = self.map("mul.Tensor", self.map("tanh.default", self.map("div.Tensor", scores)))
        scores = self.add(scores, mask) if mask else scores
        weights = self.map("_softmax.default", scores if self.fused else self.cast(scores))
        weights = self.drop(self.cast(weights, self.dtype[q]), self.share)
        weights = self.view(weights, b * heads, s, columns)
        made = self.view(self.op("aten.bmm.default", [weights, flat(v, few)], (b * heads, s, width)), b, heads, s,
                         width)
        made = self.op("aten.permute.default", [made], (b, s, heads, width), view=True)
        return self.view(self.map("clone.default", made), b, s, heads * width)

    # ---- recurrences, each one kernel ----

    def conv(self, x, width, bias=False):
        """A causal convolution of every channel along the sequence, with its silu in the same kernel: [b, s, c]."""
        channels = self.shape[x][-1]
        with self.inside("conv1d"):
            weight, bias = self.given("weight", channels, 1, width), self.given("bias", channels) if bias else None
            return self.op("tidemark.causal_conv", [x, weight, bias], self.shape[x])

    def delta(self, q, k, v, gate=None, beta=None):
        """Linear attention with a state for every head: q, k [b, s, h, d], v [b, s, h, w], gate and beta."""
        return self.op("tidemark.linear_attention", [q, k, v, gate, beta], self.shape[v])

    # ---- the end ----

    def loss(self, x, words, labels, table=None, bias=False, cap=False, kind="output"):
        """Logits, by a tied table or a product of its own, and their loss."""
        logits = self.linear("lm_head", x, words, bias, table)
        if cap:
            logits = self.map("mul.Tensor", self.map("tanh.default", self.map("div.Tensor", logits)))
        return self.entropy(self.view(logits, self.batch * self.seq, words), self.view(labels, self.batch * self.seq),
                            kind)

    def entropy(self, logits, labels, kind="output"):
        """The mean negative log-likelihood of labels under logits [rows, classes]."""
        if self.fused and not self.eager_loss:
            made = self.op("tidemark.cross_entropy", [logits, labels], (), dtypes=("f32",))
        else:
            made = self.map("_log_softmax.default", logits if self.narrow_loss else self.cast(logits))
            made = self.op("aten.nll_loss_forward.default", [made, labels], (), (),
                           dtypes=(self.dtype[made],) * 2)
        self.draft.tensors[made]["kind"] = kind
        return made
