"""Steps that users write, small: each function returns what python -m tidemark_torch FILE.py:FUNCTION takes."""
import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


def network(width=64):
    """Three linear layers."""
    return nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))


def with_loss(model, optimizer, x, y, **zero):
    """The usual step."""
    def step():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(**zero)
        return loss
    return step


def batch(size=256):
    """Inputs and labels for network()."""
    return torch.randn(size, 32), torch.randint(0, 10, (size,))


def gan():
    """Two networks that take turns."""
    make, judge = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64)), nn.Sequential(
        nn.Linear(64, 128), nn.LeakyReLU(), nn.Linear(128, 1))
    first, second = torch.optim.Adam(make.parameters()), torch.optim.Adam(judge.parameters())
    real = torch.randn(128, 64)

    def step():
        fake = make(torch.randn(128, 16))
        second.zero_grad()
        loss = F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()
        loss.backward()
        second.step()
        first.zero_grad()
        other = F.softplus(-judge(fake)).mean()
        other.backward()
        first.step()
        return other
    return step


class Unet(nn.Module):
    """Down and up once, with a skip connection."""

    def __init__(self, extra=0):
        super().__init__()
        self.down, self.middle = nn.Conv2d(3 + extra, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.norm, self.up, self.out = nn.GroupNorm(4, 32), nn.ConvTranspose2d(32, 16, 2, stride=2), nn.Conv2d(32, 3, 1)

    def forward(self, x):
        skip = F.silu(self.down(x))
        return self.out(torch.cat([skip, self.up(F.silu(self.norm(self.middle(skip))))], 1))


def unet():
    """Segmentation."""
    model = Unet()
    optimizer, x = torch.optim.AdamW(model.parameters()), torch.randn(2, 3, 64, 64)

    def step():
        loss = F.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def diffusion():
    """A denoising step with random times and noise."""
    model, x = Unet(extra=1), torch.randn(4, 3, 32, 32)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        noise, time = torch.randn_like(x), torch.rand(4, 1, 1, 1)
        loss = F.mse_loss(model(torch.cat([x * (1 - time) + noise * time, time.expand(4, 1, 32, 32)], 1)), noise)
        loss.backward()
        optimizer.step()
        return loss
    return step


class Experts(nn.Module):
    """Tokens go to the expert that scores highest; loads depend on data."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(32, 4), nn.ModuleList([nn.Linear(32, 32) for _ in range(4)])

    def forward(self, x):
        weight, choice = self.gate(x).softmax(-1).max(-1)
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            here = (choice == i).nonzero()[:, 0]
            result = result.index_add(0, here, expert(x[here]) * weight[here, None])
        return result.pow(2).mean()


def moe():
    """A mixture of experts."""
    return Experts(), (torch.randn(256, 32),)


def lora():
    """Frozen weights and two thin trained ones."""
    model = network(256)
    model.requires_grad_(False)
    down, up = nn.Linear(32, 4, bias=False), nn.Linear(4, 10, bias=False)
    optimizer, (x, y) = torch.optim.AdamW([*down.parameters(), *up.parameters()]), batch()

    def step():
        loss = F.cross_entropy(model(x) + up(down(x)), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def transformer():
    """torch's own encoder and decoder."""
    model = nn.Transformer(32, 4, 1, 1, 64, batch_first=True)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(4, 16, 32)

    def step():
        loss = model(x, x).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


class Checkpointed(nn.Module):
    """Layers that are run again in the backward pass, both ways that PyTorch has."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Dropout(dropout),
                                                   nn.Linear(256, 64)) for _ in range(4)])

    def forward(self, x):
        x = x * 1.0
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=i % 2 == 1)
        return x.pow(2).mean()


def checkpointed():
    """Checkpointing."""
    return Checkpointed(), (torch.randn(256, 64, requires_grad=True),)


def checkpointed_dropout():
    """Checkpointing of layers that draw numbers: the loss holds states of the generator to the end."""
    return Checkpointed(0.1), (torch.randn(256, 64, requires_grad=True),)


class Tied(nn.Module):
    """One weight for the embedding and the output."""

    def __init__(self):
        super().__init__()
        self.embed, self.out = nn.Embedding(500, 32), nn.Linear(32, 500, bias=False)
        self.out.weight = self.embed.weight
        self.twin = copy.deepcopy(self.embed)

    def forward(self, ids):
        return F.cross_entropy(self.out(self.embed(ids) + self.twin(ids)).flatten(0, 1), ids.flatten())


def tied():
    """Tied weights, and a copied module."""
    return Tied(), (torch.randint(0, 500, (4, 32)),)


class Unused(nn.Module):
    """Half of the parameters take no part."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(32, 32), nn.Linear(256, 256)

    def forward(self, x):
        return self.used(x).pow(2).mean()


def unused():
    """Unused parameters."""
    return Unused(), (torch.randn(64, 32),)


def spectral():
    """Spectral and weight norm."""
    from torch.nn.utils.parametrizations import spectral_norm, weight_norm
    model = nn.Sequential(spectral_norm(nn.Linear(32, 64)), nn.Tanh(), weight_norm(nn.Linear(64, 10)))
    return with_loss(model, torch.optim.Adam(model.parameters()), *batch())


def clipped():
    """Gradients are clipped."""
    model, (x, y) = network(), batch()
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def scaled():
    """Loss scaling and autocast."""
    model, (x, y) = network(), batch()
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")

    def step():
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        return loss
    return step


def accumulated():
    """Two backward passes for one update."""
    model, (x, y) = network(), batch()
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        for part, label in zip(x.chunk(2), y.chunk(2)):
            loss = F.cross_entropy(model(part), label) / 2
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


class Recurrent(nn.Module):
    """Two layers of GRU."""

    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(32, 64, 2, batch_first=True), nn.Linear(64, 10)

    def forward(self, x):
        return self.out(self.gru(x)[0]).pow(2).mean()


def gru():
    """A recurrent network."""
    return Recurrent(), (torch.randn(8, 20, 32),)


class Packed(nn.Module):
    """Sequences of several lengths."""

    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(16, 24, bidirectional=True), nn.Linear(48, 10)

    def forward(self, x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 6, 5, 1]), enforce_sorted=False)
        y, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0])
        return self.out(y).pow(2).mean()


def packed():
    """A recurrent network on a packed sequence."""
    return Packed(), (torch.randn(6, 4, 16),)


class Lstm(nn.Module):
    """An LSTM, which is a kernel of oneDNN where the processor has it."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.out = nn.Embedding(50, 24), nn.LSTM(24, 40, 2, bidirectional=True), nn.Linear(
            80, 50)

    def forward(self, ids):
        y, (hidden, cell) = self.lstm(self.embedding(ids))
        return F.cross_entropy(self.out(y).flatten(0, 1), ids.flatten()) + hidden.mean() + cell.mean()


def lstm():
    """A recurrent network whose kernel keeps a workspace."""
    return Lstm(), (torch.randint(0, 50, (20, 4)),)


class Spectrum(nn.Module):
    """A filter in the frequency domain."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(33, dtype=torch.complex64))

    def forward(self, x):
        return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=64).pow(2).mean()


def complex_fft():
    """Complex numbers."""
    return Spectrum(), (torch.randn(32, 64),)


class Bags(nn.Module):
    """Sums of embeddings."""

    def __init__(self):
        super().__init__()
        self.bag, self.out = nn.EmbeddingBag(1000, 32, mode="sum"), nn.Linear(32, 10)

    def forward(self, ids):
        return self.out(self.bag(ids)).pow(2).mean()


def embedding_bag():
    """A recommender's tables."""
    return Bags(), (torch.randint(0, 1000, (64, 8)),)


class Masked(nn.Module):
    """A mask that is made empty and filled through a view of it, as window attention does."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        mask = x.new_zeros(x.shape)
        mask[:, :16] = 1
        return torch.tanh(self.linear(x)) * mask * x


class Filled(nn.Module):
    """Layers with such masks."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Masked() for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


def filled():
    """Storages that are filled through views."""
    return Filled(), (torch.randn(64, 32),)


def transposed():
    """A decoder of transposed convolutions."""
    model = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 3, 4, 2, 1))
    return model, (torch.randn(2, 16, 16, 16),)


def upsampled():
    """Bilinear and nearest upsampling."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Upsample(scale_factor=2), nn.Conv2d(8, 8, 3),
                          nn.Upsample(scale_factor=2, mode="bilinear"))
    return model, (torch.randn(2, 3, 16, 16),)


def scheduled():
    """A learning-rate schedule and an exponential average of the weights."""
    model, (x, y) = network(), batch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule, average = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10), copy.deepcopy(model).requires_grad_(
        False)

    def step():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.01)
        return loss
    return step


def foreach_adam():
    """Multi-tensor updates."""
    model, data = network(), batch()
    return with_loss(model, torch.optim.Adam(model.parameters(), foreach=True), *data)


def keep_gradients():
    """zero_grad() that keeps the gradients' memory."""
    model, data = network(), batch()
    return with_loss(model, torch.optim.Adam(model.parameters()), *data, set_to_none=False)


class Block(nn.Module):
    """Attention and a feed-forward part, as a transformer has them."""

    def __init__(self, width, dropout):
        super().__init__()
        self.norm, self.mix, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.second, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = dropout

    def forward(self, x):
        batch, seq, width = x.shape
        q, k, v = (part.view(batch, seq, 4, width // 4).transpose(1, 2) for part in self.mix(self.norm(x)).chunk(3, -1))
        weights = F.dropout(torch.softmax(q @ k.transpose(-1, -2) / 8, -1), self.dropout, self.training)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Blocks(nn.Module):
    """A small transformer."""

    def __init__(self, dropout):
        super().__init__()
        self.blocks, self.head = nn.ModuleList([Block(64, dropout) for _ in range(4)]), nn.Linear(64, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x).pow(2).mean()


def blocks(dropout=0.0):
    """Four blocks of a transformer."""
    return Blocks(dropout), (torch.randn(16, 64, 64),)


class Images(nn.Module):
    """A batch norm, whose means are those of all samples, a group norm and a grouped convolution."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                                  nn.Conv2d(32, 32, 3, stride=2, padding=1, groups=4), nn.GroupNorm(4, 32),
                                  nn.ReLU(), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 16))

    def forward(self, x, y):
        return F.cross_entropy(self.body(x), y)


def images():
    """A step on a batch of images."""
    return Images(), (torch.randn(16, 3, 32, 32), torch.randint(0, 16, (16,)))


class Words(nn.Module):
    """A language model, as large as its vocabulary."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(512, 32), nn.Linear(32, 512)

    def forward(self, ids):
        return F.cross_entropy(self.head(self.embedding(ids))[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def words():
    """Tokens that are told from each other."""
    return Words(), (torch.randint(0, 512, (16, 33)),)


def dropping():
    """The same with dropout."""
    return blocks(0.1)


class OddParameters(nn.Module):
    """A parameter that is one number, a bias of one, an embedding, and a layer that isn't used."""

    def __init__(self):
        super().__init__()
        self.embedding, self.wide, self.narrow = nn.Embedding(50, 20), nn.Linear(20, 30), nn.Linear(30, 1)
        self.scale, self.unused = nn.Parameter(torch.ones(())), nn.Linear(3, 3)

    def forward(self, x):
        return (self.narrow(self.wide(self.embedding(x)).relu()) * self.scale).mean()


def odd_parameters():
    """The module and its tokens."""
    return OddParameters(), (torch.randint(0, 50, (4, 6)),)


class Larger(nn.Module):
    """Scores that are at least a number: their gradients are halved where both are equal, and written over."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 4096)

    def forward(self, x):
        return torch.maximum(self.layer(x), torch.zeros(())).mean()


def larger():
    """The larger of two."""
    return Larger(), (torch.randn(512, 16),)
