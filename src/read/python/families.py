"""The config.json of Hugging Face models that are rarer than those built in, or new: the forward pass of each, with
the parameters of the library's class. Other sizes come as --dim=batch=N, --dim=seq=N and --dim=layers=N.

What a family has is a row of FAMILIES: its kinds of layers, and what is special in them. Keys have transformers'
defaults where a file leaves them out.
"""
from draft import Bad, integer, items, read_json, text_member
from layers import Net
from towers import TOWERS

MOST = {"batch": 1 << 20, "seq": 1 << 20, "layers": 4096, "vocab": 1 << 30}
KEPT = "kernels keep what goes into them: a causal convolution, linear attention or a state-space scan is one op"


class Config:
    """The keys of a file, of which the first one that is there counts."""

    def __init__(self, file):
        self.file = file

    def find(self, *names):
        """The value of the first of those keys that has one; None."""
        return next((self.file[name] for name in names if self.file.get(name) is not None), None)

    def size(self, *names, normal=None, least=1):
        """A whole number; Bad where there is none and no default."""
        value = self.find(*names)
        if value is None and normal is not None:
            return normal
        if not integer(value) or not least <= value <= 1 << 30:
            raise Bad(f"{names[0]} is {'missing' if value is None else value}: expected a number from {least} to 2^30")
        return value

    def on(self, *names, normal=False):
        """true or false."""
        value = self.find(*names)
        return normal if value is None else value is True

    def said(self, value):
        """What a family says itself, or by the key of a file that says it."""
        return self.on(value) if isinstance(value, str) else value

    def text(self, *names, normal=""):
        """A text."""
        value = self.find(*names)
        return value if isinstance(value, str) else normal

    def kinds(self, layers, otherwise):
        """What every layer is: the file's layer_types, else what is given."""
        named = items(self.find("layer_types", "layers_block_type"))
        made = [one if isinstance(one, str) else "" for one in named] or otherwise
        if len(made) < layers:
            raise Bad(f"layer_types has {len(made)} layers, not {layers}")
        return made[:layers]

    def part(self, head, normal):
        """The width of a head that positions turn."""
        rope = self.find("rope_parameters", "rope_scaling")
        share = next((one.get("partial_rotary_factor") for one in (rope, self.file) if isinstance(one, dict)
                      and isinstance(one.get("partial_rotary_factor"), (int, float))), normal)
        return max(2, int(head * min(1, max(0, share))) // 2 * 2)


# ---- mixers: x [b, s, hidden] -> the same ----

def shares(net, c, has):
    """Whether this layer takes keys and values of an earlier one."""
    return has.get("shares") and net.layer[0] > 0 and net.layer[0] >= net.layer[1] - c.size(
        "num_kv_shared_layers", normal=0, least=0)


def attention(net, x, c, has):
    """Grouped queries, with what a family adds. has: bias, out_bias, norms (head, whole), gate (double, full, head),
    sinks, sub_norm, turns (no: without positions), rotary (a share), wide (heads and widths of their own)."""
    hidden = net.shape[x][-1]
    heads, kv, head = has.get("wide") or (0, 0, 0)
    kv = c.size(has["kv"], normal=2 * c.size("num_key_value_heads", normal=4)) if "kv" in has else kv
    heads = heads or c.size("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads")
    if has.get("one") and not c.on("new_decoder_architecture"):
        kv = 1 if c.on("multi_query", normal=True) else heads
    kv = kv or c.size("num_key_value_heads", "num_kv_heads", normal=heads)
    head = head or c.size("head_dim", normal=hidden // heads or 1)
    width, norm = c.size("v_head_dim", normal=head) if has.get("values") else head, has.get("norms")
    norm = norm if c.on(has.get("asks", ""), normal=True) else None
    bias = c.said(has.get("bias", "attention_bias"))
    q = net.linear("q_proj", x, heads * head * (2 if has.get("gate") == "double" else 1), bias)
    if shares(net, c, has) and (kv, head) in net.shared:   # those of an earlier layer
        q = net.norm("q_norm", net.heads(q, heads)) if norm else net.heads(q, heads)
        made = net.attend(net.turn(q, head), *net.shared[(kv, head)])
        return net.linear("o_proj", made, hidden)
    k = net.linear("k_proj", x, kv * head, bias)
    v = k if has.get("equal") and c.on("attention_k_eq_v") else net.linear("v_proj", x, kv * width, bias)
    gate, gated = None, has.get("gate") if c.on("use_attention_gate", normal=True) else None
    if gated == "double":
        q, gate = net.parts(q, heads * head, heads * head)
    elif gated:
        gate = net.linear("gate_proj", x, heads * width if has["gate"] == "full" else heads)
    if norm == "whole":
        q, k = net.norm("q_norm", q), net.norm("k_norm", k)
    q, k, v = net.heads(q, heads), net.heads(k, kv), net.heads(v, kv)
    if norm in ("head", "layer"):
        q, k = (net.norm(name, one, "rms" if norm == "head" else "layer") for name, one in (("q_norm", q), ("k_norm", k)))
    if has.get("turns", True) and not c.on("alibi"):
        turned = c.part(head, has.get("rotary", 1))
        q, k = net.turn(q, turned), net.turn(k, turned)
    net.shared[(kv, head)] = k, v
    made = net.attend(q, k, v)
    if has.get("lambdas"):   # of two halves of the heads one is taken from the other
        for name in ("q1", "k1", "q2", "k2"):
            made = net.view(net.times(net.view(made, net.batch, net.seq, heads, width), net.given("lambda_" + name, width)),
                            net.batch, net.seq, heads * width)
    if has.get("sinks"):
        sinks = net.map("sigmoid.default", net.view(net.given("sinks", heads), 1, 1, heads, 1))
        made = net.view(net.times(net.view(made, net.batch, net.seq, heads, width), sinks), net.batch, net.seq, heads * width)
    if gate:
        gate = net.map("sigmoid.default", gate)
        if has["gate"] == "head":
            gate, made = net.view(gate, net.batch, net.seq, heads, 1), net.view(made, net.batch, net.seq, heads, width)
        made = net.view(net.times(made, gate), net.batch, net.seq, heads * width)
    if has.get("sub_norm"):
        made = net.norm("attn_sub_norm", made)
    return net.linear("o_proj", made, hidden, c.said(has.get("out_bias", "bias" not in has and "attention_bias")))


def latent(net, x, c, has):
    """Keys and values of one latent vector (DeepSeek-V2); an indexer chooses tokens where the family has one."""
    hidden, heads = net.shape[x][-1], c.size("num_attention_heads")
    nope, rope = c.size("qk_nope_head_dim"), c.size("qk_rope_head_dim")
    value, rank, low = c.size("v_head_dim"), c.size("kv_lora_rank"), c.size("q_lora_rank", normal=0, least=0)
    bias, q = c.on("attention_bias"), x
    if low:
        q = net.norm("q_a_layernorm", net.linear("q_a_proj", x, low, bias))
    if has.get("index"):
        choose_tokens(net, x, q, c)
    q = net.heads(net.linear("q_b_proj" if low else "q_proj", q, heads * (nope + rope)), heads)
    kept, turned = net.parts(q, nope, rope)
    q = net.join(kept, net.turn(turned, rope) if has.get("turns", True) else turned)
    both = net.linear("kv_a_proj_with_mqa", x, rank + rope, bias)
    small, place = net.parts(both, rank, rope)
    place = net.heads(place, 1)
    place = net.turn(place, rope) if has.get("turns", True) else place
    place = net.op("aten.expand.default", [place], (net.batch, heads, net.seq, rope), view=True)
    both = net.heads(net.linear("kv_b_proj", net.norm("kv_a_layernorm", small), heads * (nope + value)), heads)
    k, v = net.parts(both, nope, value)
    made = net.attend(q, net.join(k, place), net.map("clone.default", v))
    return net.linear("o_proj", made, hidden, bias)


def choose_tokens(net, x, q, c):
    """The indexer of sparse attention (DeepSeek-V3.2): it gets no gradient of the model's loss."""
    heads, head = c.size("index_n_heads"), c.size("index_head_dim")
    with net.inside("indexer"):
        q, k = net.linear("wq_b", q, heads * head), net.norm("k_norm", net.linear("wk", x, head), "layer")
        weights = net.linear("weights_proj", x, heads)
        net.op("tidemark.index_topk", [net.view(q, net.batch, net.seq, heads, head), k, weights],
               (net.batch, net.seq, min(net.seq, c.size("index_topk"))), dtypes=("i32",))


def delta_rule(net, x, c, has):
    """Gated delta net (Qwen3-Next, OLMo hybrid). has: joined products, or one each."""
    b, s, hidden = net.shape[x]
    keys, values = c.size("linear_num_key_heads"), c.size("linear_num_value_heads")
    narrow, wide = c.size("linear_key_head_dim"), c.size("linear_value_head_dim")
    kd, vd = keys * narrow, values * wide
    if has.get("joined"):
        q, k, v, z = net.parts(net.linear("in_proj_qkvz", x, 2 * kd + 2 * vd), kd, kd, vd, vd)
        mixed, (beta, a) = net.join(q, k, v), net.parts(net.linear("in_proj_ba", x, 2 * values), values, values)
    else:
        mixed = net.linear("in_proj_qkv", x, 2 * kd + vd)
        z, beta, a = (net.linear("in_proj_" + name, x, out) for name, out in (("z", vd), ("b", values), ("a", values)))
    q, k, v = net.parts(net.conv(mixed, c.size("linear_conv_kernel_dim", normal=4)), kd, kd, vd)
    decay = net.map("softplus.default", net.add(a, net.given("dt_bias", values)))
    decay = net.times(decay, net.map("exp.default", net.given("A_log", values)))
    q, k = (repeated(net, net.view(one, b, s, keys, narrow), values) for one in (q, k))
    made = net.delta(q, k, net.view(v, b, s, values, wide), decay, net.map("sigmoid.default", beta))
    made = net.norm("norm", made)
    made = net.times(made, net.act("silu", net.view(z, b, s, values, wide)))
    return net.linear("out_proj", net.view(made, b, s, vd), hidden)


def repeated(net, x, heads):
    """[b, s, few, d] -> [b, s, heads, d], a copy where there are more."""
    b, s, few, width = net.shape[x]
    if few == heads or heads % few:
        return x
    x = net.op("aten.expand.default", [net.view(x, b, s, few, 1, width)], (b, s, few, heads // few, width), view=True)
    return net.view(net.map("clone.default", x), b, s, heads, width)


def kimi_delta(net, x, c, _has):
    """Kimi Delta Attention (arXiv 2510.26692): a gate for every channel of the keys."""
    inner = c.find("linear_attn_config")
    own = Config(inner) if isinstance(inner, dict) else c
    b, s, hidden = net.shape[x]
    heads, head = own.size("linear_num_heads", "num_heads"), own.size("linear_head_dim", "head_dim")
    wide = heads * head
    mixed = net.join(*(net.linear(name, x, wide) for name in ("q_proj", "k_proj", "v_proj")))
    q, k, v = (net.view(one, b, s, heads, head) for one in net.parts(net.conv(mixed, own.size(
        "linear_conv_kernel_dim", "short_conv_kernel_size", normal=4)), wide, wide, wide))
    with net.inside("forget_gate"):
        gate = net.linear("f_b_proj", net.linear("f_a_proj", x, head), wide)
        gate = net.map("softplus.default", net.add(gate, net.given("dt_bias", wide)))
        gate = net.times(net.view(gate, b, s, heads, head), net.map("exp.default", net.given("A_log", 1, 1, heads, 1)))
    beta = net.map("sigmoid.default", net.linear("b_proj", x, heads))
    out = net.map("sigmoid.default", net.linear("g_b_proj", net.linear("g_a_proj", x, head), wide))
    made = net.norm("o_norm", net.delta(q, k, v, gate, beta))
    return net.linear("o_proj", net.times(net.view(made, b, s, wide), out), hidden)


def lightning(net, x, c, _has):
    """Linear attention with fixed decays (MiniMax-01)."""
    b, s, hidden = net.shape[x]
    heads, head = c.size("num_attention_heads"), c.size("head_dim", normal=hidden // c.size("num_attention_heads"))
    mixed = net.act("silu", net.linear("qkv_proj", x, 3 * heads * head))
    q, k, v = (net.view(one, b, s, heads, head) for one in net.parts(mixed, *[heads * head] * 3))
    made = net.norm("norm", net.view(net.delta(q, k, v), b, s, heads * head))
    made = net.times(made, net.map("sigmoid.default", net.linear("output_gate", x, heads * head)))
    return net.linear("out_proj", made, hidden)


def mamba2(net, x, c, has):
    """Mamba-2 (arXiv 2405.21060): one product in, a convolution, the scan, a gated norm, one product out."""
    b, s, hidden = net.shape[x]
    heads, groups = c.size("mamba_num_heads", "mamba_n_heads", "num_heads"), c.size("n_groups", "mamba_n_groups", normal=1)
    state = c.size("ssm_state_size", "mamba_d_state", "state_size")
    head = c.find("mamba_head_dim", "mamba_d_head", "head_dim")
    wide = c.size("mamba_d_ssm", normal=0) if has.get("own_width") else 0
    wide = wide or (heads * head if integer(head) else c.size("expand", "mamba_expand", normal=2) * hidden)
    if wide % heads:
        raise Bad(f"a state of {wide} channels isn't a multiple of {heads} heads")
    bc, bias = 2 * groups * state, c.on("use_bias", "mamba_proj_bias")
    z, mixed, dt = net.parts(net.linear("in_proj", x, 2 * wide + bc + heads, bias), wide, wide + bc, heads)
    mixed = net.conv(mixed, c.size("conv_kernel", "mamba_d_conv", normal=4), c.on("use_conv_bias", "mamba_conv_bias", normal=True))
    inner, left, right = net.parts(mixed, wide, bc // 2, bc // 2)
    made = net.op("tidemark.state_space", [net.view(inner, b, s, heads, wide // heads), dt, left, right] + [
        net.given(name, heads) for name in ("dt_bias", "A_log", "D")], (b, s, heads, wide // heads))
    made = net.view(made, b, s, wide)
    gate = net.act("silu", z)
    bias = c.on("projectors_bias") if has.get("own_width") else bias
    if has.get("gate_only") and not c.on("mamba_rms_norm"):
        made = net.times(made, gate)
    else:
        made = net.norm("norm", net.times(made, gate))
    return net.linear("out_proj", made, hidden, bias)


def mamba1(net, x, c, has):
    """Mamba (arXiv 2312.00752). has: norms of the scan's operands, with weights (Jamba) or without (Falcon Mamba)."""
    hidden, state = net.shape[x][-1], c.size("state_size", "mamba_d_state", normal=16)
    wide = c.size("intermediate_size", normal=c.size("expand", normal=2) * hidden) if not has.get("expands") \
        else c.size("mamba_expand", normal=2) * hidden
    rank = c.size("time_step_rank", "mamba_dt_rank", normal=-(-hidden // 16)) if c.find(
        "time_step_rank", "mamba_dt_rank") != "auto" else -(-hidden // 16)
    bias = c.on("use_bias", "mamba_proj_bias")
    inner, z = net.parts(net.linear("in_proj", x, 2 * wide, bias), wide, wide)
    inner = net.conv(inner, c.size("conv_kernel", "mamba_d_conv", normal=4), c.on("use_conv_bias", "mamba_conv_bias", normal=True))
    dt, left, right = net.parts(net.linear("x_proj", inner, rank + 2 * state), rank, state, state)
    if has.get("norms"):
        dt, left, right = (net.norm(name, one, has["norms"]) for name, one in (
            ("dt_layernorm", dt), ("b_layernorm", left), ("c_layernorm", right)))
    dt = net.map("softplus.default", net.linear("dt_proj", dt, wide, True))
    made = net.op("tidemark.selective_scan", [inner, dt, net.given("A_log", wide, state), left, right, net.given("D", wide)],
                  net.shape[inner])
    return net.linear("out_proj", net.times(made, net.act("silu", z)), hidden, bias)


def short_conv(net, x, c, _has):
    """A convolution between two gates (LFM2)."""
    hidden, bias = net.shape[x][-1], c.on("conv_bias")
    left, right, inner = net.parts(net.linear("in_proj", x, 3 * hidden, bias), hidden, hidden, hidden)
    made = net.conv(net.times(left, inner), c.size("conv_L_cache", normal=3), bias)
    return net.linear("out_proj", net.times(right, made), hidden, bias)


# ---- feed-forward layers ----

def dense(net, x, c, has):
    """One with a gate, or a plain one."""
    inner = c.size("intermediate_size", "intermediate_size_mlp", "ffn_dim", "ffn_hidden_size", "n_inner", "dff",
                   normal=c.size("expansion_ratio", "intermediate_multiple_size", normal=4) * net.shape[x][-1])
    if shares(net, c, has) and c.on("use_double_wide_mlp"):
        inner *= 2
    if has.get("fit"):
        inner = fitted(c, inner)
    act = has.get("act") or c.text("hidden_act", "hidden_activation", "activation_function", "activation", "mlp_hidden_act",
                                   normal=has.get("normal", "silu" if has.get("gated", True) else "gelu"))
    bias = c.said(has.get("bias", "mlp_bias"))
    if act == "xielu":
        return xielu(net, x, inner)
    return net.gated("mlp", x, inner, bias, act, has.get("norm")) if has.get("gated", True) \
        else net.plain("mlp", x, inner, bias, act)


def fitted(c, inner):
    """LFM2's width, a multiple of a block."""
    if not c.on("block_auto_adjust_ff_dim", normal=True):
        return inner
    factor = c.find("block_ffn_dim_multiplier")
    inner = int((factor if isinstance(factor, (int, float)) else 1) * int(2 * inner / 3))
    block = c.size("block_multiple_of", normal=256)
    return -(-inner // block) * block


def xielu(net, x, inner):
    """Apertus: a non-linearity with two parameters."""
    with net.inside("mlp"):
        made = net.linear("up_proj", x, inner)
        with net.inside("act_fn"):
            made = net.times(net.times(made, net.given("alpha_p", 1)), net.given("alpha_n", 1))
        return net.linear("down_proj", made, net.shape[x][-1])


def mixture(net, x, c, has):
    """Experts, and what every token goes to beside them."""
    count = c.size("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    chosen = c.size("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_router_topk", normal=2)
    inner = c.size("moe_intermediate_size", "intermediate_size")
    shared = c.find("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    beside = has.get("beside")
    beside = c.size(beside, normal=0, least=0) if beside else shared * inner if integer(shared) else 0
    with net.inside("mlp"):
        made = net.experts(x, count, chosen, inner, has.get("sigmoid", False), has.get("act", "silu"),
                           has.get("gated", True), has.get("offset", False))
        if beside and has.get("gated", True):
            more = net.gated("shared_experts", x, beside, c.said(has.get("bias", False)))
        elif beside:
            more = net.plain("shared_experts", x, beside, c.said(has.get("bias", False)), has.get("act", "silu"))
        if beside and has.get("gate"):
            more = net.times(more, net.map("sigmoid.default", net.linear("shared_expert_gate", x, 1)))
        return net.norm("post_mlp_layernorm", net.add(made, more) if beside else made) if has.get("behind") \
            else net.add(made, more) if beside else made


# ---- a model ----

def sparse(c, layers, has):
    """Which layers have experts."""
    if c.find("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts") in (None, 0) or not has.get("mix"):
        return [False] * layers
    kinds, freq, only = items(c.find("mlp_layer_types")), c.find("moe_layer_freq"), items(c.find("mlp_only_layers"))
    if len(kinds) >= layers:
        return [kind == "sparse" for kind in kinds[:layers]]
    if isinstance(freq, list) and len(freq) >= layers:
        return [bool(one) for one in freq[:layers]]
    first = c.size("first_k_dense_replace", "num_dense_layers", normal=0 if only else has.get("first", 0), least=0)
    step, at = c.size("decoder_sparse_step", "expert_layer_period", normal=1), c.size("expert_layer_offset", normal=0, least=0)
    if c.find("expert_layer_period") is not None:
        return [i % step == at % step for i in range(layers)]
    return [i >= first and (i + 1) % step == 0 and i not in only for i in range(layers)]


def block(net, x, c, family, kind, experts):
    """One layer: what it mixes tokens by, and a feed-forward layer, with the norms that the family has around them."""
    mix, has = family["mix"][kind]
    norm, form = family.get("norm", "rms"), family.get("forms", {}).get(kind, family.get("form", "pre"))
    feed = (lambda y: mixture(net, y, c, family.get("experts", {}))) if experts \
        else (lambda y: dense(net, y, c, family.get("dense", {})))

    def mixed(y):
        with net.inside(family.get("called", "mixer" if form == "single" else "self_attn")):
            return mix(net, y, c, has)

    def more(y):
        return net.norm("post_attention_layernorm", y, norm)
    if form == "single":   # one or the other
        y = net.norm("norm", x, norm)
        return net.add(x, mixed(y) if mix else feed(y))
    if form == "parallel" and c.on("parallel_attn", normal=True):
        y = net.norm("input_layernorm", x, norm)
        two = c.on("new_decoder_architecture") and c.size("num_ln_in_parallel_attn", normal=2) == 2   # Falcon
        both = net.norm("mlp_norm", x, norm) if two else y
        return net.add(x, net.add(mixed(y), feed(both)))
    if form == "beside":   # a scan and attention of one norm (Falcon-H1)
        y = net.norm("input_layernorm", x, norm)
        with net.inside("mamba"):
            scan = mamba2(net, y, c, {"own_width": True, "gate_only": True})
        x = net.add(x, net.add(scan, mixed(y)))
        return net.add(x, feed(net.norm("pre_ff_layernorm", x, norm)))
    if form == "post":   # the norm is behind each sum
        x = net.norm("input_layernorm", net.add(x, mixed(x)), norm)
        return net.norm("post_attention_layernorm", net.add(x, feed(x)), norm)
    if form == "behind":
        x = net.add(x, more(mixed(x)))
        return net.add(x, net.norm("post_feedforward_layernorm", feed(x), norm))
    if form == "sandwich" and c.on("use_sandwich_norm", "use_post_norm", normal=True):
        x = net.add(x, more(mixed(net.norm("input_layernorm", x, norm))))
        y = feed(net.norm("pre_feedforward_layernorm", x, norm))
        if c.on("enable_moe_block"):   # Gemma 4: experts beside it, of the same tokens
            z = net.times(net.norm("pre_feedforward_layernorm_2", x), net.given("router.scale", net.shape[x][-1]))
            z = net.experts(z, c.size("num_experts"), c.size("top_k_experts"), c.size("moe_intermediate_size"), act="gelu", offset=True)
            y = net.add(net.norm("post_feedforward_layernorm_1", y), net.norm("post_feedforward_layernorm_2", z))
        return net.add(x, net.norm("post_feedforward_layernorm", y, norm))
    bare = family.get("bare") and net.path[-1] == "layers.0"   # its input has a norm already
    x = net.add(x, mixed(x if bare else net.norm("input_layernorm", x, norm)))
    return net.add(x, feed(more(x)))


def per_layer(net, ids, x, c, layers):
    """Gemma's vectors of every token for every layer; None without them."""
    width = c.size("hidden_size_per_layer_input", normal=0, least=0)
    if not width:
        return None
    shape = (net.batch, net.seq, layers, width)
    looked = net.table("embed_tokens_per_layer", c.size("vocab_size_per_layer_input", "vocab_size"), layers * width, ids)
    made = net.view(net.linear("per_layer_model_projection", x, layers * width), *shape)
    return net.add(net.norm("per_layer_projection_norm", made), net.view(looked, *shape))


def add_per_layer(net, x, each, c):
    """What a layer adds of its own vectors."""
    width = net.shape[each][-1]
    own = net.op("aten.select.int", [each], (net.batch, net.seq, width), view=True)
    gate = net.act("gelu", net.linear("per_layer_input_gate", x, width))
    made = net.linear("per_layer_projection", net.times(gate, own), net.shape[x][-1])
    return net.add(x, net.norm("post_per_layer_input_norm", made))


STREAMS = 4


def altup_open(net, x):
    """Gemma 3n's streams, [b, s, 4, hidden]: of each token the embedding, and three products of it (AltUp)."""
    b, s, hidden = net.shape[x]
    each = [x] + [net.linear(f"altup_projections.{i}", x, hidden) for i in range(STREAMS - 1)]
    return net.op("aten.stack.default", each, (b, s, STREAMS, hidden))


def altup_mix(net, streams, coefs):
    """Every stream by a row of numbers of its token."""
    b, s, n, hidden = net.shape[streams]
    made = net.op("aten.bmm.default", [net.view(coefs, b * s, n, n), net.view(streams, b * s, n, hidden)], (b * s, n, hidden))
    return net.add(streams, net.view(made, b, s, n, hidden))


def altup_layer(net, streams, each, c, family, where):
    """Predicts all streams, runs the layer on the first, corrects all by what it made."""
    kind, i = where
    b, s, n, hidden = net.shape[streams]

    def first(x):
        return net.op("aten.select.int", [x], (b, s, hidden), view=True)
    with net.inside("altup"):
        coefs = net.linear("prediction_coefs", route_inside(net, first(streams), n), n * n)
    streams = altup_mix(net, streams, coefs)
    x = first(streams)
    y = net.norm("input_layernorm", x)
    with net.inside("laurel"):
        small = net.linear("linear_right", net.linear("linear_left", y, c.size("laurel_rank", normal=64)), hidden)
        small = net.add(y, net.norm("post_laurel_norm", small))
    mix, has = family["mix"][kind]
    with net.inside("self_attn"):
        y = mix(net, y, c, has)
    x = net.add(net.add(x, net.norm("post_attention_layernorm", y)), small)
    width = c.find("intermediate_size")
    width = width[i] if isinstance(width, list) and len(width) > i else width
    if not integer(width) or not 1 <= width <= 1 << 30:
        raise Bad("intermediate_size: expected a number, or one for each layer")
    y = net.gated("mlp", net.norm("pre_feedforward_layernorm", x), width, False, "gelu")
    x = net.add(x, net.norm("post_feedforward_layernorm", y))
    with net.inside("altup"):
        fixed = net.linear("correction_coefs", route_inside(net, x, n), n)
    step = net.times(net.view(fixed, b, s, n, 1), net.view(x, b, s, 1, hidden))
    streams = net.add(streams, step)
    scale = net.times(first(streams), net.given("altup.correct_output_scale", hidden))
    return net.add(streams, net.view(add_per_layer(net, scale, each, c) if each else scale, b, s, 1, hidden))


def route_inside(net, x, n):
    """Numbers of a token's streams."""
    return net.map("tanh.default", net.linear("modality_router", net.norm("router_norm", x), n))


def altup_close(net, streams):
    """The mean of the streams, each by a product of its own but the first."""
    b, s, n, hidden = net.shape[streams]
    parts = [net.op("aten.select.int", [streams], (b, s, hidden), view=True) for _ in range(n)]
    x = parts[0]
    for i in range(n - 1):
        x = net.add(x, net.linear(f"altup_unembed_projections.{i}", parts[i + 1], hidden))
    return x


def build(net, c, family, layers):
    """The whole forward pass."""
    hidden = c.size("hidden_size", "d_model", "n_embd")
    words, norm = c.size("vocab_size", least=2), family.get("norm", "rms")
    ids = net.given("ids", net.batch, net.seq, kind="input", dtype="i64")
    labels = net.given("labels", net.batch, net.seq, kind="input", dtype="i64")
    x = net.table("embed_tokens", words, hidden, ids)
    rows = family.get("positions")
    if rows is not None:
        most = c.size("max_position_embeddings", "n_positions", normal=2048)
        if net.seq > most:
            raise Bad(f"a sequence of {net.seq} is longer than the learned positions, {most}")
        x = net.add(x, net.table("embed_positions", most + rows, hidden,
                                 net.given("position_ids", net.batch, net.seq, kind="buffer", dtype="i64")))
    if family.get("scaled"):
        x = net.map("mul.Tensor", x)
    x = net.norm("embed_norm", x, norm) if family.get("first_norm") else x
    otherwise = family["kinds"](c, layers) if "kinds" in family else [family.get("normal", "full_attention")] * layers
    kinds = c.kinds(layers, otherwise) if family.get("listed", True) else otherwise
    strange = next((kind for kind in kinds if kind not in family["mix"]), None)
    if strange is not None:
        raise Bad(f'layer_types: "{strange[:40]}" is not known in this family: only {", ".join(family["mix"])} are')
    experts, each = sparse(c, layers, {"mix": "experts" in family, **family.get("sparse", {})}), per_layer(net, ids, x, c, layers)
    streams = altup_open(net, x) if family.get("altup") else None
    for i in range(layers):
        net.layer = i, layers
        with net.inside(f"layers.{i}"):
            if streams:
                streams = altup_layer(net, streams, each, c, family, (kinds[i], i))
                continue
            x = block(net, x, c, family, kinds[i], kinds[i] == "moe" or experts[i])
            x = add_per_layer(net, x, each, c) if each else x
    x = altup_close(net, streams) if streams else x
    x = net.norm("norm", x, norm) if family.get("last_norm", True) else x
    for step in family.get("head", ()):
        x = step(net, x, c)
    if family.get("two_biases") and not c.on("tie_word_embeddings", normal=True):
        net.given("lm_head.spare", words)   # untied, the head has one that it doesn't use
    tied = family.get("tied", False) is not None and c.on("tie_word_embeddings", normal=family.get("tied", False))
    net.loss(x, words, labels, "embed_tokens.weight" if tied else None, family.get("head_bias", False) and c.on("decoder_bias", normal=True),
             isinstance(c.find("final_logit_softcapping"), (int, float)))


def every(period, one, other):
    """A kind in every n-th layer, another in the others; the period by a key of the file."""
    return lambda c, layers: [one if (i + 1) % c.size(*period[:-1], normal=period[-1]) == 0 else other for i in range(layers)]


def nemotron(c, layers):
    """Letters of a pattern: M a scan, * attention, - a feed-forward layer, E experts."""
    pattern = c.text("hybrid_override_pattern")
    if items(c.find("layer_types", "layers_block_type")):
        return []
    names = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
    if len(pattern) < layers or any(letter not in names for letter in pattern):
        raise Bad("hybrid_override_pattern: expected a letter for each layer: M, *, - or E")
    return [names[letter] for letter in pattern]


def kimi_kinds(c, layers):
    """Numbers of layers, from 1 on."""
    own = c.find("linear_attn_config")
    full = items(own.get("full_attn_layers")) if isinstance(own, dict) else range(4, layers + 1, 4)
    return ["full_attention" if i + 1 in full else "linear_attention" for i in range(layers)]


def wider(net, x, c, has):
    """Gemma 4: layers that see all have wider heads, and perhaps values that are the keys."""
    head = c.size("global_head_dim", normal=512)
    kv = c.size("num_global_key_value_heads", "num_key_value_heads")
    return attention(net, x, c, {**has, "wide": (0, kv if c.on("attention_k_eq_v") else 0, head), "rotary": 0.25, "equal": True})


GQA, MLA, DELTA = (attention, {}), (latent, {}), (delta_rule, {})
GATED = (attention, {"norms": "head", "gate": "double", "rotary": 0.25})
ALL = {"full_attention": GQA, "sliding_attention": GQA}
NEXT = {"kinds": every(("full_attention_interval", 4), "full_attention", "linear_attention")}
LATENT = {"mix": {"full_attention": MLA, "sliding_attention": MLA}, "experts": {"sigmoid": True}}
OLD = {"norm": "layer", "tied": True, "listed": False}
HALF = {"bias": False, "out_bias": True, "turns": False}
BIASED = {"bias": True, "out_bias": True, "turns": False}


def with_norms(kind, **more):
    """Attention with norms of queries and keys, everywhere."""
    return {"full_attention": (attention, {"norms": kind, **more}), "sliding_attention": (attention, {"norms": kind, **more})}


def modern_head(net, x, c):
    """A product, a gelu and a norm before the vocabulary."""
    x = net.act("gelu", net.linear("head.dense", x, net.shape[x][-1], c.on("classifier_bias")))
    return net.norm("head.norm", x, "layer" if c.on("norm_bias") else "scale")


SINKS = {kind: (attention, {"sinks": True}) for kind in ALL}
FAMILIES = {
    "qwen3_next": {**NEXT, "mix": {"linear_attention": (delta_rule, {"joined": True}), "full_attention": GATED},
                   "experts": {"beside": "shared_expert_intermediate_size", "gate": True}},
    "qwen3_5_text": {**NEXT, "mix": {"linear_attention": DELTA, "full_attention": GATED}},
    "qwen3_5_moe_text": {**NEXT, "mix": {"linear_attention": DELTA, "full_attention": GATED},
                         "experts": {"beside": "shared_expert_intermediate_size", "gate": True}},
    "olmo_hybrid": {**NEXT, "mix": {"linear_attention": DELTA, "full_attention": (attention, {"norms": "whole"})},
                    "forms": {"full_attention": "behind"}},
    "kimi_linear": {"tied": None, "kinds": kimi_kinds, "sparse": {"first": 1}, "experts": {"sigmoid": True},
                    "mix": {"linear_attention": (kimi_delta, {}), "full_attention": (latent, {"turns": False})}},
    "deepseek_v32": {**LATENT, "mix": {"full_attention": (latent, {"index": True})}, "listed": False, "sparse": {"first": 3},
                     "dense": {"bias": False}},
    "glm_moe_dsa": {**LATENT, "mix": {"full_attention": (latent, {"index": True})}, "listed": False, "sparse": {"first": 3},
                     "dense": {"bias": False}},
    "glm4_moe_lite": {**LATENT, "sparse": {"first": 1}},
    "axk1": {**LATENT, "sparse": {"first": 1}, "experts": {"sigmoid": True, "behind": True}},
    "sarvam_mla": {**LATENT, "sparse": {"first": 1}},
    "minicpm3": {"mix": LATENT["mix"], "tied": True, "scaled": True},
    "mamba2": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba2, {})}},
    "mamba": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba1, {})}, "tied": True},
    "falcon_mamba": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba1, {"norms": "none"})}, "tied": True},
    "nemotron_h": {"form": "single", "kinds": nemotron, "dense": {"gated": False, "act": "relu2"},
                   "mix": {"mamba": (mamba2, {}), "linear_attention": (mamba2, {}), "mlp": (None, {}), "moe": (None, {}),
                           **{kind: (attention, {"turns": False, "bias": False}) for kind in ("attention", "full_attention")}},
                   "tied": None, "experts": {"gated": False, "act": "relu2", "sigmoid": True, "bias": "mlp_bias", "beside": "moe_shared_expert_intermediate_size"},
                   "sparse": {"first": 4096}},
    "granitemoehybrid": {"normal": "mamba", "mix": {"mamba": (mamba2, {}), "linear_attention": (mamba2, {}),
                                                             "attention": GQA, "full_attention": GQA},
                         "experts": {"beside": "shared_intermediate_size"}, "scaled": True},
    "bamba": {"kinds": lambda c, n: ["attention" if i in items(c.find("attn_layer_indices")) else "mamba" for i in range(n)],
              "mix": {"mamba": (mamba2, {}), "linear_attention": (mamba2, {}),
                      **{kind: (attention, {"rotary": 0.5}) for kind in ("attention", "full_attention")}}},
    "falcon_h1": {"form": "beside", "mix": ALL, "listed": False},
    "jamba": {"kinds": lambda c, n: ["attention" if i % c.size("attn_layer_period", normal=8) == c.size(
        "attn_layer_offset", normal=4, least=0) else "mamba" for i in range(n)], "experts": {},
        "mix": {**{kind: (mamba1, {"norms": "rms", "expands": True}) for kind in ("mamba", "linear_attention")},
                **{kind: (attention, {"turns": False}) for kind in ("attention", "full_attention")}}},
    "lfm2": {"mix": {"conv": (short_conv, {}), "short_conv": (short_conv, {}), **with_norms("head")}, "tied": True,
             "dense": {"fit": True, "act": "silu"}},
    "lfm2_moe": {"mix": {"conv": (short_conv, {}), "short_conv": (short_conv, {}), **with_norms("head")}, "tied": True,
                 "experts": {"sigmoid": True}, "sparse": {"first": 2}},
    "minimax": {"kinds": lambda c, n: ["full_attention" if i % 2 == 0 else "linear_attention" for i in range(n)], "experts": {},
                "mix": {"linear_attention": (lightning, {}), "full_attention": GQA}},
    "gemma3n_text": {"altup": True, "mix": with_norms("head", shares=True), "tied": True, "scaled": True},
    "kolibri1": {"form": "sandwich", "mix": with_norms("head"), "experts": {"beside": "shared_expert_intermediate_size"}},
    "flint": {"mix": with_norms("head", sinks=True), "experts": {"beside": "shared_expert_intermediate_size"}, "sparse": {"first": 2}},
    "lfm3": {"form": "sandwich", "mix": {"conv": (short_conv, {}), "short_conv": (short_conv, {}), **with_norms("head", gate="head")},
             "tied": True, "dense": {"act": "silu"}},
    "lara_mini": {"mix": {"linear_attention": DELTA, **with_norms("head")}, "tied": True,
                  "experts": {"beside": "shared_expert_intermediate_size"}},
    "diffllama": {"mix": {"full_attention": (attention, {"lambdas": True})}},
    "mimo_v2_flash": {"mix": {"full_attention": (attention, {"values": True, "out_bias": False}), "sliding_attention": (
        attention, {"values": True, "out_bias": False, "sinks": True, "kv": "swa_num_key_value_heads"})},
        "experts": {"sigmoid": True}, "sparse": {"first": 1}},
    "bert-generation": {**OLD, "form": "post", "positions": 0, "first_norm": True, "last_norm": False, "head_bias": True, "two_biases": True,
                        "mix": {"full_attention": (attention, BIASED)}, "dense": {"gated": False, "bias": True}},
    "modernbert-decoder": {"norm": "scale", "first_norm": True, "bare": True, "tied": True, "head": (modern_head,), "head_bias": True,
                           "mix": {kind: (attention, {"out_bias": "attention_bias"}) for kind in ALL}, "dense": {"act": "gelu"}},
    "gemma4_text": {"kinds": every(("sliding_window_pattern", 6), "full_attention", "sliding_attention"), "form": "sandwich",
                    "mix": {"sliding_attention": (attention, {"norms": "head", "shares": True}),
                            "full_attention": (wider, {"norms": "head", "shares": True})},
                    "dense": {"shares": True}, "tied": True, "scaled": True},
    "cwm": {"mix": ALL},
    "youtu": {"mix": LATENT["mix"], "tied": True},
    "solar_open": {"mix": with_norms(None, out_bias=False), "experts": {"sigmoid": True}},
    "exaone_moe": {"mix": with_norms("head"), "experts": {"sigmoid": True}, "sparse": {"first": 1}},
    "mellum": {"mix": with_norms("head"), "experts": {}},
    "aria_text": {"mix": ALL, "experts": {"bias": "mlp_bias"}},
    "hy_v3": {"mix": with_norms("head"), "experts": {"sigmoid": True, "bias": "mlp_bias"}, "sparse": {"first": 1}},
    "laguna": {"mix": with_norms("head", gate="head"), "experts": {"beside": "shared_expert_intermediate_size", "offset": True},
               "sparse": {"first": 1}},
    "afmoe": {"mix": with_norms("head", gate="full"), "form": "sandwich", "experts": {"sigmoid": True, "offset": True},
              "sparse": {"first": 1}, "scaled": True},
    "cohere2_moe": {"mix": ALL, "form": "parallel", "norm": "scale", "experts": {}, "tied": True},
    "hunyuan_v1_moe": {"mix": with_norms("head"), "experts": {"beside": "intermediate_size"}},
    "sarvam_moe": {"mix": with_norms("head", asks="use_qk_norm", out_bias=False), "experts": {"sigmoid": True}, "sparse": {"first": 1}},
    "granite_swa": {"mix": SINKS, "tied": True, "scaled": True},
    "granitemoe_swa": {"mix": SINKS, "experts": {"beside": "shared_intermediate_size"}, "scaled": True},
    "apertus": {"mix": with_norms("head"), "dense": {"gated": False, "normal": "xielu"}},
    "bitnet": {"mix": {kind: (attention, {"sub_norm": True}) for kind in ALL}, "dense": {"norm": "ffn_sub_norm"}},
    "exaone": {"mix": ALL},
    "hyperclovax": {"mix": ALL, "form": "sandwich", "scaled": True},
    "nanochat": {"mix": with_norms(None), "norm": "none", "dense": {"gated": False, "act": "relu2"}},
    "persimmon": {"mix": {"full_attention": (attention, {"norms": "layer", "asks": "qk_layernorm", "bias": True, "out_bias": True, "rotary": 0.5})},
                  "norm": "layer", "dense": {"gated": False, "bias": True}},
    "falcon": {**OLD, "form": "parallel", "mix": {"full_attention": (attention, {"one": True, "bias": "bias", "out_bias": "bias"})},
               "dense": {"gated": False, "bias": "bias"}},
    "bloom": {**OLD, "first_norm": True, "mix": {"full_attention": (attention, BIASED)}, "dense": {"gated": False, "bias": True}},
    "mpt": {**OLD, "norm": "scale", "mix": {"full_attention": (attention, {**BIASED, "bias": False, "out_bias": False})},
            "dense": {"gated": False, "bias": False}},
    "gpt_bigcode": {**OLD, "positions": 0, "mix": {"full_attention": (attention, {**BIASED, "one": True})},
                    "dense": {"gated": False, "bias": True}},
    "gpt_neo": {**OLD, "positions": 0, "mix": {"full_attention": (attention, HALF)}, "dense": {"gated": False, "bias": True}},
    "biogpt": {**OLD, "positions": 2, "scaled": True, "mix": {"full_attention": (attention, BIASED)},
               "dense": {"gated": False, "bias": True}},
    "xglm": {**OLD, "scaled": True, "mix": {"full_attention": (attention, BIASED)}, "dense": {"gated": False, "bias": True}},
    "ctrl": {**OLD, "mix": {"full_attention": (attention, BIASED)}, "dense": {"gated": False, "bias": True, "act": "relu"},
             "head_bias": True},
    "openai-gpt": {**OLD, "positions": 0, "last_norm": False, "form": "post", "mix": {"full_attention": (attention, BIASED)},
                   "dense": {"gated": False, "bias": True}},
}
FAMILIES["gemma4_unified_text"] = {**FAMILIES["gemma4_text"]}
FAMILIES["modernbert"] = {**FAMILIES["modernbert-decoder"]}
KIN = {"gemma3n": "gemma3n_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text", "gemma4": "gemma4_text", "gemma4_unified": "gemma4_unified_text",
       "refinedweb": "falcon", "refinedwebmodel": "falcon"}


def find(file):
    """The family and the keys of a file's text model."""
    if text_member(file, "model_type") in TOWERS:
        return file["model_type"], file
    part = file.get("text_config") if isinstance(file.get("text_config"), dict) else {}
    for keys in (part, file):
        name = text_member(keys, "model_type") or ""
        name = KIN.get(name.lower(), name)
        if name in FAMILIES:
            return name, part if keys is file and part else keys
    raise Bad("model_type")


def wanted(words):
    """The sizes that are asked for."""
    asked = {"batch": 1, "seq": 0, "layers": 0, "vocab": 0}
    for word in words:
        key, _, value = word.partition("=")
        if key in asked and not (value.isdigit() and len(value) < 12 and 1 <= int(value) <= MOST[key]):
            raise Bad(f"{word}: expected a number from 1 to {MOST[key]}")
        if key in asked:
            asked[key] = int(value)
    return asked


def read(stream, options):
    """The graph of a file, in lines."""
    file = read_json(stream, str)   # Python writes Infinity for what has no limit
    if not isinstance(file, dict):
        raise Bad("expected an object")
    name, keys = find(file)
    c, asked = Config({**keys, **{key: file[key] for key in ("tie_word_embeddings",) if key in file}}), wanted(options.dims)
    c.file["vocab_size"] = asked["vocab"] or c.find("vocab_size")
    if name in TOWERS:
        net = Net(asked["batch"], asked["seq"] or min(8192, c.size("max_target_positions", normal=77)))
        said = Config(c.find("text_config") if isinstance(c.find("text_config"), dict) else c.file)
        said = said.size("num_hidden_layers", normal=0, least=0)
        build_towers, only = TOWERS[name]
        named = items(c.find("architectures"))
        if named and named != [only]:
            raise Bad(f'architectures is {str(named[0])[:60]}: only "{only}" is covered for model_type "{name}"')
        build_towers(net, c, asked["layers"] if asked["layers"] != said else 0)   # else each tower has its own
        return net.draft.records(name, {"format": "Hugging Face config.json", "version": name, "assumed": [
            "norms of the two encoders' results, and dropout, are left out"]}, source="tidemark model", batch=net.batch)
    layers = asked["layers"] or c.size("num_hidden_layers", "n_layer", "n_layers", "num_layers", normal=0, least=0) or len(
        items(c.find("layer_types", "layers_block_type"))) or len(c.text("hybrid_override_pattern"))
    if not 1 <= layers <= MOST["layers"]:
        raise Bad(f"num_hidden_layers is {layers}: expected a number from 1 to {MOST['layers']}")
    net = Net(asked["batch"], asked["seq"] or min(8192, c.size("max_position_embeddings", "n_positions", normal=2048)))
    family = {**FAMILIES[name], **({"norm": "layer"} if c.on("norm_bias") else {})}
    build(net, c, family, layers)
    assumed = [KEPT, "products that the library joins or cuts have the same parameters; dropout is left out"]
    if "experts" in FAMILIES[name]:
        assumed.append("every expert gets its fair share of the tokens (a capacity factor of 1)")
    if keys is not file:
        assumed.append(f"the text model alone ({name}): what makes tokens of images or sound is left out")
    return net.draft.records(name, {"format": "Hugging Face config.json", "version": name, "assumed": assumed}, source="tidemark model",
                             batch=asked["batch"], seq=net.seq)
