"""Steps of Flax (linen and nnx) and of corners of JAX: jax_flax.py FOLDER [NAME...]

Needs jax, flax and optax. Writes what jax_more.py does, and FOLDER/NAME.before.txt and FOLDER/NAME.before.hlo.pb, the module before XLA's optimization.
"""

import flax.linen as nn, jax, jax.numpy as jnp, numpy as np, optax
from flax import nnx
from functools import partial
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from each_alone import cases, compile_jax, each_alone, for_jax

KEY = jax.random.key(0)


def linen_step(model, opt, inputs, loss, **more):
    """A jitted step of a linen model and its arguments as shapes."""
    params = jax.eval_shape(lambda: model.init({"params": KEY, "dropout": KEY}, *inputs, **more))
    state = jax.eval_shape(opt.init, params["params"])
    rest = {k: v for k, v in params.items() if k != "params"}

    def step(p, rest, s, key, *inputs):
        def f(p):
            out, new = model.apply({"params": p, **rest}, *inputs, rngs={"dropout": key}, mutable=list(rest), **more)
            return loss(out, *inputs), new

        (l, new), g = jax.value_and_grad(f, has_aux=True)(p)
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), new, s, l

    return jax.jit(step, donate_argnums=(0, 1, 2)), (params["params"], rest, state, KEY, *inputs)


class Residual(nn.Module):
    width: int
    stride: int = 1

    @nn.compact
    def __call__(self, x, train=True):
        norm = partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        y = nn.relu(norm()(nn.Conv(self.width, (3, 3), self.stride, use_bias=False)(x)))
        y = norm(scale_init=nn.initializers.zeros)(nn.Conv(self.width, (3, 3), use_bias=False)(y))
        if y.shape != x.shape:
            x = norm()(nn.Conv(self.width, (1, 1), self.stride, use_bias=False)(x))
        return nn.relu(x + y)


class WideResnet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(32, (3, 3))(x)
        for width, stride in (32, 1), (64, 2), (128, 2):
            x = Residual(width)(Residual(width, stride)(x))
        return nn.Dense(10)(nn.Dropout(0.1, deterministic=False)(x.mean((1, 2))))


def wide_resnet():
    opt = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(1e-3, 100)))
    return linen_step(WideResnet(), opt, (jnp.zeros((32, 32, 32, 3)),), lambda y, x: optax.softmax_cross_entropy_with_integer_labels(y, jnp.zeros(32, int)).mean())


class Block(nn.Module):
    width: int = 256

    @nn.compact
    def __call__(self, x, _):
        y = nn.LayerNorm(dtype=jnp.bfloat16)(x)
        x = x + nn.MultiHeadDotProductAttention(8, dtype=jnp.bfloat16)(y, mask=nn.make_causal_mask(x[..., 0]))
        y = nn.Dense(4 * self.width, dtype=jnp.bfloat16)(nn.RMSNorm(dtype=jnp.bfloat16)(x))
        return x + nn.Dense(self.width, dtype=jnp.bfloat16)(nn.gelu(y)), None


class Scanned(nn.Module):
    remat: bool = True

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(4096, 256, dtype=jnp.bfloat16)(tokens)
        block = nn.remat(Block, prevent_cse=False, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable) if self.remat else Block
        x, _ = nn.scan(block, variable_axes={"params": 0}, split_rngs={"params": True}, length=6)()(x, None)
        return nn.Dense(4096, dtype=jnp.float32)(x)


def lm_loss(y, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(y[:, :-1], tokens[:, 1:]).mean()


def scanned_lm():
    return linen_step(Scanned(), optax.lion(1e-4), (jnp.zeros((4, 128), jnp.int32),), lm_loss)


def scanned_no_remat():
    return linen_step(Scanned(False), optax.adafactor(1e-3), (jnp.zeros((4, 128), jnp.int32),), lm_loss)


def multisteps_finite():
    opt = optax.apply_if_finite(optax.MultiSteps(optax.adam(1e-3), 4), 3)
    opt = optax.GradientTransformation(opt.init, opt.update)
    return linen_step(Scanned(False), opt, (jnp.zeros((2, 64), jnp.int32),), lm_loss)


def nnx_gru():
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.embed = nnx.Embed(1000, 128, rngs=rngs)
            self.cell = nnx.RNN(nnx.GRUCell(128, 256, rngs=rngs))
            self.out = nnx.Linear(256, 1000, rngs=rngs)

        def __call__(self, x):
            return self.out(self.cell(self.embed(x), initial_carry=jnp.zeros((x.shape[0], 256))))

    graph, state, rest = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(0))), nnx.Param, ...)
    opt = optax.rmsprop(1e-3, momentum=0.9)
    s = jax.eval_shape(opt.init, state)

    def step(state, rest, s, x):
        def f(state):
            return lm_loss(nnx.merge(graph, state, rest)(x), x)

        l, g = jax.value_and_grad(f)(state)
        u, s = opt.update(g, s, state)
        return optax.apply_updates(state, u), s, l

    return jax.jit(step, donate_argnums=(0, 2)), (state, rest, s, jnp.zeros((16, 50), jnp.int32))


class TimeUnet(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        f = jnp.exp(-jnp.arange(32) / 8.0) * t[:, None]
        t = nn.silu(nn.Dense(128)(jnp.concatenate([jnp.sin(f), jnp.cos(f)], -1)))
        skips = []
        for width in 32, 64, 128:
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(width, (3, 3))(x) + nn.Dense(width)(t)[:, None, None]))
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), (2, 2))
        b, h, w, c = x.shape
        x = x + nn.SelfAttention(4)(x.reshape(b, h * w, c)).reshape(x.shape)
        for width, skip in zip((128, 64, 32), skips[::-1]):
            x = nn.ConvTranspose(width, (2, 2), (2, 2))(x)
            x = nn.silu(nn.GroupNorm(8)(nn.Conv(width, (3, 3))(jnp.concatenate([x, skip], -1))))
        return nn.Conv(3, (3, 3))(x)


def diffusion_ema():
    model, opt = TimeUnet(), optax.adam(1e-4)
    x, t = jnp.zeros((8, 32, 32, 3)), jnp.zeros((8,))
    params = jax.eval_shape(lambda: model.init(KEY, x, t))
    state = jax.eval_shape(opt.init, params)

    def step(p, ema, s, key, x):
        k1, k2 = jax.random.split(key)
        t, noise = jax.random.uniform(k1, (8,)), jax.random.normal(k2, x.shape)
        l, g = jax.value_and_grad(lambda p: ((model.apply(p, x + noise * t[:, None, None, None], t) - noise) ** 2).mean())(p)
        u, s = opt.update(g, s)
        p = optax.apply_updates(p, u)
        return p, optax.incremental_update(p, ema, 0.001), s, l

    return jax.jit(step, donate_argnums=(0, 1, 2)), (params, params, state, KEY, x)


def mesh(shape, names):
    return jax.make_mesh(shape, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))


def fsdp_tp():
    m = mesh((4, 2), ("data", "model"))
    put = lambda shape, *spec: jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(m, P(*spec)))
    p = [{"up": put((512, 2048), "data", "model"), "down": put((2048, 512), "model", "data")} for _ in range(3)]

    def loss(p, x):
        for layer in p:
            x = x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]
        return (x**2).mean()

    def step(p, mu, nu, x):
        g = jax.grad(loss)(p, x)
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, g)
        nu = jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g * g, nu, g)
        return jax.tree.map(lambda p, m, n: p - 1e-3 * m * lax.rsqrt(n + 1e-8), p, mu, nu), mu, nu

    return jax.jit(step, donate_argnums=(0, 1, 2)), (p, p, p, put((256, 512), "data", None))


def shard_map_pipeline():
    m = mesh((8,), ("stage",))

    def body(w, x):
        w, state = w[0], jnp.zeros_like(x[0])
        out = []
        for i in range(4 + 7):
            state = jnp.where((lax.axis_index("stage") == 0) & (i < 4), x[min(i, 3)], state)
            state = jnp.tanh(state @ w)
            out.append(state)
            state = lax.ppermute(state, "stage", [(k, (k + 1) % 8) for k in range(8)])
        return jnp.stack(out[7:])[None]

    f = jax.shard_map(body, mesh=m, in_specs=(P("stage"), P()), out_specs=P("stage"))
    step = lambda w, x: w - 0.1 * jax.grad(lambda w: (f(w, x)[-1] ** 2).mean())(w)
    return jax.jit(step, donate_argnums=0), (jnp.zeros((8, 256, 256)), jnp.zeros((4, 32, 256)))


def pmap_step():
    def step(p, x):
        l, g = jax.value_and_grad(lambda p: (jnp.tanh(x @ p["a"]) @ p["b"]).var())(p)
        return jax.tree.map(lambda p, g: p - 0.1 * lax.pmean(g, "d"), p, g), lax.pmean(l, "d")

    p = {"a": jnp.zeros((8, 128, 512)), "b": jnp.zeros((8, 512, 64))}
    return jax.pmap(step, axis_name="d", donate_argnums=0), (p, jnp.zeros((8, 64, 128)))


def selective_scan():
    def f(p, x):
        a, b, c = -jnp.exp(p["a"]), x @ p["b"], x @ p["c"]
        dt = jax.nn.softplus(x @ p["d"])

        @partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)
        def tick(h, v):
            x, b, c, dt = v
            h = jnp.exp(dt[..., None] * a) * h + (dt * x)[..., None] * b[:, None]
            return h, (h * c[:, None]).sum(-1)

        _, y = lax.scan(tick, jnp.zeros((4, 128, 16)), tuple(v.swapaxes(0, 1) for v in (x, b, c, dt)))
        return (y.swapaxes(0, 1) @ p["o"]).var()

    p = {"a": jnp.zeros((128, 16)), "b": jnp.zeros((128, 16)), "c": jnp.zeros((128, 16)), "d": jnp.zeros((128, 128)), "o": jnp.zeros((128, 128))}
    return jax.jit(lambda p, x: jax.tree.map(lambda p, g: p - g, p, jax.grad(f)(p, x)), donate_argnums=0), (p, jnp.zeros((4, 64, 128)))


def sam():
    opt = optax.contrib.sam(optax.sgd(0.1), optax.chain(optax.contrib.normalize(), optax.sgd(0.05)), sync_period=2)
    p = [jnp.zeros((256, 512)), jnp.zeros((512, 64))]
    loss = lambda p, x: (jnp.tanh(x @ p[0]) @ p[1]).var()

    def step(p, s, x):
        u, s = opt.update(jax.grad(loss)(p, x), s, p)
        return optax.apply_updates(p, u), s

    return jax.jit(step, donate_argnums=(0, 1)), (p, jax.eval_shape(opt.init, p), jnp.zeros((512, 256)))


def schedule_free():
    opt = optax.contrib.schedule_free_adamw(1e-3)
    p = [jnp.zeros((256, 512)), jnp.zeros((512, 64))]
    loss = lambda p, x: (jax.nn.swish(x @ p[0]) @ p[1]).var()

    def step(p, s, x):
        u, s = opt.update(jax.grad(loss)(p, x), s, p)
        return optax.apply_updates(p, u), s

    return jax.jit(step, donate_argnums=(0, 1)), (p, jax.eval_shape(opt.init, p), jnp.zeros((512, 256)))


def ppo():
    def f(p, obs, act, old, rew, val):
        def gae(a, v):
            r, v0, v1 = v
            a = r + 0.99 * v1 - v0 + 0.94 * a
            return a, a

        _, adv = lax.scan(gae, jnp.zeros(16), (rew, val[:-1], val[1:]), reverse=True)
        h = jnp.tanh(obs @ p["h"])
        logp = jnp.take_along_axis(jax.nn.log_softmax(h @ p["pi"]), act[..., None], -1)[..., 0]
        ratio = jnp.exp(logp - old)
        return -jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean() + ((h @ p["v"])[..., 0] - adv).var()

    def step(p, key, *data):
        def epoch(p, order):
            batch = [d[order] for d in data[:3]]
            return jax.tree.map(lambda p, g: p - 1e-3 * g, p, jax.grad(f)(p, *batch, *data[3:])), None

        orders = jax.vmap(lambda k: jax.random.permutation(k, 128))(jax.random.split(key, 4))
        return lax.scan(epoch, p, orders)[0]

    p = {"h": jnp.zeros((64, 256)), "pi": jnp.zeros((256, 10)), "v": jnp.zeros((256, 1))}
    return jax.jit(step, donate_argnums=0), (p, KEY, jnp.zeros((128, 16, 64)), jnp.zeros((128, 16), jnp.int32), jnp.zeros((128, 16)), jnp.zeros((128, 16)), jnp.zeros((129, 16)))


def sparse_bcoo():
    from jax.experimental import sparse

    data, index = jnp.zeros(8000), jnp.zeros((8000, 2), jnp.int32)

    def f(p, data, index, x):
        adjacency = sparse.BCOO((data, index), shape=(1000, 1000))
        return (adjacency @ jnp.tanh(adjacency @ x @ p[0]) @ p[1]).var()

    return jax.jit(lambda p, *a: [p - g for p, g in zip(p, jax.grad(f)(p, *a))], donate_argnums=0), ([jnp.zeros((64, 128)), jnp.zeros((128, 16))], data, index, jnp.zeros((1000, 64)))


def ragged_experts():
    def f(p, x, sizes):
        return lax.ragged_dot(jax.nn.relu(lax.ragged_dot(x, p[0], sizes)), p[1], sizes).var()

    return jax.jit(lambda p, *a: [p - g for p, g in zip(p, jax.grad(f)(p, *a))], donate_argnums=0), ([jnp.zeros((8, 128, 256)), jnp.zeros((8, 256, 128))], jnp.zeros((512, 128)), jnp.full(8, 64, jnp.int32))


def small_types():
    def f(p, x, w4):
        h = lax.dot(x.astype(jnp.float8_e4m3fn), p["w"].astype(jnp.float8_e5m2), preferred_element_type=jnp.bfloat16)
        return (jax.nn.relu(h) @ w4.astype(jnp.bfloat16)).astype(jnp.float32).var()

    p = {"w": jnp.zeros((256, 512))}
    return jax.jit(lambda p, x, w: jax.tree.map(lambda p, g: p - g, p, jax.grad(f)(p, x, w)), donate_argnums=0), (p, jnp.zeros((128, 256)), jnp.zeros((512, 128), jnp.int4))


def complex_lru():
    def f(p, x):
        lam = jnp.exp(-jnp.exp(p["nu"]) + 1j * p["theta"])
        u = x @ (p["b"] + 1j * p["b2"])
        _, h = lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (jnp.broadcast_to(lam, u.shape), u), axis=1)
        return ((h @ (p["c"] + 1j * p["c"])).real).var()

    p = {"nu": jnp.zeros(64), "theta": jnp.zeros(64), "b": jnp.zeros((32, 64)), "b2": jnp.zeros((32, 64)), "c": jnp.zeros((64, 32))}
    return jax.jit(lambda p, x: jax.tree.map(lambda p, g: p - g, p, jax.grad(f)(p, x)), donate_argnums=0), (p, jnp.zeros((8, 128, 32)))


def callback():
    def f(p, x):
        y = jax.pure_callback(lambda v: np.asarray(v), jax.ShapeDtypeStruct((64, 256), jnp.float32), lax.stop_gradient(x))
        return (jnp.tanh((x + y) @ p)).var()

    return jax.jit(lambda p, x: p - jax.grad(f)(p, x), donate_argnums=0), (jnp.zeros((256, 256)), jnp.zeros((64, 256)))


def nested_control():
    def f(p, x):
        def body(c):
            i, v = c
            v, _ = lax.scan(lambda v, w: (lax.cond(v.sum() > 0, lambda v: jnp.tanh(v @ w), lambda v: jax.nn.relu(v @ w.T), v), None), v, p)
            return i + 1, v

        return lax.while_loop(lambda c: c[0] < 3, body, (0, x))[1]

    def step(p, x):
        y = lax.fori_loop(0, 3, lambda i, v: lax.scan(lambda v, w: (lax.switch(i % 3, [jnp.tanh, jax.nn.relu, jnp.sin], v @ w), None), v, p)[0], x)
        return f(p, y), jax.grad(lambda p: lax.scan(lambda v, w: (lax.cond(v.sum() > 0, lambda v: jnp.tanh(v @ w), lambda v: v, v), None), x, p)[0].var())(p)

    return jax.jit(step), (jnp.zeros((4, 128, 128)), jnp.zeros((64, 128)))


def linear_algebra():
    def f(p, x):
        q, r = jnp.linalg.qr(p)
        w, v = jnp.linalg.eigh(x.T @ x + jnp.eye(64))
        return (jax.scipy.linalg.solve_triangular(r + jnp.eye(64), v) * w).var() + jnp.linalg.slogdet(r + jnp.eye(64))[1]

    return jax.jit(lambda p, x: p - jax.grad(f)(p, x), donate_argnums=0), (jnp.zeros((64, 64)), jnp.zeros((128, 64)))


HELPERS = ("linen_step", "lm_loss", "mesh", "run", "partial", "P")


def run(name, folder):
    f, args = globals()[name]()
    lowered = f.lower(*args)
    before = lowered.compiler_ir(dialect="hlo")
    with open(f"{folder}/{name}.before.txt", "w") as out:
        out.write(before.as_hlo_text())
    with open(f"{folder}/{name}.before.hlo.pb", "wb") as out:
        out.write(before.as_serialized_hlo_module_proto())
    compile_jax(lowered, folder, name)


if __name__ == "__main__":
    each_alone(cases(globals(), HELPERS), run, for_jax)
