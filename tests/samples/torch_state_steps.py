"""Steps that carry state from one to the next in their own ways. Each function takes a batch and returns a step, to
call in a loop. tests/bench/torch_states compares what is predicted for all of them with real runs."""
import copy

import torch
import torch.nn.functional as F
from torch import nn

STEPS, OWN = {}, {}   # by name: a step; an optimizer of one's own


def step_of(function):
    """Makes a function one of the steps."""
    STEPS[function.__name__] = function
    return function


# ---- what most of them share ----

def mlp(width=192):
    """Three linear layers."""
    return nn.Sequential(nn.Linear(128, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 64))


def data(batch):
    """Inputs and targets of mlp()."""
    return torch.randn(batch * 16, 128), torch.randn(batch * 16, 64)


def trains(model, optimizer, loss_of):
    """The usual step."""
    def step():
        loss = loss_of()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    return step


def trained_by(kind, **options):
    """A step of mlp() with an optimizer."""
    def made(batch):
        model, (x, y) = mlp(), data(batch)
        return trains(model, kind(model.parameters(), **options), lambda: F.mse_loss(model(x), y))
    return made


# ---- PyTorch's optimizers, each of the ways that they have ----

OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.01}), "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {}), "amsgrad": ("Adam", {"amsgrad": True}), "adamw": ("AdamW", {}), "adamax": ("Adamax", {}),
    "nadam": ("NAdam", {}),
    "radam": ("RAdam", {}), "adagrad": ("Adagrad", {}), "adadelta": ("Adadelta", {}), "adafactor": ("Adafactor", {}),
    "asgd": ("ASGD", {}), "rprop": ("Rprop", {}), "rmsprop": ("RMSprop", {"centered": True, "momentum": 0.9})}
FUSED = ("sgd", "adam", "adamw", "adagrad")

for short, (name, given) in OPTIMIZERS.items():
    if hasattr(torch.optim, name):
        for way in ({"foreach": False}, {"foreach": True}) + (({"fused": True},) if short in FUSED else ()):
            STEPS[f"{short}_{'fused' if 'fused' in way else 'foreach' if way['foreach'] else 'loop'}"] = \
                trained_by(getattr(torch.optim, name), **given, **way)


@step_of
def in_backward(batch):
    """Each parameter is updated as soon as its gradient is there."""
    model, (x, y) = mlp(), data(batch)
    optimizers = {p: torch.optim.Adam([p], foreach=False) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    return lambda: F.mse_loss(model(x), y).backward()


# ---- optimizers of one's own ----

class Own(torch.optim.Optimizer):
    """An optimizer whose update is a function of a parameter, its gradient and its state."""

    def __init__(self, parameters, lr=1e-3):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, p.grad, self.state[p], group["lr"])


def own(function):
    """A step of mlp() with an update of one's own."""
    kind = type(function.__name__, (Own,), {"update": staticmethod(function)})

    def made(batch):
        model, (x, y) = mlp(), data(batch)
        return trains(model, kind(model.parameters()), lambda: F.mse_loss(model(x), y))
    made.__doc__ = function.__doc__
    STEPS[function.__name__], OWN[function.__name__] = made, kind
    return function


@own
def adam_replaced(p, g, state, lr):
    """Adam that makes new moments instead of writing into the old ones."""
    if not state:
        state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
    state["m"] = 0.9 * state["m"] + 0.1 * g
    state["v"] = 0.999 * state["v"] + 0.001 * g ** 2
    p -= lr * state["m"] / (state["v"].sqrt() + 1e-8)


@own
def adam_in_place(p, g, state, lr):
    """Adam that writes into its moments."""
    if not state:
        state["step"], state["m"], state["v"] = torch.tensor(0.0), torch.zeros_like(p), torch.zeros_like(p)
    state["step"] += 1
    state["m"].lerp_(g, 0.1)
    state["v"].mul_(0.999).addcmul_(g, g, value=0.001)
    p.addcdiv_(state["m"], state["v"].sqrt().add_(1e-8), value=-lr)


@own
def adam_in_a_tuple(p, g, state, lr):
    """Moments that are one tuple, made anew."""
    m, v = state.get("moments", (torch.zeros_like(p), torch.zeros_like(p)))
    m, v = torch.lerp(m, g, 0.1), torch.lerp(v, g * g, 0.001)
    state["moments"] = m, v
    p.addcdiv_(m, v.sqrt() + 1e-8, value=-lr)


@own
def adam_in_a_dict(p, g, state, lr):
    """Moments in a dictionary of the state, written in place."""
    if not state:
        state["moments"] = {"first": torch.zeros_like(p), "second": torch.zeros_like(p)}
    m, v = state["moments"]["first"], state["moments"]["second"]
    m.lerp_(g, 0.1)
    v.lerp_(g * g, 0.001)
    p.addcdiv_(m, v.sqrt().add_(1e-8), value=-lr)


@own
def adam_half_replaced(p, g, state, lr):
    """The first moment is replaced, the second one written in place."""
    if not state:
        state["m"], state["v"] = torch.zeros_like(p), torch.zeros_like(p)
    state["m"] = torch.lerp(state["m"], g, 0.1)
    state["v"].lerp_(g.square(), 0.001)
    p.addcdiv_(state["m"], state["v"].sqrt() + 1e-8, value=-lr)


@own
def lion(p, g, state, lr):
    """The sign of an interpolated momentum."""
    momentum = state.setdefault("momentum", torch.zeros_like(p))
    p.add_(torch.lerp(momentum, g, 0.1).sign_(), alpha=-lr)
    momentum.lerp_(g, 0.01)


@own
def lion_replaced(p, g, state, lr):
    """Lion with a new momentum each time."""
    momentum = state.get("momentum", torch.zeros_like(p))
    p.add_((0.9 * momentum + 0.1 * g).sign(), alpha=-lr)
    state["momentum"] = 0.99 * momentum + 0.01 * g


@own
def sophia_like(p, g, state, lr):
    """A clipped step by a running estimate of curvature."""
    if not state:
        state["m"], state["h"] = torch.zeros_like(p), torch.zeros_like(p)
    state["m"].lerp_(g, 0.04)
    state["h"] = state["h"] * 0.99 + g * g * 0.01
    p.sub_((state["m"] / state["h"].clamp(min=1e-12)).clamp_(-1, 1), alpha=lr)


@own
def shampoo_like(p, g, state, lr):
    """Gradients between the inverse roots of two statistics, which are made anew."""
    if p.dim() != 2:
        p.sub_(g, alpha=lr)
        return
    left = state.get("left", 1e-4 * torch.eye(p.shape[0])) + g @ g.T
    right = state.get("right", 1e-4 * torch.eye(p.shape[1])) + g.T @ g
    state["left"], state["right"] = left, right
    for statistics in (left, right):
        root, scaled = torch.eye(len(statistics)), statistics / statistics.norm()
        for _ in range(3):
            step = (5 * torch.eye(len(statistics)) - scaled) / 4
            root, scaled = root @ step, step @ step @ step @ step @ scaled
        g = root @ g if statistics is left else g @ root
    p.sub_(g, alpha=lr)


@own
def adam_8bit(p, g, state, lr):
    """Moments as bytes with a scale for each row, packed anew."""
    def pack(value):
        scale = value.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        return (value / scale * 127).round().to(torch.int8), scale
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    if state:
        m, v = [packed.float() * scale / 127 for packed, scale in state["packed"]]
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    p -= lr * m / (v.sqrt() + 1e-8)
    state["packed"] = [pack(m), pack(v)]


@own
def muon_own(p, g, state, lr):
    """Newton and Schulz's iteration on the momentum."""
    momentum = state.setdefault("momentum", torch.zeros_like(p))
    momentum.lerp_(g, 0.05)
    if p.dim() != 2:
        p.sub_(momentum, alpha=lr)
        return
    x = momentum / (momentum.norm() + 1e-7)
    for _ in range(3):
        a = x @ x.T
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    p.sub_(x, alpha=lr)


@own
def galore_like(p, g, state, lr):
    """Moments of a gradient that is projected to few rows; the projection stays."""
    if p.dim() != 2:
        p.sub_(g, alpha=lr)
        return
    if not state:
        state["rows"] = torch.linalg.qr(torch.randn(p.shape[0], 8))[0]
        state["m"] = torch.zeros(8, p.shape[1])
    low = state["rows"].T @ g
    state["m"] = torch.lerp(state["m"], low, 0.1)
    p.sub_(state["rows"] @ state["m"], alpha=lr)


@own
def kept_gradients(p, g, state, lr):
    """The gradient of the step before is kept for a difference."""
    before = state.get("before")
    if before is not None:
        p.sub_(g - before, alpha=lr)
    state["before"] = g


@own
def history(p, g, state, lr):
    """The last three gradients in a list, the oldest of which goes."""
    kept = state.setdefault("kept", [])
    kept.append(g.clone())
    if len(kept) > 1:
        kept.pop(0)
    p.sub_(torch.stack(kept).mean(0), alpha=lr)


# ---- state beside the optimizer ----

@step_of
def ema_replaced(batch):
    """A dictionary of averages, made anew."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.SGD(model.parameters(), 0.01), lambda: F.mse_loss(model(x), y))
    average = {name: p.detach().clone() for name, p in model.named_parameters()}

    def step():
        loss = once()
        for name, p in model.named_parameters():
            average[name] = 0.99 * average[name] + 0.01 * p.detach()
        return loss
    return step


@step_of
def ema_at_once(batch):
    """All averages are made anew before the old ones go."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.Adam(model.parameters()), lambda: F.mse_loss(model(x), y))
    kept = {"average": [p.detach().clone() for p in model.parameters()]}

    def step():
        once()
        kept["average"] = [torch.lerp(old, p.detach(), 0.01) for old, p in zip(kept["average"], model.parameters())]
    return step


@step_of
def ema_in_place(batch):
    """Averages that are written in place."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.SGD(model.parameters(), 0.01), lambda: F.mse_loss(model(x), y))
    average = copy.deepcopy(model).requires_grad_(False)

    def step():
        loss = once()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.01)
        return loss
    return step


@step_of
def swa(batch):
    """PyTorch's averaged model."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.SGD(model.parameters(), 0.01), lambda: F.mse_loss(model(x), y))
    average = torch.optim.swa_utils.AveragedModel(model)

    def step():
        loss = once()
        average.update_parameters(model)
        return loss
    return step


@step_of
def ema_model(batch):
    """PyTorch's averaged model with an exponential average of many tensors at once."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.Adam(model.parameters()), lambda: F.mse_loss(model(x), y))
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))

    def step():
        loss = once()
        average.update_parameters(model)
        return loss
    return step


@step_of
def functional(batch):
    """Parameters are values: each step makes new ones."""
    with torch.device("meta"):
        model = mlp()
    (x, y), state = data(batch), {"parameters": {name: torch.randn(p.shape) for name, p in model.named_parameters()}}

    def loss_of(parameters):
        return F.mse_loss(torch.func.functional_call(model, parameters, (x,)), y)

    def step():
        gradients = torch.func.grad(loss_of)(state["parameters"])
        state["parameters"] = {name: p - 0.01 * gradients[name] for name, p in state["parameters"].items()}
    return step


@step_of
def functional_adam(batch):
    """Parameters and moments are values."""
    with torch.device("meta"):
        model = mlp()
    (x, y), first = data(batch), {name: torch.randn(p.shape) for name, p in model.named_parameters()}
    state = {"all": (first, *({n: torch.zeros_like(p) for n, p in first.items()} for _ in range(2)))}

    def step():
        parameters, m, v = state["all"]
        leaves = {name: p.detach().requires_grad_() for name, p in parameters.items()}
        loss = F.mse_loss(torch.func.functional_call(model, leaves, (x,)), y)
        gradients = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()))))
        m = {n: 0.9 * m[n] + 0.1 * g for n, g in gradients.items()}
        v = {n: 0.999 * v[n] + 0.001 * g * g for n, g in gradients.items()}
        state["all"] = {n: p - 0.001 * m[n] / (v[n].sqrt() + 1e-8) for n, p in parameters.items()}, m, v
        return loss.detach()
    return step


@step_of
def manual_sgd(batch):
    """Parameters in a list, replaced by new leaves."""
    x, y = data(batch)
    kept = [torch.randn(128, 192, requires_grad=True), torch.randn(192, 64, requires_grad=True)]

    def step():
        loss = F.mse_loss((x @ kept[0]).relu() @ kept[1], y)
        gradients = torch.autograd.grad(loss, kept)
        for i, g in enumerate(gradients):
            kept[i] = (kept[i] - 0.01 * g).detach().requires_grad_()
        return loss.detach()
    return step


class Centred(nn.Module):
    """A buffer that each pass replaces, as a centre of teachers' scores is."""

    def __init__(self):
        super().__init__()
        self.body = mlp()
        self.register_buffer("centre", torch.zeros(64))
        self.register_buffer("spread", torch.ones(512, 64))

    def forward(self, x):
        scores = self.body(x)
        self.centre = self.centre * 0.9 + scores.detach().mean(0) * 0.1
        self.spread = self.spread * 0.9 + scores.detach().var() * 0.1
        return (scores - self.centre).pow(2).mean() + self.spread.mean()


@step_of
def replaced_buffers(batch):
    """Buffers that are made anew."""
    model, (x, _) = Centred(), data(batch)
    return trains(model, torch.optim.AdamW(model.parameters()), lambda: model(x))


@step_of
def carried_hidden(batch):
    """Truncated backpropagation: the hidden state goes on to the next step."""
    model, out = nn.GRU(32, 128, batch_first=True), nn.Linear(128, 32)
    x = torch.randn(batch * 4, 10, 32)
    kept = {"hidden": torch.zeros(1, batch * 4, 128)}
    optimizer = torch.optim.Adam([*model.parameters(), *out.parameters()])

    def step():
        y, hidden = model(x, kept["hidden"])
        kept["hidden"] = hidden.detach()
        loss = F.mse_loss(out(y), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    return step


@step_of
def memory_bank(batch):
    """A queue of features that is made anew by joining."""
    model, (x, _) = mlp(), data(batch)
    kept = {"queue": F.normalize(torch.randn(1024, 64))}
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        features = F.normalize(model(x))
        scores = torch.cat([(features * features).sum(1, True), features @ kept["queue"].T], 1)
        loss = F.cross_entropy(scores, torch.zeros(len(x), dtype=torch.long))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept["queue"] = torch.cat([kept["queue"][len(x):], features.detach()])
        return loss.detach()
    return step


@step_of
def moco(batch):
    """A momentum encoder, and a queue that is written in place."""
    model, (x, _) = mlp(), data(batch)
    slow = copy.deepcopy(model).requires_grad_(False)
    queue, optimizer = F.normalize(torch.randn(1024, 64)), torch.optim.SGD(model.parameters(), 0.01)

    def step():
        with torch.no_grad():
            for s, f in zip(slow.parameters(), model.parameters()):
                s.mul_(0.99).add_(f, alpha=0.01)
            keys = F.normalize(slow(x))
        query = F.normalize(model(x))
        scores = torch.cat([(query * keys).sum(1, True), query @ queue.T], 1)
        loss = F.cross_entropy(scores, torch.zeros(len(x), dtype=torch.long))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        queue[:len(x)] = keys
        return loss.detach()
    return step


@step_of
def lookahead(batch):
    """Slow weights that follow."""
    model, (x, y) = mlp(), data(batch)
    once = trains(model, torch.optim.Adam(model.parameters()), lambda: F.mse_loss(model(x), y))
    slow = [p.detach().clone() for p in model.parameters()]

    def step():
        loss = once()
        with torch.no_grad():
            for i, p in enumerate(model.parameters()):
                slow[i] = slow[i] + 0.5 * (p - slow[i])
                p.copy_(slow[i])
        return loss
    return step


@step_of
def sharpness(batch):
    """Two passes: one at the weights, one where the loss is higher nearby."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)

    def step():
        F.mse_loss(model(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            moved = [p.grad * (0.05 / (norm + 1e-12)) for p in model.parameters()]
            for p, by in zip(model.parameters(), moved):
                p.add_(by)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, by in zip(model.parameters(), moved):
                p.sub_(by)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    return step


# ---- several passes ----

@step_of
def gan(batch):
    """Two networks that take turns."""
    make, judge, (x, real) = mlp(), nn.Sequential(nn.Linear(64, 128), nn.LeakyReLU(), nn.Linear(128, 1)), data(batch)
    first, second = torch.optim.Adam(make.parameters()), torch.optim.Adam(judge.parameters())

    def step():
        fake = make(x)
        second.zero_grad()
        (F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()).backward()
        second.step()
        first.zero_grad()
        loss = F.softplus(-judge(fake)).mean()
        loss.backward()
        first.step()
        return loss.detach()
    return step


@step_of
def gradient_penalty(batch):
    """A critic whose gradients are held near one."""
    make, judge, (x, real) = mlp(), nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 1)), data(batch)
    optimizer = torch.optim.RMSprop(judge.parameters())

    def step():
        with torch.no_grad():
            fake = make(x)
        between = torch.lerp(real, fake, torch.rand(len(x), 1)).requires_grad_()
        (slope,) = torch.autograd.grad(judge(between).sum(), between, create_graph=True)
        loss = judge(fake).mean() - judge(real).mean() + 10 * (slope.norm(dim=1) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()
    return step


@step_of
def two_epochs(batch):
    """As PPO does: a pass that collects, then two updates on parts of what was collected."""
    policy, value, (x, _) = mlp(), nn.Linear(128, 1), data(batch)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()])

    def step():
        with torch.no_grad():
            chosen = torch.distributions.Categorical(logits=policy(x))
            action = chosen.sample()
            before, advantage = chosen.log_prob(action), torch.randn(len(x)) - value(x)[:, 0]
        for _ in range(2):
            for part in torch.arange(len(x)).chunk(2):
                chosen = torch.distributions.Categorical(logits=policy(x[part]))
                ratio = (chosen.log_prob(action[part]) - before[part]).exp()
                gain = torch.minimum(ratio * advantage[part], ratio.clamp(0.8, 1.2) * advantage[part])
                loss = -gain.mean() + value(x[part]).square().mean() - 0.01 * chosen.entropy().mean()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
                optimizer.step()
                optimizer.zero_grad()
    return step


@step_of
def target_network(batch):
    """Q-learning: a second network follows slowly."""
    model, (x, y) = mlp(), data(batch)
    target, optimizer = copy.deepcopy(model), torch.optim.Adam(model.parameters())

    def step():
        with torch.no_grad():
            wanted = y[:, 0] + 0.99 * target(x).max(1).values
        loss = F.smooth_l1_loss(model(x).max(1).values, wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        now, before = model.state_dict(), target.state_dict()
        target.load_state_dict({name: torch.lerp(value, now[name], 0.01) for name, value in before.items()})
        return loss.detach()
    return step


@step_of
def meta(batch):
    """An inner step of gradient descent, and the gradient through it."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        inner = dict(model.named_parameters())
        loss = F.mse_loss(torch.func.functional_call(model, inner, (x,)), y)
        slopes = torch.autograd.grad(loss, list(inner.values()), create_graph=True)
        inner = {name: p - 0.1 * slope for (name, p), slope in zip(inner.items(), slopes)}
        F.mse_loss(torch.func.functional_call(model, inner, (x,)), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


@step_of
def retained(batch):
    """Two losses of one pass, whose graph is kept for the second."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        out = model(x)
        F.mse_loss(out, y).backward(retain_graph=True)
        F.l1_loss(out, y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


@step_of
def accumulated(batch):
    """Four backward passes for one update, and a sum of losses for the log."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        total = 0.0
        for part, label in zip(x.chunk(4), y.chunk(4)):
            loss = F.mse_loss(model(part), label) / 4
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total
    return step


@step_of
def each_sample(batch):
    """Gradients of samples, clipped one by one, as private training does."""
    model, (x, y) = mlp(64), data(batch)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def loss_of(parameters, sample, label):
        return F.mse_loss(torch.func.functional_call(model, parameters, (sample[None],)), label[None])

    def step():
        parameters = {name: p.detach() for name, p in model.named_parameters()}
        gradients = torch.func.vmap(torch.func.grad(loss_of), (None, 0, 0))(parameters, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
        share = (1 / norms).clamp(max=1)
        for name, p in model.named_parameters():
            p.grad = torch.einsum("n,n...->...", share, gradients[name]) / len(x)
        optimizer.step()
        optimizer.zero_grad()
    return step


@step_of
def distilled(batch):
    """A teacher without gradients."""
    model, teacher, (x, _) = mlp(), mlp(512).eval(), data(batch)

    def loss_of():
        with torch.no_grad():
            wanted = teacher(x)
        return F.kl_div(model(x).log_softmax(-1), wanted.softmax(-1), reduction="batchmean")
    return trains(model, torch.optim.Adam(model.parameters()), loss_of)


# ---- what a step leaves behind ----

@step_of
def keeps_its_graph(batch):
    """An evaluation loop: the loss of the step before lives, with all its graph, until the name is bound anew."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 2)
    x, kept = torch.randn(batch, 64, 64), {}

    def step():
        kept["loss"] = model(x).pow(2).mean()
    return step


@step_of
def keeps_its_outputs(batch):
    """The outputs of the last step, for a metric."""
    model, (x, y), kept = mlp(), data(batch * 8), {}
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        kept["out"] = model(x)
        F.mse_loss(kept["out"], y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


@step_of
def hooks_keep_activations(batch):
    """Forward hooks that keep what layers give."""
    model, (x, y), kept = mlp(), data(batch * 8), {}
    for place, layer in enumerate(model):
        layer.register_forward_hook(lambda _module, _inputs, out, place=place: kept.update({place: out.detach()}))
    return trains(model, torch.optim.Adam(model.parameters()), lambda: F.mse_loss(model(x), y))


@step_of
def zeroed_first(batch):
    """zero_grad comes first: gradients live from step to step."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


@step_of
def zeroed_in_the_middle(batch):
    """zero_grad comes behind the forward pass."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


@step_of
def never_zeroed(batch):
    """Gradients are written over, and their memory stays."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step


@step_of
def keeps_three(batch):
    """The outputs of the last three steps: what a step finds is the same from the fourth one on."""
    model, (x, y), kept = mlp(), data(batch * 8), []
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        out = model(x)
        F.mse_loss(out, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(out.detach())
        del kept[:-3]
    return step


@step_of
def new_data(batch):
    """Each step draws its own data and keeps it until the next."""
    model, kept = mlp(), {}
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        kept["data"] = data(batch * 4)
        x, y = kept["data"]
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return step


@step_of
def checkpointed(batch):
    """Layers that run again."""
    model, (x, y) = mlp(), data(batch * 8)

    def loss_of():
        out = x
        for layer in model:
            out = torch.utils.checkpoint.checkpoint(layer, out, use_reentrant=False)
        return F.mse_loss(out, y)
    return trains(model, torch.optim.AdamW(model.parameters()), loss_of)


# ---- what no prediction is right for without a word ----

def leaks(batch):
    """Every step keeps its output."""
    model, (x, y), log = mlp(), data(batch), []
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        out = model(x)
        F.mse_loss(out, y).backward()
        optimizer.step()
        optimizer.zero_grad()
        log.append(out)
    return step


def leaks_graphs(batch):
    """A sum of losses that nobody goes backward from keeps every step's graph."""
    model, (x, y), kept = mlp(), data(batch), {"total": 0.0}

    def step():
        kept["total"] = kept["total"] + F.mse_loss(model(x), y)
    return step


def lbfgs(batch):
    """An optimizer that decides by values."""
    model, (x, y) = mlp(), data(batch)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=3)

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss
    return lambda: optimizer.step(closure)
