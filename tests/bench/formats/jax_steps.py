"""Training steps in JAX, as XLA compiles them: jax_steps.py FOLDER [NAME...]

Writes FOLDER/NAME.txt (HLO text after optimization), NAME.hlo.pb (proto with the buffer assignment) and NAME.json
(what memory_analysis() says). Nothing is allocated: steps are compiled from shapes.
"""
import glob, json, os, shutil, sys, tempfile

dump = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = f"--xla_dump_to={dump} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import flax.linen as nn, jax, jax.numpy as jnp, optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


class MLP(nn.Module):
    width: int = 512
    depth: int = 4
    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(10)(x)


class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        for channels in (32, 64, 128):
            x = nn.avg_pool(nn.relu(nn.Conv(channels, (3, 3))(x)), (2, 2), strides=(2, 2))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


class Residual(nn.Module):
    channels: int
    stride: int = 1
    @nn.compact
    def __call__(self, x):
        y = nn.relu(nn.GroupNorm(8)(nn.Conv(self.channels, (3, 3), self.stride, use_bias=False)(x)))
        y = nn.GroupNorm(8)(nn.Conv(self.channels, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = nn.Conv(self.channels, (1, 1), self.stride, use_bias=False)(x)
        return nn.relu(x + y)


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.max_pool(nn.Conv(64, (7, 7), 2)(x), (3, 3), (2, 2), padding="SAME")
        for i, channels in enumerate((64, 128, 256, 512)):
            x = Residual(channels, 1 if i == 0 else 2)(x)
            x = Residual(channels)(x)
        return nn.Dense(1000)(x.mean((1, 2)))


class Block(nn.Module):
    heads: int
    @nn.compact
    def __call__(self, x, _=None):
        d = x.shape[-1]
        x = x + nn.MultiHeadDotProductAttention(self.heads)(nn.LayerNorm()(x))
        x = x + nn.Dense(d)(nn.gelu(nn.Dense(4 * d)(nn.LayerNorm()(x))))
        return x, None


class Transformer(nn.Module):
    vocabulary: int = 8192
    width: int = 256
    layers: int = 4
    heads: int = 8
    scan: bool = False
    remat: bool = False
    @nn.compact
    def __call__(self, ids):
        embedding = nn.Embed(self.vocabulary, self.width)
        x = embedding(ids)
        block = nn.remat(Block) if self.remat else Block
        if self.scan:
            x, _ = nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True}, length=self.layers)(self.heads)(x, None)
        else:
            for _ in range(self.layers):
                x, _ = block(self.heads)(x)
        return embedding.attend(nn.LayerNorm()(x))


class ViT(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(384, (16, 16), 16)(x)
        x = x.reshape(x.shape[0], -1, 384)
        for _ in range(6):
            x, _ = Block(6)(x)
        return nn.Dense(1000)(nn.LayerNorm()(x).mean(1))


class LSTM(nn.Module):
    @nn.compact
    def __call__(self, ids):
        x = nn.Embed(1000, 256)(ids)
        x = nn.RNN(nn.LSTMCell(512))(x)
        return nn.Dense(1000)(x)


class Mixture(nn.Module):
    experts: int = 8
    @nn.compact
    def __call__(self, x):
        gate = nn.softmax(nn.Dense(self.experts)(x))
        up = self.param("up", nn.initializers.normal(), (self.experts, x.shape[-1], 1024))
        down = self.param("down", nn.initializers.normal(), (self.experts, 1024, x.shape[-1]))
        y = jnp.einsum("bef,efd->bed", nn.silu(jnp.einsum("bd,edf->bef", x, up)), down)
        return nn.Dense(10)(jnp.einsum("bed,be->bd", y, gate))


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        skips = []
        for channels in (32, 64, 128):
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(channels, (3, 3))(x)))
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        for channels, skip in zip((128, 64, 32), reversed(skips)):
            x = jax.image.resize(x, skip.shape[:3] + x.shape[3:], "nearest")
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(channels, (3, 3))(jnp.concatenate([x, skip], -1))))
        return nn.Conv(3, (3, 3))(x)


def image(batch, side, channels=3):
    return jax.ShapeDtypeStruct((batch, side, side, channels), jnp.float32)


def ids(batch, length):
    return jax.ShapeDtypeStruct((batch, length), jnp.int32)


def labels(batch, *more):
    return jax.ShapeDtypeStruct((batch, *more), jnp.int32)


def entropy(out, target):
    return optax.softmax_cross_entropy_with_integer_labels(out, target).mean()


def square(out, target):
    return ((out - target) ** 2).mean()


STEPS = {  # model, input, target, loss, optimizer, donate, mesh axis
    "mlp_sgd": (MLP(), jax.ShapeDtypeStruct((128, 784), jnp.float32), labels(128), entropy, optax.sgd(0.1), True, None),
    "mlp_adam": (MLP(), jax.ShapeDtypeStruct((128, 784), jnp.float32), labels(128), entropy, optax.adam(1e-3), False, None),
    "cnn_momentum": (CNN(), image(64, 32), labels(64), entropy, optax.sgd(0.1, 0.9), True, None),
    "resnet18_adam": (ResNet(), image(8, 128), labels(8), entropy, optax.adam(1e-3), True, None),
    "gpt_adamw": (Transformer(), ids(4, 256), labels(4, 256), entropy, optax.adamw(1e-3), True, None),
    "gpt_remat": (Transformer(remat=True), ids(4, 256), labels(4, 256), entropy, optax.adamw(1e-3), True, None),
    "gpt_scan": (Transformer(scan=True, layers=8), ids(4, 256), labels(4, 256), entropy, optax.adamw(1e-3), True, None),
    "gpt_scan_remat": (Transformer(scan=True, remat=True, layers=8), ids(4, 256), labels(4, 256), entropy, optax.adamw(1e-3), True, None),
    "vit_adam": (ViT(), image(4, 224), labels(4), entropy, optax.adam(1e-3), True, None),
    "lstm_adam": (LSTM(), ids(16, 64), labels(16, 64), entropy, optax.adam(1e-3), True, None),
    "mixture_adafactor": (Mixture(), jax.ShapeDtypeStruct((256, 256), jnp.float32), labels(256), entropy, optax.adafactor(1e-3), True, None),
    "unet_adam": (UNet(), image(4, 64), image(4, 64), square, optax.adam(1e-3), True, None),
    "mlp_data8": (MLP(), jax.ShapeDtypeStruct((128, 784), jnp.float32), labels(128), entropy, optax.adam(1e-3), True, "data"),
    "gpt_data8": (Transformer(layers=2), ids(8, 128), labels(8, 128), entropy, optax.adamw(1e-3), True, "data"),
}


def compile_step(name, folder):
    model, given, target, loss, optimizer, donate, axis = STEPS[name]
    params = jax.eval_shape(lambda k, x: model.init(k, x), jax.random.key(0), given)
    state = jax.eval_shape(optimizer.init, params)

    def step(params, state, given, target):
        value, grads = jax.value_and_grad(lambda p: loss(model.apply(p, given), target))(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, value

    step.__name__ = name
    options = {"donate_argnums": (0, 1)} if donate else {}
    if axis:
        mesh = Mesh(jax.devices(), (axis,))
        whole, split = NamedSharding(mesh, P()), NamedSharding(mesh, P(axis))
        options["in_shardings"] = (whole, whole, split, split)
        options["out_shardings"] = (whole, whole, whole)
    compiled = jax.jit(step, **options).lower(params, state, given, target).compile()
    with open(f"{folder}/{name}.txt", "w") as out:
        out.write(compiled.as_text())
    m = compiled.memory_analysis()
    with open(f"{folder}/{name}.json", "w") as out:
        json.dump({k: getattr(m, k) for k in dir(m) if k.endswith("in_bytes")}, out)
    for proto in glob.glob(f"{dump}/*jit_{name}.*hlo.pb"):
        if "before" not in proto:
            shutil.copy(proto, f"{folder}/{name}.hlo.pb")
    for report in glob.glob(f"{dump}/*jit_{name}.*buffer-assignment.txt"):
        shutil.copy(report, f"{folder}/{name}.buffer-assignment.txt")
    print(name, flush=True)


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or STEPS:
        compile_step(name, folder)
    shutil.rmtree(dump)
