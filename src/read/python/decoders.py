"""Decoders, and encoders like them, by the keys of a config.json: layers with norms around them, tables, the loss."""
from config import NAMES, described
from draft import Bad, integer, items
from mixers import dense, mamba2, mixture
from vision import add_images


# ---- one layer ----

def sparse(c, layers, has):
    """Which layers have experts."""
    if c.find(*NAMES["experts"]) in (None, 0) or not has.get("mix"):
        return [False] * layers
    kinds, freq, only = items(c.find("mlp_layer_types")), c.find("moe_layer_freq"), c.file.get("mlp_only_layers")
    if only is not None and (not isinstance(only, list) or any(not integer(one) or one < 0 for one in only)):
        raise Bad("mlp_only_layers: expected a list of numbers of layers")
    if kinds:
        if any(kind not in ("dense", "sparse") for kind in kinds):
            raise Bad('mlp_layer_types: expected "dense" or "sparse"')
        if len(kinds) < layers:
            raise Bad(f"mlp_layer_types has {len(kinds)} layers, not {layers}")
        return [kind == "sparse" for kind in kinds[:layers]]
    if isinstance(freq, list) and len(freq) >= layers:
        return [bool(one) for one in freq[:layers]]
    first = c.size(*NAMES["dense_layers"], normal=0 if only else has.get("first", 0), least=0)
    step, at = c.size(*NAMES["sparse_step"], normal=1), c.size("expert_layer_offset", normal=0, least=0)
    last = c.find("moe_layer_end_index")
    last = last if integer(last) and last >= 0 else layers
    if c.find("expert_layer_period") is not None:
        return [i % step == at % step for i in range(layers)]
    return [first <= i <= last and (i + 1) % step == 0 and i not in (only or ()) for i in range(layers)]


def block(net, x, c, family, kind, experts):
    """One layer: what it mixes tokens by, and a feed-forward layer, with the norms that the family has around them."""
    mix, has = family["mix"][kind]
    norm, form = family.get("norm", "rms"), family.get("forms", {}).get(kind, family.get("form", "pre"))
    if form == "neox":   # each half reads the layer's input through a norm of its own, or one after the other
        form = "parallel" if c.on("use_parallel_residual", normal=True) else "pre"
    feed_forward = (lambda y: mixture(net, y, c, family.get("experts", {}))) if experts \
        else (lambda y: dense(net, y, c, family.get("dense", {})))
    drops = family.get("drop", ("",) * 4)

    def feed(y):
        return net.drop(feed_forward(y), c.share(drops[3]))

    def mixed(y):
        with net.inside(family.get("called", "mixer" if form == "single" else "self_attn")):
            return net.drop(mix(net, y, c, has), c.share(drops[2]))

    def more(y):
        return net.norm("post_attention_layernorm", y, norm)
    if form == "single":   # one or the other
        y = net.norm("norm", x, norm)
        return net.add(x, mixed(y) if mix else feed(y))
    if form == "parallel" and c.on("parallel_attn", normal=True):
        y = net.norm("input_layernorm", x, norm)
        if family.get("form") == "neox":
            seen = mixed(y)
            return net.add(net.add(feed(more(x)), seen), x)
        two = c.on("new_decoder_architecture") and c.size("num_ln_in_parallel_attn", normal=2) == 2   # Falcon
        both = net.norm("mlp_norm", x, norm) if two else y
        seen = mixed(y)
        return net.add(net.add(feed(both), seen), x)
    if form == "beside":   # a scan and attention of one norm (Falcon-H1)
        y = net.norm("input_layernorm", x, norm)
        with net.inside("mamba"):
            scan = mamba2(net, y, c, {"own_width": True, "gate_only": True})
        x = net.add(x, net.add(scan, mixed(y)))
        return net.add(x, feed(net.norm("pre_ff_layernorm", x, norm)))
    if form == "post":   # the norm is behind each sum
        x = net.norm("input_layernorm", net.add(mixed(x), x), norm)
        return net.norm("post_attention_layernorm", net.add(feed(x), x), norm)
    if form == "behind":
        x = net.add(x, more(mixed(x)))
        return net.add(x, net.norm("post_feedforward_layernorm", feed(x), norm))
    if form == "sandwich" and c.on("use_sandwich_norm", "use_post_norm", normal=True):
        return sandwich(net, net.add(x, more(mixed(net.norm("input_layernorm", x, norm)))), c, feed, norm)
    bare = family.get("bare") and net.path[-1] == "layers.0"   # its input has a norm already
    x = net.add(x, mixed(x if bare else net.norm("input_layernorm", x, norm)))
    return net.add(x, feed(more(x)))


def sandwich(net, x, c, feed, norm):
    """The second half of a layer with norms before and behind it."""
    y = feed(net.norm("pre_feedforward_layernorm", x, norm))
    if c.on("enable_moe_block"):   # Gemma 4: experts beside it, of the same tokens
        z = net.times(net.norm("pre_feedforward_layernorm_2", x), net.given("router.scale", net.shape[x][-1]))
        z = net.experts(z, c.size("num_experts"), c.size("top_k_experts"), c.size("moe_intermediate_size"), act="gelu",
                        offset=True)
        y = net.add(net.norm("post_feedforward_layernorm_1", y), net.norm("post_feedforward_layernorm_2", z))
    return net.add(x, net.norm("post_feedforward_layernorm", y, norm))


# ---- Gemma's streams, and vectors for every layer ----

def per_layer(net, ids, x, c, layers):
    """Gemma's vectors of every token for every layer; None without them."""
    width = c.size("hidden_size_per_layer_input", normal=0, least=0)
    if not width:
        return None
    shape = (net.batch, net.seq, layers, width)
    looked = net.table("embed_tokens_per_layer", c.size("vocab_size_per_layer_input", "vocab_size"), layers * width,
                       ids)
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
    made = net.op("aten.bmm.default", [net.view(coefs, b * s, n, n), net.view(streams, b * s, n, hidden)],
                  (b * s, n, hidden))
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


# ---- a model ----

def embedded(net, c, family, hidden, words):
    """What goes into the first layer, and the tokens."""
    ids = net.given("ids", net.batch, net.seq, kind="input", dtype="i64")
    x = net.table("embed_tokens", words, hidden, ids)
    if family.get("types"):
        x = net.add(x, net.table("embed_types", c.size("type_vocab_size", normal=2), hidden, net.given(
            "types", net.batch, net.seq, kind="input", dtype="i64")))
    rows = family.get("positions")
    if rows is not None:
        most = c.size(*NAMES["positions"], normal=2048)
        if net.seq > most:
            key = next((name for name in NAMES["positions"] if name in c.file), "")
            raise Bad(f"a sequence of {net.seq} is longer than {key}, which is {most}")
        x = net.add(x, net.table("embed_positions", most + rows, hidden, net.given(
            "position_ids", net.seq, kind="buffer", dtype="i64")))
    if family.get("seen"):   # what each position sees, which the model keeps though SDPA needs no mask
        net.given("bias", most, most, kind="buffer", dtype="bool")
    if family.get("scaled"):
        x = net.map("mul.Tensor", x)
    x = net.norm("embed_norm", x, family.get("norm", "rms")) if family.get("first_norm") else x
    return net.drop(x, c.share(family.get("drop", ("",))[0])), ids


def layers_of(c, family, layers):
    """What each layer mixes tokens by, and whether it has experts."""
    otherwise = family["kinds"](c, layers) if "kinds" in family else [family.get("normal", "full_attention")] * layers
    kinds = c.kinds(layers, otherwise) if family.get("listed", True) else otherwise
    strange = next((kind for kind in kinds if kind not in family["mix"]), None)
    if strange is not None:
        raise Bad(f'layer_types: "{strange[:40]}" is not known in this family: only {", ".join(family["mix"])} are')
    experts = sparse(c, layers, {"mix": "experts" in family, **family.get("sparse", {})})
    return kinds, [kind == "moe" or one for kind, one in zip(kinds, experts)]


def first_apart(c, family, layers):
    """How many first layers differ from those behind them, which are all alike."""
    kinds, experts = layers_of(c, family, layers)
    if family.get("altup") or isinstance(c.find(*NAMES["experts"]), list) or c.find(
        "num_kv_shared_layers", "hidden_size_per_layer_input"):
        return layers
    each = [(id(family["mix"][kind]), family.get("forms", {}).get(kind), one) for kind, one in zip(kinds, experts)]
    return next((i + 1 for i in range(layers - 2, -1, -1) if each[i] != each[-1]), 0)


def further(net, x, c, family, where, labels):
    """Modules that predict one more token each (DeepSeek-V3, arXiv 2412.19437, section 2.2): what the last depth made of
    every token, and the token behind what that predicted, go through norms, a projection, a layer of the model's own kind
    and a norm to the model's own vocabulary. The sum of their losses; None without any."""
    words, kind, tied = where
    table, total, norm = net.given("embed_tokens.weight", words, net.shape[x][-1]), None, family.get("norm", "rms")
    for depth in range(c.size("num_nextn_predict_layers", normal=0, least=0) if family.get("further") else 0):
        later = net.given(f"mtp.{depth}.labels", net.batch, net.seq, kind="input", dtype="i64")
        with net.inside(f"mtp.{depth}"):
            looked = net.op("aten.embedding.default", [table, labels], net.shape[x])
            x = net.join(net.norm("enorm", looked, norm), net.norm("hnorm", x, norm))
            x = block(net, net.linear("eh_proj", x, net.shape[table][-1]), c, family, kind, True)
            x = net.norm("norm", x, norm)
        one = net.loss(x, words, later, tied, kind="activation")
        total, labels = net.add(total, one) if total else one, later
    return total


def build(net, c, family, layers):
    """The whole forward pass."""
    hidden, words, norm = c.size(*NAMES["hidden"]), c.size("vocab_size", least=2), family.get("norm", "rms")
    net.causal, net.narrow_loss = not family.get("sees_all"), family.get("narrow_loss", False)
    kinds, experts = layers_of(c, family, layers)
    x, ids = embedded(net, c, family, hidden, words)
    labels = net.given("labels", net.batch, net.seq, kind="input", dtype="i64")
    x, seen = net.sees(net, x) if net.sees else (x, ())
    each = per_layer(net, ids, x, c, layers)
    streams = altup_open(net, x) if family.get("altup") else None
    for i in range(layers):
        net.layer, c.layer, c.layers = (i, layers), i, layers
        with net.inside(f"layers.{i}"):
            if streams:
                streams = altup_layer(net, streams, each, c, family, (kinds[i], i))
                continue
            x = block(net, x, c, family, kinds[i], experts[i])
            x = add_per_layer(net, x, each, c) if each else x
            x = add_images(net, x, seen[i]) if i < len(seen) else x
    x = altup_close(net, streams) if streams else x
    x = net.norm("norm", x, norm) if family.get("last_norm", True) else x
    for step in family.get("head", ()):
        x = step(net, x, c)
    if family.get("two_biases") and not c.on("tie_word_embeddings", normal=True):
        net.given("lm_head.spare", words)   # untied, the head has one that it doesn't use
    tied = family.get("tied", False) is not None and c.on("tie_word_embeddings", normal=family.get("tied", False))
    tied = "embed_tokens.weight" if tied else None
    cap = c.find("final_logit_softcapping")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, (int, float)) or cap <= 0):
        raise Bad(f"final_logit_softcapping is {described(cap)}: expected a number above 0 or null")
    bias = c.whether(family.get("head_bias", False)) and c.on("decoder_bias", normal=True)
    loss = net.loss(x, words, labels, tied, bias, cap is not None)
    more = further(net, x, c, family, (words, kinds[-1], tied), labels)
    if more:
        net.draft.tensors[loss]["kind"] = "activation"
        net.draft.tensors[net.add(loss, net.map("mul.Tensor", more))]["kind"] = "output"
