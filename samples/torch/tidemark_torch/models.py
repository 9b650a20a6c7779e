"""Models in plain torch.nn: BERT, GPT-2, an LSTM and an MLP; and the names of some of torchvision's.

Every model is a module whose forward(**inputs) returns the scalar loss of a training step. MODELS maps a name to a
function size -> (module, inputs); inputs maps a name to (shape, dtype, init) and init says how replay fills it:
["normal", deviation], ["below", n] for integers in 0..n-1, or ["fill", value].
No control flow depends on data, so that the step can be traced without computing anything.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Size:
    """What can be asked of a model; None is the model's own default."""
    batch: int = 1
    seq: int = None     # tokens (language models)
    layers: int = None  # blocks (language models)
    hidden: int = None  # features (language models)
    image: int = None   # height and width in pixels (torchvision models)


class Classifier(nn.Module):
    """A network and the cross entropy of its scores."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, y):
        return F.cross_entropy(self.model(x), y)


def classifier_inputs(shape, classes):
    """Inputs of a Classifier; shape: [batch, ...]."""
    return {"x": (shape, torch.float32, ["normal", 1.0]), "y": (shape[:1], torch.int64, ["below", classes])}


def token_inputs(size, vocabulary, names):
    """Integer inputs [batch, seq] of a language model."""
    return {name: ((size.batch, size.seq), torch.int64, ["below", vocabulary]) for name in names}


def vision(name):
    """One of torchvision's image classifiers, 1000 classes, images of 224 x 224."""
    def build(size):
        import torchvision.models
        pixels = size.image or 224
        return (Classifier(getattr(torchvision.models, name)(weights=None)),
                classifier_inputs((size.batch, 3, pixels, pixels), 1000))
    return build


def mlp(size):
    """Three linear layers on 28 x 28 images."""
    hidden = size.hidden or 512
    layers = nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                           nn.Linear(hidden, 10))
    return Classifier(layers), classifier_inputs((size.batch, 1, 28, 28), 10)


def next_token_loss(logits, labels):
    """Cross entropy of logits [batch, seq, vocabulary] against the token that follows each position."""
    shifted = logits[:, :-1, :].contiguous()
    return F.cross_entropy(shifted.view(-1, shifted.size(-1)), labels[:, 1:].contiguous().view(-1))


class LstmModel(nn.Module):
    """Two LSTM layers between an embedding and a linear layer over the vocabulary."""

    def __init__(self, layers, hidden, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, ids, labels):
        states, _ = self.lstm(self.embedding(ids))
        return next_token_loss(self.head(states), labels)


def lstm(size):
    """An LSTM language model with 10,000 words."""
    size.seq = size.seq or 32
    return LstmModel(size.layers or 2, size.hidden or 512, 10000), token_inputs(size, 10000, ["ids", "labels"])


def gelu_tanh(x):
    """GELU's tanh approximation, op by op as GPT-2's published code has it."""
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class GptAttention(nn.Module):
    """Causal self-attention on [batch, seq, hidden]."""

    def __init__(self, hidden, heads, context, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.c_attn, self.c_proj = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        causal = torch.tril(torch.ones(context, context, dtype=torch.bool))
        self.register_buffer("bias", causal.view(1, 1, context, context))

    def forward(self, x):
        batch, seq, hidden = x.shape
        q, k, v = (part.view(batch, seq, self.heads, hidden // self.heads).permute(0, 2, 1, 3)
                   for part in self.c_attn(x).split(hidden, dim=2))
        weights = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(hidden // self.heads)
        weights = weights.masked_fill(~self.bias[:, :, :seq, :seq], torch.finfo(weights.dtype).min)
        weights = F.dropout(F.softmax(weights, dim=-1), self.dropout, self.training)
        merged = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous().view(batch, seq, hidden)
        return F.dropout(self.c_proj(merged), self.dropout, self.training)


class GptMlp(nn.Module):
    """The feed-forward half of a block."""

    def __init__(self, hidden, dropout):
        super().__init__()
        self.c_fc, self.c_proj, self.dropout = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden), dropout

    def forward(self, x):
        return F.dropout(self.c_proj(gelu_tanh(self.c_fc(x))), self.dropout, self.training)


class GptBlock(nn.Module):
    """Attention and feed-forward, each behind a layer norm and beside a skip connection."""

    def __init__(self, hidden, heads, context, dropout):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(hidden), GptAttention(hidden, heads, context, dropout)
        self.ln_2, self.mlp = nn.LayerNorm(hidden), GptMlp(hidden, dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt2(nn.Module):
    """GPT-2; the output layer shares its weight with the token embedding."""

    def __init__(self, layers, hidden, vocabulary=50257, context=1024, dropout=0.1):
        super().__init__()
        self.wte, self.wpe, self.dropout = nn.Embedding(vocabulary, hidden), nn.Embedding(context, hidden), dropout
        self.h = nn.ModuleList([GptBlock(hidden, hidden // 64, context, dropout) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(hidden)

    def forward(self, ids, labels):
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = F.dropout(self.wte(ids) + self.wpe(positions), self.dropout, self.training)
        for block in self.h:
            x = block(x)
        return next_token_loss(F.linear(self.ln_f(x), self.wte.weight), labels)


def gpt2(layers, hidden):
    """GPT-2 with heads of 64 features and up to 1024 tokens."""
    def build(size):
        size.seq = size.seq or 1024
        return Gpt2(size.layers or layers, size.hidden or hidden), token_inputs(size, 50257, ["ids", "labels"])
    return build


class BertLayer(nn.Module):
    """Bidirectional self-attention and feed-forward, layer norms behind the skip connections."""

    def __init__(self, hidden, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.attn_out, self.attn_ln = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.inter, self.out = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.out_ln = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        batch, seq, hidden = x.shape
        q, k, v = (part(x).view(batch, seq, self.heads, hidden // self.heads).permute(0, 2, 1, 3)
                   for part in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(hidden // self.heads) + mask
        weights = F.dropout(F.softmax(scores, dim=-1), self.dropout, self.training)
        merged = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous().view(batch, seq, hidden)
        x = self.attn_ln(F.dropout(self.attn_out(merged), self.dropout, self.training) + x)
        return self.out_ln(F.dropout(self.out(F.gelu(self.inter(x))), self.dropout, self.training) + x)


class Bert(nn.Module):
    """BERT for masked language modelling; the output layer shares its weight with the word embedding."""

    def __init__(self, layers, hidden, vocabulary=30522, context=512, dropout=0.1):
        super().__init__()
        self.word, self.pos, self.typ = (nn.Embedding(n, hidden) for n in (vocabulary, context, 2))
        self.ln, self.dropout = nn.LayerNorm(hidden, eps=1e-12), dropout
        self.layer = nn.ModuleList([BertLayer(hidden, hidden // 64, dropout) for _ in range(layers)])
        self.tr, self.tr_ln = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.dec_bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, types, attn_mask, labels):
        mask = (1.0 - attn_mask[:, None, None, :]) * torch.finfo(torch.float32).min
        embedded = self.word(ids) + self.typ(types) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        x = F.dropout(self.ln(embedded), self.dropout, self.training)
        for layer in self.layer:
            x = layer(x, mask)
        scores = F.linear(self.tr_ln(F.gelu(self.tr(x))), self.word.weight, self.dec_bias)
        return F.cross_entropy(scores.view(-1, scores.size(-1)), labels.view(-1))


def bert(size):
    """BERT base: 12 layers of 768 features, up to 512 tokens."""
    size.seq = size.seq or 512
    tokens = token_inputs(size, 30522, ["ids", "labels"])
    inputs = {"ids": tokens["ids"], **token_inputs(size, 2, ["types"]),
              "attn_mask": ((size.batch, size.seq), torch.float32, ["fill", 1.0]), "labels": tokens["labels"]}
    return Bert(size.layers or 12, size.hidden or 768), inputs


MODELS = {
    "mlp": mlp,
    **{name: vision(name) for name in ("alexnet", "vgg16", "resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0",
                                       "mnasnet1_0", "squeezenet1_1", "convnext_tiny", "vit_b_16")},
    "bert_base": bert,
    "gpt2": gpt2(12, 768),
    "gpt2_xl": gpt2(48, 1600),
    "lstm": lstm,
}
