"""Captures, replays and real runs of the steps in torch_steps.py. Run by torch_test, under the heap shim."""
import copy
import faulthandler
import functools
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import tidemark_torch
from tidemark_torch import command, errors, replay, truth
from tidemark_torch.batches import capture_batches
from tidemark_torch.graph import read_graph, write_graph
from tidemark_torch.initial import set_values
from tidemark_torch.kernels import Kernels
from tidemark_torch.memory import nested
from tidemark_torch.recording import capture_step, fake, written_arguments
from tidemark_torch.steps import Lion, OPTIMIZERS, TrainingStep
from tidemark_torch.workspace import Heap, allocator_peak

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import torch_batches
import torch_steps
from torch_steps import with_loss

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
LONG = os.environ.get("LONG", "0") != "0"
STEPS = ["gan", "unet", "diffusion", "lora", "transformer", "checkpointed", "checkpointed_dropout", "tied", "unused",
         "spectral", "clipped", "scaled",
         "accumulated", "gru", "packed", "lstm", "complex_fft", "embedding_bag", "transposed", "upsampled", "scheduled",
         "foreach_adam", "keep_gradients", "larger"]


def make(name):
    """A step of torch_steps.py."""
    torch.manual_seed(0)
    made = getattr(torch_steps, name)()
    return TrainingStep(*made) if isinstance(made, tuple) else made


def planned(path, *settings):
    """The plan of a graph file, as the program makes it."""
    words = [word for setting in settings for word in ("--set", setting)]
    said = subprocess.run([os.environ["TIDEMARK"], "plan", path, "--json", *words], check=True, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


class Steps(unittest.TestCase):
    """Each step: what is predicted is what PyTorch needs, and any order gives the same results."""


def add_tests(name):
    """The tests of one step."""
    def predicted(self):
        with fake():
            step = make(name)
        graph = capture_step(None, step)
        growth = graph.peak_bytes(list(graph.ops), workspace=False) - graph.start_bytes()
        step = make(name)
        for _ in range(2):
            step()
        real = allocator_peak(step, before=step)
        recorded = capture_step(None, step, real=True)
        workspace = max(op.get("workspace", 0) for op in recorded.ops.values())
        self.assertLessEqual(growth, 1.001 * real + 64)
        self.assertGreaterEqual(1.001 * (growth + workspace) + 64, real)

    def replayed(self):
        with fake():
            step = make(name)
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/step.jsonl", step)
            plan = planned(f"{folder}/step.jsonl")
        program = list(graph.ops)
        self.assertEqual(plan["memory"]["program_peak_bytes"], graph.peak_bytes(program))
        graph.check_order(plan["order"]["ops"])
        runner, heap = replay.Replay(graph), Heap()
        _, expected = runner.measure(program, heap)
        _, results = runner.measure(plan["order"]["ops"], heap)
        self.assertEqual(results, expected)

    setattr(Steps, f"test_{name}_needs_what_is_predicted", predicted)
    setattr(Steps, f"test_{name}_gives_equal_results_in_our_order", replayed)


for step_name in STEPS:
    add_tests(step_name)


class Checkpoints(unittest.TestCase):
    """What PyTorch itself keeps for a checkpoint."""

    def test_each_keeps_a_generators_state(self):
        with fake():
            step = make("checkpointed")
        graph = capture_step(None, step)
        step = make("checkpointed")
        for _ in range(2):
            step()
        growth = graph.peak_bytes(list(graph.ops), workspace=False) - graph.persistent_bytes()
        self.assertLess(abs(growth - allocator_peak(step)), 64)


class Workspace(unittest.TestCase):
    """What kernels need for themselves, measured without a run of the step."""

    def test_each_kind_of_call_alone_tells_what_the_step_needs(self):
        for name in ("unet", "upsampled", "blocks"):
            with fake():
                step = make(name)
            graph = capture_step(None, step)
            plain = graph.peak_bytes(list(graph.ops))
            self.assertEqual(name != "blocks" or "scaled_dot_product" in str(graph.ops),
                             "workspace" in str(graph.head.get("read")))
            _, failed = tidemark_torch.measure_workspace(graph)
            self.assertEqual(failed, 0)
            self.assertNotIn("read", graph.head)
            real = truth.measure(make(name), with_profiler=False)["heap"] + graph.persistent_bytes()
            self.assertLess(abs(graph.peak_bytes(list(graph.ops)) / real - 1), 0.01, name)
            self.assertEqual(name == "blocks", plain > 0.99 * real, name)

    def test_products_with_a_bias_are_run_and_sums_are_not(self):
        with fake():
            graph = capture_step(None, TrainingStep(nn.Linear(8, 8), (torch.randn(4, 8),), "sgd"))
        found = Kernels(graph, 1 << 20).measure()
        kinds = {graph.ops[name]["op"].split(".")[1] for name in found}
        self.assertIn("addmm", kinds)
        self.assertFalse(kinds & {"add", "add_", "mul"})

    def test_an_order_with_workspace_needs_what_the_plan_says(self):
        step = make("transposed")
        for _ in range(2):
            step()
        graph = capture_step(None, step, warm=False)
        tidemark_torch.measure_workspace(graph)
        with tempfile.TemporaryDirectory() as folder:
            write_graph(f"{folder}/step.jsonl", graph)
            plan = planned(f"{folder}/step.jsonl")
        run = tidemark_torch.apply(plan, graph).step(*copy.deepcopy((step.module, step.optimizer)))
        real = truth.measure(lambda: run(*step.inputs), with_profiler=False)["heap"] + graph.persistent_bytes()
        self.assertLess(abs(plan["memory"]["peak_bytes"] / real - 1), 0.01)


    def test_what_the_step_before_has_left_counts_until_the_step_lets_go_of_it(self):
        model, x = nn.Linear(512, 512), torch.randn(4, 512)

        def step():
            model.zero_grad()
            model(x).pow(2).mean().backward()
        graph = capture_step(None, step)
        self.assertGreater(graph.start_bytes(), graph.persistent_bytes() + 1000000)
        step()
        self.assertLess(abs(allocator_peak(step, before=step) +
                            graph.start_bytes() - graph.peak_bytes(list(graph.ops), workspace=False)), 64)


class Recomputed(unittest.TestCase):
    """Steps in which activations are computed again give the results that they gave."""

    def check(self, name, *knobs, share=None, sign=".again"):
        """Runs a step as it is, and with what the knobs make of it, in a share of its memory: some ops have the sign in their names."""
        with fake():
            step = make(name)
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/step.jsonl", step)
            if share:
                knobs += (f"memory={int(share * planned(f'{folder}/step.jsonl')['memory']['peak_bytes'])}", "reserve=0",
                          "allocator=plan")
            words = [word for knob in knobs or ("recompute=full",) for word in ("--set", knob)]
            subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/step.jsonl", "--as", "native", "--stage",
                            "device",
                            *words, "-o", f"{folder}/again.jsonl"], check=True)
            again = read_graph(f"{folder}/again.jsonl")
        self.assertTrue(any(sign in op for op in again.ops))
        _, expected = replay.Replay(graph).measure(list(graph.ops), Heap())
        growth, results = replay.Replay(again).measure(list(again.ops), Heap())
        self.assertEqual(results, expected)
        return (again.start_bytes() + max(before + most for before, most in growth)) / again.peak_bytes(list(again.ops))

    def test_batch_norms_update_their_statistics_once(self):
        self.check("transposed")

    def test_dropout_draws_the_same_numbers(self):
        self.check("transformer")

    def test_masks_are_filled_again(self):
        self.check("filled")

    def test_what_fits_a_cap_runs(self):
        for name in ("transposed", "transformer"):
            self.check(name, "recompute=auto", share=0.95)
        offloaded = self.check("blocks", "recompute=auto", "offload=on", "host_bandwidth=1000GB/s", share=0.9,
                               sign="offload_wait")
        self.assertLess(abs(offloaded - 1), 0.005)  # what waits in the host's memory isn't the device's


class Schemas(unittest.TestCase):
    """What ops write, where their schemas say too much."""

    def test_an_optimizer_of_bitsandbytes_only_reads_gradients_and_tables(self):
        library = torch.library.Library("bitsandbytes", "FRAGMENT")
        library.define(
            "optimizer_update_test(Tensor(a0!) g, Tensor(a1!) p, Tensor(a2!) qmap1, Tensor(a3!) absmax1) -> ()")
        self.assertEqual(written_arguments(torch.ops.bitsandbytes.optimizer_update_test.default),
                         [(1, "p"), (3, "absmax1")])


class Layouts(unittest.TestCase):
    """Results on fake tensors lie in memory as the kernels make them, and take as much of it."""
    OPERATORS = {
        "softplus": F.softplus, "hardswish": F.hardswish, "hardtanh": F.hardtanh, "elu": F.elu, "mish": F.mish,
        "logsigmoid": F.logsigmoid,
        "glu": lambda x: F.glu(x, 1), "log_softmax": lambda x: x.log_softmax(-1),
        "rrelu": lambda x: F.rrelu(x, training=True),
        "logit": lambda x: x.sigmoid().logit(), "mse": lambda x: F.mse_loss(x, x.detach() * 2),
        "smooth_l1": lambda x: F.smooth_l1_loss(x, x.detach() * 2),
        "huber": lambda x: F.huber_loss(x, x.detach() * 2),
        "bce": lambda x: F.binary_cross_entropy(x.sigmoid(), x.detach().contiguous().sigmoid()),
        "soft_margin": lambda x: F.soft_margin_loss(x, x.detach().sign()),
        "layer_norm": lambda x: F.layer_norm(x, (6,)),
        "batch_norm": lambda x: F.batch_norm(x, None, None, training=True), "group_norm": lambda x: F.group_norm(x, 2),
        "roll": lambda x: x.roll(2, 1), "shuffle": lambda x: F.channel_shuffle(x, 2),
        "pad": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
        "pad_volumes": lambda x: F.pad(x.unsqueeze(2).repeat(1, 1, 2, 1, 1).contiguous(memory_format=torch.channels_last_3d), (1,) * 6, mode="replicate"), "unfold": lambda x: F.fold(F.unfold(x, 2, stride=2), (4, 6), 2, stride=2),
        "mixed_layer_norm": lambda x: F.layer_norm(x.bfloat16(), (6,), torch.ones(6), torch.zeros(6)),
        "mixed_group_norm": lambda x: F.group_norm(x.bfloat16(), 2, torch.ones(8), torch.zeros(8)),
        "pow": lambda x: 2 ** x, "xlogy": lambda x: torch.special.xlogy(x.abs(), x.detach().abs() + 1),
        "ctc": lambda x: F.ctc_loss(x.flatten(2).permute(2, 0, 1).log_softmax(2), torch.ones(2, 3, dtype=torch.long),
                                    torch.tensor([24, 24]), torch.tensor([3, 2]))}

    def difference(self, operator, dims):
        """The first op whose result isn't as predicted, for an operand whose memory has its dims in the order `dims`; None where all are."""
        with fake():
            x = torch.randn([(2, 8, 4, 6)[d] for d in dims]).permute([dims.index(d) for d in range(4)]).detach().requires_grad_()

            def step():
                y = operator(x * 1)
                y = y.permute(list(reversed(range(y.dim())))).contiguous()
                y.mul(y).sum().backward()
                x.grad = None
            graph = capture_step(None, step, warm=False)
        runner = replay.Replay(graph)
        values = runner.initial_values()
        for name, op in graph.ops.items():
            with torch.no_grad():
                runner.call(name, values)
            for out in op["out"]:
                record, real = graph.tensors[out], values[out]
                plain = [1] * real.dim() if real.numel() == 0 else list(torch.empty(real.shape, device="meta").stride())
                same = all(a == b for a, b, extent in zip(record.get("stride") or plain, real.stride(), real.shape)
                           if extent > 1)
                if "alias" not in record and (not same or record["bytes"] != real.untyped_storage().nbytes()):
                    return op["op"]
        return None

    def test_results_lie_as_the_kernels_make_them(self):
        for name, operator in self.OPERATORS.items():
            for dims in ((0, 1, 2, 3), (0, 2, 3, 1), (3, 0, 1, 2)):
                self.assertIsNone(self.difference(operator, dims), f"{name} {dims}")


class Sizes(unittest.TestCase):
    """Steps scaled to another batch by rule are those that are captured there."""

    class Scores(nn.Module):
        """What einsum does runs as other products at batch 1; windows of 7 x 8, cut as 8 x 7."""

        def __init__(self):
            super().__init__()
            self.wide, self.table = nn.Linear(56, 56), nn.Linear(56, 56)

        def forward(self, x):
            x = self.wide(x)
            x = x + self.table(x.view(-1, 4, 8, 7).relu().flatten(2).view(-1, 4, 7, 8).relu().flatten(2))
            scores = torch.einsum("ibd,jbd->bij", x.transpose(0, 1), x.transpose(0, 1))
            return (torch.einsum("bij,jbd->ibd", scores.softmax(-1), x.transpose(0, 1)) + x.flip(0).sum(0)[:, None]).pow(2).mean()

    def test_a_step_whose_products_are_others_at_batch_1(self):
        with tempfile.TemporaryDirectory() as folder:
            found = {}
            for batch in (1, 2, 8):
                with fake():
                    capture_step(f"{folder}/{batch}.jsonl",
                                 TrainingStep(self.Scores(), (torch.randn(batch, 4, 56),), "sgd"))
                said = subprocess.run([os.environ["TIDEMARK"], "plan", f"{folder}/{batch}.jsonl", "--json", "--set",
                                       "batch=8"], capture_output=True, text=True, check=False)
                found[batch] = json.loads(said.stdout)["memory"]["program_peak_bytes"] if said.returncode == 0 else said.stderr
            self.assertEqual(found[2], found[8])
            self.assertRegex(str(found[1]), "capture at batch 2|^" + str(found[8]))


    class Hidden(nn.Module):
        """What a capture at one batch can't tell: positions and masks made as [1, n], extents of 1 and of the batch, a table of pairs of samples."""

        def __init__(self):
            super().__init__()
            self.table, self.first, self.wide, self.mix = nn.Embedding(6, 8), nn.Parameter(torch.zeros(1, 1, 8)), nn.Linear(8, 8), nn.LSTM(8, 8, batch_first=True)

        def forward(self, x):
            positions = torch.arange(6)[None]
            mask = torch.ones(1, 6, 6).tril()[:, None].expand(x.shape[0], -1, -1, -1)
            x = torch.cat([self.first.expand(len(x), -1, -1), (x + self.table(positions))[:, 1:]], 1)
            x = self.wide(x.view(-1, 6, 1, 8).transpose(1, 2).reshape(-1, 8)).view(-1, 6, 8)
            scores = (x[:, None] @ x[:, None].mT).masked_fill(mask == 0, -1e9).softmax(-1)
            mixed, _ = self.mix((scores @ x[:, None])[:, 0])
            each = F.normalize(mixed.mean(1))
            return F.cross_entropy(each @ each.T, torch.arange(len(each)))

    def step(self, batch):
        """One of that many samples; the same numbers at each."""
        torch.manual_seed(0)
        return TrainingStep(self.Hidden(), (torch.randn(batch, 6, 8),), "adam")

    def test_a_step_captured_at_two_batches_is_at_others_what_is_captured_there(self):
        with tempfile.TemporaryDirectory() as folder:
            for batch in (1, 3):
                for other in (1, 2, 8):
                    if other == batch:
                        continue
                    with fake():
                        capture_batches(f"{folder}/step.jsonl", self.step, batch)
                        real = capture_step(f"{folder}/real.jsonl", self.step(other), name="step")
                    subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/step.jsonl", "--as", "native", "--set",
                                    f"batch={other}", "-o", f"{folder}/made.jsonl"], check=True)
                    made = tidemark_torch.read_graph(f"{folder}/made.jsonl")
                    for op in [*made.ops.values(), *real.ops.values()]:
                        op.pop("src", None)   # some lines are those of the two calls above
                    self.assertEqual(list(made.ops.values()), list(real.ops.values()))
                    self.assertEqual(list(made.tensors.values()), list(real.tensors.values()))
                    with open(f"{folder}/plan.json", "w", encoding="utf-8") as text:
                        json.dump(planned(f"{folder}/step.jsonl", f"batch={other}"), text)
                    subprocess.run([os.environ["TIDEMARK"], "check", f"{folder}/step.jsonl", f"{folder}/plan.json"],
                                   check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(read_graph(f"{folder}/step.jsonl").other.head["batch"], 1)   # other ops than at 3 and 4

    def test_steps_that_are_others_at_other_batches_say_so(self):
        def each(batch):
            model = nn.Linear(4, 1)
            return lambda: sum(model(torch.randn(4)) for _ in range(batch)).sum().backward()

        def none(batch):
            if batch > 1:
                raise ValueError("one sample alone")
            return each(1)
        for make, why in ((each, "batch 2 and 3 aren't the same step: they differ in "),
                          (none, "no capture at batch 2 and 3: ValueError: one sample alone. At other batches, which")):
            with fake():
                graph = capture_batches(None, make)
            self.assertIsNone(graph.other)
            self.assertIn(why, graph.head["assumed"][-1])
            self.assertNotIn("batches", graph.head)


class Batches(unittest.TestCase):
    """Families of steps, captured at some batches and planned at others."""

    def compare(self, names, bases, workspace):
        """Holds each plan against a capture at its batch."""
        with tempfile.TemporaryDirectory() as folder:
            for make in torch_batches.FAMILIES if LONG else [getattr(torch_batches, name) for name in names]:
                for base, batch, made, real in torch_batches.compare(make, folder, bases, workspace):
                    with self.subTest(step=make.__name__, captured=base, planned=batch):
                        self.assertIsNone(torch_batches.misfit(made, real, workspace))

    def test_a_step_at_another_batch_is_the_capture_there_one_sample_included(self):
        self.compare(("rows", "ragged", "times_first", "language", "pooled_norm"),
                     torch_batches.BATCHES if LONG else (1, 2), False)

    def test_workspace_at_another_batch_is_what_is_measured_there(self):
        self.compare(("siamese", "memory", "bags"), torch_batches.BATCHES if LONG else (2,), True)

    def test_memory_grows_from_batch_to_batch_as_it_does_in_real_steps(self):
        for name in ("rows", "siamese", "memory", "language"):
            make = getattr(torch_batches, name)
            with tempfile.TemporaryDirectory() as folder:
                with fake():
                    graph = capture_batches(None, make, 2)
                path, beside = torch_batches.captured(f"{folder}/step.jsonl", graph, True), {}
                for batch in (2, 1, 8):
                    peak, persistent, _ = torch_batches.planned(path, f"batch={batch}")
                    real = truth.measure(make(batch), with_profiler=False)["heap"] + persistent
                    beside[batch] = real - peak   # what the interpreter and autograd keep is there at each batch
                    self.assertLess(abs(beside[batch]), 0.01 * real + 131072, (name, batch))
                    self.assertLess(abs(beside[batch] - beside[2]), 0.001 * real + 8192, (name, batch))

    def test_a_step_that_fails_with_one_sample_says_why(self):
        with fake():
            graph = capture_batches(None, torch_batches.pooled_norm, 2)
        self.assertIn("more than 1 value per channel", graph.head["one_sample"])
        self.assertIsNone(graph.other)

    def test_workspace_that_is_known_at_one_batch_is_a_guess_at_others(self):
        with fake():
            graph = capture_batches(None, torch_batches.siamese, 2)
        with tempfile.TemporaryDirectory() as folder:
            torch_batches.captured(f"{folder}/step.jsonl", graph, True)
            for op in graph.ops.values():
                op.pop("workspace_at", None)
            write_graph(f"{folder}/step.jsonl", graph)
            _, _, notes = torch_batches.planned(f"{folder}/step.jsonl", "batch=4")
        self.assertIn("guess: the workspace of ", "\n".join(notes))


class Optimizers(unittest.TestCase):
    """Another optimizer by rule needs what the real one does."""

    def peak(self, graph):
        """Program order's peak, and what persists."""
        return graph.peak_bytes(list(graph.ops)), graph.persistent_bytes()

    def check(self, **way):
        """From every optimizer to every other one; tests/bench/optimizers compares more."""
        names = [name for name in ("sgd", "momentum", "adam", "adamw", "rmsprop", "adagrad") if name != "rmsprop"
                 or "fused" not in way]
        with tempfile.TemporaryDirectory() as folder:
            real = {}
            for name in names:
                with fake():
                    real[name] = capture_step(f"{folder}/{name}.jsonl",
                                              TrainingStep(*torch_steps.odd_parameters(), name, **way))
            for i, given in enumerate(names):
                wanted = names[(i + 1) % len(names)]
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/{given}.jsonl", "--as", "native",
                                "--stage", "device",
                                "--set", f"optimizer={wanted}", "-o", f"{folder}/made.jsonl"], check=True)
                self.assertEqual(self.peak(read_graph(f"{folder}/made.jsonl")), self.peak(real[wanted]),
                                 f"{given} to {wanted}")

    def test_lists_of_adafactor_are_one_list_of_others(self):
        with tempfile.TemporaryDirectory() as folder:
            step = TrainingStep(*torch_steps.odd_parameters(), "none")
            step.optimizer = torch.optim.Adafactor([p for p in step.module.parameters() if p.requires_grad],
                                                   foreach=True)
            capture_step(f"{folder}/given.jsonl", step)
            for name in ("sgd", "adam"):
                with fake():
                    real = capture_step(None, TrainingStep(*torch_steps.odd_parameters(), name, foreach=True))
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/given.jsonl", "--as", "native", "--stage",
                                "device",
                                "--set", f"optimizer={name}", "-o", f"{folder}/made.jsonl"], check=True)
                made = read_graph(f"{folder}/made.jsonl")
                self.assertEqual(self.peak(made), self.peak(real), name)
                self.assertEqual(*([(op["op"], [graph.tensors[t]["bytes"] for t in op["in"]])
                                    for op in graph.ops.values() if "_foreach_" in op["op"]]
                                   for graph in (made, real)))

    def test_a_step_without_an_update_gets_one(self):
        with tempfile.TemporaryDirectory() as folder:
            with fake():
                capture_step(f"{folder}/none.jsonl", TrainingStep(*torch_steps.odd_parameters(), "none"))
            for name in ("sgd", "adam"):
                with fake():
                    real = capture_step(None, TrainingStep(*torch_steps.odd_parameters(), name))
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/none.jsonl", "--as", "native", "--stage",
                                "device",
                                "--set", f"optimizer={name}", "-o", f"{folder}/made.jsonl"], check=True)
                self.assertEqual(self.peak(read_graph(f"{folder}/made.jsonl")), self.peak(real), name)

    def test_an_update_made_by_rule_trains_as_the_real_one(self):
        for way in ({"foreach": False}, {"foreach": True}):
            model, data = torch_steps.network(), torch_steps.batch()
            other = copy.deepcopy(model)
            step = with_loss(model, torch.optim.SGD(model.parameters(), **way), *data)
            with tempfile.TemporaryDirectory() as folder:
                capture_step(f"{folder}/sgd.jsonl", step, warm=False)
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/sgd.jsonl", "--as", "native", "--stage",
                                "device",
                                "--set", "optimizer=adamw", "-o", f"{folder}/made.jsonl"], check=True)
                plan, graph = planned(f"{folder}/made.jsonl"), read_graph(f"{folder}/made.jsonl")
            optimizer = torch.optim.AdamW(other.parameters(), **way)
            mine = with_loss(other, optimizer, *data)
            mine()
            run = tidemark_torch.apply(plan, graph).step(*copy.deepcopy((other, optimizer)))
            for _ in range(3):
                self.assertEqual(mine().item(), run(*data).item())

    def test_a_loss_is_cut_where_logits_are_held(self):
        class Words(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed, self.head = nn.Embedding(50, 8), nn.Linear(8, 50, bias=False)

            def forward(self, ids):
                logits = self.head(self.embed(ids.clamp(min=0)))
                loss = F.cross_entropy(logits.view(-1, 50),
                                       F.pad(ids, (0, 1), value=-100)[..., 1:].contiguous().view(-1))
                return {"loss": loss, "logits": logits}

        def trains(model, optimizer, ids):
            def step():
                made = model(ids)      # holds the logits until the step ends, as the output of a Hugging Face model does
                made["loss"].backward()
                optimizer.step()
                optimizer.zero_grad()
                return made["loss"].detach()
            return step
        torch.manual_seed(0)
        model, ids = Words(), torch.randint(0, 50, (2, 16))
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/words.jsonl",
                                 trains(model, torch.optim.SGD(model.parameters(), lr=0.1), ids), warm=False)
            self.assertTrue(any(op["op"] == "tidemark.release" for op in graph.ops.values()))
            subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/words.jsonl", "--as", "native", "--stage",
                            "device",
                            "--set", "loss_chunks=4", "-o", f"{folder}/made.jsonl"], check=True)
            made = read_graph(f"{folder}/made.jsonl")
        self.assertTrue(any(".chunk3" in name for name in made.ops), sorted(made.ops))
        self.assertFalse(any(".chunk" in name for name, op in made.ops.items() if op["op"] == "tidemark.release"))
        other, ids[:, 9:14] = copy.deepcopy(model), -100   # all of a chunk
        mine = tidemark_torch.apply({"order": {"ops": list(made.ops)}}, made).step(
            other, torch.optim.SGD(other.parameters(), lr=0.1))
        torch.testing.assert_close(mine(ids), trains(model, torch.optim.SGD(model.parameters(), lr=0.1), ids)())
        for parameter, expected in zip(other.parameters(), model.parameters()):
            torch.testing.assert_close(parameter, expected)
        self.assertLess(made.peak_bytes(list(made.ops)), graph.peak_bytes(list(graph.ops)))

    def test_one_parameter_after_the_other(self):
        self.check(foreach=False)

    def test_foreach(self):
        self.check(foreach=True)

    def test_fused(self):
        self.check(fused=True)


class Applied(unittest.TestCase):
    """Plans that run in training: losses as without them, and the peak that the plan says."""

    def make(self, name, *settings, graph_as_planned=False, share=None):
        """(the step, after a few runs; its plan, applied). Settings as for plan(); share: of its memory."""
        step = make(name)
        for _ in range(3):
            step()
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/step.jsonl", step, warm=False)
            if share:
                settings += (f"memory={int(share * planned(f'{folder}/step.jsonl')['memory']['peak_bytes'])}",
                             "reserve=0")
            plan = planned(f"{folder}/step.jsonl", *settings)
            if graph_as_planned:
                words = [word for setting in settings for word in ("--set", setting)]
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/step.jsonl", "--as", "native", "--stage",
                                "device",
                                "-o", f"{folder}/planned.jsonl", *words], check=True)
                graph = read_graph(f"{folder}/planned.jsonl")
        return step, tidemark_torch.apply(plan, graph)

    def growth(self, step):
        """The peak of a step's growth in bytes, of what passes through PyTorch's allocator."""
        for _ in range(2):
            step()
        return allocator_peak(step)

    def planned_growth(self, applied):
        """What the plan says of it."""
        return applied.plan["memory"]["peak_bytes"] - applied.plan["memory"]["persistent_bytes"]

    def check_order(self, step, module, optimizer, applied, inputs):
        """Runs an applied order and the user's own step side by side."""
        twin_module, twin_optimizer = copy.deepcopy((module, optimizer))
        run = applied.step(twin_module, twin_optimizer)
        schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(one, 8) for one in (optimizer, twin_optimizer)]
        for _ in range(3):
            self.assertEqual(step().item(), run(*inputs).item())
            for schedule in schedules:
                schedule.step()
        for mine, theirs in zip(twin_module.parameters(), module.parameters()):
            self.assertTrue(torch.equal(mine, theirs))
        return run

    def test_an_order_trains_as_the_step_does(self):
        for kind, options in ((torch.optim.Adam, {}), (torch.optim.AdamW, {"foreach": True}),
                              (torch.optim.Adam, {"fused": True}),
                              (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.NAdam, {}),
                              (torch.optim.RMSprop, {})):
            model, data = torch_steps.network(), torch_steps.batch()
            optimizer = kind(model.parameters(), **options)
            step = with_loss(model, optimizer, *data)
            step()
            with tempfile.TemporaryDirectory() as folder:
                graph = capture_step(f"{folder}/step.jsonl", step, warm=False)
                applied = tidemark_torch.apply(planned(f"{folder}/step.jsonl"), graph)
            self.check_order(step, model, optimizer, applied, data)

    def test_state_made_before_the_first_step_changes_nothing(self):
        kinds = [(row[0], {}) for row in OPTIMIZERS.values() if row and hasattr(row[0], "_init_group")
                 and row[0] is not torch.optim.SGD]
        for kind, options in kinds + [(torch.optim.SGD, {"momentum": 0.9, "nesterov": True}), (torch.optim.SGD, {}),
                                      (torch.optim.Adam, {"amsgrad": True, "fused": True}),
                                      (torch.optim.AdamW, {"foreach": True})]:
            with self.subTest(kind=kind.__name__, options=options):
                model, data = nn.Sequential(nn.Linear(32, 16, bias=False), nn.Linear(16, 10, bias=False)), torch_steps.batch()
                twin = copy.deepcopy(model)
                optimizer, theirs = (kind(one.parameters(), lr=0.01, **options) for one in (twin, model))
                growth = allocator_peak(lambda: tidemark_torch.make_state(optimizer))
                made = [nested(optimizer.state.get(p, {})) for p in twin.parameters()]
                made = [tensor for state in made for _, tensor in state]
                state = sum(tensor.nbytes for tensor in made)
                self.assertLess(growth, state + 4096 if kind is not torch.optim.Adagrad else 4096)
                for _ in range(3):
                    self.assertEqual(with_loss(twin, optimizer, *data)().item(),
                                     with_loss(model, theirs, *data)().item())
                left = [tensor for p in model.parameters() for _, tensor in nested(theirs.state.get(p, {}))]
                self.assertEqual([t.shape for t in made], [t.shape for t in left])
                for mine, other in zip(twin.parameters(), model.parameters()):
                    self.assertTrue(torch.equal(mine, other))

    def test_an_order_makes_the_state_that_is_not_there_yet(self):
        step, applied = self.make("blocks")
        module = copy.deepcopy(step.module)
        twin = copy.deepcopy(module)
        optimizer, theirs = (torch.optim.Adam(one.parameters()) for one in (module, twin))
        plain, run = TrainingStep(twin, step.inputs), applied.step(module, optimizer)
        plain.optimizer = theirs
        for _ in range(3):
            self.assertEqual(run(*step.inputs).item(), plain().item())

    def test_an_order_needs_what_the_plan_says(self):
        step, applied = self.make("blocks")
        run = self.check_order(step, step.module, step.optimizer, applied, step.inputs)
        self.assertLess(abs(self.growth(lambda: run(*step.inputs)) / self.planned_growth(applied) - 1), 0.01)
        self.assertLess(self.planned_growth(applied), self.growth(step))

    def test_recomputation_as_a_graph_needs_what_the_plan_says(self):
        step, applied = self.make("blocks", "recompute=full", graph_as_planned=True)
        run = self.check_order(step, step.module, step.optimizer, applied, step.inputs)
        self.assertLess(abs(self.growth(lambda: run(*step.inputs)) / self.planned_growth(applied) - 1), 0.01)

    def test_gradients_of_the_step_before_go_where_the_step_lets_them(self):
        model, (x, y) = torch_steps.network(), torch_steps.batch()
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss
        for run in (step, step):
            run()
        graph = capture_step(None, step, warm=False)
        applied = tidemark_torch.apply({"order": {"ops": list(graph.ops)}}, graph)
        run = applied.step(*copy.deepcopy((model, optimizer)))
        self.assertEqual([run(x, y).item() for _ in range(3)], [step().item() for _ in range(3)])

    def test_copies_to_the_host_are_made(self):
        step, applied = self.make("blocks", "recompute=auto", "offload=on", "host_bandwidth=1000GB/s",
                                  graph_as_planned=True, share=0.9)
        self.assertIn("tidemark.offload_wait", {op["op"] for op in applied.graph.ops.values()})
        self.check_order(step, step.module, step.optimizer, applied, step.inputs)

    def test_random_numbers_do_not_depend_on_the_order(self):
        step, applied = self.make("dropping")
        program = tidemark_torch.apply({"order": {"ops": list(applied.graph.ops)}}, applied.graph)
        losses = []
        for plan in (program, applied):
            run = plan.step(*copy.deepcopy((step.module, step.optimizer)))
            torch.manual_seed(7)
            losses.append([run(*step.inputs).item() for _ in range(3)])
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(len(set(losses[0])), 3)

    def test_a_policy_recomputes_what_the_plan_does(self):
        for name, how in (("dropping", "full"), ("blocks", "selective")):
            step, applied = self.make(name, f"recompute={how}")
            other = copy.deepcopy(step.module)
            torch.manual_seed(3)
            own, expected = self.growth(step), step.forward().item()
            checkpoints = applied.checkpoint(step.module)
            self.assertEqual(checkpoints.paths, [f"blocks.{i}" for i in range(4)])
            growth = self.growth(step)
            with fake():
                copied = make(name)
                applied.checkpoint(copied.module)
                graph = capture_step(None, copied)
            predicted = graph.peak_bytes(list(graph.ops)) - graph.persistent_bytes()
            self.assertLess(abs(growth / predicted - 1), 0.01)
            self.assertLess(growth, 0.95 * own)
            checkpoints.undo()
            self.same_gradients(other, step.inputs, applied.checkpoint)

    def same_gradients(self, model, inputs, change):
        """What change() does to a model leaves loss and gradients as they are, bit by bit."""
        found = []
        for _ in range(2):
            model.zero_grad()
            torch.manual_seed(11)
            loss = model(*inputs)
            loss.backward()
            found.append([loss.detach()] + [p.grad.clone() for p in model.parameters()])
            change(model)
        self.assertTrue(all(torch.equal(one, other) for one, other in zip(*found)))

    def test_tags_for_compile(self):
        for name, how in (("blocks", "selective"), ("dropping", "full")):
            step, applied = self.make(name, f"recompute={how}")
            model, own = step.module, self.growth(step)
            expected = step.forward().item()
            step.module = torch.compile(model, backend=applied.compile_backend(to="eager"))
            if name == "blocks":
                self.assertEqual(step.forward().item(), expected)
            # PyTorch's partitioner may keep less than the plan does, not more
            self.assertLess(self.growth(step), 1.01 * self.planned_growth(applied))
            self.assertLess(self.planned_growth(applied), 0.95 * own)
            torch._dynamo.reset()

    def ranks(self, what, folder, count=2):
        """What all processes of torch_ranks.py print."""
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        running = [subprocess.Popen([sys.executable, os.path.join(HERE, "torch_ranks.py"), what, str(rank), folder],
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True, env=environment) for rank in range(count)]
        said = [process.communicate(timeout=300)[0] for process in running]
        self.assertTrue(all(process.returncode == 0 for process in running), said)
        return [json.loads(text) for text in said]

    def plain_run(self):
        """Losses of three steps of SGD, and the squares of the first gradients."""
        torch.manual_seed(0)
        model, inputs = torch_steps.blocks()
        model(*inputs).backward()
        squares = sum(p.grad.double().pow(2).sum().item() for p in model.parameters())
        model.zero_grad()
        step = TrainingStep(model, inputs, "none")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            losses.append(step.forward())
            losses[-1].backward()
            optimizer.step()
            optimizer.zero_grad()
        return [loss.item() for loss in losses], squares

    def test_placements_train_as_one_device_does(self):
        losses, _ = self.plain_run()
        with fake():
            step = make("blocks")
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/step.jsonl", step)
            with open(f"{folder}/plan.json", "w", encoding="utf-8") as file:
                json.dump(planned(f"{folder}/step.jsonl", "devices=2", "strategy=megatron", "tp=2"), file)
            code = tidemark_torch.apply(f"{folder}/plan.json", graph).code()
            compile(code, "placements", "exec")
            self.assertIn("'blocks.0.out.weight': [Shard(1)]", code)
            for found, shards in self.ranks("placements", folder):
                self.assertIn("(Shard(dim=1),)", shards)
                for one, other in zip(found, losses):
                    self.assertAlmostEqual(one, other, places=5)

    def test_ranks_run_the_graph_of_a_plan(self):
        strategies = {"blocks": ["strategy=megatron", "tp=2"], "images": ["strategy=data"],
                      "words": ["strategy=megatron", "tp=2"]}
        with tempfile.TemporaryDirectory() as folder:
            losses, growth = {}, {}
            for name, strategy in strategies.items():
                step = make(name)
                step.optimizer = torch.optim.SGD(step.module.parameters(), lr=0.1)
                graph, path = capture_step(None, step), f"{folder}/{name}"
                tidemark_torch.measure_workspace(graph)
                os.mkdir(path)
                tidemark_torch.write_graph(f"{path}/step.jsonl", graph)
                settings = ["devices=2", "order=best", *strategy]   # what runs frees after last uses, not at releases
                plan = planned(f"{path}/step.jsonl", *settings)
                growth[name] = plan["memory"]["peak_bytes"] - plan["memory"]["persistent_bytes"]
                with open(f"{path}/plan.json", "w", encoding="utf-8") as file:
                    json.dump(plan, file)
                subprocess.run([os.environ["TIDEMARK"], "export", f"{path}/step.jsonl", "--as", "native", "--stage",
                                "device", "-o", f"{path}/rank.jsonl",
                                *[word for setting in settings for word in ("--set", setting)]], check=True)
                losses[name] = self.losses(step)
                whole = tidemark_torch.apply(plan, f"{path}/rank.jsonl")
                self.assertRaisesRegex(tidemark_torch.CaptureError, "init_process_group first", whole.step, step.module,
                                       step.optimizer)
            for found in self.ranks("ranked", folder):
                for name, expected in losses.items():
                    for one, other in zip(found[name][0], expected):
                        self.assertAlmostEqual(one, other, places=5, msg=name)
                self.assertGreater(found["words"][1], 0)
            (peaks,) = self.ranks("peak", folder, 1)
            for name, most in peaks.items():
                self.assertLess(abs(most / growth[name] - 1), 0.01, f"{name}: {most}, planned {growth[name]}")

    @staticmethod
    def losses(step):
        """Those of three of the user's own steps."""
        found = []
        for _ in range(3):
            loss = step.forward()
            loss.backward()
            step.optimizer.step()
            step.optimizer.zero_grad()
            found.append(loss.item())
        return found

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "torch.distributed.pipelining needs numpy")
    def test_a_pipeline_runs_by_its_schedule(self):
        losses, squares = self.plain_run()
        with fake():
            step = make("blocks")
        for schedule in ("1f1b", "interleaved"):
            with tempfile.TemporaryDirectory() as folder:
                graph = capture_step(f"{folder}/step.jsonl", step)
                subprocess.run([os.environ["TIDEMARK"], "export", f"{folder}/step.jsonl", "--as", "csv", "--view",
                                "pipeline", "--set", "devices=2",
                                "--set", "strategy=megatron", "--set", "tp=1", "--set", "pp=2", "--set",
                                "microbatches=4",
                                "--set", f"schedule={schedule}", "-o", f"{folder}/pipeline.csv"], check=True)
                tidemark_torch.apply({"order": {}}, graph).write_schedule(f"{folder}/schedule.csv",
                                                                          f"{folder}/pipeline.csv")
                found = self.ranks("pipeline", folder)
            self.assertAlmostEqual(sum(sum(loss) for loss, _ in found), losses[0], places=5)
            self.assertAlmostEqual(sum(square for _, square in found) / squares, 1, places=4)

    def test_what_can_not_be_applied_is_said(self):
        step, applied = self.make("blocks", "recompute=full")
        for run, said in ((lambda: applied.step(step.module, step.optimizer), "--stage device"),
                          (lambda: tidemark_torch.apply(applied.plan).order
                           and tidemark_torch.apply(applied.plan).graph, "graph is needed"),
                          (lambda: tidemark_torch.apply({}), "isn't a plan file"),
                          (lambda: applied.checkpoint(nn.Linear(2, 2)), "no module")):
            self.assertRaisesRegex(tidemark_torch.CaptureError, said, run)
        plain = tidemark_torch.apply({"order": {"ops": list(applied.graph.ops)}}, applied.graph)
        for run, said in ((lambda: plain.checkpoint(step.module), "recomputes nothing"),
                          (lambda: plain.step(step.module), "pass the optimizer"),
                          (lambda: plain.step(step.module, Lion(step.module.parameters())),
                           "run a step of your own first"),
                          (lambda: plain.step(step.module, step.optimizer)(), "takes 1 inputs"),
                          (lambda: plain.step(step.module, step.optimizer)(torch.randn(8, 64, 64)), "in the graph")):
            self.assertRaisesRegex(tidemark_torch.CaptureError, said, run)


class Sharded(unittest.TestCase):
    """The step of one rank of many, on a process group that only pretends."""

    @classmethod
    def setUpClass(cls):
        from torch.testing._internal.distributed.fake_pg import FakeStore
        torch.distributed.init_process_group("fake", rank=0, world_size=4, store=FakeStore())

    @classmethod
    def tearDownClass(cls):
        torch.distributed.destroy_process_group()

    def fully_sharded(self):
        """FSDP2."""
        from torch.distributed.fsdp import fully_shard
        torch.manual_seed(0)
        model, inputs = torch_steps.blocks()
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        return TrainingStep(model, inputs)

    def tensor_parallel(self):
        """Two layers cut by columns and rows."""
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        model, data = torch_steps.network(), torch_steps.batch()
        parallelize_module(model, init_device_mesh("cpu", (4,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
        return with_loss(model, torch.optim.Adam(model.parameters()), *data)

    def check(self, build):
        """The graph of one rank, and that it needs what the real step does."""
        with tempfile.TemporaryDirectory() as folder:
            graph = capture_step(f"{folder}/step.jsonl", build())
            planned(f"{folder}/step.jsonl")
        step = build()
        for _ in range(2):
            step()
        growth = graph.peak_bytes(list(graph.ops), workspace=False) - graph.persistent_bytes()
        self.assertLess(abs(growth / allocator_peak(step) - 1), 0.005)
        return graph, {op["op"] for op in graph.ops.values()}

    def test_fsdp(self):
        try:
            from torch.distributed.fsdp import fully_shard  # noqa: F401
        except ImportError:
            self.skipTest("this PyTorch has no FSDP2")
        graph, ops = self.check(self.fully_sharded)
        self.assertLessEqual({"c10d._allgather_base_.default", "c10d._reduce_scatter_base_.default"}, ops)
        self.assertEqual(graph.tensors["blocks.0.up.weight"]["bytes"], 4 * 256 * 64 // 4)
        self.assertIn("Shard(dim=0)", graph.tensors["blocks.0.up.weight"]["dtensor"])

    def test_tensor_parallel(self):
        graph, ops = self.check(self.tensor_parallel)
        self.assertIn("_c10d_functional.all_reduce.default", ops)
        self.assertEqual(graph.tensors["2.weight"]["shape"], [64, 16])
        self.assertEqual(graph.tensors["2.weight.exp_avg"]["dtensor"], "[Shard(dim=1)]")
        self.assertEqual(sum("mm" in op["op"] for op in graph.ops.values()), 3 + 5)  # none of DTensor's own trials


class AutocastKnob(unittest.TestCase):
    """precision=autocast on a step in fp32 is the step as captured under autocast: what it holds in program order, to 0.1 %."""

    def test_families(self):
        tiny = "hidden_size=64,num_hidden_layers=2,num_attention_heads=4,intermediate_size=128,vocab_size=300"
        words = "--seq 64 --batch 8 --optimizer sgd"
        families = {f"hf:qwen3:{tiny},num_key_value_heads=2,head_dim=16": words,
                    "torchvision:resnet18": "--image 64 --batch 8 --optimizer sgd"}
        if LONG:
            families |= {f"hf:{name}:{tiny}": words for name in ("llama", "bert", "opt", "gpt_neox", "albert", "t5")}
            families |= {f"timm:{name}": "--image 224 --batch 2 --optimizer sgd"
                         for name in ("mixer_s32_224", "vit_tiny_patch16_224")}
            families |= {f"hf:llama:{tiny} --checkpoint": words,
                         "hf:gpt2:n_embd=64,n_layer=2,n_head=4,vocab_size=300": words}
        for name, options in families.items():
            if not importlib.util.find_spec({"hf": "transformers"}.get(name.split(":")[0], name.split(":")[0])):
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                peaks = []
                for autocast, settings in (("", ["precision=autocast"]), ("--autocast bf16", [])):
                    path = os.path.join(folder, f"step{len(peaks)}.jsonl")
                    subprocess.run([sys.executable, "-m", "tidemark_torch",
                                    *f"{name} {options} {autocast} --one-batch -o {path}".split()],
                                   check=True, env=os.environ | {"LD_PRELOAD": ""}, stdout=subprocess.DEVNULL)
                    peaks.append(planned(path, "order=program", *settings)["memory"]["peak_bytes"])
                self.assertLess(abs(peaks[0] - peaks[1]), peaks[1] / 1000, peaks)
                step, plan = os.path.join(folder, "step0.jsonl"), os.path.join(folder, "plan.json")
                for recompute in ("none", "full") if name.startswith("hf:") and "--checkpoint" not in name else (
                    "none",):
                    with open(plan, "w", encoding="utf-8") as file:
                        subprocess.run([os.environ["TIDEMARK"], "plan", step, "--json", "--set", "precision=autocast",
                                        "--set", f"recompute={recompute}"],
                                       check=True, stdout=file)
                    said = subprocess.run([os.environ["TIDEMARK"], "check", step, plan], check=False,
                                          capture_output=True, text=True)
                    self.assertEqual(said.returncode, 0, said.stderr)


class Capture(unittest.TestCase):
    """The context manager and the command line."""

    def test_numbers_that_a_model_computes_as_it_is_made_are_known(self):
        class Rates(nn.Module):
            def __init__(self):
                super().__init__()
                self.rates = [rate.item() for rate in torch.linspace(0, 0.3, 4)]
                self.wide = nn.Linear(int(torch.tensor([3, 5]).sum()), torch.arange(6).view(2, 3).max().item() + 1)

            def forward(self, x):
                return sum(self.wide(x).sum() * rate for rate in self.rates)
        with fake():
            model = Rates()
            graph = capture_step(None, TrainingStep(model, (torch.randn(4, 8),), "sgd"))
        self.assertAlmostEqual(model.rates[1], 0.1, places=5)
        self.assertEqual(tuple(model.wide.weight.shape), (6, 8))
        self.assertNotIn("assumed", graph.head)

    def test_what_a_program_remembers_is_no_fake_tensor(self):
        @functools.lru_cache(maxsize=8)
        def places(count):
            return torch.arange(count, dtype=torch.float32)[:, None] + 1

        layer, x = nn.Linear(4, 4), torch.randn(3, 4)

        def step():
            loss = (layer(x) * places(3)).sum()
            loss.backward()
            return loss
        ops = list(capture_step(None, step).ops)
        self.assertTrue(step().isfinite())
        self.assertEqual(list(capture_step(None, step).ops), ops)

    def test_ops_know_their_line_in_the_program(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 4)

            def forward(self, x):
                x = self.a(x)
                return x.relu().sum()
        model, x = Two(), torch.randn(3, 4)
        first = Two.forward.__code__.co_firstlineno

        def step():
            model(x).backward()
        lines = {op["op"]: op.get("src", "") for op in capture_step(None, step).ops.values()}
        for name, line in (("aten.addmm.default", 1), ("aten.relu.default", 2), ("aten.threshold_backward.default", 2),
                           ("aten.mm.default", 1)):
            self.assertEqual(lines[name].split("/")[-1], f"torch_check.py:{first + line} in forward", name)

    def test_the_users_tensors_stay_as_they_are(self):
        model = torch_steps.network()
        optimizer = torch.optim.Adam(model.parameters())
        x, y = torch_steps.batch()
        before = [p.detach().clone() for p in model.parameters()]
        with tidemark_torch.capture(None) as session:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        self.assertTrue(all(torch.equal(p, q) for p, q in zip(model.parameters(), before)))
        self.assertTrue(all(p.grad is None for p in model.parameters()))
        self.assertFalse(optimizer.state)
        phases = {op["phase"] for op in session.graph.ops.values()}
        self.assertEqual(phases, {"forward", "backward", "update"})
        self.assertIn("0.weight", session.graph.tensors)
        F.cross_entropy(model(x), y).backward()  # and goes on for real
        optimizer.step()

    def test_training_goes_on_after_captures(self):
        class Masked(nn.Linear):
            def forward(self, x):
                if not getattr(self, "ready", False):
                    self.mask, self.ready = torch.ones(self.in_features), True
                    self.register_buffer("seen", torch.zeros(1))
                return super().forward(x * self.mask + self.seen)

        for foreach in (False, True):
            model, scaler = nn.Sequential(Masked(32, 64), nn.ReLU(), nn.Linear(64, 10)), torch.amp.GradScaler("cpu")
            optimizer, (x, y) = torch.optim.Adam(model.parameters(), foreach=foreach), torch_steps.batch()
            x = x[:, :32]

            def step():
                scaler.scale(F.cross_entropy(model(x), y)).backward()
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()

            with tidemark_torch.capture(None):
                step()
            self.assertFalse(hasattr(model[0], "mask") or hasattr(model[0], "seen") or scaler._scale is not None)
            for _ in range(3):   # real steps and captures take turns; the count of steps is known in each
                step()
                capture_step(None, step)
            self.assertEqual({float(state["step"]) for state in optimizer.state.values()}, {3.0})
            self.assertIs(type(model[0].mask), torch.Tensor)

    def test_gradients_of_samples_by_torch_func(self):
        from torch.func import functional_call, grad, vmap
        model, (x, y) = torch_steps.network(), torch_steps.batch()

        def one(parameters, sample, label):
            return F.cross_entropy(functional_call(model, parameters, (sample[None],)), label[None])
        with tidemark_torch.capture(None) as session:
            vmap(grad(one), (None, 0, 0))(dict(model.named_parameters()), x, y)
        self.assertIn("0.weight", session.graph.tensors)

    def test_forward_mode_derivatives_of_real_tensors_are_refused_with_the_way_out(self):
        def step(real):
            model, x = nn.Linear(8, 1), torch.randn(4, 8)
            parameters = {name: value.detach() for name, value in model.named_parameters()}
            with tidemark_torch.capture(None, real=real) as session:
                torch.func.jvp(lambda values: torch.func.functional_call(model, values, x).sum(), (parameters,),
                               (parameters,))
            return len(session.graph.ops)
        self.assertRaisesRegex(tidemark_torch.CaptureError, "tidemark_torch.fake.*real=True", step, False)
        nn.Linear(8, 1)(torch.randn(4, 8)).sum().backward()   # PyTorch trains on
        with fake():
            self.assertGreater(step(False), 5)
        self.assertGreater(step(True), 5)

    def test_sparse_tensors_are_refused_in_a_line(self):
        table = nn.Embedding(100, 16, sparse=True)

        def step():
            with tidemark_torch.capture(None):
                table(torch.zeros(4, dtype=torch.int64)).sum().backward()
        self.assertRaisesRegex(tidemark_torch.CaptureError, "sparse=False", step)

    def test_gradients_live_until_zero_grad(self):
        model, (x, y) = torch_steps.network(), torch_steps.batch()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with tidemark_torch.capture(None) as session:
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
        graph = session.graph
        gradients = sum(p.numel() * 4 for p in model.parameters())
        order = list(graph.ops)
        first = next(i for i, op in enumerate(order) if graph.ops[op]["phase"] == "update")
        self.assertGreaterEqual(graph.live_bytes(order)[first] - graph.persistent_bytes(), gradients)

    def test_gradients_of_the_step_before_live_until_zero_grad(self):
        def step():   # the forward pass needs least, so that these gradients make the peak
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        for real in (True, False):
            model, (x, y) = torch_steps.network(), torch_steps.batch()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            size = sum(p.numel() * p.element_size() for p in model.parameters())
            step()
            before = [p.grad.data_ptr() for p in model.parameters()]
            graph = capture_step(None, step, real=real, warm=False)
            release = next(op for op in graph.ops.values() if op["op"] == "tidemark.release"
                           and len(op["in"]) == len(before))
            self.assertEqual({graph.tensors[name]["kind"] for name in release["in"]}, {"gradient"})
            live = graph.live_bytes(list(graph.ops), workspace=False)
            self.assertGreaterEqual(live[0], graph.persistent_bytes() + size)
            self.assertLess(live[-1], graph.persistent_bytes() + size + 256)
            self.assertEqual(graph.start_bytes(), graph.persistent_bytes() + size)
            with tempfile.TemporaryDirectory() as folder:   # one release of many scales
                write_graph(f"{folder}/step.jsonl", graph)
                with open(f"{folder}/plan.json", "w", encoding="utf-8") as text:
                    json.dump(planned(f"{folder}/step.jsonl", "batch=8"), text)
                subprocess.run([os.environ["TIDEMARK"], "check", f"{folder}/step.jsonl", f"{folder}/plan.json"],
                               check=True, stdout=subprocess.DEVNULL)
            self.assertTrue(real or [p.grad.data_ptr() for p in model.parameters()] == before)

    def test_numbers_in_texts_are_those_of_item(self):
        model, (x, y) = torch_steps.network(), torch_steps.batch()
        with tidemark_torch.capture(None) as session:
            loss = F.cross_entropy(model(x), y)
            self.assertEqual(f"{loss:.2f} {loss.detach()}", "0.00 0.0")
        self.assertIn(".item() gives 0.0", session.graph.head["assumed"][0])
        with fake():
            self.assertIn("FakeTensor", f"{torch.rand(())}")

    def test_distributions_take_their_arguments_for_valid(self):
        model = nn.Linear(8, 8)
        with tidemark_torch.capture(None) as session:
            chosen = torch.distributions.Categorical(logits=model(torch.randn(4, 8)), validate_args=True)
            loss = chosen.log_prob(chosen.sample()).mean()
            loss.backward()
        self.assertIn("takes its arguments for valid", session.graph.head["assumed"][0])

    def test_fake_modules_are_converted(self):
        x, y = torch_steps.batch(4)
        with fake():
            model = torch_steps.network().to(torch.bfloat16)
            image = nn.Conv2d(3, 4, 3).half().to(memory_format=torch.channels_last)
        self.assertEqual((image.weight.dtype, image.weight.stride()), (torch.float16, (27, 1, 9, 3)))
        graph = capture_step(None, with_loss(model, torch.optim.SGD(model.parameters()), x.bfloat16(), y), warm=False)
        self.assertEqual({record["dtype"] for record in graph.tensors.values() if record["kind"] == "parameter"},
                         {"bf16"})

    def test_forward_only(self):
        model = torch_steps.network()
        with tidemark_torch.capture(None) as session, torch.no_grad():
            model(torch.randn(4, 32))
        self.assertEqual({op["phase"] for op in session.graph.ops.values()}, {"forward"})

    def test_a_model_larger_than_the_machine(self):
        with tidemark_torch.fake():
            model = nn.Sequential(*[nn.Linear(1 << 17, 1 << 17, bias=False) for _ in range(8)])
        with tidemark_torch.capture(None) as session:
            model(torch.randn(1, 1 << 17)).sum().backward()
        self.assertGreater(session.graph.peak_bytes(list(session.graph.ops)), 1 << 39)

    def test_hints(self):
        with fake():
            step = make("moe")
        graph = capture_step(None, step, hints={"nonzero": 0.25})
        self.assertIn("nonzero finds 64 of 256", graph.head["assumed"][0])

    def test_compiled_pieces_are_written(self):
        model, (x, y) = torch_steps.network(), torch_steps.batch()
        with tempfile.TemporaryDirectory() as folder:
            compiled = torch.compile(model, backend=tidemark_torch.compile_backend(f"{folder}/step", to="eager"))
            loss = F.cross_entropy(compiled(x), y)
            loss.backward()
            torch.testing.assert_close(loss, F.cross_entropy(model(x), y))
            forward, backward = (read_graph(f"{folder}/step_{phase}_0.jsonl.gz") for phase in ("forward", "backward"))
        self.assertEqual({op["op"] for op in forward.ops.values() if "mm" in op["op"]}, {"aten.addmm.default"})
        self.assertEqual({op["phase"] for op in backward.ops.values()}, {"backward"})
        saved = [t for name, t in forward.tensors.items() if t["kind"] == "output"]
        self.assertGreater(sum(t["bytes"] for t in saved), 2 * 256 * 64 * 4)

    def test_compile_knows_the_backend_by_name(self):
        from tidemark_torch.compiled import tidemark
        model, (x, y) = torch_steps.network(), torch_steps.batch()
        with tempfile.TemporaryDirectory() as folder:
            options = {"stem": f"{folder}/piece", "to": "eager"}
            loss = F.cross_entropy(torch.compile(model, backend=tidemark, options=options)(x), y)
            loss.backward()
            self.assertEqual(sorted(os.listdir(folder)), ["piece_backward_0.jsonl.gz", "piece_forward_0.jsonl.gz"])
        torch._dynamo.reset()
        self.assertRaisesRegex(ValueError, "no option 'steam'", lambda: tidemark(None, [], {"steam": 1}))

    def test_errors_are_one_line(self):
        for words, said in ((["no_such_model"], "--list"), (["nofile.py:f"], "no such file"),
                            (["mlp", "--optimizer", "x"], "no optimizer")):
            run = subprocess.run([sys.executable, "-m", "tidemark_torch", *words], stderr=subprocess.PIPE, text=True,
                                 env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"})
            self.assertEqual(run.returncode, 3)
            self.assertEqual(len(run.stderr.strip().splitlines()), 1, run.stderr)
            self.assertIn(said, run.stderr)
        hidden = ModuleNotFoundError("Could not import module 'GPT2LMHeadModel'")
        hidden.__cause__ = RuntimeError("operator torchvision::nms does not exist")
        self.assertIn("another PyTorch", errors.explain(hidden))

    def test_models_in_files_are_captured(self):
        from tidemark_torch.zoo import build
        from tidemark_torch.models import Size
        with tempfile.TemporaryDirectory() as folder:
            network = torch_steps.network()
            torch.export.save(torch.export.export(network, (torch_steps.batch()[0],)), f"{folder}/net.pt2")
            graph = capture_step(None, TrainingStep(*build(f"{folder}/net.pt2", Size())))
            held = [tensor["bytes"] for tensor in graph.tensors.values() if tensor["kind"] == "parameter"
                    and "alias" not in tensor]
            self.assertEqual(sum(held), sum(4 * p.numel() for p in network.parameters()))
            with open(f"{folder}/config.json", "w", encoding="utf-8") as text:
                json.dump({"model_type": "nothing"}, text)
            if LONG and importlib.util.find_spec("transformers"):
                self.assertRaisesRegex(tidemark_torch.CaptureError, "doesn't read it", build, f"{folder}/config.json",
                                       Size())
                with open(f"{folder}/config.json", "w", encoding="utf-8") as text:
                    json.dump({"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "hidden_size": 64,
                               "intermediate_size": 128,
                               "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                               "vocab_size": 99,
                               "layer_types": ["conv", "full_attention"], "pad_token_id": 0}, text)
                with fake():
                    graph = capture_step(None, TrainingStep(*build(folder, Size(seq=16))))
                self.assertIn([99, 64],
                              [tensor["shape"] for tensor in graph.tensors.values() if tensor["kind"] == "parameter"])

    def test_a_failure_after_an_assumption_names_it(self):
        def step():
            with tidemark_torch.capture(None):
                sizes = torch.randint(1, 3, (2,)).tolist()
                torch.randn(100).split(sizes)
        self.assertRaisesRegex(tidemark_torch.CaptureError, r"item\(\) gives 0.*--hint item=N", step)

    def test_boxes_name_pictures_that_are_there(self):
        tensors = [{"id": name, "shape": shape, "dtype": "f32", "kind": "input"}
                   for name, shape in (("pictures", [2, 3, 8, 8]), ("boxes", [4, 5]))]
        tensors += [{"id": "pooled", "shape": [4, 3, 2, 2], "dtype": "f32", "kind": "activation"}]
        set_values(tensors, [{"op": "torchvision.roi_align.default", "in": ["pictures", "boxes"], "out": ["pooled"],
                              "args": [{"t": "pictures"}, {"t": "boxes"}, 1.0, 2, 2, -1, False]}])
        self.assertEqual([record.get("init") for record in tensors], [["normal", 1.0], ["fill", 0.0], None])

    def test_old_versions_are_refused(self):
        version, torch.__version__ = torch.__version__, "1.13.1"
        try:
            self.assertRaisesRegex(tidemark_torch.CaptureError, "too old", errors.check_version)
            torch.__version__ = "2.4.1+cpu"
            errors.check_version()
            plan = tidemark_torch.apply({"order": {"ops": []}})
            for call in (lambda: plan.checkpoint(None), plan.compile_backend, lambda: plan.distribute(None)):
                self.assertRaisesRegex(tidemark_torch.CaptureError, "2.5 or later can", call)
        finally:
            torch.__version__ = version


if __name__ == "__main__":
    faulthandler.enable()
    unittest.main(verbosity=1)
