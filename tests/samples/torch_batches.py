#!/usr/bin/env python3
"""Steps captured at some batches and planned at others, against PyTorch's own captures there.

    tests/samples/torch_batches.py [--only NAME,...] [--bases 1,2] [--workspace]     TIDEMARK names the program; with --workspace under the heap shim

Each function takes a batch and returns a step. Equal: program order's peak and what persists, to the byte; with --workspace to 0.1 %: the heap's blocks are some bytes
larger than asked for, and not always by as many, and between two batches at which workspace was measured it is on a line. torch_check.py runs some of them, with LONG=1 all.
"""
import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples" / "torch"))
from tidemark_torch.batches import capture_batches
from tidemark_torch.kernels import measure_workspace
from tidemark_torch.graph import write_graph
from tidemark_torch.recording import CaptureError, capture_step, fake
from tidemark_torch.workspace import LEAST

BATCHES = (1, 2, 4, 8)


def trains(model, loss_of, optimizer=torch.optim.AdamW):
    """The usual step."""
    chosen = optimizer([p for p in model.parameters() if p.requires_grad], lr=0.01)

    def step():
        loss = loss_of(model)
        loss.backward()
        chosen.step()
        chosen.zero_grad()
        return loss.detach()
    return step


def squares(model, *inputs, optimizer=torch.optim.AdamW):
    """A step whose loss is the mean of squares."""
    return trains(model, lambda model: model(*inputs).pow(2).mean(), optimizer)


# ---- products ----

def rows(batch):
    """Rows are samples times tokens."""
    model = nn.Sequential(nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))
    return squares(model, torch.randn(batch * 40, 48))


class Adapter(nn.Module):
    """A frozen product with a low-rank one beside it, behind dropout."""

    def __init__(self, width=64, rank=8):
        super().__init__()
        self.frozen = nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = nn.Linear(width, rank, bias=False), nn.Linear(rank, width, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.frozen(x) + self.up(self.down(self.dropout(x)))


def adapters(batch):
    """The same with frozen weights."""
    return squares(nn.Sequential(*[layer for _ in range(3) for layer in (Adapter(), nn.ReLU())]),
                   torch.randn(batch * 128, 64))


def classes(batch):
    """Samples with labels; the loss is a sum that is divided by their number."""
    model, x, y = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10)), torch.randn(batch, 32), torch.randint(
        0, 10, (batch,))
    return trains(model, lambda model: F.cross_entropy(model(x), y, reduction="sum") / batch, torch.optim.SGD)


def ragged(batch):
    """Two inputs: rows of several a sample, and some for each of their pairs."""
    first, second = nn.Linear(24, 32), nn.Linear(24, 32)
    a, b = torch.randn(batch * 6, 24), torch.randn(batch * 5 + 3, 24)
    return trains(nn.ModuleList([first, second]), lambda _: (first(a) @ second(b).T).logsumexp(1).mean())


def contrastive(batch):
    """Similarities of all pairs of samples."""
    left, right = nn.Linear(32, 16), nn.Linear(48, 16)
    a, b = torch.randn(batch, 32), torch.randn(batch, 48)

    def loss(_):
        scores = F.normalize(left(a)) @ F.normalize(right(b)).T
        target = torch.arange(batch)
        return (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)) / 2
    return trains(nn.ModuleList([left, right]), loss)


def distances(batch):
    """Distances of all pairs of points of a sample."""
    model, x = nn.Linear(3, 16), torch.randn(batch, 20, 3)
    return trains(model, lambda model: torch.cdist(model(x), x @ torch.ones(3, 16)).mean())


def gated(batch):
    """Experts that all run, weighed by a gate."""
    gate, experts, x = nn.Linear(32, 4), nn.ModuleList([nn.Linear(32, 32) for _ in range(4)]), torch.randn(
        batch, 12, 32)
    return trains(nn.ModuleList([gate, experts]), lambda _: torch.einsum(
        "bse,besd->bsd", gate(x).softmax(-1), torch.stack([expert(x) for expert in experts], 1)).pow(2).mean())


def nodes(batch):
    """A graph's nodes are rows of all samples; a matrix mixes those of each."""
    first, second, mix = nn.Linear(16, 32), nn.Linear(32, 16), torch.rand(10, 10).softmax(-1)
    x = torch.randn(batch * 10, 16)
    return trains(nn.ModuleList([first, second]),
                  lambda _: (mix @ second((mix @ first(x).view(-1, 10, 32)).relu()).view(-1, 10, 16)).pow(2).mean())


def bags(batch):
    """An embedding bag of five words a sample, and a table for each sample's one."""
    bag, table, top = nn.EmbeddingBag(50, 16), nn.Embedding(30, 16), nn.Linear(32, 4)
    words, offsets, one = torch.randint(0, 50, (batch * 5,)), torch.arange(0, batch * 5, 5), torch.randint(
        0, 30, (batch,))
    return trains(nn.ModuleList([bag, table, top]),
                  lambda _: top(torch.cat([bag(words, offsets), table(one)], 1)).pow(2).mean(), torch.optim.SGD)


def gan(batch):
    """Two networks that take turns."""
    make, judge = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)), nn.Sequential(
        nn.Linear(32, 64), nn.LeakyReLU(), nn.Linear(64, 1))
    first, second = torch.optim.Adam(make.parameters()), torch.optim.Adam(judge.parameters())
    real = torch.randn(batch, 32)

    def step():
        made = make(torch.randn(batch, 16))
        second.zero_grad()
        (F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()).backward()
        second.step()
        first.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        first.step()
    return step


# ---- convolutions ----

def block(channels, out, stride=1):
    """A convolution, a batch norm and a ReLU."""
    return nn.Sequential(nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU())


class Residual(nn.Module):
    """Two convolutions beside the way past them."""

    def __init__(self, channels):
        super().__init__()
        self.first, self.second = block(channels, channels), block(channels, channels)

    def forward(self, x):
        return x + self.second(self.first(x))


def residual_network(width=24):
    """A small ResNet."""
    return nn.Sequential(block(3, width), Residual(width), block(width, 2 * width, 2), Residual(2 * width),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 10))


def images(batch):
    """Classes of images."""
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    return trains(residual_network(), lambda model: F.cross_entropy(model(x), y), torch.optim.SGD)


def siamese(batch):
    """Two images of each sample through one network."""
    a, b = torch.randn(batch, 3, 32, 32), torch.randn(batch, 3, 32, 32)
    return trains(residual_network(), lambda model: F.pairwise_distance(model(a), model(b)).mean(), torch.optim.SGD)


def separable(batch):
    """Convolutions of each channel alone, squeezed and excited, with group norms."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.deep, self.wide = nn.Conv2d(3, 32, 3, 2, 1), nn.Conv2d(32, 32, 5, 1, 2, groups=32), nn.Conv2d(32, 64, 1)
            self.norm, self.squeeze, self.excite = nn.GroupNorm(4, 64), nn.Conv2d(64, 8, 1), nn.Conv2d(8, 64, 1)

        def forward(self, x):
            x = self.norm(self.wide(F.silu(self.deep(F.silu(self.stem(x))))))
            return x * self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True)))).sigmoid()
    return squares(Net(), torch.randn(batch, 3, 32, 32))


def segments(batch):
    """Down and up again, with skips."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.middle, self.up, self.out = block(3, 16), block(16, 32, 2), nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(32, 5, 1)

        def forward(self, x):
            skip = self.down(x)
            return F.interpolate(self.out(torch.cat([skip, self.up(self.middle(skip))], 1)), scale_factor=2,
                                 mode="bilinear")
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 5, (batch, 64, 64))
    return trains(Net(), lambda model: F.cross_entropy(model(x), y))


def waves(batch):
    """Convolutions along one axis, batch norms and pooling."""
    model = nn.Sequential(nn.Conv1d(2, 16, 9, 2, 4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
                          nn.Conv1d(16, 32, 9, 2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(32 * 32, 8))
    return squares(model, torch.randn(batch, 2, 256))


def volumes(batch):
    """Convolutions along three axes."""
    return squares(nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.AvgPool3d(2), nn.Conv3d(8, 8, 3)),
                   torch.randn(batch, 1, 12, 12, 12))


def pooled_norm(batch):
    """A batch norm of one value a sample: no step of one sample runs."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.BatchNorm1d(16),
                          nn.Linear(16, 4))
    return squares(model, torch.randn(batch, 3, 16, 16))


# ---- sequences ----

class Recurrent(nn.Module):
    """A recurrent layer and one on its results."""

    def __init__(self, kind, width, hidden, **options):
        super().__init__()
        self.layer, self.top = kind(width, hidden, **options), nn.Linear(
            hidden * (2 if options.get("bidirectional") else 1), 8)

    def forward(self, x):
        return self.top(self.layer(x)[0])


def memory(batch):
    """Two layers of LSTM."""
    return squares(Recurrent(nn.LSTM, 24, 48, num_layers=2, batch_first=True), torch.randn(batch, 20, 24))


def times_first(batch):
    """An LSTM whose inputs are [times, samples, features]."""
    return squares(Recurrent(nn.LSTM, 24, 32), torch.randn(12, batch, 24), optimizer=torch.optim.SGD)


def both_ways(batch):
    """A GRU in both directions."""
    return squares(Recurrent(nn.GRU, 16, 24, batch_first=True, bidirectional=True), torch.randn(batch, 15, 16))


def plain_recurrence(batch):
    """A plain recurrent network, its last state alone."""
    model, x = Recurrent(nn.RNN, 16, 32, batch_first=True), torch.randn(batch, 10, 16)
    return trains(model, lambda model: model(x)[:, -1].pow(2).mean())


def encoder(batch):
    """PyTorch's own encoder layers."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return squares(nn.TransformerEncoder(layer, 2), torch.randn(batch, 24, 32))


def translator(batch):
    """An encoder and a decoder with masks, [times, samples, features]."""
    model, mask = nn.Transformer(32, 4, 1, 1, 64), nn.Transformer.generate_square_subsequent_mask(9)
    a, b = torch.randn(14, batch, 32), torch.randn(9, batch, 32)
    return trains(model, lambda model: model(a, b, tgt_mask=mask).pow(2).mean())


class Language(nn.Module):
    """A language model: positions and masks made as [1, n], the table of words shared with the output."""

    def __init__(self, words=200, width=32, heads=4, layers=2, checkpoints=False):
        super().__init__()
        self.words, self.positions, self.heads, self.checkpoints = nn.Embedding(words, width), nn.Embedding(64, width), heads, checkpoints
        self.layers = nn.ModuleList([nn.ModuleDict({"mix": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
                                                    "up": nn.Linear(width, 4 * width),
                                                    "down": nn.Linear(4 * width, width), "first": nn.LayerNorm(width),
                                                    "second": nn.LayerNorm(width)}) for _ in range(layers)])

    def layer(self, layer, x):
        batch, times, width = x.shape
        q, k, v = layer["mix"](layer["first"](x)).view(batch, times, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / math.sqrt(width) + torch.full((1, 1, times, times), -1e9).triu(1)
        x = x + layer["out"]((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, times, width))
        return x + layer["down"](F.gelu(layer["up"](layer["second"](x))))

    def forward(self, ids):
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1])[None])
        for layer in self.layers:
            x = checkpoint(self.layer, layer, x, use_reentrant=False) if self.checkpoints else self.layer(layer, x)
        return F.cross_entropy(F.linear(x, self.words.weight)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def language(batch):
    """Next words."""
    ids = torch.randint(0, 200, (batch, 32))
    return trains(Language(), lambda model: model(ids))


def checkpointed(batch):
    """The same, its layers computed again."""
    ids = torch.randint(0, 200, (batch, 32))
    return trains(Language(checkpoints=True), lambda model: model(ids))


def packed(batch):
    """All sequences in one row of tokens; a mask keeps them apart."""
    mix, out = nn.Linear(32, 96), nn.Linear(32, 32)
    x, own = torch.randn(batch * 16, 32), torch.arange(batch).repeat_interleave(16)

    def loss(_):
        q, k, v = mix(x).view(-1, 3, 4, 8).permute(1, 2, 0, 3)
        return out(F.scaled_dot_product_attention(q[None], k[None], v[None], own[:, None] == own)[0].transpose(0, 1).flatten(1)).pow(2).mean()
    return trains(nn.ModuleList([mix, out]), loss)


def packed_kernel(batch):
    """Rows of tokens, cut into samples for attention in one kernel."""
    mix, out, x = nn.Linear(32, 96), nn.Linear(32, 32), torch.randn(batch * 24, 32)

    def loss(_):
        q, k, v = mix(x).view(-1, 24, 3, 4, 8).permute(2, 0, 3, 1, 4)
        return out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(-1, 32)).pow(2).mean()
    return trains(nn.ModuleList([mix, out]), loss)


def patches(batch):
    """A vision transformer: a class token for each sample, positions for all."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cut, self.token, self.place = nn.Conv2d(3, 32, 8, 8), nn.Parameter(torch.zeros(1, 1, 32)), nn.Parameter(torch.zeros(1, 17, 32))
            self.layers, self.top = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0, norm_first=True), 2, enable_nested_tensor=False), nn.Linear(32, 10)

        def forward(self, x):
            x = torch.cat([self.token.expand(len(x), -1, -1), self.cut(x).flatten(2).mT], 1)
            return self.top(self.layers(x + self.place)[:, 0])
    x, y = torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))
    return trains(Net(), lambda model: F.cross_entropy(model(x), y))


FAMILIES = (rows, adapters, classes, ragged, contrastive, distances, gated, nodes, bags, gan, images, siamese,
            separable, segments, waves, volumes, pooled_norm,
            memory, times_first, both_ways, plain_recurrence, encoder, translator, language, checkpointed, packed,
            packed_kernel, patches)


# ---- comparisons ----

def planned(path, *settings):
    """(program order's peak, persistent bytes, notes), or what the program says where there is no plan."""
    words = [word for setting in ("order=program",) + settings for word in ("--set", setting)]
    said = subprocess.run([os.environ["TIDEMARK"], "plan", path, "--json", *words], capture_output=True, text=True,
                          check=False)
    if said.returncode:
        return said.stderr.strip()
    plan = json.loads(said.stdout)
    return plan["memory"]["program_peak_bytes"], plan["memory"]["persistent_bytes"], plan["notes"]


def captured(path, graph, workspace):
    """Writes a capture, with its workspace if that is wanted."""
    if workspace:
        measure_workspace(graph)
    write_graph(path, graph)
    return path


def compare(make, folder, bases, workspace=False):
    """Of each base and batch: (base, batch, what is planned, what a capture there needs)."""
    real = {}
    for batch in BATCHES:
        try:
            with fake():
                real[batch] = planned(captured(f"{folder}/real.jsonl", capture_step(None, make(batch)), workspace))
        except (CaptureError, ValueError) as error:
            real[batch] = str(error)
    for base in bases:
        if not isinstance(real[base], str):
            with fake():
                graph = capture_batches(None, lambda batch: make(batch), base)
            path = captured(f"{folder}/step.jsonl", graph, workspace)
            for batch in BATCHES:
                yield base, batch, planned(path, f"batch={batch}"), real[batch]


def misfit(made, real, workspace):
    """What is wrong of a row; None: nothing."""
    if isinstance(real, str):   # no such step runs: it is refused, for the same reason
        return None if isinstance(made, str) and real.split(":")[-1].strip()[:40] in made else f"{made} instead of {real}"
    if isinstance(made, str):
        return made
    off = max(abs(a / b - 1) for a, b in zip(made[:2], real[:2]))
    guess = [note for note in made[2] if note.startswith("guess")]
    noise = workspace and all(abs(a - b) < LEAST for a, b in zip(made[:2], real[:2]))   # less isn't measured
    return None if not guess and (noise or off <= (1e-3 if workspace else 0)) else f"{made[:2]} instead of {real[:2]}, {100 * off:.3f} % off {guess}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", help="names, with commas")
    parser.add_argument("--bases", default="1,2,4,8")
    parser.add_argument("--workspace", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    count = wrong = most = 0
    with tempfile.TemporaryDirectory() as folder:
        for make in FAMILIES:
            if options.only and make.__name__ not in options.only.split(","):
                continue
            for base, batch, made, real in compare(make, folder, [int(base) for base in options.bases.split(",")],
                                                   options.workspace):
                what = misfit(made, real, options.workspace)
                count, wrong = count + 1, wrong + (what is not None)
                if not isinstance(made, str) and not isinstance(real, str):
                    most = max(most, abs(made[0] / real[0] - 1))
                if what:
                    print(f"{make.__name__}, captured at {base}, planned at {batch}: {what}", flush=True)
    print(f"{count - wrong} of {count} right, PyTorch {torch.__version__}; at most {100 * most:.4f} % off")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
