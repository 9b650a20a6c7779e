"""config.json files of transformers' own types, and whether Tidemark counts their parameters alike: hugging_face.py FOLDER TIDEMARK [TYPE...]

Writes FOLDER/TYPE/config.json, the library's defaults cut to six layers, builds each model on the meta device, and prints beside its number of parameters what
`tidemark model` makes of the file: equal, another number, or why it is refused. Of models for images and text the language model's number counts, too.
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


if __name__ == "__main__":
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
