"""Encoders, and encoders with decoders, from a config.json: vision transformers (ViT) and T5."""
from config import NAMES, described
from draft import Bad, integer


def heads_of(c, hidden):
    """How many heads there are."""
    heads = c.size(*NAMES["heads"])
    if hidden % heads:
        raise Bad(f"hidden {hidden} is not a multiple of heads {heads}")
    return heads


# ---- ViT ----

def vit_classes(c):
    """How many labels there are."""
    named = c.find("id2label")
    count = c.size("num_labels", normal=len(named) if isinstance(named, dict) else 2)
    if count < 2:
        raise Bad(f"id2label has {count} labels: expected at least 2")
    return count


def vit_layer(net, x, c, heads):
    """Norms before each half."""
    hidden, inner = net.shape[x][-1], c.size("intermediate_size")
    bias, act = c.on("qkv_bias", normal=True), c.text("hidden_act", normal="gelu")
    y = net.norm("layernorm_before", x, "layer")
    with net.inside("attention"):
        q, k, v = (net.heads(net.linear(name, y, hidden, bias), heads) for name in ("query", "key", "value"))
        y = net.linear("output", net.attend(q, k, v), hidden, True)
    x = net.add(x, net.drop(y, c.share("hidden_dropout_prob")))
    return net.add(x, net.drop(net.plain("mlp", net.norm("layernorm_after", x, "layer"), inner, True, act), c.share(
        "hidden_dropout_prob")))


def vit(net, c, asked):
    """Images to patches, with the class token in front, to classes."""
    b, hidden, side, size = net.batch, c.size("hidden_size"), c.size("image_size"), c.size("patch_size")
    net.causal, heads, channels = False, heads_of(c, hidden), c.size("num_channels", normal=3)
    if side % size:
        raise Bad(f"image {side} is not a multiple of patch {size}")
    count = (side // size) ** 2
    images = net.given("pixel_values", b, channels, side, side, kind="input")
    with net.inside("patch_embeddings.projection"):
        x = net.op("aten.convolution.default", [images, net.given("weight", hidden, channels, size, size), net.given(
            "bias", hidden)], (b, hidden, side // size, side // size))
    x = net.op("aten.permute.default", [net.view(x, b, hidden, count)], (b, count, hidden), view=True)
    first = net.op("aten.expand.default", [net.given("cls_token", 1, 1, hidden)], (b, 1, hidden), view=True)
    x = net.op("aten.cat.default", [first, x], (b, count + 1, hidden))
    x = net.drop(net.add(x, net.given("position_embeddings", 1, count + 1, hidden)), c.share("hidden_dropout_prob"))
    for i in range(asked or c.size(*NAMES["layers"])):
        with net.inside(f"layers.{i}"):
            x = vit_layer(net, x, c, heads)
    x = net.op("aten.select.int", [net.norm("layernorm", x, "layer")], (b, hidden), view=True)
    net.entropy(net.linear("classifier", x, vit_classes(c), True), net.given("labels", b, kind="input", dtype="i64"))


# ---- T5 ----

def t5_bias(net, c, heads):
    """The learned bias of every distance, for every head: [1, heads, s, s]."""
    s = net.seq
    distance = net.op("aten.arange.default", [], (s, s), dtypes=("i64",))
    bias = net.table("relative_attention_bias", c.size("relative_attention_num_buckets"), heads, distance)
    bias = net.op("aten.permute.default", [bias], (heads, s, s), view=True)
    return net.op("aten.unsqueeze.default", [bias], (1, heads, s, s), view=True)


def t5_mask(net, heads, bias, causal):
    """What one layer's kernel adds to its scores, and keeps: a copy of the bias, in a decoder where a token
    sees another; zeros without a bias."""
    if net.fused:
        return bias
    s = net.seq
    if not bias:
        return net.op("aten.zeros.default", [], (1, heads, s, s), dtypes=(net.float,))
    if causal:
        bias = net.op("aten.where.self", [net.seen(1, s), bias], net.shape[bias], dtypes=(net.float,))
    return net.map("clone.default", bias)


def t5_attention(net, name, x, memory, c, mask):
    """Attention of x to itself or to what is encoded, with the residual connection."""
    hidden, heads, head = net.shape[x][-1], c.size(*NAMES["heads"]), c.size("d_kv")
    with net.inside(name):
        y = net.norm("layer_norm", x, "t5")
        q, k, v = (net.heads(net.linear(one, of, heads * head), heads) for one, of in (("q", y), ("k", memory or y), (
            "v", memory or y)))
        y = net.linear("o", net.attend(q, k, v, mask, False), hidden)
        return net.add(x, net.drop(y, net.share))


def t5_kinds(c):
    """The feed-forward layer: whether it has a gate, its non-linearity ("gated-gelu": the library's is gelu_new)."""
    named = c.find("feed_forward_proj")
    if not isinstance(named, str):
        raise Bad(f"feed_forward_proj is {described(named)}: expected relu, gelu or gated-gelu")
    gated, act = named.startswith("gated-"), named.split("-")[-1]
    act = "gelu_new" if gated and act == "gelu" else act
    if act not in ("relu", "gelu", "gelu_new"):
        raise Bad(f"feed_forward_proj is {described(named)}: expected relu, gelu or gated-gelu")
    return gated, act


def t5_stack(net, name, x, memory, c, layers):
    """The encoder, or with what it made the decoder."""
    heads, inner, (gated, act) = c.size(*NAMES["heads"]), c.size("d_ff"), t5_kinds(c)
    each = c.file.get("model_type") == "umt5"   # distances have a bias in every layer, else in the first alone
    with net.inside(name):
        x, bias, zeros = net.drop(x, net.share), None if each else t5_bias(net, c, heads), None
        for i in range(layers):
            with net.inside(f"layers.{i}"):
                mask = t5_mask(net, heads, t5_bias(net, c, heads) if each else bias, memory)
                x = t5_attention(net, "self_attention", x, None, c, mask)
                if memory:
                    zeros = zeros if zeros and not each else t5_mask(net, heads, None, False)
                    x = t5_attention(net, "cross_attention", x, memory, c, zeros)
                y = net.norm("layer_norm", x, "t5")
                with net.inside("mlp"):
                    y, up = net.act(act, net.linear("wi_0", y, inner)), net.linear("wi_1", y, inner) if gated else None
                    y = net.linear("wo", net.drop(net.times(y, up) if gated else y, net.share), net.shape[x][-1])
                x = net.add(x, net.drop(y, net.share))
        return net.drop(net.norm("final_layer_norm", x, "t5"), net.share)


def t5(net, c, asked):
    """Encoder and decoder of as many tokens each."""
    hidden, words, layers = c.size("d_model"), c.size("vocab_size", least=2), asked or c.size(*NAMES["layers"])
    later = c.find("num_decoder_layers")
    later = layers if asked or not integer(later) else later
    if not 1 <= later <= 4096:
        raise Bad(f"num_decoder_layers is {described(later)}: expected a number from 1 to 4096")
    for key, only in (("is_encoder_decoder", True), ("is_decoder", False)):
        if c.on(key, normal=only) != only:
            raise Bad(f"{key} is {described(c.find(key))}: only {described(only)} is covered")
    net.share, net.narrow_loss, b, s = c.share("dropout_rate"), True, net.batch, net.seq
    ids, targets, labels = (net.given(name, b, s, kind="input", dtype="i64")
                            for name in ("ids", "decoder_ids", "labels"))
    x, table = net.table("shared", words, hidden, ids), "shared.weight"
    memory = t5_stack(net, "encoder", x, None, c, layers)
    x = t5_stack(net, "decoder", net.op("aten.embedding.default", [table, targets], (b, s, hidden)), memory, c, later)
    if c.on("tie_word_embeddings", normal=True):
        x = net.map("mul.Tensor", x)
    net.loss(x, words, labels, table)   # tied in any case, as in transformers 5


# A builder, and the class whose parameters it has.
ENCODERS = {"vit": (vit, "ViTForImageClassification"), "t5": (t5, "T5ForConditionalGeneration"),
            "mt5": (t5, "MT5ForConditionalGeneration"), "umt5": (t5, "UMT5ForConditionalGeneration")}
