"""What layers of decoders are made of: mixers of tokens, and feed-forward layers, by the keys of a config.json."""
from config import NAMES, Config, described
from draft import Bad, integer


# ---- mixers: x [b, s, hidden] -> the same ----

def shares(net, c, has):
    """Whether this layer takes keys and values of an earlier one."""
    return has.get("shares") and net.layer[0] > 0 and net.layer[0] >= net.layer[1] - c.size(
        "num_kv_shared_layers", normal=0, least=0)


def widths(c, has, hidden):
    """How many heads queries have, and keys and values, and their widths; Bad where they don't fit together."""
    heads, kv, head = has.get("wide") or (0, 0, 0)
    kv = c.size(has["kv"], normal=2 * c.size("num_key_value_heads", normal=4)) if "kv" in has else kv
    heads = heads or c.size(*NAMES["heads"])
    if has.get("one") and not c.on("new_decoder_architecture"):
        kv = 1 if c.on("multi_query", normal=True) else heads
    kv = kv or (heads if has.get("equal_heads") else c.size(*NAMES["kv_heads"], normal=heads))
    own = c.file.get("head_dim")
    if not head and own is None and hidden % heads and not has.get("loose"):
        raise Bad(f"hidden {hidden} is not a multiple of heads {heads}")
    head = head or c.size("head_dim", normal=hidden // heads or 1)
    if has.get("fill") and head * heads != hidden:
        raise Bad(
            f"head_dim is {head}: only hidden_size / num_attention_heads, {hidden // heads}, is covered for this type")
    if heads % kv:
        raise Bad(f"heads {heads} is not a multiple of kv-heads {kv}")
    return heads, kv, head, c.size("v_head_dim", normal=head) if has.get("values") else head


def turned_part(c, has, head):
    """The width of a head that positions turn."""
    if not has.get("turn_key"):
        width = c.part(head, has.get("rotary", 1))
        if has.get("rotary") == 1 and width < head - 1:
            raise Bad(f"rope_parameters.partial_rotary_factor is {width / head:.9g}: only 1 is covered for this type")
        return width
    width = c.size(has["turn_key"])
    if width % 2 or width > head:
        raise Bad(f"{has['turn_key']} is {width}: expected an even number, at most {head}")
    return width


def attention(net, x, c, has):
    """Grouped queries, with what a family adds. has: bias, out_bias, norms (head, whole, layer, or as the layer's), gate
    (double, full, head), sinks, sub_norm, turns (no: without positions), rotary (a share), wide (heads and widths of their
    own)."""
    hidden = net.shape[x][-1]
    heads, kv, head, width = widths(c, has, hidden)
    norm = has.get("norms") if c.on(has.get("asks", ""), normal=True) else None
    bias = c.whether(has.get("bias", "attention_bias"))
    if has.get("packed") and not net.fused:   # one product, of which rotary positions leave the values alone
        sizes = heads * head, kv * head, kv * width
        q, k, v = net.parts(net.linear("qkv_proj", x, sum(sizes), bias), *sizes)
    else:
        q = net.linear("q_proj", x, heads * head * (2 if has.get("gate") == "double" else 1), bias)
    if shares(net, c, has) and (kv, head) in net.shared:   # those of an earlier layer
        q = net.norm("q_norm", net.heads(q, heads)) if norm else net.heads(q, heads)
        made = net.attend(net.turn(q, head), *net.shared[(kv, head)])
        return net.linear("o_proj", made, hidden)
    if not has.get("packed") or net.fused:
        k = net.linear("k_proj", x, kv * head, bias)
        v = k if has.get("equal") and c.on("attention_k_eq_v") else net.linear("v_proj", x, kv * width, bias)
    gate, gated = None, has.get("gate") if c.on("use_attention_gate", normal=True) else None
    if gated == "double":
        q, gate = net.parts(q, heads * head, heads * head)
    elif gated:
        gate = net.linear("gate_proj", x, heads * width if has["gate"] == "full" else heads)
    if norm == "whole":
        q, k = (net.norm(name, one, has.get("cast", "rms")) for name, one in (("q_norm", q), ("k_norm", k)))
    q, k, v = net.heads(q, heads), net.heads(k, kv), net.heads(v, kv)
    if norm in ("head", "layer", "gemma"):
        kind = "rms" if norm == "head" else norm
        q, k = net.norm("q_norm", q, kind), net.norm("k_norm", k, kind)
    if has.get("turns", True) and not c.on("alibi"):
        turned = turned_part(c, has, head)
        q, k = (net.turn(one, turned, has.get("joins", False)) for one in (q, k))
    net.shared[(kv, head)] = k, v
    capped = has.get("capped") and c.find("attn_logit_softcapping") is not None
    eager = has.get("eager") and not net.fused
    made = net.masked(q, k, v) if eager and has["eager"] == "mask" and net.flash else net.written_out(
        q, k, v, None, False, capped) if eager else net.attend(q, k, v, capped=capped)
    if has.get("lambdas"):   # of two halves of the heads one is taken from the other
        for name in ("q1", "k1", "q2", "k2"):
            made = net.view(net.times(net.view(made, net.batch, net.seq, heads, width),
                                      net.given("lambda_" + name, width)),
                            net.batch, net.seq, heads * width)
    if has.get("sinks"):
        sinks = net.map("sigmoid.default", net.view(net.given("sinks", heads), 1, 1, heads, 1))
        made = net.view(net.times(net.view(made, net.batch, net.seq, heads, width), sinks), net.batch, net.seq,
                        heads * width)
    if gate:
        gate = net.map("sigmoid.default", gate)
        if has["gate"] == "head":
            gate, made = net.view(gate, net.batch, net.seq, heads, 1), net.view(made, net.batch, net.seq, heads, width)
        made = net.view(net.times(made, gate), net.batch, net.seq, heads * width)
    if has.get("sub_norm"):
        made = net.norm("attn_sub_norm", made)
    return net.linear("o_proj", made, hidden, c.whether(has.get("out_bias", "bias" not in has and "attention_bias")))


def latent(net, x, c, has):
    """Keys and values of one latent vector (DeepSeek-V2); an indexer chooses tokens where the family has one."""
    hidden, heads = net.shape[x][-1], c.size("num_attention_heads")
    nope, rope = c.size("qk_nope_head_dim"), c.size("qk_rope_head_dim")
    value, rank, low = c.size("v_head_dim"), c.size("kv_lora_rank"), c.size("q_lora_rank", normal=0, least=0)
    bias, q = c.on("attention_bias"), x
    if rope % 2:
        raise Bad(f"rotary positions need an even width, not {rope}")
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
    heads, groups = c.size("mamba_num_heads", "mamba_n_heads", "num_heads"), c.size(
        "n_groups", "mamba_n_groups", normal=1)
    state = c.size("ssm_state_size", "mamba_d_state", "state_size")
    head = c.find("mamba_head_dim", "mamba_d_head", "head_dim")
    wide = c.size("mamba_d_ssm", normal=0) if has.get("own_width") else 0
    wide = wide or (heads * head if integer(head) else c.size("expand", "mamba_expand", normal=2) * hidden)
    if wide % heads:
        raise Bad(f"a state of {wide} channels isn't a multiple of {heads} heads")
    bc, bias = 2 * groups * state, c.on("use_bias", "mamba_proj_bias")
    z, mixed, dt = net.parts(net.linear("in_proj", x, 2 * wide + bc + heads, bias), wide, wide + bc, heads)
    mixed = net.conv(mixed, c.size("conv_kernel", "mamba_d_conv", normal=4),
                     c.on("use_conv_bias", "mamba_conv_bias", normal=True))
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
    inner = net.conv(inner, c.size("conv_kernel", "mamba_d_conv", normal=4),
                     c.on("use_conv_bias", "mamba_conv_bias", normal=True))
    dt, left, right = net.parts(net.linear("x_proj", inner, rank + 2 * state), rank, state, state)
    if has.get("norms"):
        dt, left, right = (net.norm(name, one, has["norms"]) for name, one in (
            ("dt_layernorm", dt), ("b_layernorm", left), ("c_layernorm", right)))
    dt = net.map("softplus.default", net.linear("dt_proj", dt, wide, True))
    made = net.op("tidemark.selective_scan",
                  [inner, dt, net.given("A_log", wide, state), left, right, net.given("D", wide)],
                  net.shape[inner])
    return net.linear("out_proj", net.times(made, net.act("silu", z)), hidden, bias)


def short_conv(net, x, c, _has):
    """A convolution between two gates (LFM2)."""
    hidden, bias = net.shape[x][-1], c.on("conv_bias")
    left, right, inner = net.parts(net.linear("in_proj", x, 3 * hidden, bias), hidden, hidden, hidden)
    made = net.conv(net.times(left, inner), c.size("conv_L_cache", normal=3), bias)
    return net.linear("out_proj", net.times(right, made), hidden, bias)


# ---- feed-forward layers ----

ACTS = ("silu", "swish", "relu", "relu2", "relu6", "tanh", "sigmoid", "quick_gelu", "xielu", "mish")


def activation(c, has):
    """The non-linearity that a file names, or its family."""
    names = "hidden_act", "hidden_activation", "activation_function", "activation", "mlp_hidden_act"
    act = has.get("act") or c.find(*names) or has.get("normal", "silu" if has.get("gated", True) else "gelu")
    key = next((name for name in names if name in c.said), names[0])
    if not isinstance(act, str) or not (act in ACTS or act.startswith("gelu")) or (
        key in c.said and c.said[key] is None):
        raise Bad(f"{key} is {described(c.said.get(key))}: expected silu, a gelu, relu or relu2")
    return act


def dense(net, x, c, has):
    """One with a gate, or a plain one."""
    inner = c.size(*NAMES["ffn"],
                   normal=c.size("expansion_ratio", "intermediate_multiple_size", normal=4) * net.shape[x][-1])
    if shares(net, c, has) and c.on("use_double_wide_mlp"):
        inner *= 2
    if has.get("fit"):
        inner = fitted(c, inner)
    act, bias = activation(c, has), c.whether(has.get("bias", "mlp_bias"))
    if act == "xielu":
        return xielu(net, x, inner)
    return net.gated("mlp", x, inner, bias, act, has.get("norm"), has.get("packed", False)) if has.get("gated", True) \
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
    count, chosen = c.size(*NAMES["experts"]), c.size(*NAMES["top_k"], normal=has.get("chosen", 2))
    names = "moe_intermediate_size", "intermediate_size"   # a class that hasn't the first one doesn't read it
    inner = c.size(*names[0 if names[0] in c.normal or names[1] not in c.normal else 1:])
    shared = c.find(*NAMES["shared_experts"])
    beside = has.get("beside")
    beside = c.size(beside, normal=0, least=0) if beside else shared * inner if integer(shared) else 0
    with net.inside("mlp"):
        made = net.experts(x, count, chosen, inner, has.get("sigmoid", False), has.get("act", "silu"),
                           has.get("gated", True), has.get("offset", False), has.get("biases", False))
        if beside and has.get("gated", True):
            more = net.gated("shared_experts", x, beside, c.whether(has.get("bias", False)))
        elif beside:
            more = net.plain("shared_experts", x, beside, c.whether(has.get("bias", False)), has.get("act", "silu"))
        if beside and has.get("gate"):
            more = net.times(more, net.map("sigmoid.default", net.linear("shared_expert_gate", x, 1)))
        return net.norm("post_mlp_layernorm", net.add(made, more) if beside else made) if has.get("behind") \
            else net.add(made, more) if beside else made
