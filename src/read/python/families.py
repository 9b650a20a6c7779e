"""The config.json of Hugging Face models: the forward pass of each, with the parameters of the library's class. Other
sizes come as --dim=batch=N, --dim=seq=N, --dim=layers=N, --dim=hidden=N ..., kernels as --dim=kernels=eager,
--dim=attention=math, --dim=loss=eager, --dim=dropout=0. --dim=sizes=1 asks for the sizes alone, in words.

What a family has is a row of FAMILIES: its kinds of layers, and what is special in them.
"""
from config import MOST, NAMES, Config, described
from decoders import build, first_apart, layers_of
from diffusion import DIFFUSION, TEXT
from draft import Bad, integer, items, read_json, text_member
from encoders import ENCODERS
from layers import Net
from mixers import (attention, delta_rule, kimi_delta, latent, lightning, mamba1, mamba2, short_conv)
from towers import TOWERS
from vision import SAID, SEEING, put_images, siglip

SEQ_MOST = 8192
KEPT = "kernels keep what goes into them: a causal convolution, linear attention or a state-space scan is one op"


def every(period, one, other):
    """A kind in every n-th layer, another in the others; the period by a key of the file."""
    return lambda c, layers: [one if (i + 1) % c.size(*period[:-1], normal=period[-1]) == 0 else other
                              for i in range(layers)]


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
    return attention(net, x, c,
                     {**has, "wide": (0, kv if c.on("attention_k_eq_v") else 0, head), "rotary": 0.25, "equal": True})


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
    return {"full_attention": (attention, {"norms": kind, **more}),
            "sliding_attention": (attention, {"norms": kind, **more})}


def modern_head(net, x, c):
    """A product, a gelu and a norm before the vocabulary."""
    x = net.act("gelu", net.linear("head.dense", x, net.shape[x][-1], c.on("classifier_bias")))
    return net.norm("head.norm", x, "layer" if c.on("norm_bias") else "torch")


def masked_head(net, x, c):
    """BERT's: a product, a non-linearity and a norm before the vocabulary."""
    x = net.linear("head.dense", x, net.shape[x][-1], True)
    return net.norm("head.norm", net.act(c.text("hidden_act", "activation", normal="gelu"), x), "layer")


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
    "deepseek_v32": {**LATENT, "mix": {"full_attention": (latent, {"index": True})}, "listed": False,
                     "sparse": {"first": 3},
                     "dense": {"bias": False}},
    "glm_moe_dsa": {**LATENT, "mix": {"full_attention": (latent, {"index": True})}, "listed": False,
                    "sparse": {"first": 3},
                     "dense": {"bias": False}},
    "glm4_moe_lite": {**LATENT, "sparse": {"first": 1}},
    "axk1": {**LATENT, "sparse": {"first": 1}, "experts": {"sigmoid": True, "behind": True}},
    "sarvam_mla": {**LATENT, "sparse": {"first": 1}},
    "minicpm3": {"mix": LATENT["mix"], "tied": True, "scaled": True},
    "mamba2": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba2, {})}},
    "mamba": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba1, {})}, "tied": True},
    "falcon_mamba": {"form": "single", "normal": "mamba", "mix": {"mamba": (mamba1, {"norms": "none"})}, "tied": True},
    "nemotron_h": {"form": "single", "kinds": nemotron, "dense": {"gated": False, "act": "relu2"},
                   "mix": {"mamba": (mamba2, {}), "linear_attention": (mamba2, {}), "mlp": (None, {}),
                           "moe": (None, {}),
                           **{kind: (attention, {"turns": False, "bias": False})
                              for kind in ("attention", "full_attention")}},
                   "tied": None, "experts": {"gated": False, "act": "relu2", "sigmoid": True, "bias": "mlp_bias",
                                             "beside": "moe_shared_expert_intermediate_size"},
                   "sparse": {"first": 4096}},
    "granitemoehybrid": {"normal": "mamba", "mix": {"mamba": (mamba2, {}), "linear_attention": (mamba2, {}),
                                                             "attention": GQA, "full_attention": GQA},
                         "experts": {"beside": "shared_intermediate_size"}, "scaled": True},
    "bamba": {"kinds": lambda c, n: ["attention" if i in items(c.find("attn_layer_indices")) else "mamba"
                                     for i in range(n)],
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
    "minimax": {"kinds": lambda c, n: ["full_attention" if i % 2 == 0 else "linear_attention" for i in range(n)],
                "experts": {},
                "mix": {"linear_attention": (lightning, {}), "full_attention": GQA}},
    "gemma3n_text": {"altup": True, "mix": with_norms("head", shares=True), "tied": True, "scaled": True},
    "kolibri1": {"form": "sandwich", "mix": with_norms("head"),
                 "experts": {"beside": "shared_expert_intermediate_size"}},
    "flint": {"mix": with_norms("head", sinks=True), "experts": {"beside": "shared_expert_intermediate_size"},
              "sparse": {"first": 2}},
    "lfm3": {"form": "sandwich",
             "mix": {"conv": (short_conv, {}), "short_conv": (short_conv, {}), **with_norms("head", gate="head")},
             "tied": True, "dense": {"act": "silu"}},
    "lara_mini": {"mix": {"linear_attention": DELTA, **with_norms("head")}, "tied": True,
                  "experts": {"beside": "shared_expert_intermediate_size"}},
    "diffllama": {"mix": {"full_attention": (attention, {"lambdas": True})}},
    "mimo_v2_flash": {"mix": {"full_attention": (attention, {"values": True, "out_bias": False}), "sliding_attention": (
        attention, {"values": True, "out_bias": False, "sinks": True, "kv": "swa_num_key_value_heads"})},
        "experts": {"sigmoid": True}, "sparse": {"first": 1}},
    "bert-generation": {**OLD, "form": "post", "positions": 0, "first_norm": True, "last_norm": False,
                        "head_bias": True, "two_biases": True,
                        "mix": {"full_attention": (attention, BIASED)}, "dense": {"gated": False, "bias": True}},
    "modernbert-decoder": {"norm": "torch", "first_norm": True, "bare": True, "tied": True, "head": (modern_head,),
                           "head_bias": True,
                           "mix": {kind: (attention, {"out_bias": "attention_bias"}) for kind in ALL},
                           "dense": {"act": "gelu"}},
    "gemma4_text": {"kinds": every(("sliding_window_pattern", 6), "full_attention", "sliding_attention"),
                    "form": "sandwich",
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
    "laguna": {"mix": with_norms("head", gate="head"),
               "experts": {"beside": "shared_expert_intermediate_size", "offset": True},
               "sparse": {"first": 1}},
    "afmoe": {"mix": with_norms("head", gate="full"), "form": "sandwich", "experts": {"sigmoid": True, "offset": True},
              "sparse": {"first": 1}, "scaled": True},
    "cohere2_moe": {"mix": ALL, "form": "parallel", "norm": "scale", "experts": {}, "tied": True},
    "hunyuan_v1_moe": {"mix": with_norms("head"), "experts": {"beside": "intermediate_size"}},
    "sarvam_moe": {"mix": with_norms("head", asks="use_qk_norm", out_bias=False), "experts": {"sigmoid": True},
                   "sparse": {"first": 1}},
    "granite_swa": {"mix": SINKS, "tied": True, "scaled": True},
    "granitemoe_swa": {"mix": SINKS, "experts": {"beside": "shared_intermediate_size"}, "scaled": True},
    "apertus": {"mix": with_norms("head"), "dense": {"gated": False, "normal": "xielu"}},
    "bitnet": {"mix": {kind: (attention, {"sub_norm": True}) for kind in ALL}, "dense": {"norm": "ffn_sub_norm"}},
    "exaone": {"mix": ALL},
    "hyperclovax": {"mix": ALL, "form": "sandwich", "scaled": True},
    "nanochat": {"mix": with_norms(None), "norm": "none", "dense": {"gated": False, "act": "relu2"}},
    "persimmon": {"mix": {"full_attention": (attention, {"norms": "layer", "asks": "qk_layernorm", "bias": True,
                                                         "out_bias": True, "rotary": 0.5})},
                  "norm": "layer", "dense": {"gated": False, "bias": True}},
    "falcon": {**OLD, "form": "parallel", "mix": {
        "full_attention": (attention, {"one": True, "bias": "bias", "out_bias": "bias", "eager": "mask"})},
               "dense": {"gated": False, "bias": "bias"}},
    "bloom": {**OLD, "first_norm": True, "mix": {"full_attention": (attention, {**BIASED, "eager": "alibi"})},
              "dense": {"gated": False, "bias": True}},
    "mpt": {**OLD, "norm": "torch",
            "mix": {"full_attention": (attention, {**BIASED, "bias": False, "out_bias": False})},
            "dense": {"gated": False, "bias": False}},
    "gpt_bigcode": {**OLD, "positions": 0, "seen": True,
                    "mix": {"full_attention": (attention, {**BIASED, "one": True, "packed": True})},
                    "dense": {"gated": False, "bias": True}},
    "gpt_neo": {**OLD, "positions": 0, "mix": {"full_attention": (attention, HALF)},
                "dense": {"gated": False, "bias": True}},
    "biogpt": {**OLD, "positions": 2, "scaled": True, "mix": {"full_attention": (attention, BIASED)},
               "dense": {"gated": False, "bias": True}},
    "xglm": {**OLD, "scaled": True, "mix": {"full_attention": (attention, BIASED)},
             "dense": {"gated": False, "bias": True}},
    "ctrl": {**OLD, "mix": {"full_attention": (attention, BIASED)},
             "dense": {"gated": False, "bias": True, "act": "relu"},
             "head_bias": True},
    "openai-gpt": {**OLD, "positions": 0, "last_norm": False, "form": "post",
                   "mix": {"full_attention": (attention, BIASED)},
                   "dense": {"gated": False, "bias": True}},
}
FAMILIES["gemma4_unified_text"] = {**FAMILIES["gemma4_text"]}
FAMILIES["modernbert"] = {**FAMILIES["modernbert-decoder"]}

# ---- kin of Llama ----
ROT = {"rotary": 1}


def kin(mix=None, **more):
    """A decoder with one kind of attention, whatever its layers are called."""
    one = attention, mix or {}
    return {"mix": {"full_attention": one, "sliding_attention": one}, **more}


PLAIN = {"gated": False, "normal": "relu2"}
QKV = {"bias": True, "out_bias": False}
USED = {"bias": "use_bias", "out_bias": "use_bias"}
GPTJ = {"form": "parallel", "norm": "layer", "head_bias": True,
        "dense": {"gated": False, "bias": True, "normal": "gelu_new"},
        "drop": ("embd_pdrop", "attn_pdrop", "resid_pdrop", "resid_pdrop"), "listed": False}
COHERE = {"form": "parallel", "norm": "scale", "tied": True, "multiplied": True}
GEMMA = {"norm": "gemma", "tied": True, "scaled": True, "dense": {"normal": "gelu"}}
NO_BIASES = {"attention_bias": False, "mlp_bias": False}
SILU = {"hidden_act": "silu"}
WHOLE, LATE, NORMED = {"norms": "whole"}, {"norms": "whole", "cast": "late"}, {"norms": "head"}
BESIDE = {"experts": {"sigmoid": True}, "only": SILU, "further": True}
BERT = {**OLD, "form": "post", "positions": 0, "first_norm": True, "last_norm": False, "types": True, "sees_all": True,
        "narrow_loss": True,
        "dense": {"gated": False, "bias": True, "normal": "gelu"}, "head": (masked_head,), "head_bias": True,
        "mix": {"full_attention": (attention, {**BIASED, "equal_heads": True})},
        "only": {"is_decoder": False, "add_cross_attention": False, "tie_word_embeddings": True,
                 "position_embedding_type": "absolute", "pruned_heads": {}},
        "drop": ("hidden_dropout_prob", "attention_probs_dropout_prob", "hidden_dropout_prob", "hidden_dropout_prob")}
MULTIPLIED = "products of residuals, scores and logits by a constant are left out"
TURNED = "every layer turns its queries and keys, also those that the library leaves without positions"
FURTHER = ("modules that predict further tokens (num_nextn_predict_layers) are there, as they are trained; the library's class "
           "leaves them out")
FAMILIES.update({
    "gpt2": {**OLD, "positions": 0,
             "mix": {"full_attention": (attention, {**BIASED, "equal_heads": True, "packed": True})},
             "dense": {"gated": False, "bias": True, "normal": "gelu_new"},
             "drop": ("embd_pdrop", "attn_pdrop", "resid_pdrop", "resid_pdrop"),
             "only": {"add_cross_attention": False, "scale_attn_by_inverse_layer_idx": False,
                      "reorder_and_upcast_attn": False,
                      "scale_attn_weights": True, "pruned_heads": {}}},
    "opt": {**OLD, "positions": 2, "mix": {"full_attention": (attention, BIASED)},
            "drop": ("dropout", "attention_dropout",
            "dropout", "dropout"), "dense": {"gated": False, "bias": True, "normal": "relu"}, "tied": True,
            "only": {"do_layer_norm_before": True, "enable_bias": True, "layer_norm_elementwise_affine": True,
                     "_remove_final_layer_norm": False}, "same": ("word_embed_proj_dim", "hidden_size")},
    "llama": kin(ROT, only={"pretraining_tp": 1}),
    "mistral": kin({**ROT, "bias": False}, only=NO_BIASES),
    "ministral": kin({**ROT, "bias": False}, only=NO_BIASES),
    "ministral3": kin({**ROT, "bias": False}, only=NO_BIASES),
    "mixtral": kin({**ROT, "bias": False}, experts={}, only={**SILU, "router_jitter_noise": 0}),
    "qwen2": kin({**ROT, **QKV}),
    "qwen2_moe": kin({**ROT, "bias": "qkv_bias"}, only=SILU, experts={
        "beside": "shared_expert_intermediate_size", "gate": True}),
    "qwen3": kin({**ROT, **NORMED}), "qwen3_moe": kin({**ROT, **NORMED}, experts={}, only=SILU),
    "gemma": kin(ROT, **GEMMA), "vaultgemma": kin({**ROT, "capped": True}, **GEMMA),
    "gemma2": kin({**ROT, "capped": True}, form="sandwich", **GEMMA),
    "gemma3_text": kin({**ROT, "norms": "gemma", "capped": True}, form="sandwich", **GEMMA),
    "phi": kin({"bias": True, "out_bias": True, "norms": "layer", "asks": "qk_layernorm", "rotary": 0.5},
               form="parallel",
               norm="layer", head_bias=True, dense={"gated": False, "bias": True, "normal": "gelu_new"},
               drop=("embd_pdrop", "attention_dropout", "resid_pdrop", "resid_pdrop")),
    "phi3": kin({"bias": False, "joins": True, "packed": True},
                drop=("embd_pdrop", "attention_dropout", "resid_pdrop", "resid_pdrop"), only=NO_BIASES,
                dense={"packed": True}),
    "gpt_neox": kin({"packed": True, "rotary": 0.25, "equal_heads": True}, form="neox", norm="layer", dense={
        "gated": False, "bias": True, "normal": "gelu"}, drop=("hidden_dropout", "attention_dropout", "hidden_dropout",
                                                               "hidden_dropout"), only={"is_decoder": False}),
    "olmo": kin(ROT, norm="none", only={"clip_qkv": None}),
    "olmo2": kin({**ROT, **LATE}, form="behind", norm="late"),
    "olmo3": kin({**ROT, **LATE}, form="behind", norm="late"),
    "olmoe": kin({**ROT, **WHOLE}, experts={}, only=SILU),
    "flex_olmo": kin({**ROT, **LATE}, form="behind", norm="late", experts={}, only=SILU),
    "granite": kin(ROT, scaled=True, says=(MULTIPLIED,)),
    "granitemoe": kin(ROT, scaled=True, experts={}, only=SILU, says=(MULTIPLIED,)),
    "granitemoeshared": kin(ROT, scaled=True, experts={"beside": "shared_intermediate_size"}, only=SILU,
                            says=(MULTIPLIED,)),
    "cohere": kin(ROT, only={"use_qk_norm": False}, says=(MULTIPLIED,), **COHERE),
    "cohere2": kin(ROT, only={"use_qk_norm": False}, says=(MULTIPLIED, TURNED), **COHERE),
    "starcoder2": kin({**ROT, **USED}, norm="layer", tied=True,
                      dense={"gated": False, "bias": "use_bias", "normal": "gelu"},
                      drop=("embedding_dropout", "attention_dropout", "residual_dropout", "residual_dropout")),
    "stablelm": kin({"bias": "use_qkv_bias", "rotary": 0.25}, norm="layer",
                    drop=("", "attention_dropout", "", "hidden_dropout"),
                    only={"qk_layernorm": False, "use_parallel_residual": False}),
    "glm": kin({"bias": "attention_bias", "out_bias": False, "rotary": 0.5}, dense={"packed": True}),
    "glm4": kin({"bias": "attention_bias", "out_bias": False, "rotary": 0.5}, form="sandwich", dense={"packed": True}),
    "smollm3": kin(ROT, tied=True, says=(TURNED,)),
    "seed_oss": kin({"bias": "attention_bias", "out_bias": "attention_out_bias"}, drop=(
        "", "attention_dropout", "residual_dropout", "residual_dropout")),
    "helium": kin({**ROT, "bias": "attention_bias", "fill": True}),
    "ernie4_5": kin({**ROT, **USED}, tied=True, dense={"bias": "use_bias"}),
    "hunyuan_v1_dense": kin({**ROT, **NORMED}),
    "exaone4": kin({**ROT, **NORMED, "bias": False}, form="behind", says=(TURNED,)),
    "phimoe": kin(ROT, norm="layer", experts={}, head_bias="lm_head_bias"),
    "gpt_oss": kin({**ROT, "sinks": True}, experts={"biases": True}, says=(
        "a head's sink is one number that its results are multiplied by, a kernel of its own",)),
    "arcee": kin(ROT, dense=PLAIN), "jais2": kin(ROT, norm="layer", dense=PLAIN),
    "nemotron": kin({"rotary": 0.5}, norm="layer", dense=PLAIN),
    "gptj": kin({"bias": False, "turn_key": "rotary_dim", "equal_heads": True}, **GPTJ),
    "codegen": kin({"packed": True, "bias": False, "turn_key": "rotary_dim", "equal_heads": True}, **GPTJ),
    "glm4_moe": kin({"loose": True, "bias": "attention_bias", "out_bias": False, "norms": "head", "asks": "use_qk_norm",
                     "rotary": 0.5},
                    sparse={"first": 1}, says=(FURTHER,), **BESIDE),
    "dots1": kin({**ROT, **NORMED}, **BESIDE),
    "minimax_m2": kin({**WHOLE, "bias": False}, **BESIDE),
    "ernie4_5_moe": kin({**ROT, **USED}, tied=True, dense={"bias": "use_bias"}, head_bias="use_bias",
                        sparse={"first": 1},
                        experts={"offset": True, "bias": "use_bias"}, only=SILU, says=(
                            "what is added to the router's scores counts as trained",)),
    "llama4_text": kin(ROT, experts={"sigmoid": True, "beside": "intermediate_size", "chosen": 1}, only=SILU, says=(
        "norms of queries and keys, which have no weights here, are left out", TURNED)),
    "deepseek_v2": {"mix": LATENT["mix"], "experts": {}, "listed": False,
                    "only": {**SILU, "pretraining_tp": 1, "mlp_bias": False, "scoring_func": "softmax"}},
    "deepseek_v3": {**LATENT, "listed": False, "sparse": {"first": 3}, "further": True, "says": (FURTHER,),
                    "only": {**SILU, "pretraining_tp": 1, "scoring_func": "sigmoid"}},
    "bert": BERT, "roberta": BERT, "xlm-roberta": BERT, "camembert": BERT, "data2vec-text": BERT,
    "distilbert": {**BERT, "types": False, "only": {"tie_word_embeddings": True, "sinusoidal_pos_embds": False},
                   "drop": ("dropout", "attention_dropout", "dropout", "dropout")},
})

KIN = {"gemma3n": "gemma3n_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text", "gemma4": "gemma4_text",
       "gemma4_unified": "gemma4_unified_text", "refinedweb": "falcon", "refinedwebmodel": "falcon",
       "gemma3": "gemma3_text",
       "qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe",
       "qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2", "qwen3_vl": "qwen3", "qwen3_vl_moe": "qwen3_moe",
       "kimi_k2": "deepseek_v3", "iquestcoder": "llama", "internlm3": "llama",
       "glm4v_text": "glm4", "glm4v_moe_text": "glm4_moe"}
FAMILIES["llama4_text"]["mix"]["chunked_attention"] = FAMILIES["llama4_text"]["mix"]["full_attention"]
TOWERS = {**TOWERS, "siglip": (siglip, "SiglipModel")}
BUILDERS = {**TOWERS, **ENCODERS, **DIFFUSION}


# ---- which family ----

# Signs of what a type has that isn't known here.
SIGNS = (("mamba", "with state-space layers (Mamba)"), ("ssm", "with state-space layers (Mamba)"),
         ("state_size", "with state-space layers (Mamba)"), ("linear_", "with layers of linear attention"),
         ("lru_width", "with recurrent layers"), ("rwkv", "with recurrent layers"),
         ("index_topk", "with sparse attention"))


def known(name):
    """The family of a type; None."""
    name = KIN.get(name.lower(), name)
    return name if name in FAMILIES or name in BUILDERS else None


def find(file):
    """The family and the keys of a file: of a model of several parts those of its text model."""
    if "_class_name" in file and "model_type" not in file:
        named = file["_class_name"]
        if not isinstance(named, str) or named not in DIFFUSION:
            raise Bad(f"_class_name is {described(named)}: this model of diffusers is not built in")
        return named, file
    if "model_type" not in file:
        raise Bad("model_type is missing: not the config.json of a Hugging Face model")
    named, part = file["model_type"], file.get("text_config")
    if isinstance(named, str) and named in BUILDERS:
        return named, file
    inner = text_member(part, "model_type")
    if inner and known(inner):
        return known(inner), part
    if isinstance(named, str) and known(named):
        if named == "gemma3" and not isinstance(part, dict):
            raise Bad("text_config is missing: expected an object")
        return known(named), part if isinstance(part, dict) else file
    part = part if isinstance(part, dict) else file
    kinds = ["linear_"] if "linear_attention" in items(part.get("layer_types")) else []
    missing = next((", " + what for sign, what in SIGNS for key in list(part) + kinds if sign in key and part.get(
        key, 0) is not None), "")
    raise Bad(f"model_type is {described(named)}: not built in{missing}; python3 -m tidemark_torch FILE (samples/torch) captures "
              "its step from transformers")


def check_architecture(name, keys, only):
    """A file may be of a model with another head: its parameters are others."""
    value = keys.get("architectures")
    if value is None:
        return
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], str):
        raise Bad("architectures: expected a list of one name")
    stem = only[:-len("ForMaskedLM")] if only.endswith("ForMaskedLM") else None
    others = {"T5WithLMHeadModel"} if name == "t5" else {stem + "ForCausalLM", stem + "LMHeadModel"} if stem else ()
    if value[0] != only and value[0] not in others:
        raise Bad(f"architectures is {described(value[0])}: only {described(only)} is covered for model_type "
                  f"{described(name)}")


def check_settings(name, family, c):
    """Settings that the family has one way for."""
    for key, only in family.get("only", {}).items():
        c.asked.add(key)
        if key in c.said and c.said[key] != only or isinstance(c.said.get(key), bool) != isinstance(only, bool) and key in c.said:
            raise Bad(f"{key} is {described(c.said[key])}: only {described(only)} is covered for model_type {described(name)}")
    if "same" in family:
        key, other = family["same"]
        if c.find(key) is not None and c.find(key) != c.find(other):
            raise Bad(f"{key} is {described(c.find(key))}: only {other}, {c.find(other)}, is covered")


# ---- what is asked for ----

SWITCHES = {"kernels": ("fused", "eager"), "attention": ("flash", "math"), "loss": ("kernels", "eager"),
            "dropout": ("0", "1"),
            "dtype": ("bf16", "f16")}


def wanted(words):
    """The sizes and switches that are asked for."""
    sizes, switches = {"batch": 1, "seq": 0, "layers": 0}, {}
    for word in words:
        key, _, value = word.partition("=")
        if key in SWITCHES and value in SWITCHES[key]:
            switches[key] = value
        elif value.isdigit() and len(value) < 12 and (key not in MOST or 1 <= int(value)) and int(value) <= MOST.get(
                key, 1 << 30):
            sizes[key] = int(value)
        elif key in sizes or key in NAMES or key in SWITCHES:
            raise Bad(f"{word}: expected a number from 1 to {MOST.get(key, 1 << 30)}")
    return sizes, switches


def sees(file, keys):
    """Whether the tower for images is made too: its keys are there, and what it is is known."""
    return keys is not file and text_member(file, "model_type") in SEEING and bool(file.get("vision_config")) and isinstance(
        file["vision_config"], dict)


def notes(name, file, keys, c, family):
    """What had to be assumed, a line each."""
    if name in DIFFUSION:
        side = c.size("image_size", "sample_size")
        yield (
            f"latents of {side} x {side}, as many tokens of text as the sequence says; the mean square of the error is "
               "the loss")
        return
    if name in BUILDERS:
        if name in TOWERS:
            if name == "siglip":
                yield "norms of the two encoders' results are left out"
                return
            yield "norms of the two encoders' results, and dropout, are left out"
        elif name != "vit" and not c.on("tie_word_embeddings", normal=True):
            yield ("lm_head shares the embedding, as in transformers 5; in transformers 4 it was %d parameters of its own" % (
                c.size("vocab_size") * c.size("d_model")))
        return
    if sees(file, keys):
        yield (
            f"one image a sample{SAID.get(file['model_type'], '')}, its tokens among the sequence's; attention among "
               "an image's tokens is counted as the text's, the tower's dropout is left out")
    elif keys is not file or "vision_config" in file:
        yield f"the text model alone ({name}): what makes tokens of images or sound is left out"
    yield from family.get("says", ())
    if any(c.share(key) for key in family.get("drop", ())):
        yield "dropout as on a GPU: masks of a byte for an element, none for attention in one kernel; a CPU's ops keep more"
    if isinstance(file.get("quantization_config"), dict):
        yield "weights are counted as --precision has them, not as quantization_config stores them"
    if any(word in str(family["mix"]) for word in ("mamba", "delta", "lightning", "short_conv")):
        yield KEPT
    if "experts" in family and c.find(*NAMES["experts"]):
        if c.find(*NAMES["top_k"]) is None:
            yield f"num_experts_per_tok isn't said: {family['experts'].get('chosen', 2)} of the experts are assumed"
        yield (
            "every expert gets its fair share of the tokens (a capacity factor of 1); the load-balancing loss is left "
               "out")
    window, most = c.find("sliding_window"), c.find("max_position_embeddings")
    if integer(window) and integer(most) and window < most and c.on("use_sliding_window", normal=True) and (
            "sliding_attention" in items(c.find("layer_types")) or not items(c.find("layer_types"))):
        yield (f"attention within windows of {window} tokens is counted as attention to all: for longer sequences its time is "
               "too long, its memory right where it is one kernel")
    unknown = c.unknown()
    if unknown:
        yield "keys that are not understood, and may change the model: " + ", ".join(unknown[:20]) + (
            f" and {len(unknown) - 20} more" if len(unknown) > 20 else "")


def merged(file, keys, name):
    """The keys that count: embeddings are tied as the whole model says, where it is of transformers 5, or says true."""
    made = dict(keys)
    whole, version = file.get("tie_word_embeddings"), text_member(file, "transformers_version") or "0"
    decides = version.split(".")[0].isdigit() and int(version.split(".")[0]) >= 5
    if keys is not file and whole is not None and (decides or whole is not False or "tie_word_embeddings" not in keys):
        made["tie_word_embeddings"] = whole
    return Config(made, name)


class Model:
    """A file and what is asked for."""

    def __init__(self, stream, options):
        self.file = read_json(stream, str)   # Python writes Infinity for what has no limit
        if not isinstance(self.file, dict):
            raise Bad("not the config.json of a Hugging Face model: expected an object")
        self.name, self.keys = find(self.file)
        self.c, self.family = merged(self.file, self.keys, self.name), FAMILIES.get(self.name)
        self.sizes, self.switches = wanted(options.dims)
        for size, value in self.sizes.items():
            if size in NAMES and size != "layers":
                self.c.ask(size, value)
        only = BUILDERS[self.name][1] if self.name in BUILDERS else self.c.file.get("_class")
        if self.file.get("model_type") == self.name and only:
            check_architecture(self.name, self.file, only)
        if self.family and self.c.on("norm_bias"):
            self.family = {**self.family, "norm": "layer"}
        if self.family:
            check_settings(self.name, self.family, self.c)
        c, names = self.c, ("max_target_positions",) if self.name == "whisper" else (
            "max_position_embeddings", "n_positions")
        most = c.size(*names, normal=77 if self.name in TOWERS else 2048, least=2 if self.family else 1)
        most = TEXT.get(self.name, most)
        self.seq = 0 if self.name == "vit" else self.sizes["seq"] or min(SEQ_MOST, most)
        self.layers = self.count_layers()

    def count_layers(self):
        """How many layers there are: of a model with several parts those of the first."""
        c = self.c
        if self.name in TOWERS:
            return self.sizes["layers"]
        layers = self.sizes["layers"] or c.size("num_hidden_layers", "n_layer", "n_layers", "num_layers", normal=0,
                                                least=0) or len(items(c.find("layer_types", "layers_block_type"))) or len(
            c.text("hybrid_override_pattern"))
        if not 1 <= layers <= MOST["layers"]:
            raise Bad(f"num_hidden_layers is {layers}: expected a number from 1 to {MOST['layers']}")
        return layers

    def net(self, batch, seq, layers):
        """The forward pass."""
        net = Net(batch, seq, self.switches)
        if sees(self.file, self.keys):
            net.sees = lambda net, x: put_images(net, x, Config(self.file))
        net.capacity = self.sizes.get("capacity") or 100
        if self.family:
            net.share = self.c.share(self.family.get("drop", ("",) * 4)[1])
            build(net, self.c, self.family, layers)
        else:
            BUILDERS[self.name][0](net, self.c, layers if self.sizes["layers"] else 0)
        return net

    def summary(self):
        """Lines: the type; its sizes as words of `tidemark model`; how many first layers differ from all others; whether there
        is dropout; what had to be assumed. One layer of two tokens is built, which tells what is wrong with a file."""
        layers = self.layers or self.c.size("num_hidden_layers", "encoder_layers", normal=1)
        apart = first_apart(self.c, self.family, layers) if self.family and not sees(self.file, self.keys) else layers
        if self.family:
            kinds, experts = layers_of(self.c, self.family, layers)
        net = self.net(1, min(2, self.seq) if self.seq else 0, 1)
        yield "%s\n%s\n%d %d\n" % (self.name, "".join(self.c.sizes(layers, self.seq)), apart, net.dropped)
        yield "\n".join(notes(self.name, self.file, self.keys, self.c, self.family))

    def graph(self):
        """The graph, in lines."""
        net = self.net(self.sizes["batch"], self.seq, self.layers)
        if net.image > self.seq:
            raise Bad(f"a sequence of {self.seq} is shorter than the tokens of an image, {net.image}")
        said = list(notes(self.name, self.file, self.keys, self.c, self.family))
        groups = self.c.find("n_group")
        more = {"router_nodes": self.c.find("topk_group")} if integer(groups) and groups > 1 else {}
        return net.draft.records(self.name,
                                 {"format": "Hugging Face config.json", "version": self.name, "assumed": said},
                                 source="tidemark model", batch=net.batch, **({"seq": net.seq} if net.seq else {}),
                                 **more)


def read(stream, options):
    """The graph of a file, in lines."""
    model = Model(stream, options)
    return model.summary() if model.sizes.get("sizes") else model.graph()
