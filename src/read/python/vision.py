"""Towers that see: SigLIP, and what makes tokens of images in models for images and text, from a config.json."""
from draft import Bad, integer, items
from towers import attend, layer, one_of, rows, tower

# What transformers' classes have where a vision_config doesn't say.
CLIP = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
        "image_size": 224, "patch_size": 32, "hidden_act": "quick_gelu"}
SIGLIP = {**CLIP, "patch_size": 16, "hidden_act": "gelu_pytorch_tanh"}
QWEN3 = {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16,
         "patch_size": 16, "in_channels": 3, "spatial_merge_size": 2, "temporal_patch_size": 2,
         "out_hidden_size": 3584, "num_position_embeddings": 2304,
         "deepstack_visual_indexes": [8, 16, 24]}
QWEN2 = {"depth": 32, "hidden_size": 3584, "intermediate_size": 3420, "num_heads": 16, "patch_size": 14,
         "in_channels": 3, "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 3584}
LLAMA4 = {"hidden_size": 768, "intermediate_size": 5632, "num_hidden_layers": 34, "num_attention_heads": 16,
          "image_size": 448, "patch_size": 14, "projector_input_dim": 4096, "projector_output_dim": 4096,
          "vision_output_dim": 7680, "pixel_shuffle_ratio": 0.5}


def part(c, name, normal):
    """The keys of a part of a file."""
    own = c.file.get(name)
    return type(c)({**normal, **(own if isinstance(own, dict) else {})})


def patches(net, c, bias):
    """One image a sample, in patches: [b, count, hidden]."""
    b, wide, size, side = net.batch, c.size("hidden_size"), c.size("patch_size"), c.size("image_size")
    if side % size and bias is None:
        raise Bad(f"image_size {side} is not a multiple of patch_size {size}")
    channels, across = c.size("num_channels", normal=3), side // size
    if not across:
        raise Bad(f"image_size {side} is less than patch_size {size}")
    pixels = net.given("pixel_values", b, channels, side, side, kind="input")
    with net.inside("patch_embedding"):
        weights = net.given("weight", wide, channels, size, size), net.given("bias", wide) if bias else None
        x = net.op("aten.convolution.default", [pixels, *weights], (b, wide, across, across))
    return net.op("aten.permute.default", [net.view(x, b, wide, across ** 2)], (b, across ** 2, wide), view=True)


def pooled(net, x, c):
    """SigLIP's head: a learned query looks at all patches."""
    b, _, width = net.shape[x]
    with net.inside("head"):
        probe = net.op("aten.expand.default", [net.given("probe", 1, 1, width)], (b, 1, width), view=True)
        x = attend(net, "attention", probe, x, c.size("num_attention_heads"), (True,) * 4)
        y = net.plain("mlp", net.norm("layernorm", x, "layer"), c.size("intermediate_size"), True, c.text("hidden_act"))
        return one_of(net, net.add(x, y))


def siglip_tower(net, c):
    """Patches, layers, a norm."""
    x = patches(net, c, True)
    x = net.add(x, rows(net, "position_embedding", *net.shape[x][1:]))
    return net.norm("post_layernorm", tower(net, x, c, 0), "layer")


def siglip(net, c, asked):
    """SigLIP: every image of the batch against every text, each pair by itself."""
    text = part(c, "text_config", {**SIGLIP, "vocab_size": 32000, "max_position_embeddings": 64})
    vision, b = part(c, "vision_config", SIGLIP), net.batch
    if asked:
        text.file["num_hidden_layers"] = vision.file["num_hidden_layers"] = asked
    net.causal = False
    with net.inside("text_model"):
        width, length = text.size("hidden_size"), text.size("max_position_embeddings")
        ids = net.given("ids", b, length, kind="input", dtype="i64")
        x = net.table("token_embedding", text.size("vocab_size", least=2), width, ids)
        x = tower(net, net.add(x, rows(net, "position_embedding", length, width)), text, 0)
        words = one_of(net, net.norm("final_layer_norm", x, "layer"))
        words = net.linear("head", words, text.size("projection_size", normal=width), True)
    with net.inside("vision_model"):
        x = siglip_tower(net, vision)
        if not vision.on("vision_use_head", normal=True):
            raise Bad("vision_use_head is false: only true is covered for model_type \"siglip\"")
        seen = pooled(net, x, vision)
    if net.shape[seen] != net.shape[words]:
        raise Bad(f"images have a width of {net.shape[seen][1]}, texts of {net.shape[words][1]}")
    turned = net.op("aten.t.default", [seen], (net.shape[seen][1], b), view=True)
    logits = net.op("aten.mm.default", [words, turned], (b, b))
    logits = net.times(logits, net.map("exp.default", net.given("logit_scale", 1)))
    logits = net.add(logits, net.given("logit_bias", 1))
    signs = net.given("signs", b, b, kind="buffer")
    each = net.map("log_sigmoid_forward.default", net.times(signs, logits))
    net.draft.tensors[net.op("aten.mean.default", [each], ())]["kind"] = "output"


# ---- models for images and text: tokens of images, [b, count, hidden], and what first layers get besides ----

def gemma_images(net, file, hidden):
    """Gemma 3: the mean of each square of patches, a norm, a product."""
    c, b = part(file, "vision_config", SIGLIP), net.batch
    with net.inside("vision_tower"):
        x = siglip_tower(net, c)
        if c.on("vision_use_head", normal=True):
            pooled(net, x, c)   # made, and used by nobody
    _, count, wide = net.shape[x]
    across, tokens = int(count ** 0.5), file.size("mm_tokens_per_image", normal=256)
    to = int(tokens ** 0.5)
    if to * to != tokens or across % to:
        raise Bad(f"mm_tokens_per_image is {tokens}: expected a square that divides {across} x {across} patches")
    x = net.op("aten.permute.default", [x], (b, wide, count), view=True)
    x = net.map("clone.default", net.view(x, b, wide, across, across))
    x = net.op("aten.avg_pool2d.default", [x], (b, wide, to, to))
    x = net.op("aten.permute.default", [net.view(x, b, wide, tokens)], (b, tokens, wide), view=True)
    with net.inside("multi_modal_projector"):
        x = net.norm("mm_soft_emb_norm", x, "gemma")
        weight = net.given("mm_input_projection_weight", wide, hidden)
        flat = net.view(net.map("clone.default", x), b * tokens, wide)
        x = net.op("aten.mm.default", [flat, weight], (b * tokens, hidden))
        return net.view(x, b, tokens, hidden), []


def paligemma_images(net, file, hidden):
    """PaliGemma: a product of every patch."""
    c = part(file, "vision_config", SIGLIP)
    with net.inside("vision_tower"):
        x = siglip_tower(net, c)
        if c.on("vision_use_head", normal=True):
            pooled(net, x, c)   # made, and used by nobody
    with net.inside("multi_modal_projector"):
        return net.map("div.Tensor", net.linear("linear", x, hidden, True)), []


def llava_images(net, file, hidden):
    """LLaVA: what CLIP's last layer but one makes of every patch, through two products."""
    own = file.file["vision_config"].get("model_type", "clip_vision_model")
    if own != "clip_vision_model" or file.find("vision_feature_layer") not in (None, -2) or file.text(
            "vision_feature_select_strategy", normal="default") != "default":
        raise Bad("vision_config: only a clip_vision_model is covered, of which the last layer but one is "
                  "taken without its first row")
    c = part(file, "vision_config", CLIP)
    with net.inside("vision_tower"):
        x, wide = patches(net, c, False), c.size("hidden_size")
        first = net.op("aten.expand.default", [net.given("class_embedding", wide)], (net.batch, 1, wide), view=True)
        count = net.shape[x][1] + 1
        x = net.op("aten.cat.default", [first, x], (net.batch, count, wide))
        x = net.norm("pre_layrnorm", net.add(x, rows(net, "position_embedding", count, wide)), "layer")
        for i in range(c.size("num_hidden_layers")):
            taken = x
            with net.inside(f"layers.{i}"):
                x = layer(net, x, c.size("num_attention_heads"), c.size("intermediate_size"), c.text("hidden_act"),
                          (True,) * 4)
        net.norm("post_layernorm", one_of(net, x), "layer")   # made, and used by nobody, as is the last layer
    x = net.op("aten.slice.Tensor", [taken], (net.batch, count - 1, wide), view=True)
    with net.inside("multi_modal_projector"):
        bias = file.on("multimodal_projector_bias", normal=True)
        x = net.act(file.text("projector_hidden_act", normal="gelu"), net.linear("linear_1", x, hidden, bias))
        return net.linear("linear_2", x, hidden, bias), []


def llama4_images(net, file, hidden):
    """Llama 4: one tile a sample; each square of four patches becomes a token."""
    c, b = part(file, "vision_config", LLAMA4), net.batch
    wide, size, side = c.size("hidden_size"), c.size("patch_size"), c.size("image_size")
    across, heads, channels = side // size, c.size("num_attention_heads"), c.size("num_channels", normal=3)
    if c.find("pixel_shuffle_ratio") != 0.5 or across % 2 or not across:
        raise Bad("pixel_shuffle_ratio: only 0.5, of an even number of patches along a side, is covered")
    count, inner, out = across ** 2, c.size("intermediate_size"), c.size("vision_output_dim")
    if {c.size("projector_input_dim"), c.size("projector_output_dim")} != {out}:
        raise Bad(f"vision_output_dim is {out}: expected projector_input_dim and projector_output_dim to be the same")
    if inner != 4 * wide:
        raise Bad(f"intermediate_size of vision_config is {inner}: expected four patches, {4 * wide}")
    with net.inside("vision_model"):
        pixels = net.given("pixel_values", b, channels, side, side, kind="input")
        cut = net.op("aten.im2col.default", [pixels], (b, channels * size * size, count))
        cut = net.op("aten.permute.default", [cut], (b, count, channels * size * size), view=True)
        x = net.linear("patch_embedding.linear", net.map("clone.default", cut), wide)
        last = net.op("aten.expand.default", [net.given("class_embedding", wide)], (b, 1, wide), view=True)
        x = net.op("aten.cat.default", [x, last], (b, count + 1, wide))
        x = net.norm("layernorm_pre", net.add(x, net.given("positional_embedding_vlm", count + 1, wide)), "layer")
        for i in range(c.size("num_hidden_layers")):
            with net.inside(f"layers.{i}"):
                y = net.norm("input_layernorm", x, "layer")
                q, k, v = (net.heads(net.linear(one, y, wide, True), heads) for one in ("q_proj", "k_proj", "v_proj"))
                q, k = (net.turn(one, wide // heads) for one in (q, k))
                x = net.add(x, net.linear("o_proj", net.attend(q, k, v), wide, True))
                x = net.add(x, net.plain("mlp", net.norm("post_attention_layernorm", x, "layer"), inner, True))
        x = net.norm("layernorm_post", x, "layer")
        x = net.op("aten.slice.Tensor", [x], (b, count, wide), view=True)
        x = net.view(net.map("clone.default", x), b, count // 4, 4 * wide)   # squares beside each other
        with net.inside("vision_adapter"):
            x = net.act("gelu", net.linear("fc2", net.act("gelu", net.linear("fc1", x, out)), out))
    return net.linear("multi_modal_projector.linear_1", x, hidden), []


def qwen2_5_images(net, file, hidden):
    """Qwen2.5-VL: an image of 32 x 32 patches, as the file says none."""
    c, count = part(file, "vision_config", QWEN2), 32 * 32
    square, wide, heads = c.size("spatial_merge_size") ** 2, c.size("hidden_size"), c.size("num_heads")
    if count % square or c.size("out_hidden_size") != hidden or wide % heads:
        raise Bad(f"vision_config: expected out_hidden_size {hidden}, the text's, and squares that divide 32 x 32")
    with net.inside("visual"):
        x = qwen_patches(net, c, count, False)
        for i in range(c.size("depth")):
            with net.inside(f"blocks.{i}"):
                x = net.add(x, qwen_attention(net, net.norm("norm1", x), c))
                x = net.add(x, net.gated("mlp", net.norm("norm2", x), c.size("intermediate_size"), True))
        with net.inside("merger"):
            x = net.view(net.norm("ln_q", x), net.batch, count // square, square * wide)
            return net.linear("mlp.2", net.act("gelu", net.linear("mlp.0", x, square * wide, True)), hidden, True), []


def qwen_patches(net, c, count, bias=True):
    """Patches of a few frames each, as rows that the processor cut."""
    b, wide = net.batch, c.size("hidden_size")
    size, times = c.size("patch_size"), c.size("temporal_patch_size")
    cut = c.size("in_channels", "in_chans", normal=3), times, size, size
    pixels = net.view(net.given("pixel_values", b, count, cut[0] * times * size * size, kind="input"), b * count, *cut)
    weights = [net.given("patch_embed.proj.weight", wide, *cut)]
    weights += [net.given("patch_embed.proj.bias", wide)] if bias else []
    return net.view(net.op("aten.convolution.default", [pixels, *weights], (b * count, wide, 1, 1, 1)), b, count, wide)


def qwen_merger(net, name, x, c, hidden, behind=False):
    """A square of patches to one token. behind: the norm is of the square."""
    b, count, wide = net.shape[x]
    square = c.size("spatial_merge_size") ** 2
    with net.inside(name):
        x = x if behind else net.norm("norm", x, "layer")
        x = net.view(x, b, count // square, wide * square)
        x = net.norm("norm", x, "layer") if behind else x
        x = net.act("gelu", net.linear("linear_fc1", x, wide * square, True))
        return net.linear("linear_fc2", x, hidden, True)


def qwen_attention(net, x, c):
    """Attention of a Qwen tower: one product of queries, keys and values, turned by places."""
    wide, heads = net.shape[x][-1], c.size("num_heads")
    if wide % heads or wide // heads % 4:
        raise Bad(f"hidden_size of vision_config is {wide}: expected a multiple of 4 for each of {heads} heads")
    with net.inside("attn"):
        q, k, v = (net.heads(one, heads) for one in net.parts(net.linear("qkv", x, 3 * wide, True), wide, wide, wide))
        q, k = (net.turn(one, wide // heads) for one in (q, k))
        return net.linear("proj", net.attend(q, k, v), wide, True)


def qwen3_images(net, file, hidden):
    """Qwen3-VL: an image of as many patches as there are learned positions; some layers give the text's first more."""
    c = part(file, "vision_config", QWEN3)
    count, wide = c.size("num_position_embeddings"), c.size("hidden_size")
    deep = items(c.find("deepstack_visual_indexes"))
    if count % c.size("spatial_merge_size") ** 2:
        raise Bad(f"num_position_embeddings is {count}: expected a multiple of spatial_merge_size squared")
    if any(not integer(one) for one in deep) or c.size("out_hidden_size") != hidden:
        raise Bad("deepstack_visual_indexes: expected numbers of layers, and out_hidden_size to be the text's, "
                  f"{hidden}")
    more = []
    with net.inside("visual"):
        x = qwen_patches(net, c, count)
        corners = net.given("pos_embed.ids", net.batch, count, 4, kind="buffer", dtype="i64")
        places = net.table("pos_embed", count, wide, corners)   # between the four that are nearest
        places = net.times(places, net.given("pos_embed.shares", net.batch, count, 4, 1, kind="buffer"))
        x = net.add(x, net.op("aten.sum.dim_IntList", [places], (net.batch, count, wide)))
        for i in range(c.size("depth")):
            with net.inside(f"blocks.{i}"):
                x = net.add(x, qwen_attention(net, net.norm("norm1", x, "layer"), c))
                y = net.norm("norm2", x, "layer")
                x = net.add(x, net.plain("mlp", y, c.size("intermediate_size"), True))
            if i in deep:
                more.append(qwen_merger(net, f"deepstack_merger_list.{deep.index(i)}", x, c, hidden, True))
        return qwen_merger(net, "merger", x, c, hidden), more


SEEING = {"gemma3": gemma_images, "paligemma": paligemma_images, "llava": llava_images, "qwen3_vl": qwen3_images,
          "qwen3_vl_moe": qwen3_images, "qwen2_5_vl": qwen2_5_images, "llama4": llama4_images}
# How large that image is, where no key says it in pixels.
SAID = {"qwen2_5_vl": " (32 x 32 patches, windows of the tower counted as attention to all)",
        "qwen3_vl": " (as many patches as num_position_embeddings)",
        "qwen3_vl_moe": " (as many patches as num_position_embeddings)"}


def put(net, x, images):
    """Tokens of images in the place of those that stand for them."""
    seen = net.given("image_mask", net.batch, net.seq, 1, kind="buffer", dtype="bool")
    seen = net.op("aten.expand.default", [seen], net.shape[x], view=True)
    return net.op("aten.masked_scatter.default", [x, seen, images], net.shape[x])


def put_images(net, x, file):
    """What goes into the first layer, with the tokens of one image a sample; what first layers get besides."""
    see = SEEING[file.file["model_type"]]
    was = net.causal, net.share
    net.causal, net.share = False, 0
    images, more = see(net, file, net.shape[x][-1])
    net.causal, net.share = was
    net.image = net.shape[images][1]
    return put(net, x, images), more


def add_images(net, x, images):
    """A layer's result, to whose tokens of images something is added."""
    b, _, hidden = net.shape[x]
    count = net.shape[images][1]
    path, net.path = net.path, []
    where = net.given("image_places", b * count, kind="buffer", dtype="i64")
    net.path = path
    flat = net.view(x, b * net.seq, hidden)
    made = net.op("aten.index_add.default", [flat, where, net.view(images, b * count, hidden)], (b * net.seq, hidden))
    return net.view(made, b, net.seq, hidden)
