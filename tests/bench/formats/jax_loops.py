"""Small steps in JAX that update donated arguments again and again: jax_loops.py FOLDER [NAME...]

Writes FOLDER/NAME.hlo.pb.gz: the module after optimization with XLA's own buffer assignment. tests/corpus/jax has these.
"""
import glob, gzip, os, shutil, sys, tempfile

dump = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = f"--xla_dump_to={dump} --xla_dump_hlo_as_proto"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax, jax.numpy as jnp, optax
from jax import lax

jax.config.update("jax_include_full_tracebacks_in_locations", False)
jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
D, B = 32, 8


def layers(n, dtype=jnp.float32):
    return [jnp.full((D, D), 0.02 * (i + 1), dtype) for i in range(n)]


def batch(*more):
    return jnp.ones((*more, B, D)), jnp.ones((*more, B, D))


def loss(p, x, y):
    for w in p:
        x = jax.nn.gelu(x @ w)
    return ((x - y) ** 2).mean().astype(jnp.float32)


def scanned(p, x, y, remat=False):
    layer = lambda x, w: (jax.nn.gelu(x @ w), None)
    return ((lax.scan(jax.checkpoint(layer) if remat else layer, x, p)[0] - y) ** 2).mean()


def stepped(tx, of=loss):
    def step(p, s, x, y):
        updates, s = tx.update(jax.grad(of)(p, x, y), s, p)
        return optax.apply_updates(p, updates), s
    return step


def times(n, tx, p, of=loss, dtype=jnp.float32):
    """n updates in one module."""
    one = stepped(tx, of)
    def steps(p, s, x, y):
        for _ in range(n):
            p, s = one(p, s, x, y)
        return p, s
    x, y = batch()
    return steps, (p, tx.init(p), x.astype(dtype), y.astype(dtype)), (0, 1)


def over_steps(n, tx, p, of=loss):
    one = stepped(tx, of)
    def steps(p, s, x, y):
        return lax.scan(lambda state, xy: (one(*state, *xy), None), (p, s), (x, y))[0]
    return steps, (p, tx.init(p), *batch(n)), (0, 1)


def until():
    one = stepped(optax.sgd(0.1))
    def steps(p, x, y):
        def body(state):
            p, _, i = state
            return one(p, optax.sgd(0.1).init(p), x, y)[0], loss(p, x, y), i + 1
        return lax.while_loop(lambda s: (s[1] > 1e-3) & (s[2] < 9), body, (p, jnp.float32(1), 0))[0]
    return steps, (layers(2), *batch()), (0,)


def skipped():
    tx = optax.adam(1e-3)
    one = stepped(tx)
    def step(p, s, x, y):
        return lax.cond(loss(p, x, y) < 1e3, lambda p, s: one(p, s, x, y), lambda p, s: (p, s), p, s)
    p = layers(3)
    return step, (p, tx.init(p), *batch()), (0, 1)


def switched():
    def step(p, i, x, y):
        sgd = lambda p: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y))
        return lax.switch(i, [lambda p: p, lambda p: jax.tree.map(lambda a: a * 0.9, p), sgd], sgd(sgd(p)))
    return step, (layers(2), 1, *batch()), (0,)


def tied():
    def of(p, ids, _):
        h = jax.nn.gelu(p[0][ids] @ p[1])
        return -jax.nn.log_softmax(h @ p[0].T)[..., 0].mean()
    def steps(p, ids):
        for _ in range(2):
            p = jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(of)(p, ids, None))
        return p
    return steps, ([jnp.ones((64, D)), jnp.ones((D, D))], jnp.zeros((4, 8), jnp.int32)), (0,)


def cache():
    def step(c, x):
        def one(state, i):
            c, x = state
            c = lax.dynamic_update_slice(c, x[:2, None, :], (0, i, 0))
            return (c, x + c.sum((0, 1))), None
        return lax.scan(one, (c, x), jnp.arange(8))[0]
    return step, (jnp.zeros((2, 32, D)), batch()[0]), (0,)


def averaged():
    def steps(p, e, x, y):
        for _ in range(2):
            p = jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y))
            e = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, e, p)
        return p, e
    return steps, (layers(2), layers(2), *batch()), (0, 1)


def accumulated():
    tx = optax.adam(1e-3)
    def step(p, s, x, y):
        add = lambda g, xy: (jax.tree.map(jnp.add, g, jax.grad(loss)(p, *xy)), None)
        updates, s = tx.update(lax.scan(add, jax.tree.map(jnp.zeros_like, p), (x, y))[0], s, p)
        return optax.apply_updates(p, updates), s
    p = layers(2)
    return step, (p, tx.init(p), *batch(4)), (0, 1)


def exchanged():
    return lambda a, b: (b * 2, a @ b), tuple(layers(2)), (0, 1)


def chained():
    """Nothing can be written over the argument: its memory is free in between."""
    def step(w, x):
        a = w @ x
        for _ in range(4):
            a = a @ x
        return a
    return step, tuple(layers(2)), (0,)


stack = lambda n: jnp.stack(layers(n))
CASES = {
    "sgd_twice": lambda: times(2, optax.sgd(0.1), layers(1)), "sgd_four_times": lambda: times(4, optax.sgd(0.1), layers(3)),
    "momentum_three_times": lambda: times(3, optax.sgd(0.1, momentum=0.9), layers(2)), "adam_three_times": lambda: times(3, optax.adam(1e-3), layers(3)),
    "adam_kept": lambda: times(3, optax.adam(1e-3), layers(3))[:2] + ((),),
    "adamw_clipped": lambda: times(2, optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)), layers(2)),
    "bf16": lambda: times(2, optax.adam(1e-3), layers(3, jnp.bfloat16), dtype=jnp.bfloat16),
    "remat": lambda: times(2, optax.adam(1e-3), layers(4), jax.checkpoint(loss)), "layers_scanned": lambda: times(2, optax.sgd(0.1), stack(6), scanned),
    "layers_remat": lambda: times(2, optax.sgd(0.1), stack(6), lambda p, x, y: scanned(p, x, y, True)),
    "steps_scanned": lambda: over_steps(5, optax.sgd(0.1), layers(2)), "steps_kept": lambda: over_steps(5, optax.adam(1e-3), layers(2))[:2] + ((),),
    "steps_adam": lambda: over_steps(5, optax.adam(1e-3), layers(3)), "both_scanned": lambda: over_steps(3, optax.adam(1e-3), stack(4), scanned),
    "until": until, "skipped": skipped, "switched": switched, "tied": tied, "cache": cache, "averaged": averaged, "accumulated": accumulated,
    "exchanged": exchanged, "chained": chained,
}


def main(folder, names):
    os.makedirs(folder, exist_ok=True)
    for name in names or CASES:
        function, arguments, donated = CASES[name]()
        function.__name__ = name
        jax.jit(function, donate_argnums=donated).lower(*arguments).compile()
        found = glob.glob(f"{dump}/*.jit_{name}.*after_optimizations.hlo.pb")
        with open(found[0], "rb") as module, gzip.GzipFile(f"{folder}/{name}.hlo.pb.gz", "wb", mtime=0) as out:
            out.write(module.read())
    shutil.rmtree(dump)


main(sys.argv[1], sys.argv[2:])
