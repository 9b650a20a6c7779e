"""The keys of a config.json: those of a file, else the defaults of transformers; sizes that are asked for in their place;
what is said of keys that nobody asked about."""
import json

from defaults import DEFAULTS
from draft import Bad, integer, items

MOST = {"batch": 1 << 20, "seq": 1 << 20, "layers": 4096, "vocab": 1 << 30}
LARGEST = 1 << 20
# Names of one size. The words of `tidemark model` that change them stand before.
NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "d_model", "n_embd", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads"),
    "head_width": ("head_dim", "d_kv", "qk_nope_head_dim"),
    "ffn": ("intermediate_size_mlp", "intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner", "dff", "d_ff",
            "hidden_dim"),
    "vocab": ("vocab_size",),
    "positions": ("max_position_embeddings", "n_positions"),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    "top_k": ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "moe_router_topk"),
    "expert_ffn": ("moe_intermediate_size",),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
    "shared_ffn": ("shared_expert_intermediate_size", "shared_intermediate_size"),
    "dense_layers": ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"),
    "sparse_step": ("decoder_sparse_step", "expert_layer_period", "moe_layer_interval", "interleave_moe_layer_step"),
    "q_rank": ("q_lora_rank",),
    "kv_rank": ("kv_lora_rank",),
    "mtp_layers": ("num_nextn_predict_layers",),
    "value_width": ("v_head_dim",),
    "image": ("image_size", "sample_size"),
    "patch": ("patch_size",),
    "channels": ("num_channels",),
    "types": ("type_vocab_size",),
    "buckets": ("relative_attention_num_buckets",),
    "decoder_layers": ("num_decoder_layers",),
    "rope_width": ("rotary_dim",), "router_nodes": ("topk_group",), "classes": ("num_labels",),
}
HARMLESS = set(
    """id2label label2id transformers_version use_cache task_specific_params problem_type architectures model_type
    auto_map tokenizer_class is_encoder_decoder is_decoder chunk_size_feed_forward max_window_layers use_sliding_window
    query_pre_attn_scalar norm_topk_prob n_ctx n_positions tie_word_embeddings relative_attention_max_distance
    gradient_checkpointing encoder_stride dense_act_fn is_gated_act scale_decoder_outputs feed_forward_proj
    decoder_start_token_id mm_tokens_per_image vision_config cache_implementation n_group topk_group topk_method
    routed_scaling_factor scoring_func aux_loss_alpha seq_aux ep_size num_key_value_heads head_dim qk_head_dim logits_scaling
    logit_scale clip_qkv use_mtp num_labels finetuning_task use_bidirectional_attention init_std scale_attn_weights
    quantization_config text_config directionality position_embedding_type prefix torchscript use_bfloat16 pruned_heads
    attn_implementation max_length min_length initializer_range audio_config embedding_dropout multimodal_config""".split())
BEGINS = ("_", "initializer_", "summary_", "rope_", "router_", "output_", "return_dict", "classifier_", "pooler_",
          "no_rope_",
          "swiglu_", "mtp_", "moe_layer", "sliding_window", "rotary", "hidden_act", "time_step_", "layer_types",
          "index_", "altup_")
ENDS = ("_token_id", "_token_index", "_eps", "_epsilon", "_multiplier", "_token", "dtype", "max_position_embeddings",
        "layer_types", "_std", "_range")


def described(value):
    """A value of the file in a few words."""
    return '"%s"' % value[:60] if isinstance(value, str) else ("an object" if value else "{}") if isinstance(
        value, dict) \
        else "a list" if isinstance(value, list) else "%.9g" % value if isinstance(value, float) else json.dumps(value)


def defaults_of(name):
    """What transformers' class of a type has where a file doesn't say."""
    at = DEFAULTS.find("\n%s " % name)
    return json.loads(DEFAULTS[at + len(name) + 2:DEFAULTS.index("\n", at + 1)]) if at >= 0 else {}


def completed(file, name):
    """A file with those. A name of a size stands for all of them."""
    spared = {one for names in NAMES.values() if any(one in file for one in names) for one in names}
    return {**{key: value for key, value in defaults_of(name).items() if key not in spared}, **file}


class Config:
    """The keys of a file, of which the first one that is there counts."""

    def __init__(self, file, name=""):
        self.said, self.file, self.asked, self.normal = file, completed(file, name), set(), defaults_of(name)
        self.layer, self.layers = 0, 0   # the one that is made, and how many, for sizes that are lists of each layer's

    def find(self, *names):
        """The value of the first of those keys that has one; None."""
        self.asked.update(names)
        return next((self.file[name] for name in names if self.file.get(name) is not None), None)

    def size(self, *names, normal=None, least=1):
        """A whole number; Bad where there is none and no default."""
        value = self.find(*names)
        if value is None and normal is not None:
            return normal
        if isinstance(value, list) and len(value) >= self.layers > self.layer:
            value = value[self.layer]
        if not integer(value) or not least <= value <= 1 << 30:
            key = next((name for name in names if name in self.file), names[0])
            raise Bad(f"{key} is {described(value) if key in self.file else 'missing'}: expected a number from {least} to 2^30")
        return value

    def on(self, *names, normal=False):
        """true or false."""
        value = self.find(*names)
        if value is not None and not isinstance(value, bool):
            key = next(name for name in names if self.file.get(name) is not None)
            raise Bad(f"{key} is {described(value)}: expected true or false")
        return normal if value is None else value

    def whether(self, value):
        """What a family says itself, or by the key of a file that says it."""
        return self.on(value) if isinstance(value, str) else value

    def text(self, *names, normal=""):
        """A text."""
        value = self.find(*names)
        return value if isinstance(value, str) else normal

    def share(self, *names):
        """A probability; 0 where there is none."""
        value = self.find(*names)
        if value is None:
            return 0
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1:
            key = next(name for name in names if self.file.get(name) is not None)
            raise Bad(f"{key} is {described(value)}: expected a number from 0 to below 1")
        return value

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
        share = normal
        for name, where in (("rope_parameters.partial_rotary_factor", rope), ("partial_rotary_factor", self.file),
                            ("rotary_pct", self.file)):
            share = where.get(name.split(".")[-1]) if isinstance(where, dict) else None
            self.asked.add(name)
            if share is not None:
                if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
                    raise Bad(f"{name} is {described(share)}: expected a number above 0, at most 1")
                break
        share = normal if share is None else share
        if int(head * share) < 2:
            raise Bad(f"partial_rotary_factor: less than two of a head's {head} numbers have positions")
        return int(head * share) // 2 * 2

    def ask(self, size, value):
        """Another size in the place of the file's."""
        key = next((name for name in NAMES.get(size, ()) if name in self.file), None)
        if not key:
            raise Bad(f"{size}: this model has no such size")
        self.file[key] = value

    def sizes(self, layers, seq):
        """Words of `tidemark model` for the sizes that there are."""
        for size, names in NAMES.items():
            value = layers if size == "layers" else self.find(*names)
            least = 32 if size == "image" else 1   # smaller ones stay as the file has them
            if size != "positions" and integer(value) and least <= value <= MOST.get(size, LARGEST):
                yield ":%s=%d" % (size, value)
        yield ":seq=%d:batch=1" % seq if seq else ":batch=1"

    def unknown(self):
        """Keys of the file that nobody asked about, and that aren't known to change nothing."""
        def known(key, value):
            return key in self.asked or key in HARMLESS or key.startswith(BEGINS) or key.endswith(ENDS) or value in (
                None, False) or ("drop" in key and value == 0)
        return [key for key, value in self.said.items() if not known(key, value)]
