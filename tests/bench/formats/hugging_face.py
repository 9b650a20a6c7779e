"""config.json files of transformers' own types, and whether Tidemark counts their parameters alike: hugging_face.py FOLDER TIDEMARK [TYPE...]
    hugging_face.py --captures FOLDER [TYPE...]

Writes FOLDER/TYPE/config.json, the library's defaults cut to six layers, builds each model on the meta device, and prints beside its number of parameters what
`tidemark model` makes of the file: equal, another number, or why it is refused. Of models for images and text the language model's number counts, too. The second form writes a small config.json of each type in CAPTURED,
and beside it captured_BATCH_SEQ.jsonl of the library's own training step, for tests/bench/files.
"""
import json, math, os, subprocess, sys, warnings

warnings.filterwarnings("ignore")
import torch, transformers
from transformers.models.auto import modeling_auto as auto

LAYERS = "num_hidden_layers", "n_layer", "num_layers", "n_layers"
CLASSES = {}
for names in (auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
              auto.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES, auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES):
    for name, kind in names.items():
        CLASSES.setdefault(name, kind[0] if isinstance(kind, tuple) else kind)


def shorten(config):
    for key in LAYERS:
        if isinstance(getattr(config, key, None), int) and getattr(config, key) > 6:
            for kinds in "layer_types", "mlp_layer_types":
                if isinstance(getattr(config, kinds, None), list):
                    setattr(config, kinds, getattr(config, kinds)[:6])
            setattr(config, key, 6)


def parameters(model):
    """Of the whole model, and of its language model with its head."""
    language = getattr(getattr(model, "model", model), "language_model", None)
    parts = [part for part in (language, getattr(model, "lm_head", None)) if part is not None] if language is not None else [model]
    counts = {sum(p.numel() for p in model.parameters()), sum({id(p): p.numel() for part in parts for p in part.parameters()}.values())}
    text = getattr(model.config, "text_config", None)
    try:
        with torch.device("meta"):
            counts.add(sum(p.numel() for p in transformers.AutoModelForCausalLM.from_config(text).parameters()))
    except (ValueError, AttributeError):
        pass                       # no language model of its own
    return counts


def make(name, folder):
    config = transformers.CONFIG_MAPPING[name]()
    for part in {id(c): c for c in (config, getattr(config, "text_config", None)) if c is not None}.values():
        shorten(part)
    with torch.device("meta"):
        model = getattr(transformers, CLASSES[name])(config)
    config.architectures = [CLASSES[name]]
    config.save_pretrained(folder)
    return parameters(model)


def ours(program, folder):
    run = subprocess.run([program, "model", folder, "--forward", "-o", "-"], capture_output=True, text=True)
    if run.returncode:
        return run.stderr.strip().split(": ", 2)[-1][:160]
    rows = [json.loads(line) for line in run.stdout.split("\n") if '"kind":"parameter"' in line]
    return sum(math.prod(row["shape"]) for row in rows if not row.get("alias"))


SIZES = dict(hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=16000,
             max_position_embeddings=2048, bos_token_id=1, eos_token_id=2, pad_token_id=0)
HEAD, MOE = dict(SIZES, head_dim=64), dict(SIZES, num_experts=8, num_local_experts=8, num_experts_per_tok=2, moe_intermediate_size=512, head_dim=64)
GPT2 = dict(n_embd=512, n_layer=4, n_head=8, vocab_size=16000, n_positions=2048, bos_token_id=1, eos_token_id=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
FEW = dict(hidden_size=512, vocab_size=16000, num_attention_heads=8, num_hidden_layers=4, bos_token_id=1, eos_token_id=2)
CAPTURED = {**{name: SIZES for name in ("llama", "qwen2", "mistral", "phi3", "olmo", "olmo2", "granite", "stablelm", "smollm3", "starcoder2", "cohere", "phi")},
            **{name: HEAD for name in ("qwen3", "gemma", "gemma2", "gemma3_text", "glm")}, "gpt2": GPT2, "gptj": GPT2, "falcon": FEW,
            "gpt_neox": dict(FEW, intermediate_size=2048), "opt": dict(FEW, ffn_dim=2048, word_embed_proj_dim=512, dropout=0.0), "mixtral": MOE,
            "bloom": dict(hidden_size=512, n_layer=4, n_head=8, vocab_size=16000), "qwen3_moe": MOE}


def capture(folder, names):
    """Training steps of the library's classes in fp32 with AdamW, behind one that made the optimizer's states. Without dropout: on a CPU, where a
    capture is made, its masks and attention are other kernels than on a GPU."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../samples/torch"))
    import tidemark_torch
    for name in names:
        config = transformers.CONFIG_MAPPING[name](**CAPTURED[name])
        config.save_pretrained(f"{folder}/{name}")
        for batch, seq in (2, 256), (2, 512), (8, 256), (8, 512):
            with tidemark_torch.fake():
                model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).train()
                optimizer, ids = torch.optim.AdamW(model.parameters()), torch.zeros((batch, seq), dtype=torch.long)

                def step():
                    model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
                step()
                with tidemark_torch.capture(f"{folder}/{name}/captured_{batch}_{seq}.jsonl"):
                    step()


if __name__ == "__main__" and sys.argv[1] == "--captures":
    capture(sys.argv[2], sys.argv[3:] or CAPTURED)
elif __name__ == "__main__":
    for name in sys.argv[3:] or CLASSES:
        folder = f"{sys.argv[1]}/{name}"
        os.makedirs(folder, exist_ok=True)
        try:
            counted = make(name, folder)
        except Exception as problem:
            print(name, "the library doesn't build it:", str(problem).split("\n")[0][:100], flush=True)
            continue
        got = ours(sys.argv[2], folder)
        print(name, "equal" if got in counted else "NOT EQUAL" if isinstance(got, int) else "refused", got, *sorted(counted), flush=True)
