"""Models of two towers from a config.json: CLIP (an encoder of images beside one of texts) and Whisper (an encoder of sound
whose states a decoder reads)."""
from draft import Bad


def attend(net, name, x, source, heads, biases):
    """Attention of x to a source, in one kernel. biases: of queries, keys, values and the last product."""
    width = net.shape[x][-1]
    if width % heads:
        raise Bad(f"hidden {width} is not a multiple of {heads} heads")
    with net.inside(name):
        q, k, v = (net.heads(net.linear(one + "_proj", of, width, bias), heads) for one, of, bias in zip(
            "qkv", (x, source, source), biases))
        return net.linear("out_proj", net.attend(q, k, v), width, biases[3])


def layer(net, x, heads, inner, act, biases, memory=None):
    """Norms before each half; between them, where there is a memory, attention to it."""
    y = net.norm("self_attn_layer_norm", x, "layer")
    x = net.add(x, attend(net, "self_attn", y, y, heads, biases))
    if memory:
        x = net.add(x, attend(net, "encoder_attn", net.norm("encoder_attn_layer_norm", x, "layer"), memory, heads,
                              biases))
    return net.add(x, net.plain("mlp", net.norm("final_layer_norm", x, "layer"), inner, True, act))


def rows(net, name, count, width):
    """Learned positions of all that there are."""
    return net.table(name, count, width, net.given(name + ".ids", net.batch, count, kind="buffer", dtype="i64"))


def whisper(net, c, asked):
    """Whisper: 30 seconds of sound, and as many tokens as are asked for."""
    width, bins = c.size("d_model"), c.size("num_mel_bins", normal=80)
    frames, most = c.size("max_source_positions", normal=1500), c.size("max_target_positions", normal=448)
    act, words, biases = c.text("activation_function", normal="gelu"), c.size("vocab_size", least=2), (
        True, False, True, True)
    if net.seq > most:
        raise Bad(f"a sequence of {net.seq} is longer than the learned positions, {most}")
    b = net.batch
    with net.inside("encoder"):
        x = net.given("input_features", b, bins, 2 * frames, kind="input")
        for i, (before, length) in enumerate(((bins, 2 * frames), (width, frames))):
            with net.inside(f"conv{i + 1}"):
                weights = net.given("weight", width, before, 3), net.given("bias", width)
                x = net.act("gelu", net.op("aten.convolution.default", [x, *weights], (b, width, length)))
        x = net.op("aten.permute.default", [x], (b, frames, width), view=True)
        x = net.add(x, rows(net, "embed_positions", frames, width))
        for i in range(asked or c.size("encoder_layers")):
            with net.inside(f"layers.{i}"):
                x = layer(net, x, c.size("encoder_attention_heads"), c.size("encoder_ffn_dim"), act, biases)
        memory = net.norm("layer_norm", x, "layer")
    with net.inside("decoder"):
        ids = net.given("ids", b, net.seq, kind="input", dtype="i64")
        places = net.given("position_ids", b, net.seq, kind="buffer", dtype="i64")
        x = net.add(net.table("embed_tokens", words, width, ids), net.table("embed_positions", most, width, places))
        for i in range(asked or c.size("decoder_layers")):
            with net.inside(f"layers.{i}"):
                x = layer(net, x, c.size("decoder_attention_heads"), c.size("decoder_ffn_dim"), act, biases, memory)
        x = net.norm("layer_norm", x, "layer")
    net.narrow_loss = True
    net.loss(x, words, net.given("labels", b, net.seq, kind="input", dtype="i64"), "decoder.embed_tokens.weight")


def tower(net, x, c, asked):
    """The layers of one of CLIP's encoders."""
    for i in range(asked or c.size("num_hidden_layers", normal=12)):
        with net.inside(f"layers.{i}"):
            x = layer(net, x, c.size("num_attention_heads", normal=8), c.size("intermediate_size", normal=2048),
                      c.text("hidden_act", normal="quick_gelu"), (True,) * 4)
    return x


def one_of(net, x):
    """One row of every sample."""
    b, _, width = net.shape[x]
    return net.op("aten.select.int", [x], (b, width), view=True)


def clip(net, c, asked):
    """CLIP: every image of the batch against every text."""
    parts = [type(c)(c.file[name]) if isinstance(c.file.get(name), dict) else type(c)({})
             for name in ("text_config", "vision_config")]
    text, vision = parts
    text.file = {**text.file, **{key: c.file[key] for key in ("vocab_size",) if c.file.get(key)}}
    b, shared = net.batch, c.size("projection_dim", normal=512)
    with net.inside("text_model"):
        width, length = text.size("hidden_size", normal=512), text.size("max_position_embeddings", normal=77)
        ids = net.given("ids", b, length, kind="input", dtype="i64")
        x = net.table("token_embedding", text.size("vocab_size", normal=49408, least=2), width, ids)
        x = tower(net, net.add(x, rows(net, "position_embedding", length, width)), text, asked)
        words = one_of(net, net.norm("final_layer_norm", x, "layer"))
    with net.inside("vision_model"):
        wide, size = vision.size("hidden_size", normal=768), vision.size("patch_size", normal=32)
        side = vision.size("image_size", normal=224)
        if side % size:
            raise Bad(f"image_size {side} is not a multiple of patch_size {size}")
        channels, count = vision.size("num_channels", normal=3), (side // size) ** 2
        pixels = net.given("pixel_values", b, channels, side, side, kind="input")
        x = net.op("aten.convolution.default",
                   [pixels, net.given("patch_embedding.weight", wide, channels, size, size)],
                   (b, wide, side // size, side // size))
        x = net.op("aten.permute.default", [net.view(x, b, wide, count)], (b, count, wide), view=True)
        first = net.op("aten.expand.default", [net.given("class_embedding", wide)], (b, 1, wide), view=True)
        x = net.op("aten.cat.default", [first, x], (b, count + 1, wide))
        x = net.add(x, rows(net, "position_embedding", count + 1, wide))
        vision.file = {"num_attention_heads": 12, "intermediate_size": 3072, **vision.file}
        x = tower(net, net.norm("pre_layrnorm", x, "layer"), vision, asked)
        seen = net.norm("post_layernorm", one_of(net, x), "layer")
    words, seen = net.linear("text_projection", words, shared), net.linear("visual_projection", seen, shared)
    turned = net.op("aten.t.default", [seen], (shared, b), view=True)
    logits = net.times(net.op("aten.mm.default", [words, turned], (b, b)),
                       net.map("exp.default", net.given("logit_scale")))
    labels = net.given("labels", b, kind="input", dtype="i64")
    both = [net.entropy(one, labels, "activation")
            for one in (logits, net.op("aten.t.default", [logits], (b, b), view=True))]
    net.draft.tensors[net.add(*both)]["kind"] = "output"


# A builder, and the class whose parameters it has.
TOWERS = {"clip": (clip, "CLIPModel"), "whisper": (whisper, "WhisperForConditionalGeneration")}
