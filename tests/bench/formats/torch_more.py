"""More logs of torch.compile, of what is rarer than whole models: torch_more.py FOLDER [NAME...]

A GAN, a custom op, nested tensors, vmap of grad, torch.cond, compiled autograd, int8 weights, bf16 layers, an optimizer, CTC, FFT and so on; then families
of transformers and timm, which these need. Writes for each FOLDER/NAME.log (TORCH_LOGS=aot_joint_graph,aot_graphs), NAME.trace/ (TORCH_TRACE) and NAME.json: the
peak of the same step as the profiler counts the CPU
allocator's bytes, beside parameters, buffers and inputs. Each in a process of its own; BACKEND=inductor for NAME.debug/ too.
"""

import json, os, sys

from each_alone import cases, each_alone, for_torch

B = os.environ.get("BACKEND", "aot_eager")
if sys.argv[1] == "--one":
    import torch
    import torch.nn as nn
    import torch.nn.functional as F


def gan():
    G = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(0.2), nn.BatchNorm1d(128), nn.Linear(128, 784), nn.Tanh())
    D = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))

    def step(z, x):
        fake = G(z)
        return (
            F.binary_cross_entropy_with_logits(D(x), torch.ones(64, 1))
            + F.binary_cross_entropy_with_logits(D(fake.detach()), torch.zeros(64, 1))
            + F.binary_cross_entropy_with_logits(D(fake), torch.ones(64, 1))
        )

    return [G, D], step, (torch.randn(64, 32), torch.randn(64, 784))


def flex():
    from torch.nn.attention.flex_attention import flex_attention, create_block_mask

    q = nn.Linear(64, 192)
    o = nn.Linear(64, 64)

    def causal(b, h, i, j):
        return i >= j

    def step(x):
        t = q(x).view(2, 128, 3, 4, 16).permute(2, 0, 3, 1, 4)
        y = flex_attention(t[0], t[1], t[2], score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1)
        return o(y.transpose(1, 2).reshape(2, 128, 64)).pow(2).mean()

    for m in (q, o):
        m.requires_grad_(False)
    return [q, o], step, (torch.randn(2, 128, 64),)


def custom():
    @torch.library.custom_op("mine::scale", mutates_args=())
    def scale(x: torch.Tensor, k: float) -> torch.Tensor:
        return x * k

    @scale.register_fake
    def _(x, k):
        return torch.empty_like(x)

    def setup(ctx, inputs, output):
        ctx.k = inputs[1]

    def bw(ctx, g):
        return torch.ops.mine.scale(g, ctx.k), None

    scale.register_autograd(bw, setup_context=setup)
    m = nn.Linear(128, 128)
    return [m], lambda x: torch.ops.mine.scale(m(x).relu(), 0.5).sum(), (torch.randn(32, 128),)


def nested():
    l = nn.Linear(32, 64)
    l2 = nn.Linear(64, 8)

    def step(v, off):
        nt = torch.nested.nested_tensor_from_jagged(v, off)
        return l2(F.relu(l(nt))).values().pow(2).mean()

    return [l, l2], step, (torch.randn(40, 32), torch.tensor([0, 10, 22, 40]))


def dyn():
    m = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
    h = nn.Linear(64, 100)

    def step(x):
        return F.cross_entropy(h(m(x)).flatten(0, 1), torch.zeros(x.shape[0] * x.shape[1], dtype=torch.long))

    x = torch.randn(6, 17, 64)
    torch._dynamo.mark_dynamic(x, 0)
    torch._dynamo.mark_dynamic(x, 1)
    return [m, h], step, (x,)


def quant():
    # int8 weight-only
    w = torch.randint(-127, 127, (256, 128), dtype=torch.int8)
    s = torch.rand(256)

    class Q(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", w)
            self.register_buffer("s", s)
            self.a = nn.Linear(128, 128)
            self.b = nn.Linear(256, 10)

        def forward(self, x):
            return self.b(F.relu(F.linear(self.a(x), self.w.to(x.dtype) * self.s[:, None])))

    m = Q()
    return [m], lambda x: m(x).pow(2).mean(), (torch.randn(32, 128),)


def unet3d():
    d1 = nn.Conv3d(1, 8, 3, padding=1)
    d2 = nn.Conv3d(8, 16, 3, stride=2, padding=1)
    u = nn.ConvTranspose3d(16, 8, 2, 2)
    o = nn.Conv3d(16, 2, 1)
    n1 = nn.InstanceNorm3d(8, affine=True)

    def step(x):
        a = F.relu(n1(d1(x)))
        b = F.relu(d2(a))
        c = u(b)
        return F.cross_entropy(o(torch.cat([a, c], 1)), torch.zeros(x.shape[0], 16, 16, 16, dtype=torch.long))

    return [d1, d2, u, o, n1], step, (torch.randn(2, 1, 16, 16, 16),)


def sdpa_bf16():
    m = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True).to(torch.bfloat16)
    return [m], lambda x: m(x).float().pow(2).mean(), (torch.randn(4, 32, 64, dtype=torch.bfloat16),)


def mha_drop():
    m = nn.TransformerDecoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
    return [m], lambda x, y: m(x, y).pow(2).mean(), (torch.randn(4, 32, 64), torch.randn(4, 20, 64))


def embbag():
    e = nn.EmbeddingBag(1000, 32, mode="sum")
    l = nn.Linear(32, 1)
    return [e, l], lambda i, o: l(e(i, o)).sigmoid().mean(), (torch.randint(0, 1000, (64,)), torch.arange(0, 64, 4))


def checkpoint():
    from torch.utils.checkpoint import checkpoint as ck

    ls = nn.ModuleList([nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)) for _ in range(4)])

    def step(x):
        for l in ls:
            x = x + ck(l, x, use_reentrant=False)
        return x.pow(2).mean()

    return [ls], step, (torch.randn(64, 128),)


def vmap_grad():
    m = nn.Linear(16, 16)

    def step(x):
        f = lambda v: (m(v).tanh() ** 2).sum()
        g = torch.func.vmap(torch.func.grad(f))(x)
        return g.pow(2).mean() + torch.func.vmap(f)(x).mean()

    return [m], step, (torch.randn(12, 16),)


def scan_cond():
    m = nn.Linear(16, 16)

    def step(x):
        return torch.cond(x.sum() > 0, lambda x: m(x).relu(), lambda x: m(x).tanh(), (x,)).pow(2).mean()

    return [m], step, (torch.randn(12, 16),)


def complexfft():
    m = nn.Linear(64, 64)

    def step(x):
        y = torch.fft.rfft(m(x))
        return torch.fft.irfft(y * y.conj()).abs().mean()

    return [m], step, (torch.randn(12, 64),)


def swa():
    # sliding window, rotary, gqa block
    q, k, v, o = nn.Linear(64, 64, bias=False), nn.Linear(64, 32, bias=False), nn.Linear(64, 32, bias=False), nn.Linear(64, 64, bias=False)
    mask = torch.ones(48, 48).tril().logical_and(torch.ones(48, 48).triu(-8)).bool()

    def step(x):
        b, s, _ = x.shape
        Q = q(x).view(b, s, 4, 16).transpose(1, 2)
        K = k(x).view(b, s, 2, 16).transpose(1, 2)
        V = v(x).view(b, s, 2, 16).transpose(1, 2)
        y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, enable_gqa=True)
        return o(y.transpose(1, 2).reshape(b, s, 64)).pow(2).mean()

    return [q, k, v, o], step, (torch.randn(3, 48, 64),)


def optim():
    m = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64))
    opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    for p in m.parameters():
        p.grad = torch.zeros_like(p)
    m._opt = opt
    f = torch.compile(lambda: opt.step(), backend=B)
    f()
    return [m], lambda x: m(x).pow(2).mean(), (torch.randn(32, 64),)


def deq():
    m = nn.Linear(32, 32)

    def step(x):
        z = torch.zeros_like(x)
        for _ in range(12):
            z = torch.tanh(m(z) + x)
        return z.pow(2).mean()

    return [m], step, (torch.randn(64, 32),)


def gat():
    W = nn.Linear(32, 32)
    a = nn.Linear(64, 1)
    src = torch.randint(0, 50, (300,))
    dst = torch.randint(0, 50, (300,))

    def step(x):
        h = W(x)
        e = F.leaky_relu(a(torch.cat([h[src], h[dst]], -1)).squeeze(-1))
        e = torch.exp(e - e.max())
        den = torch.zeros(50).index_add(0, dst, e)
        out = torch.zeros(50, 32).index_add(0, dst, h[src] * (e / den[dst])[:, None])
        return out.pow(2).mean()

    return [W, a], step, (torch.randn(50, 32),)


def ctc():
    m = nn.Linear(40, 28)

    def step(x):
        return F.ctc_loss(m(x).log_softmax(-1), torch.randint(1, 28, (4, 10)), torch.full((4,), 50), torch.full((4,), 10))

    return [m], step, (torch.randn(50, 4, 40),)


def compiled_autograd():
    m = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(3)])
    torch._dynamo.config.compiled_autograd = True
    return [m], lambda x: m(x).pow(2).mean(), (torch.randn(32, 64),)


def inference():
    m = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).eval().requires_grad_(False)
    return [m], lambda x: m(x).sum(), (torch.randn(8, 64),)


def qwen3moe():
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM
    m = Qwen3MoeForCausalLM(Qwen3MoeConfig(hidden_size=64, intermediate_size=128, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=256, num_experts=4, num_experts_per_tok=2))
    x = torch.randint(256, (2, 32))
    return ([m], lambda x: m(input_ids=x, labels=x).loss, (x,))


def deepseek():
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM
    m = DeepseekV3ForCausalLM(DeepseekV3Config(hidden_size=64, intermediate_size=128, moe_intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8,
        v_head_dim=16, n_routed_experts=4, num_experts_per_tok=2, n_group=2, topk_group=1, first_k_dense_replace=1, vocab_size=256))
    x = torch.randint(256, (2, 32))
    return ([m], lambda x: m(input_ids=x, labels=x).loss, (x,))


def mamba():
    from transformers import MambaConfig, MambaForCausalLM
    m = MambaForCausalLM(MambaConfig(hidden_size=64, num_hidden_layers=2, vocab_size=256, state_size=8))
    x = torch.randint(256, (2, 16))
    return ([m], lambda x: m(input_ids=x, labels=x).loss, (x,))


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    m = WhisperForConditionalGeneration(WhisperConfig(d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=300, num_mel_bins=20, max_source_positions=50,
        max_target_positions=32, pad_token_id=1, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2))
    f = torch.randn(2, 20, 100)
    y = torch.randint(300, (2, 16))
    return ([m], lambda f, y: m(input_features=f, labels=y).loss, (f, y))


def clip():
    from transformers import CLIPConfig, CLIPModel, CLIPTextConfig, CLIPVisionConfig
    m = CLIPModel(CLIPConfig(text_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=2,
        vocab_size=100, eos_token_id=99, bos_token_id=98, pad_token_id=1), vision_config=dict(hidden_size=64, intermediate_size=128,
        num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=8), projection_dim=32))
    x = torch.randint(97, (4, 16))
    p = torch.randn(4, 3, 32, 32)
    return ([m], lambda x, p: m(input_ids=x, pixel_values=p, return_loss=True).loss, (x, p))


def vit():
    import timm
    m = timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=10, depth=2)
    x = torch.randn(4, 3, 64, 64)
    return ([m], lambda x: F.cross_entropy(m(x), torch.zeros(4, dtype=torch.long)), (x,))


def convnext():
    import timm
    m = timm.create_model("convnext_atto", num_classes=10)
    x = torch.randn(2, 3, 64, 64)
    return ([m], lambda x: m(x).square().mean(), (x,))


def effnet():
    import timm
    m = timm.create_model("efficientnet_b0", num_classes=10)
    x = torch.randn(2, 3, 64, 64)
    return ([m], lambda x: m(x).square().mean(), (x,))


def neox_amp():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
    m = GPTNeoXForCausalLM(GPTNeoXConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=256))
    x = torch.randint(256, (2, 32))

    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return m(input_ids=x, labels=x).loss
    return ([m], f, (x,))


def accumulate():
    m = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 64))
    x = torch.randn(32, 64)
    return ([m], lambda x: sum((m(c).square().mean() for c in x.chunk(4))), (x,))


def lstm_break():
    m = nn.LSTM(32, 64, 2, batch_first=True, bidirectional=True)
    x = torch.randn(4, 20, 32)
    return ([m], lambda x: m(x)[0].square().mean(), (x,))


def channels_last():
    import torchvision
    m = torchvision.models.mobilenet_v3_small(num_classes=10).to(memory_format=torch.channels_last)
    x = torch.randn(4, 3, 64, 64).to(memory_format=torch.channels_last)
    return ([m], lambda x: m(x).square().mean(), (x,))


def gemma3():
    from transformers import Gemma3TextConfig, Gemma3ForCausalLM
    m = Gemma3ForCausalLM(Gemma3TextConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=1, head_dim=16, vocab_size=256, sliding_window=8))
    x = torch.randint(256, (2, 32))
    return ([m], lambda x: m(input_ids=x, labels=x).loss, (x,))


def family(name, **more):
    """A causal language model of a family of transformers, two layers deep."""
    import transformers
    config, model = getattr(transformers, name + "Config"), getattr(transformers, name + ("ForMaskedLM" if name == "DebertaV2" else "ForCausalLM"))
    m = model(config(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=500, **more))
    x = torch.randint(400, (2, 32))
    return ([m], lambda x: m(input_ids=x, labels=x).loss, (x,))


def image(name, side):
    import timm
    m = timm.create_model(name, num_classes=10).train()
    return ([m], lambda x: m(x).square().mean(), (torch.randn(2, 3, side, side),))


GROUPS = dict(num_key_value_heads=2, head_dim=32)
MORE = {"bloom": lambda: family("Bloom"), "cohere": lambda: family("Cohere"), "deberta": lambda: family("DebertaV2"), "glm4": lambda: family("Glm4", pad_token_id=0, **GROUPS),
        "gpt_oss": lambda: family("GptOss", num_local_experts=4, **GROUPS), "granite": lambda: family("Granite"), "olmo2": lambda: family("Olmo2"),
        "rwkv": lambda: family("Rwkv", attention_hidden_size=128), "deit3": lambda: image("deit3_small_patch16_224", 224), "hiera": lambda: image("hiera_tiny_224", 224),
        "mixer": lambda: image("mixer_s32_224", 224), "nfnet": lambda: image("nfnet_l0", 64), "resnest": lambda: image("resnest14d", 64),
        "starcoder2": lambda: family("Starcoder2", num_key_value_heads=2), "stablelm": lambda: family("StableLm", num_key_value_heads=4), "gemma2": lambda: family("Gemma2", **GROUPS),
        "smollm3": lambda: family("SmolLM3", num_key_value_heads=2, pad_token_id=0), "exaone4": lambda: family("Exaone4", num_key_value_heads=2), "olmoe": lambda: family("Olmoe", num_experts=4, num_experts_per_tok=2),
        "xcit": lambda: image("xcit_nano_12_p16_224", 224), "poolformer": lambda: image("poolformer_s12", 64), "eva02": lambda: image("eva02_tiny_patch14_224", 224),
        "twins": lambda: image("twins_svt_small", 224), "gmlp": lambda: image("gmlp_s16_224", 224), "cait": lambda: image("cait_xxs24_224", 224)}
globals().update(MORE)


def run(name, folder):
    torch.manual_seed(0)
    torch._dynamo.config.automatic_dynamic_shapes = False
    modules, step, given = globals()[name]()
    compiled = torch.compile(step, backend=B)
    loss = compiled(*given)
    if loss.requires_grad:
        loss.backward()
    del loss
    for module in modules:
        module.zero_grad(set_to_none=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        loss = compiled(*given)
        if loss.requires_grad:
            loss.backward()
    held = [t for module in modules for t in (*module.parameters(), *module.buffers())] + list(given)
    start = now = peak = sum(t.numel() * t.element_size() for t in held)
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    with open(f"{folder}/{name}.json", "w") as out:
        json.dump({"peak": peak, "held": start, "torch": torch.__version__}, out)


if __name__ == "__main__":
    each_alone(cases(globals(), ("run", "family", "image")), run, for_torch, log=True)
