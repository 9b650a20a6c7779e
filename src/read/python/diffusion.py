"""Diffusion transformers from the config.json of diffusers: Flux and Stable Diffusion 3. A batch of noisy latents and
of text embeddings to what is to be taken away, against a target."""
from draft import Bad, items

STEP = 256   # numbers that say a point in time
TEXT = {"FluxTransformer2DModel": 512, "SD3Transformer2DModel": 333}   # tokens of the text in the library's pipelines


def embedded(net, name, inside, width):
    """Two products of one row a sample."""
    with net.inside(name):
        x = net.given("input", net.batch, inside, kind="input")
        return net.linear("linear_2", net.act("silu", net.linear("linear_1", x, width, True)), width, True)


def adaptive(net, name, moment, count):
    """Numbers that moment and text choose: shifts, scales and gates, [b, 1, width] each."""
    b, width = net.shape[moment]
    with net.inside(name):
        made = net.linear("linear", net.act("silu", moment), count * width, True)
        each = net.parts(made, *[width] * count)
        return [net.op("aten.unsqueeze.default", [one], (b, 1, width), view=True) for one in each]


def shifted(net, x, shift, scale):
    """A norm without weights, scaled and shifted."""
    few = net.shape[x][:-1] + (1,)
    y = net.op("aten.native_layer_norm.default", [x], net.shape[x], few, few, dtypes=(net.dtype[x], "f32", "f32"))
    return net.add(net.times(y, net.map("add.Tensor", scale)), shift)


def along(net, a, b):
    """One sequence of two."""
    shape = net.shape[a]
    return net.op("aten.cat.default", [a, b], shape[:-2] + (shape[-2] + net.shape[b][-2], shape[-1]))


def piece(net, x, count):
    """Some tokens of a sequence."""
    b, _, width = net.shape[x]
    return net.op("aten.slice.Tensor", [x], (b, count, width), view=True)


def three(net, x, c, names):
    """Queries, keys and values of every head, with norms of the first two; names: of products and norms."""
    heads, head = c.size("num_attention_heads"), c.size("attention_head_dim")
    made = [net.heads(net.linear(name, x, heads * head, True), heads) for name in names[:3]]
    if c.text("qk_norm", normal="") == "rms_norm":
        made[:2] = [net.norm(name, one) for name, one in zip(names[3:], made)]
    return made


OWN = "to_q", "to_k", "to_v", "norm_q", "norm_k"
ADDED = "add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k"


def joint(net, x, text, c, last, flux):
    """Attention of two sequences to both: what each gets of it, of the text None in the last layer."""
    width, count, words = net.shape[x][-1], net.shape[x][1], net.shape[text][1]
    with net.inside("attn"):
        both = list(zip(three(net, x, c, OWN), three(net, text, c, ADDED)))
        q, k, v = (along(net, other, one) if flux else along(net, one, other) for one, other in both)
        if flux:
            q, k = (net.turn(one, net.shape[one][3]) for one in (q, k))
        made = net.attend(q, k, v)
        own, added = (net.map("clone.default", piece(net, made, many)) for many in (count, words))
        return net.linear("to_out.0", own, width, True), None if last else net.linear("to_add_out", added, width, True)


def fed(net, name, x, ways):
    """The second half of a layer, of one sequence: shift, scale and gate."""
    made = net.plain(name, shifted(net, x, *ways[:2]), 4 * net.shape[x][-1], True)
    return net.add(x, net.times(ways[2], made))


def double(net, x, text, moment, c, last=False, dual=False, flux=False):
    """A layer of two sequences, each with its own weights."""
    shift, scale, gate, *ways = adaptive(net, "norm1", moment, 9 if dual else 6)
    of_text = adaptive(net, "norm1_context", moment, 2 if last else 6)
    y = shifted(net, x, shift, scale)
    z = shifted(net, text, *(of_text[1::-1] if last else of_text[:2]))
    seen, read = joint(net, y, z, c, last, flux)
    own = shifted(net, x, *ways[3:5]) if dual else None
    x = net.add(x, net.times(gate, seen))
    if dual:   # attention of the image to itself besides
        with net.inside("attn2"):
            made = net.attend(*three(net, own, c, OWN))
            made = net.linear("to_out.0", made, net.shape[x][-1], True)
        x = net.add(x, net.times(ways[5], made))
    x = fed(net, "ff", x, ways[:3])
    return x, text if last else fed(net, "ff_context", net.add(text, net.times(of_text[2], read)), of_text[3:])


def single(net, x, text, moment, c):
    """A layer of both sequences as one, its halves beside each other."""
    count, words = net.shape[x][1], net.shape[text][1]
    x = along(net, text, x)
    width = net.shape[x][-1]
    shift, scale, gate = adaptive(net, "norm", moment, 3)
    y = shifted(net, x, shift, scale)
    inner = net.act("gelu", net.linear("proj_mlp", y, 4 * width, True))
    with net.inside("attn"):
        q, k, v = three(net, y, c, OWN)
        q, k = (net.turn(one, net.shape[one][3]) for one in (q, k))
        made = net.attend(q, k, v)
    x = net.add(x, net.times(gate, net.linear("proj_out", net.join(made, inner), width, True)))
    return piece(net, x, count), piece(net, x, words)


def wide(c):
    """The width of all heads."""
    return c.size("num_attention_heads") * c.size("attention_head_dim")


def latents(c):
    """How many patches an image has along a side."""
    side, size = c.size("image_size", "sample_size"), c.size("patch_size")
    if side % size:
        raise Bad(f"sample_size {side} is not a multiple of patch_size {size}")
    return side // size


def taken(net, x, target):
    """The mean square of what is wrong."""
    net.draft.tensors[net.op("aten.mse_loss.default", [x, target], ())]["kind"] = "output"


def ended(net, x, moment, out):
    """The last norm and product."""
    scale, shift = adaptive(net, "norm_out", moment, 2)
    return net.linear("proj_out", shifted(net, x, shift, scale), out, True)


def flux(net, c, asked):
    """Flux: latents in rows of two by two."""
    b, channels = net.batch, c.size("in_channels")
    width, count = wide(c), (c.size("image_size", "sample_size") // 2) ** 2
    if c.size("patch_size", normal=1) != 1 or width % 2 or not count:
        raise Bad(f"patch_size is {c.find('patch_size')}: only 1, of latents of at least 2 x 2, is covered")
    net.causal, c.file["qk_norm"] = False, "rms_norm"
    images = net.given("latents", b, count, channels, kind="input")
    words = net.given("text", b, net.seq, c.size("joint_attention_dim"), kind="input")
    with net.inside("time_text_embed"):
        moment = embedded(net, "timestep_embedder", STEP, width)
        if c.on("guidance_embeds"):
            moment = net.add(moment, embedded(net, "guidance_embedder", STEP, width))
        moment = net.add(moment, embedded(net, "text_embedder", c.size("pooled_projection_dim"), width))
    x, text = net.linear("x_embedder", images, width, True), net.linear("context_embedder", words, width, True)
    for i in range(asked or c.size("num_layers")):
        with net.inside(f"transformer_blocks.{i}"):
            x, text = double(net, x, text, moment, c, flux=True)
    for i in range(c.size("num_single_layers", least=0)):
        with net.inside(f"single_transformer_blocks.{i}"):
            x, text = single(net, x, text, moment, c)
    out = c.size("out_channels", normal=channels)
    taken(net, ended(net, x, moment, out), net.given("target", b, count, out, kind="input"))


def sd3(net, c, asked):
    """Stable Diffusion 3: latents in patches; the text's last layer gives nothing more."""
    b, channels, across, size = net.batch, c.size("in_channels"), latents(c), c.size("patch_size")
    width, out, side = wide(c), c.size("out_channels", normal=channels), across * size
    if c.size("caption_projection_dim") != width:
        raise Bad(f"caption_projection_dim: expected the width of all heads, {width}")
    if c.find("qk_norm") not in (None, "rms_norm"):
        raise Bad('qk_norm: only null and "rms_norm" are covered for SD3Transformer2DModel')
    net.causal, dual = False, items(c.find("dual_attention_layers"))
    words = net.given("text", b, net.seq, c.size("joint_attention_dim"), kind="input")
    with net.inside("pos_embed"):
        weights = net.given("proj.weight", width, channels, size, size), net.given("proj.bias", width)
        images = net.given("latents", b, channels, side, side, kind="input")
        x = net.op("aten.convolution.default", [images, *weights], (b, width, across, across))
        x = net.op("aten.permute.default", [net.view(x, b, width, across ** 2)], (b, across ** 2, width), view=True)
        x = net.add(x, net.given("places", 1, across ** 2, width, kind="buffer"))
    with net.inside("time_text_embed"):
        moment = embedded(net, "timestep_embedder", STEP, width)
        moment = net.add(moment, embedded(net, "text_embedder", c.size("pooled_projection_dim"), width))
    text, layers = net.linear("context_embedder", words, width, True), asked or c.size("num_layers")
    for i in range(layers):
        with net.inside(f"transformer_blocks.{i}"):
            x, text = double(net, x, text, moment, c, i == layers - 1, i in dual)
    x = net.view(ended(net, x, moment, size * size * out), b, across, across, size, size, out)
    x = net.op("aten.permute.default", [x], (b, out, across, size, across, size), view=True)
    x = net.view(net.map("clone.default", x), b, out, side, side)
    taken(net, x, net.given("target", b, out, side, side, kind="input"))


# A builder, and the class whose parameters it has, which is the file's _class_name.
DIFFUSION = {"FluxTransformer2DModel": (flux, "FluxTransformer2DModel"),
             "SD3Transformer2DModel": (sd3, "SD3Transformer2DModel")}
