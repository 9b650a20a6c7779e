"""What the command line can capture: names of models, and functions in the user's own files.

    FILE.py:FUNCTION        the user's own; PACKAGE.MODULE:FUNCTION works too
    torchvision:NAME        a classification or segmentation model of torchvision
    timm:NAME               a model of timm
    hf:NAME                 a model of transformers, by its type ("hf:llama") or by a known model's name
                            ("hf:meta-llama/Llama-3.2-1B"); ":KEY=VALUE,..." behind it changes its configuration
    config.json, FOLDER     a Hugging Face configuration, or a folder with one, of any type that transformers has
    FILE.pt2                what torch.export.save wrote, with the inputs that it was exported with
    NAME                    one of tidemark_torch.models (gpt2, bert_base, lstm, mlp, ...)

Weights are random and nothing is downloaded.
"""
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import sys

import torch

from .errors import CaptureError
from .models import MODELS, Size
from .steps import Classifier

# Sizes from the models' published config.json files; the rest as the type's class has it.
HF_KNOWN = {
    "meta-llama/Llama-3.2-1B": ("llama", {
        "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 128256, "tie_word_embeddings": True,
        "max_position_embeddings": 131072}),
    "meta-llama/Llama-3.2-3B": ("llama", {
        "hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 28, "num_attention_heads": 24,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 128256, "tie_word_embeddings": True,
        "max_position_embeddings": 131072}),
    "meta-llama/Llama-3.1-8B": ("llama", {
        "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072}),
    "meta-llama/Llama-2-7b-hf": ("llama", {
        "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 32000}),
    "mistralai/Mistral-7B-v0.1": ("mistral", {}),
    "mistralai/Mixtral-8x7B-v0.1": ("mixtral", {}),
    "Qwen/Qwen3-0.6B": ("qwen3", {
        "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "tie_word_embeddings": True}),
    "Qwen/Qwen3-8B": ("qwen3", {
        "hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936}),
    "Qwen/Qwen2.5-0.5B": ("qwen2", {
        "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
        "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True}),
    "openai-community/gpt2": ("gpt2", {}),
    "openai-community/gpt2-medium": ("gpt2", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "openai-community/gpt2-large": ("gpt2", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "openai-community/gpt2-xl": ("gpt2", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "google-bert/bert-base-uncased": ("bert", {}),
    "google-bert/bert-large-uncased": ("bert", {
        "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}),
    "FacebookAI/roberta-base": ("roberta", {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}),
    "distilbert/distilbert-base-uncased": ("distilbert", {}),
    "google-t5/t5-small": ("t5", {}),
    "google-t5/t5-base": ("t5", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "google/vit-base-patch16-224": ("vit", {}),
    "facebook/opt-125m": ("opt", {}),
    "EleutherAI/pythia-160m": ("gpt_neox", {
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
        "vocab_size": 50304}),
    "microsoft/phi-2": ("phi", {
        "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 32, "num_attention_heads": 32,
        "vocab_size": 51200}),
}
# Heads, the likeliest first.
HF_HEADS = ["MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
            "MODEL_FOR_MASKED_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING_NAMES",
            "MODEL_FOR_SEMANTIC_SEGMENTATION_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
            "MODEL_FOR_AUDIO_CLASSIFICATION_MAPPING_NAMES", "MODEL_FOR_PRETRAINING_MAPPING_NAMES",
            "MODEL_MAPPING_NAMES"]
HF_MASKED = {"bert", "roberta", "electra", "camembert", "xlm-roberta", "megatron-bert", "roformer", "rembert", "ernie"}


def library(name):
    """A package of models."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CaptureError(f"{name} is missing: pip install {name}") from None


def images(size, pixels, classes):
    """A batch of pictures and their labels."""
    return {"x": torch.randn(size.batch, 3, pixels, pixels), "y": torch.randint(0, classes, (size.batch,))}


def torchvision_model(name, size):
    """A classifier or segmenter of torchvision."""
    models = library("torchvision").models
    try:
        model = models.get_model(name, weights=None,
                                 **({"weights_backbone": None} if is_segmenter(models, name) else {}))
    except ValueError:
        raise CaptureError(f"torchvision has no model {name}: torchvision.models.list_models() names them") from None
    pixels = size.image or (299 if name == "inception_v3" else 224)
    inputs = images(size, pixels, 1000)
    if is_segmenter(models, name):
        inputs["y"] = torch.randint(0, 21, (size.batch, pixels, pixels))
    elif name in models.list_models(module=models.detection) or name in models.list_models(module=models.video):
        raise CaptureError(f"{name} needs inputs of its own: write a FILE.py:FUNCTION that returns a step")
    return Classifier(model), inputs


def is_segmenter(models, name):
    """True for torchvision's segmentation models."""
    return name in models.list_models(module=models.segmentation)


def timm_model(name, size):
    """A model of timm."""
    timm = library("timm")
    options = {"img_size": size.image} if size.image else {}
    try:
        model = timm.create_model(name, pretrained=False, **options)
    except TypeError:
        model = timm.create_model(name, pretrained=False)
    except RuntimeError as error:
        if "nknown model" not in str(error):  # what fake tensors can't do is made for real by the caller
            raise
        raise CaptureError(f"timm: {error}; timm.list_models() names them") from None
    pixels = size.image or model.default_cfg["input_size"][-1]
    return Classifier(model), images(size, pixels, model.num_classes)


def hf_configuration(name):
    """The configuration of a model of transformers."""
    transformers = library("transformers")
    if is_configuration(name):
        try:
            return transformers.AutoConfig.from_pretrained(name, local_files_only=True)
        except (ValueError, AttributeError) as error:
            raise CaptureError(f"{name}: transformers {transformers.__version__} doesn't read it: {str(error).strip().splitlines()[0]}") from None
    name, _, changes = name.partition(":")
    kind, values = HF_KNOWN.get(name, (name, {}))
    values = dict(values)
    for change in filter(None, re.split(r",(?=\w+=)", changes)):  # values may be lists
        key, _, value = change.partition("=")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    try:
        config = transformers.AutoConfig.for_model(kind, **values)
        if (getattr(config, "pad_token_id", None) or 0) >= (getattr(config, "vocab_size", None) or 1 << 62):
            config.pad_token_id = 0  # that of the published vocabulary
        if getattr(config, "is_encoder_decoder", False) and getattr(config, "decoder_start_token_id", None) is None:
            config.decoder_start_token_id = 0
        return config
    except ValueError:
        raise CaptureError(
            f"no model {name} is known: use its type (hf:llama:hidden_size=2048,num_hidden_layers=16); known: "
                           + ", ".join(HF_KNOWN)) from None


def is_configuration(name):
    """Whether a name is that of a config.json, or of a folder with one."""
    return os.path.isfile(os.path.join(name, "config.json")) or (name.endswith(".json") and os.path.isfile(name))


def hf_class(kind, named=()):
    """The class that a configuration names, or else the one with the head that a model type is trained with."""
    transformers = library("transformers")
    for name in named or ():
        if isinstance(getattr(transformers, name, None), type):
            return getattr(transformers, name)
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    heads = sorted(HF_HEADS, key=lambda head: "MASKED" not in head) if kind in HF_MASKED else HF_HEADS
    for head in heads:
        found = getattr(auto, head, {}).get(kind)
        for name in (found if isinstance(found, (list, tuple)) else [found]):
            if name and hasattr(transformers, name):
                return getattr(transformers, name)
    raise CaptureError(f"transformers has no head for {kind}: write a FILE.py:FUNCTION that returns a step")


def first_of(config, *names, default=None):
    """The first of some attributes that a configuration, or its text part, has."""
    for part in (config, getattr(config, "text_config", None)):
        for name in names:
            if part is not None and getattr(part, name, None) is not None:
                return getattr(part, name)
    return default


def hf_inputs(model, config, size):
    """Random inputs of a model's main kind, with labels."""
    main = getattr(model, "main_input_name", "input_ids")
    names = inspect.signature(model.forward).parameters
    labels = "labels" in names
    if main == "pixel_values":
        pixels = size.image or first_of(config, "image_size", default=224)
        pixels = pixels[0] if isinstance(pixels, (list, tuple)) else pixels
        inputs = {main: torch.randn(size.batch, first_of(config, "num_channels", default=3), pixels, pixels)}
        classes = getattr(config, "num_labels", 2)
        if "Segmentation" in type(model).__name__:
            inputs["labels"] = torch.randint(0, classes, (size.batch, pixels, pixels))
        elif labels:
            inputs["labels"] = torch.randint(0, classes, (size.batch,))
        return inputs
    if main in ("input_values", "input_features"):
        bins = first_of(config, "num_mel_bins", default=80)
        if main == "input_values":
            shape = (size.batch, getattr(config, "max_length", 1024), bins) if hasattr(config, "frequency_stride") else (size.batch, 16000)
        else:
            shape = (size.batch, bins, 2 * first_of(config, "max_source_positions", default=1500))
        inputs = {main: torch.randn(*shape)}
        if "decoder_input_ids" in names:
            inputs["labels"] = torch.randint(0, first_of(config, "vocab_size"), (size.batch, size.seq or 32))
        elif labels:
            inputs["labels"] = torch.randint(0, getattr(config, "num_labels", 2), (size.batch,))
        return inputs
    vocabulary = first_of(config, "vocab_size", "n_tokens", default=1000)
    ids = torch.randint(0, vocabulary, (size.batch, size.seq or 128))
    inputs = {"input_ids": ids}
    if labels and type(model).__name__.endswith(("ImageClassification", "SequenceClassification")):
        inputs["labels"] = torch.randint(0, getattr(config, "num_labels", 2), (size.batch,))
    elif labels:
        inputs["labels"] = torch.randint(0, vocabulary, (size.batch, size.seq or 128))
    elif "decoder_input_ids" in names:
        inputs["decoder_input_ids"] = torch.randint(0, vocabulary, (size.batch, size.seq or 128))
    if "use_cache" in names:
        inputs["use_cache"] = False
    return inputs


def hf_model(name, size):
    """A model of transformers with random weights and the head that its type is trained with."""
    config = hf_configuration(name)
    for key, value in (("num_hidden_layers", size.layers), ("hidden_size", size.hidden)):
        if value:
            setattr(config, key, value)
    if size.image and isinstance(getattr(config, "image_size", None), int):
        config.image_size = size.image
    named = config.architectures if is_configuration(name) else ()
    model = hf_class(config.model_type, named)(config)
    return model, hf_inputs(model, config, size)


class Exported(torch.nn.Module):
    """An exported program: it is for training or not as it was exported, and can't be switched."""

    def __init__(self, program, words):
        super().__init__()
        self.program, self.words = program, words

    def train(self, mode=True):
        return self

    def forward(self, *inputs):
        return self.program(*inputs, **self.words)


def exported_model(path):
    """What torch.export.save wrote, and its inputs. Its weights are read: the library has no way to leave them."""
    from torch.utils._python_dispatch import _disable_current_modes
    with _disable_current_modes():
        try:
            exported = torch.export.load(path)
        except (RuntimeError, ValueError, KeyError, OSError) as error:
            raise CaptureError(f"{path}: torch.export.load can't read it: {str(error).strip().splitlines()[0]}") from None
        if exported.example_inputs is None:
            raise CaptureError(f"{path} has no inputs: export it with example inputs")
        inputs, words = exported.example_inputs
        return Exported(exported.module(), words), inputs


def own_model(name, size):
    """One of tidemark_torch.models."""
    if name not in MODELS:
        raise CaptureError(f"no model {name}: --list prints the names, FILE.py:FUNCTION is one of your own")
    model, inputs = MODELS[name](size)
    return model, {key: filled(*value) for key, value in inputs.items()}


def filled(shape, dtype, how):
    """A tensor filled as models.py says."""
    if how[0] == "normal":
        return torch.randn(shape, dtype=dtype)
    return torch.randint(0, how[1], shape, dtype=dtype) if how[0] == "below" else torch.full(shape, how[1], dtype=dtype)


def own_function(path, name):
    """A function in a user's file or module."""
    if path.endswith(".py"):
        if not os.path.exists(path):
            raise CaptureError(f"{path}: there is no such file")
        folder = str(pathlib.Path(path).resolve().parent)
        sys.path[:0] = [folder, os.getcwd()]
        spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as error:
            raise CaptureError(f"{error}: name a file (FILE.py:FUNCTION), or a prefix: torchvision:, timm:, hf:") from None
    if not hasattr(module, name):
        raise CaptureError(f"{path} has no function {name}")
    return getattr(module, name)


def call_with_size(function, size):
    """Calls a user's function with what it asks for: a Size, or batch=, seq=, ... that it names."""
    parameters = list(inspect.signature(function).parameters.values())
    given = {key: value for key, value in vars(size).items() if value is not None}
    named = {p.name: given[p.name] for p in parameters if p.name in given}
    free = [p for p in parameters if p.default is p.empty and p.name not in named and
            p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return function(*([size] if free else []), **named)


def takes_batch(name):
    """Whether a name of the command line stands for a step of any batch: all but functions in users' files that don't ask for one do."""
    prefix, _, rest = name.partition(":")
    if name.endswith(".pt2"):
        return False
    if not rest or prefix in ("torchvision", "timm", "hf") or is_configuration(name):
        return True
    path, _, function = name.rpartition(":")
    parameters = inspect.signature(own_function(path, function)).parameters
    return "batch" in parameters or any(p.default is p.empty
                                        and p.name not in vars(Size()) for p in parameters.values())


def build(name, size):
    """What a name of the command line stands for: a callable step, or (module, inputs)."""
    prefix, _, rest = name.partition(":")
    makers = {"torchvision": torchvision_model, "timm": timm_model, "hf": hf_model}
    if prefix in makers and rest:
        return makers[prefix](rest, size)
    if is_configuration(name):
        return hf_model(name, size)
    if name.endswith(".pt2") and os.path.isfile(name):
        return exported_model(name)
    if not rest:
        return own_model(name, size)
    path, _, function = name.rpartition(":")
    made = call_with_size(own_function(path, function), size)
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        module, inputs = made
        if isinstance(inputs, dict):
            inputs = {key: filled(*value) if isinstance(value, tuple) else value for key, value in inputs.items()}
        elif isinstance(inputs, torch.Tensor):
            inputs = (inputs,)
        return module, inputs
    if callable(made):
        return made
    raise CaptureError(
        f"{name} returned a {type(made).__name__}: it must return (module, inputs), the module giving the loss, "
                       "or a function that runs a step")
