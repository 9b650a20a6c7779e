"""ONNX exports of torchvision and transformers models: onnx_exports.py FOLDER [NAME...], by both of PyTorch's exporters.

Shapes of results (value_info) are taken out again: what is read has to find them. Large weights are named as if they lay in a file beside the model.
"""
import os, sys

VISION = ["alexnet", "densenet121", "efficientnet_b0", "googlenet", "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_small", "regnet_y_400mf", "resnet18", "resnet50",
          "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "vgg11_bn", "wide_resnet50_2", "convnext_tiny", "swin_t", "vit_b_16", "maxvit_t"]
small = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
TEXT = {"gpt2": ("GPT2", "GPT2LMHeadModel", dict(n_embd=128, n_layer=2, n_head=4, vocab_size=1000)), "bert": ("Bert", "BertForMaskedLM", small),
        "llama": ("Llama", "LlamaForCausalLM", small), "qwen2": ("Qwen2", "Qwen2ForCausalLM", dict(small, num_key_value_heads=2)),
        "distilbert": ("DistilBert", "DistilBertForMaskedLM", dict(dim=128, n_layers=2, n_heads=4, hidden_dim=256, vocab_size=1000)),
        "roberta": ("Roberta", "RobertaForMaskedLM", small), "electra": ("Electra", "ElectraForMaskedLM", small)}


def export(name, folder):
    import torch
    if name in TEXT:
        import transformers
        config, head, options = TEXT[name]
        model = getattr(transformers, head)(getattr(transformers, config + "Config")(use_cache=False, **options))
        given = (torch.randint(0, 500, (2, 32)),)
    else:
        import torchvision
        model, given = getattr(torchvision.models, name)(), (torch.randn(1, 3, 224, 224),)
    for exporter in "dynamo", "script":
        path = f"{folder}/{name}_{exporter}.onnx"
        try:
            torch.onnx.export(model.eval(), given, path, verbose=False, **(dict(dynamo=True, external_data=True) if exporter == "dynamo" else dict(dynamo=False, opset_version=17)))
            strip(path)
            print(name, exporter, flush=True)
        except Exception as problem:
            print(name, exporter, "not exported:", str(problem).split("\n")[0][:100], flush=True)


def strip(path):
    import math, onnx
    model = onnx.load(path, load_external_data=False)
    del model.graph.value_info[:]
    for weight in model.graph.initializer:
        if math.prod(weight.dims) > 64:
            weight.ClearField("raw_data")
            weight.ClearField("float_data")
            weight.data_location = 1
            del weight.external_data[:]
            place = weight.external_data.add()
            place.key, place.value = "location", "weights.bin"
    onnx.save(model, path)
    if os.path.exists(path + ".data"):
        os.remove(path + ".data")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or [*VISION, *TEXT]:
        export(name, sys.argv[1])
