"""Logs of torch.compile for training steps: torch_logs.py FOLDER [NAME...]

Writes for each model FOLDER/NAME.log (TORCH_LOGS=aot_joint_graph,aot_graphs) and NAME.trace/ (TORCH_TRACE); with BACKEND=inductor
NAME.debug/ (TORCH_COMPILE_DEBUG) too. Each model compiles in a process of its own, on the CPU; one step is run.
"""
import os

from each_alone import each_alone, for_torch

BACKEND = os.environ.get("BACKEND", "aot_eager")


def torchvision(name, side=64, **options):
    def make():
        import torch, torchvision
        return getattr(torchvision.models, name)(**options), (torch.randn(2, 3, side, side),)
    return make


def transformers(kind, length=64, **options):
    def make():
        import torch, transformers
        config = getattr(transformers, kind + "Config")(**options)
        heads = {"GPT2": "GPT2LMHeadModel", "Bert": "BertForMaskedLM", "Llama": "LlamaForCausalLM", "Qwen2": "Qwen2ForCausalLM", "T5": "T5ForConditionalGeneration",
                 "Mistral": "MistralForCausalLM", "GPTNeoX": "GPTNeoXForCausalLM", "OPT": "OPTForCausalLM", "DistilBert": "DistilBertForMaskedLM"}
        model = getattr(transformers, heads[kind])(config)
        model.config.use_cache = False
        ids = torch.randint(0, 500, (2, length))
        return model, ((ids, None, ids) if kind == "T5" else (ids,))
    return make


def mlp():
    import torch
    return torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)), (torch.randn(8, 64),)


def autoencoder():
    import torch
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.GELU(), nn.Conv2d(16, 32, 3, 2, 1), nn.GELU(), nn.ConvTranspose2d(32, 16, 2, 2), nn.SiLU(), nn.ConvTranspose2d(16, 3, 2, 2)), (
        torch.randn(4, 3, 64, 64),)


def lstm():
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.cell, self.head = torch.nn.Embedding(500, 64), torch.nn.GRUCell(64, 128), torch.nn.Linear(128, 500)

        def forward(self, ids):
            h, out = torch.zeros(ids.shape[0], 128), []
            for t in range(ids.shape[1]):
                h = self.cell(self.embed(ids[:, t]), h)
                out.append(self.head(h))
            return torch.stack(out, 1)
    return Model(), (torch.randint(0, 500, (4, 12)),)


def broken():
    """A graph break in the middle: two graphs, each with its backward pass."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

        def forward(self, x):
            x = self.a(x).relu()
            torch._dynamo.graph_break()
            return self.b(x).sigmoid()
    return Model(), (torch.randn(8, 64),)


small = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256, vocab_size=1000)
MODELS = {
    "mlp": mlp, "autoencoder": autoencoder, "gru": lstm, "broken": broken,
    "resnet18": torchvision("resnet18"), "mobilenet_v3_small": torchvision("mobilenet_v3_small"), "densenet121": torchvision("densenet121"),
    "convnext_tiny": torchvision("convnext_tiny"), "vit_b_16": torchvision("vit_b_16", 224, num_classes=10), "efficientnet_b0": torchvision("efficientnet_b0"),
    "squeezenet1_1": torchvision("squeezenet1_1"), "alexnet": torchvision("alexnet"), "swin_t": torchvision("swin_t"),
    "gpt2": transformers("GPT2", n_embd=128, n_layer=2, n_head=4, vocab_size=1000), "bert": transformers("Bert", **small), "llama": transformers("Llama", **small),
    "qwen2": transformers("Qwen2", num_key_value_heads=2, **small), "t5": transformers("T5", d_model=128, d_ff=256, d_kv=32, num_heads=4, num_layers=2, vocab_size=1000),
    "gpt_neox": transformers("GPTNeoX", **small), "opt": transformers("OPT", hidden_size=128, num_hidden_layers=2, num_attention_heads=4, ffn_dim=256, vocab_size=1000, word_embed_proj_dim=128),
}


def run(name, folder):
    import torch
    torch.manual_seed(0)
    torch._dynamo.config.automatic_dynamic_shapes = False
    model, given = MODELS[name]()
    model.train()
    if name in ("gpt2", "bert", "llama", "qwen2", "gpt_neox", "opt", "t5"):
        kw = dict(input_ids=given[0], labels=given[0], use_cache=False) if name != "bert" else dict(input_ids=given[0], labels=given[0])
        torch.compile(lambda: model(**kw).loss, backend=BACKEND)().backward()
    else:
        out = torch.compile(model, backend=BACKEND)(*given)
        (out[0] if isinstance(out, tuple) else out).float().sum().backward()


if __name__ == "__main__":
    each_alone(MODELS, run, for_torch, log=True)
