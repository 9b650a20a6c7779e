"""More JAX steps: optimizers of optax, transformations, sharded steps: jax_more.py FOLDER [NAME...]

Needs jax and optax. Writes for each FOLDER/NAME.dump (--xla_dump_to, with the buffer assignment), NAME.txt (the compiled text) and NAME.json (the peak by
memory_analysis()). Each compiles in a process of its own, for 8 devices that XLA makes of one CPU.
"""

import jax, jax.numpy as jnp, optax
from jax import lax

from each_alone import cases, compile_jax, each_alone, for_jax


def mlp(sizes):
    return [(jax.random.normal(jax.random.key(i), (a, b)) * 0.1, jnp.zeros(b)) for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:]))]


def fwd(p, x, act=jax.nn.relu):
    for w, b in p[:-1]:
        x = act(x @ w + b)
    return x @ p[-1][0] + p[-1][1]


def train(loss, opt):
    def step(p, s, *args):
        l, g = jax.value_and_grad(loss)(p, *args)
        u, s = opt.update(g, s, p)
        return optax.apply_updates(p, u), s, l

    return step


def opt_case(opt, sizes=(256, 1024, 1024, 64), n=128, donate=True):
    p = mlp(sizes)
    step = train(lambda p, x: (fwd(p, x) ** 2).mean(), opt)
    return jax.jit(step, donate_argnums=(0, 1) if donate else ()), (p, opt.init(p), jnp.zeros((n, sizes[0])))


def lion():
    return opt_case(optax.lion(1e-3))


def lamb():
    return opt_case(optax.lamb(1e-3))


def adafactor():
    return opt_case(optax.adafactor(1e-3))


def sm3():
    return opt_case(optax.sm3(1e-3))


def multisteps():
    return opt_case(optax.MultiSteps(optax.adam(1e-3), 4))


def muon():
    o = optax.contrib.muon(1e-3)
    return opt_case(o)


def lbfgs():
    p = mlp((64, 256, 64))
    o = optax.lbfgs()
    f = lambda p, x: (fwd(p, x) ** 2).mean()
    x = jnp.zeros((32, 64))

    def step(p, s, x):
        v, g = jax.value_and_grad(f)(p, x)
        u, s = o.update(g, s, p, value=v, grad=g, value_fn=lambda q: f(q, x))
        return optax.apply_updates(p, u), s, v

    return jax.jit(step, donate_argnums=(0, 1)), (p, o.init(p), x)


def scan_rnn():
    p = dict(wx=jnp.zeros((64, 256)), wh=jnp.zeros((256, 256)), wo=jnp.zeros((256, 10)))

    def f(p, x):
        def c(h, xt):
            h = jnp.tanh(xt @ p["wx"] + h @ p["wh"])
            return h, h

        _, hs = lax.scan(c, jnp.zeros((x.shape[1], 256)), x)
        return (hs @ p["wo"]).mean()

    o = optax.adam(1e-3)
    return jax.jit(train(f, o), donate_argnums=(0, 1)), (p, o.init(p), jnp.zeros((100, 32, 64)))


def scan_remat():
    p = dict(w=jnp.zeros((12, 256, 1024)), v=jnp.zeros((12, 1024, 256)))

    def f(p, x):
        @jax.checkpoint
        def c(x, l):
            return x + jax.nn.gelu(x @ l["w"]) @ l["v"], None

        return (lax.scan(c, x, p)[0] ** 2).mean()

    o = optax.adamw(1e-3)
    return jax.jit(train(f, o), donate_argnums=(0, 1)), (p, o.init(p), jnp.zeros((256, 256)))


def nested_scan():
    p = jnp.zeros((6, 128, 128))

    def f(p, x):
        def inner(x, _):
            return jnp.sin(x @ x.T @ x * 0.01), None

        def c(x, w):
            x = x @ w
            return lax.scan(inner, x, None, length=3)[0], None

        return lax.scan(c, x, p)[0].sum()

    return jax.jit(jax.grad(f)), (p, jnp.zeros((128, 128)))


def whileg():
    def f(x):
        return lax.while_loop(lambda s: s[1] < 50, lambda s: (jnp.tanh(s[0] @ s[0]) * 0.9 + s[0], s[1] + 1), (x, 0))[0]

    return jax.jit(f), (jnp.zeros((512, 512)),)


def condg():
    p = mlp((128, 512, 128))

    def f(p, x):
        return lax.cond(x.sum() > 0, lambda p: fwd(p, x).sum(), lambda p: (fwd(p, x * 2) ** 3).sum(), p)

    return jax.jit(jax.grad(f)), (p, jnp.zeros((64, 128)))


def switch4():
    p = mlp((128, 512, 128))

    def f(p, x, i):
        return lax.switch(i, [lambda p, k=k: (fwd(p, x) * k).sum() for k in range(4)], p)

    return jax.jit(jax.grad(f)), (p, jnp.zeros((64, 128)), 2)


def customvjp():
    @jax.custom_vjp
    def g(x):
        return jax.nn.softplus(x)

    g.defvjp(lambda x: (g(x), x), lambda r, ct: (ct * jax.nn.sigmoid(r),))
    p = mlp((256, 512, 512, 64))
    o = optax.sgd(0.1, momentum=0.9)
    return jax.jit(train(lambda p, x: fwd(p, x, g).var(), o), donate_argnums=(0, 1)), (p, o.init(p), jnp.zeros((128, 256)))


def policy(name):
    p = mlp((256,) + (512,) * 6 + (64,))
    o = optax.adam(1e-3)
    f = jax.checkpoint(lambda p, x: fwd(p, x, jax.nn.gelu).var(), policy=getattr(jax.checkpoint_policies, name))
    return jax.jit(train(f, o), donate_argnums=(0, 1)), (p, o.init(p), jnp.zeros((512, 256)))


def remat_dots():
    return policy("dots_with_no_batch_dims_saveable")


def remat_nothing():
    return policy("nothing_saveable")


def mesh(shape, names):
    import numpy as np

    return jax.sharding.Mesh(np.array(jax.devices()).reshape(shape), names)


def shardmap_tp():
    from jax.sharding import PartitionSpec as P
    from jax import shard_map

    m = mesh((2, 4), ("d", "t"))

    def body(x, w1, w2):
        h = jax.nn.gelu(x @ w1)
        y = lax.psum(h @ w2, "t")
        return lax.pmean((y**2).mean(), ("d",))

    sm = shard_map(body, mesh=m, in_specs=(P("d", None), P(None, "t"), P("t", None)), out_specs=P())
    f = jax.jit(jax.grad(lambda w, x: sm(x, *w)))
    return f, ((jnp.zeros((256, 1024)), jnp.zeros((1024, 256))), jnp.zeros((128, 256)))


def gspmd_fsdp():
    from jax.sharding import PartitionSpec as P, NamedSharding as N

    m = mesh((8,), ("d",))
    p = mlp((512, 1024, 1024, 512))
    o = optax.adam(1e-3)
    p = jax.device_put(p, N(m, P("d")))
    s = o.init(p)
    x = jax.device_put(jnp.zeros((64, 512)), N(m, P("d")))
    return jax.jit(train(lambda p, x: (fwd(p, x) ** 2).mean(), o), donate_argnums=(0, 1)), (p, s, x)


def moe_a2a():
    from jax.sharding import PartitionSpec as P
    from jax import shard_map

    m = mesh((8,), ("e",))

    def body(x, w):
        t = x.reshape(8, -1, x.shape[-1])
        t = lax.all_to_all(t, "e", 0, 0)
        t = jax.nn.silu(t @ w[0])
        t = lax.all_to_all(t, "e", 0, 0)
        return t.reshape(x.shape)

    sm = shard_map(body, mesh=m, in_specs=(P("e"), P("e")), out_specs=P("e"))
    return jax.jit(jax.grad(lambda w, x: (sm(x, w) ** 2).mean())), (jnp.zeros((8, 256, 256)), jnp.zeros((1024, 256)))


def ring():
    from jax.sharding import PartitionSpec as P
    from jax import shard_map

    m = mesh((8,), ("s",))

    def body(q, k, v):
        def c(s, _):
            k, v, acc, den = s
            e = jnp.exp(q @ k.T * 0.1)
            k = lax.ppermute(k, "s", [(i, (i + 1) % 8) for i in range(8)])
            v2 = lax.ppermute(v, "s", [(i, (i + 1) % 8) for i in range(8)])
            return (k, v2, acc + e @ v, den + e.sum(-1)), None

        (k, v, acc, den), _ = lax.scan(c, (k, v, jnp.zeros_like(q), q[:, 0] * 0), None, length=8)
        return acc / den[:, None]

    sm = shard_map(body, mesh=m, in_specs=(P("s"),) * 3, out_specs=P("s"))
    return jax.jit(sm), (jnp.zeros((1024, 64)),) * 3


def pmapped():
    p = mlp((128, 256, 64))
    x = jnp.zeros((8, 16, 128))
    f = jax.pmap(lambda p, x: jax.tree.map(lambda g: lax.pmean(g, "i"), jax.grad(lambda p: (fwd(p, x) ** 2).mean())(p)), axis_name="i", in_axes=(None, 0))
    return f, (p, x)


def convbn():
    p = dict(w=[jnp.zeros((3, 3, i, o)) for i, o in ((3, 32), (32, 64), (64, 64))], g=[jnp.ones(o) for o in (32, 64, 64)], h=jnp.zeros((64, 10)))

    def f(p, x, y):
        for w, g in zip(p["w"], p["g"]):
            x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            mu = x.mean((0, 1, 2))
            x = jax.nn.relu((x - mu) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * g)
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return optax.softmax_cross_entropy_with_integer_labels(x.mean((1, 2)) @ p["h"], y).mean()

    o = optax.rmsprop(1e-3, momentum=0.9)
    return jax.jit(train(f, o), donate_argnums=(0, 1)), (p, o.init(p), jnp.zeros((16, 32, 32, 3)), jnp.zeros(16, jnp.int32))


def hvp():
    p = mlp((128, 512, 64))
    f = lambda p, x: (fwd(p, x, jnp.tanh) ** 2).mean()
    return jax.jit(lambda p, v, x: jax.jvp(jax.grad(lambda p: f(p, x)), (p,), (v,))[1]), (p, p, jnp.zeros((64, 128)))


def int8dot():
    def f(a, b):
        return lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32).astype(jnp.float32) * 0.1

    return jax.jit(f), (jnp.zeros((256, 512), jnp.int8), jnp.zeros((512, 256), jnp.int8))


def sparse_embed():
    p = jnp.zeros((50000, 64))
    o = optax.sgd(0.1)
    return jax.jit(lambda p, i: p - 0.1 * jax.grad(lambda p: (p[i] ** 2).sum())(p), donate_argnums=0), (p, jnp.zeros((4096,), jnp.int32))


HELPERS = ("mlp", "fwd", "train", "opt_case", "policy", "mesh", "run")


def run(name, folder):
    f, args = globals()[name]()
    compile_jax(f.lower(*args), folder, name)


if __name__ == "__main__":
    each_alone(cases(globals(), HELPERS), run, for_jax)
