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



class Spatial(torch.nn.Module):
    """Resampling, shuffling, transposed convolutions, padding by reflection, indices of maxima."""

    def __init__(self):
        super().__init__()
        self.down, self.up, self.theta = torch.nn.Conv2d(8, 16, 3, stride=2, padding=1), torch.nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1), torch.nn.Linear(8, 6)

    def forward(self, x):
        f = torch.nn.functional
        grid = f.affine_grid(self.theta(x.mean((2, 3))).view(-1, 2, 3), list(x.shape), align_corners=False)
        y = self.up(self.down(f.pad(f.grid_sample(x, grid, align_corners=False), (1, 2, 3, 1), "reflect")))
        y = f.pixel_shuffle(f.interpolate(y, scale_factor=1.5, mode="bilinear"), 2)
        return f.max_pool2d(f.pixel_unshuffle(y[..., :66, :66], 2), 3, 2, 1, ceil_mode=True), f.adaptive_avg_pool2d(y, (5, 7)), f.unfold(x, 3, padding=1)


class Routing(torch.nn.Module):
    """Experts by top-k, gather, scatter, one-hot, sorting, cumulative sums, masks, einsum."""

    def __init__(self):
        super().__init__()
        self.gate, self.weight = torch.nn.Linear(32, 6), torch.nn.Parameter(torch.randn(6, 32, 48))

    def forward(self, x):
        score, index = self.gate(x).softmax(-1).topk(2, -1)
        hot = torch.nn.functional.one_hot(index, 6).to(x.dtype)
        y = torch.einsum("btke,btk,btd,edh->bth", hot, score, x, self.weight)
        place = torch.zeros(x.shape[0], x.shape[1], 6).scatter_add(-1, index, score)
        return torch.where(y > 0, y, y.cumsum(1)), torch.gather(y, 1, index[..., :1].expand(-1, -1, 48)), place.sort(-1).values, torch.tril(y @ y.mT)


class Boxes(torch.nn.Module):
    def forward(self, x, boxes, scores):
        kept = torchvision.ops.nms(boxes, scores, 0.5)
        return torchvision.ops.roi_align(x, [boxes], 7), boxes[kept]


class Spectrum(torch.nn.Module):
    def forward(self, x):
        return torch.stft(x, 256, 64, window=torch.ones(256), return_complex=False).pow(2).sum(-1).log1p()


MORE = {
    "stft": (Spectrum, torch.randn(2, 2000), dict(SCRIPT, opset_version=18)),
    "pvt": (lambda: timm.create_model("pvt_v2_b0"), image(224), DYNAMO),
    "edgenext": (lambda: timm.create_model("edgenext_xx_small"), image(256), SCRIPT),
    "hrnet": (lambda: timm.create_model("hrnet_w18_small"), image(224), DYNAMO),
    "res2net": (lambda: timm.create_model("res2net50_26w_4s"), image(128), SCRIPT),
    "dla": (lambda: timm.create_model("dla34"), image(128), DYNAMO),
    "coat": (lambda: timm.create_model("coat_lite_tiny"), image(224), DYNAMO),
    "bloom": (lambda: hf.BloomForCausalLM(hf.BloomConfig(hidden_size=64, n_layer=2, n_head=4, vocab_size=500, use_cache=False)), IDS, DYNAMO),
    "falcon": (lambda: hf.FalconForCausalLM(hf.FalconConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=500, use_cache=False)), IDS, DYNAMO),
    "whisper_enc": (lambda: hf.WhisperModel(hf.WhisperConfig(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128,
                    decoder_ffn_dim=128, vocab_size=500, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)).encoder, torch.randn(1, 80, 3000), DYNAMO),
    "encoder": (lambda: torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2), torch.randn(2, 30, 64), SCRIPT),
    "spatial": (Spatial, torch.randn(2, 8, 32, 32), dict(SCRIPT, opset_version=20)),
    "spatial_dynamo": (Spatial, torch.randn(2, 8, 32, 32), DYNAMO),
    "routing": (Routing, torch.randn(2, 10, 32), SCRIPT),
    "routing_dynamo": (Routing, torch.randn(2, 10, 32), DYNAMO),
    "boxes": (Boxes, (image(32), torch.tensor([[0., 0, 9, 9], [1, 1, 9, 9], [15, 15, 30, 31]]), torch.rand(3)), SCRIPT),
}
EXPORTS.update(MORE)

if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or EXPORTS:
        make, given, options = EXPORTS[name]
        path = f"{sys.argv[1]}/{name}.onnx"
        try:
            torch.onnx.export(make().eval(), given if isinstance(given, tuple) else (given,), path, **options)
            strip(path)
            print(name, flush=True)
        except Exception as problem:
            print(name, "not exported:", str(problem).split("\n")[0][:100], flush=True)
