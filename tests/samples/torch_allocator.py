"""Plans in PyTorch's own CUDA allocator, over a runtime that only counts bytes.

What Tidemark says of them is so, to the byte, over three steps. Run by torch_test; skipped where torch has no
libc10_cuda.so. LONG=1: 60 verdicts; tests/bench/verdicts has 300.
"""
import glob
import itertools
import json
import os
import random
import re
import subprocess
import tempfile
import unittest

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("TIDEMARK", HERE + "/../../build/tidemark")
SAMPLES = HERE + "/../../samples/"
GRAIN = 2 << 20     # of a device's memory
LONG = os.environ.get("LONG", "0") != "0"
SMALL = "--hidden 256 --heads 8 --vocab 4000"
STEPS = [f"{model} --batch {batch} --precision {precision}" for model in [
    f"{name} {SMALL} --layers {layers} --seq {seq}" for name in ("gpt2", "bert", "t5", "llama")
    for layers, seq in ((3, 256), (6, 128), (4, 512))] + ["resnet50", "resnet18", "vit --layers 4"]
         for batch in (2, 8) for precision in ("fp32", "bf16")]
random.Random(0).shuffle(STEPS)
SHARES = (0.95, 0.85, 0.75, 0.6, 0.45)
PERSISTENT = {"input", "parameter", "buffer", "constant", "optimizer"}
# What a compiler of CUDA would say of these; its headers aren't in wheels.
NOT_IN_WHEELS = "".join(f"#define {word}\n" for word in (
    "CUDARTAPI CUDARTAPI_CDECL CUDA_CB __host__ __device__ __global__ __cudart_builtin__ __device_builtin__ "
    "__device_builtin_texture_type__ __device_builtin_surface_type__").split()) + (
    "#define __align__(n) __attribute__((aligned(n)))\n#define __builtin_align__(n) __align__(n)\n")


def build(folder):
    """The driver's path, or why there is none."""
    root = os.path.dirname(torch.__file__)
    headers = glob.glob(root + "/../nvidia/cu*/include/cuda_runtime_api.h") + glob.glob(
        root + "/../nvidia/cuda_runtime/include/cuda_runtime_api.h")
    if not os.path.exists(root + "/lib/libc10_cuda.so") or not headers:
        return None, "torch has no libc10_cuda.so, or the CUDA runtime's headers aren't beside it"
    os.mkdir(folder + "/crt")
    with open(folder + "/crt/host_defines.h", "w", encoding="utf-8") as file:
        file.write(NOT_IN_WHEELS)
    with open(root + "/include/c10/cuda/driver_api.h", encoding="utf-8") as file:
        names = sorted(set(re.findall(r"\bnvml[A-Z]\w*", file.read())))
    with open(folder + "/nvml.c", "w", encoding="utf-8") as file:
        file.write("".join(f"int {name}(void) {{ return 0; }}\n" for name in names))
    for command in (
            ["cc", "-shared", "-fPIC", folder + "/nvml.c", "-o", folder + "/libnvidia-ml.so.1"],
            ["c++", "-O1", "-std=c++20", "-rdynamic", "-D__CUDA_RUNTIME_H__", "-include", "cuda_runtime_api.h",
             "-I", folder, "-I", root + "/include", "-I", os.path.dirname(headers[0]), HERE + "/cuda_allocator.cpp",
             "-o", folder + "/allocator", "-L", root + "/lib", "-lc10_cuda", "-lc10", "-Wl,--allow-shlib-undefined",
             "-Wl,-rpath," + root + "/lib"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return None, "the driver can't be built: " + done.stderr[-300:]
    return folder + "/allocator", ""


def ask(*arguments, graph=None):
    done = subprocess.run([PROGRAM, *arguments], input=graph, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError((arguments, done.stderr.decode()))
    return done.stdout.decode()


def words(settings):
    return [word for setting in settings for word in ("--set", setting)]


def lifetimes(path, settings, plan):
    """What a plan's buffers are: (bytes, first, last, kept for the next step, first use of optimizer state or None:
    it is made before the first step)."""
    kind, above, ops = {}, {}, {}
    for line in ask("export", path, "--as", "native", "--stage", "device", *words(settings)).splitlines():
        record = json.loads(line)
        if record["k"] == "tensor":
            kind[record["id"]] = record.get("kind")
            above[record["id"]] = record.get("alias")
        elif record["k"] == "op":
            ops[record["id"]] = record["in"] + record["out"]
            above.update((new, above.get(new) or old) for new, old in record.get("inplace", ()))

    def root(name):
        while above.get(name):
            name = above[name]
        return name

    outputs, used = {root(name) for name, value in kind.items() if value == "output"}, {}
    for position, op in enumerate(plan["order"]["ops"]):
        for name in ops[op]:
            used.setdefault(root(name), position)
    for buffer in plan["layout"]["buffers"]:
        name, first, last = buffer.get("tensor"), buffer["first"], buffer["last"]
        stays = kind.get(name) in PERSISTENT and first == 0 and last == len(ops) - 1
        yield (buffer["bytes"], first, last, "always" if stays else "next" if name in outputs else "",
               used.get(name, 0) if stays and kind[name] == "optimizer"
               and not plan["memory"].get("state_first") else None)


def events(buffers, count, steps):
    """Lines for the driver: (twice the op's position over all steps, + 1 at a begin; rank; line)."""
    buffers, lines = list(buffers), []
    for step in range(steps):
        lines.append((2 * (step + 1) * count, -1, "= 0 0"))
        for number, (size, first, last, kept, used) in enumerate(buffers, step * len(buffers)):
            if size == 0 or (kept == "always" and step > 0):
                continue
            begin = used if used is not None else step * count + first
            end = (steps * count if kept == "always" or (kept and step + 1 == steps) else begin + count if kept
                   else step * count + last + 1)
            lines.append((2 * begin + 1, number, f"+ {number} {size}"))
            if end < steps * count:
                lines.append((2 * end, number, f"- {number} 0"))
    return sorted(lines)


class Allocator(unittest.TestCase):
    """What the program says of its simulated allocator, and what PyTorch's own does."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver, why = build(cls.folder.name)
        if not cls.driver:
            raise unittest.SkipTest(why)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def play(self, lines, expandable, *caps):
        """(bytes reserved at most, index of the line that fails or None, retries after each step) of each cap."""
        path = self.folder.name + "/events"
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(line for _, _, line in lines) + "\n")
        setting = "expandable_segments:" + str(expandable)
        done = subprocess.run([self.driver, path, *map(str, caps)], capture_output=True, text=True, check=True, env={
            **os.environ, "PYTORCH_ALLOC_CONF": setting, "PYTORCH_CUDA_ALLOC_CONF": setting,
            "LD_LIBRARY_PATH": self.folder.name + ":" + os.environ.get("LD_LIBRARY_PATH", "")})
        rows = [list(map(int, line.split())) for line in done.stdout.splitlines()]
        self.assertEqual(len(rows), len(caps), done.stderr)
        return [(row[0], row[1] - 1 if row[1] else None, row[2:]) for row in rows]

    def play_plan(self, path, settings, plan, expandable, *caps):
        """The same of three steps of a plan; of a line that fails the step and the op."""
        ops = plan["order"]["ops"]
        lines = events(lifetimes(path, settings, plan), len(ops), 3)
        found = []
        for most, failed, retries in self.play(lines, expandable, *caps):
            step, position = divmod(lines[failed][0] // 2, len(ops)) if failed is not None else (0, 0)
            found.append((most, (1 + step, ops[position]) if failed is not None else None, retries))
        return found

    def check(self, path, settings, limit):
        """One plan under a limit, in both kinds of segments; limit: a share of its peak."""
        peak = json.loads(ask("plan", path, "--json", *words(settings)))["memory"]["peak_bytes"]
        cap = int(peak * limit) // GRAIN * GRAIN
        settings = [*settings, f"memory={cap}", "reserve=0"]
        plan = json.loads(ask("plan", path, "--json", *words(settings)))
        for expandable in (False, True):
            said = plan["memory"]["expandable" if expandable else "pytorch"]
            free, least, at = self.play_plan(path, settings, plan, expandable, 1 << 50, said["least_bytes"], cap)
            self.assertEqual(free[:2], (said["reserved_bytes"], None), "reserved")
            self.assertIsNone(least[1], "the least limit holds")
            self.assertEqual(at[1], (said["breaks_in_step"], said["breaks_at"]) if "breaks_at" in said else None)
            self.assertEqual(said["least_bytes"] <= cap, at[1] is None, "the limit holds")
            if at[1] is None:
                self.assertEqual(at[2][2], said["retries"], "retries in three steps")

    def test_plans(self):
        shares = itertools.cycle((1.02, 1.06, 1.15))
        for sample in ("mobilenet_v2_b1_adam", "alexnet_b1_adam", "vit_b_16_b1_adam", "bert_base_b1_s512_adam",
                       "gpt2_b1_s1024_adam"):
            for settings in (["order=program"], [], ["recompute=full"], ["offload=states"]):
                limit = next(shares)
                with self.subTest(sample=sample, settings=settings, limit=limit):
                    self.check(SAMPLES + sample + ".jsonl.gz", settings, limit)
            next(shares)

    def test_state_made_before_the_first_step(self):
        """What holds only with that holds with it, and breaks without."""
        path, settings = HERE + "/../src/decide/state_first.jsonl", ["allocator=expandable", f"memory={90 << 20}",
                                                                     "reserve=0"]
        plan = json.loads(ask("plan", path, "--json", *words(settings)))
        self.assertEqual((plan["memory"]["fits"], plan["memory"].get("state_first")), ("yes", True))
        for first in (True, False):
            plan["memory"]["state_first"] = first
            self.assertEqual(self.play_plan(path, settings, plan, True, 90 << 20)[0][1] is None, first)

    def judge(self, step, share):
        """recompute=auto of a built-in step at a share of its memory: what it says, and what PyTorch does."""
        path = self.folder.name + "/step.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.write(ask("model", *step.split()))
        memory = json.loads(ask("plan", path, "--json", "--set", "order=program"))["memory"]
        always, allocator = memory["persistent_bytes"], ("expandable", "pytorch")[share in (0.85, 0.6)]
        cap = int(always + share * (memory["peak_bytes"] - always)) // GRAIN * GRAIN
        settings = ["recompute=auto", f"allocator={allocator}", f"memory={cap}", "reserve=0"]
        plan = json.loads(ask("plan", path, "--json", *words(settings)))
        holds = self.play_plan(path, settings, plan, allocator == "expandable", cap)[0][1] is None
        return {"step": step, "share": share, "allocator": allocator, "memory": cap, "holds": holds,
                "fits": plan["memory"]["fits"] == "yes", "seconds": plan["speed"]["step_seconds"]}

    @unittest.skipUnless(LONG, "LONG=1")
    def test_verdicts(self):
        """What is said to fit holds, and what is said not to fit breaks. tests/bench/verdicts has all with times."""
        for step, share in itertools.product(STEPS[:12], SHARES):
            with self.subTest(step=step, share=share):
                row = self.judge(step, share)
                self.assertEqual(row["fits"], row["holds"])


if __name__ == "__main__":
    unittest.main()
