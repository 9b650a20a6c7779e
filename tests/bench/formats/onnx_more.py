"""More ONNX models, of timm, torchvision and transformers, three with a free batch: onnx_more.py FOLDER [NAME...]

Writes FOLDER/NAME.onnx without shapes of results and without weights, so that a reader has to infer them, as onnx_exports.py does.
"""
import os, sys

import timm, torch, torchvision, transformers as hf
from onnx_exports import strip

SMALL = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, vocab_size=500)
IDS = torch.randint(0, 400, (2, 24))


def image(side, batch=1):
    return torch.randn(batch, 3, side, side)


def free(name, most):
    return torch.export.Dim(name, min=2, max=most)


SCRIPT = dict(dynamo=False, opset_version=17)
DYNAMO = dict(dynamo=True)
segmentation = torchvision.models.segmentation
EXPORTS = {
    "mobilevit_dyn": (lambda: timm.create_model("mobilevit_xxs"), image(256, 2), SCRIPT),
    "convmixer": (lambda: timm.create_model("convmixer_768_32", num_classes=10), image(224), SCRIPT),
    "efficientnetv2": (lambda: torchvision.models.efficientnet_v2_s(), image(160), DYNAMO),
    "lraspp": (lambda: segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None), image(160), DYNAMO),
    "deeplab": (lambda: segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None), image(128), SCRIPT),
    "gemma3": (lambda: hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(num_key_value_heads=2, head_dim=16, use_cache=False, **SMALL)), IDS, DYNAMO),
    "electra": (lambda: hf.ElectraForMaskedLM(hf.ElectraConfig(embedding_size=32, **SMALL)), IDS, SCRIPT),
    "t5enc": (lambda: hf.T5EncoderModel(hf.T5Config(d_model=64, d_ff=128, d_kv=16, num_heads=4, num_layers=2, vocab_size=500)), IDS, SCRIPT),
    "wav2vec2": (lambda: hf.Wav2Vec2Model(hf.Wav2Vec2Config(conv_dim=[32] * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, **SMALL)), torch.randn(2, 4000), DYNAMO),
    "xcit": (lambda: timm.create_model("xcit_nano_12_p16_224"), image(224), DYNAMO),
    "gru": (lambda: torch.nn.GRU(32, 48, 2, bidirectional=True, batch_first=True), torch.randn(2, 20, 32), SCRIPT),
    "vit_dynbatch": (lambda: timm.create_model("vit_tiny_patch16_224"), image(224, 2), dict(dynamo=True, dynamic_shapes=({0: free("batch", 512)},))),
    "resnet_dynbatch": (lambda: torchvision.models.resnet18(), image(64, 2), dict(SCRIPT, input_names=["x"], dynamic_axes={"x": {0: "batch"}})),
    "bert_dyn": (lambda: hf.BertForMaskedLM(hf.BertConfig(**SMALL)), IDS, dict(dynamo=True, dynamic_shapes=({0: free("batch", 512), 1: free("seq", 256)},))),
}

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or EXPORTS:
        make, given, options = EXPORTS[name]
        path = f"{sys.argv[1]}/{name}.onnx"
        try:
            torch.onnx.export(make().eval(), (given,), path, **options)
            strip(path)
            print(name, flush=True)
        except Exception as problem:
            print(name, "not exported:", str(problem).split("\n")[0][:100], flush=True)
