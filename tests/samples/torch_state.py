"""What a step replaces, what it leaves for the next one, which way it goes if values are unknown. Run by torch_test."""
import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import tidemark_torch
from tidemark_torch import adapters
from tidemark_torch.memory import nested
from tidemark_torch.recording import capture, capture_step, fake
from tidemark_torch.steps import OPTIMIZERS, TrainingStep
from tidemark_torch.workspace import allocator_peak

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_state_steps
from torch_state_steps import data, mlp, STEPS

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
BATCH = 2


def planned(graph, *words):
    """The plan of a graph, as the program makes it; checked."""
    with tempfile.TemporaryDirectory() as folder:
        tidemark_torch.write_graph(f"{folder}/step.jsonl", graph)
        with open(f"{folder}/plan.json", "w", encoding="utf-8") as text:
            program = os.environ["TIDEMARK"]
            subprocess.run([program, "plan", f"{folder}/step.jsonl", "--json", *words], check=True, stdout=text)
        subprocess.run([program, "check", f"{folder}/step.jsonl", f"{folder}/plan.json"], check=True,
                       stdout=subprocess.DEVNULL)
        with open(f"{folder}/plan.json", encoding="utf-8") as text:
            return json.load(text)


def growth_of(graph):
    """How far the predicted peak is above what is there before the step."""
    return graph.peak_bytes(list(graph.ops), workspace=False) - graph.start_bytes()


class State(unittest.TestCase):
    """What is predicted is what the real step needs."""

    def check(self, name, way):
        """Compares a prediction with what PyTorch allocates in a real step; tests/bench/torch_states compares more."""
        torch.manual_seed(0)
        if way == "fake":
            with fake():
                graph = capture_step(None, STEPS[name](BATCH))
        elif way == "warm":
            graph = capture_step(None, STEPS[name](BATCH))
        step = STEPS[name](BATCH)
        for _ in range(3):
            step()
        if way == "real":
            with capture(None) as session:
                step()
            graph, step = session.graph, STEPS[name](BATCH)
            for _ in range(3):
                step()
        self.assertLess(abs(growth_of(graph) - allocator_peak(step, before=step)), 64, f"{name} {way}")
        plan = planned(graph)
        self.assertEqual(plan["memory"]["program_peak_bytes"], graph.peak_bytes(list(graph.ops)))
        return graph

    def test_state_that_an_optimizer_replaces_ends_where_it_does(self):
        for name in ("adam_replaced", "adam_in_a_tuple", "adam_8bit"):
            for way in ("fake", "real"):
                graph = self.check(name, way)
                replaced = {record["kind"] for record in graph.tensors.values() if record.get("replaced")}
                self.assertEqual(replaced, {"optimizer"}, name)

    def test_averages_and_parameters_that_are_made_anew_end_where_they_do(self):
        for name in ("ema_replaced", "functional", "functional_adam", "replaced_buffers", "carried_hidden"):
            graphs = [self.check(name, way) for way in ("fake", "warm")]
            self.assertTrue(any(record.get("replaced") for record in graphs[0].tensors.values()), name)
            self.assertEqual(*[graph.start_bytes() for graph in graphs], name)   # nothing is counted twice
            if name == "functional":   # the module's own parameters have no memory
                self.assertLess(graphs[0].start_bytes(), 400000)

    def test_what_an_earlier_step_has_left_counts_until_the_step_lets_go_of_it(self):
        for name in ("keeps_its_graph", "keeps_its_outputs", "zeroed_in_the_middle"):
            for way in ("fake", "real"):
                graph = self.check(name, way)
                self.assertGreater(graph.start_bytes(), graph.persistent_bytes() + 4096, name)

    def test_counters_are_those_of_a_step_of_many(self):
        with fake():
            graph = capture_step(None, STEPS["radam_loop"](BATCH))
        step = STEPS["radam_loop"](BATCH)
        for _ in range(6):   # it needs more memory from its sixth step on
            step()
        self.assertLess(abs(growth_of(graph) - allocator_peak(step, before=step)), 64)

    def test_averages_are_no_inputs(self):
        for name in ("ema_replaced", "ema_in_place"):
            with fake():
                graph = capture_step(None, STEPS[name](BATCH))
            kinds = [record["kind"] for name, record in graph.tensors.items()
                     if "alias" not in record and name not in graph.writer]
            self.assertEqual((kinds.count("input"), kinds.count("buffer")), (2, 6), name)

    def test_an_order_frees_replaced_state_early(self):
        with fake():
            graph = capture_step(None, STEPS["functional_adam"](BATCH))
        plan = planned(graph, "--set", "layout=best")
        self.assertLess(plan["memory"]["peak_bytes"], 0.9 * plan["memory"]["program_peak_bytes"])

    def test_replaced_state_comes_back_after_a_capture(self):
        for name in ("adam_replaced", "adam_in_a_tuple", "adam_8bit", "history"):
            model, (x, y) = mlp(), data(BATCH)
            optimizer = torch_state_steps.OWN[name](model.parameters())
            step = torch_state_steps.trains(model, optimizer, lambda: F.mse_loss(model(x), y))
            step()
            before = [tensor.clone() for state in optimizer.state.values() for _, tensor in nested(state)]
            capture_step(None, step)
            after = [tensor for state in optimizer.state.values() for _, tensor in nested(state)]
            self.assertEqual(len(before), len(after))
            self.assertTrue(all(torch.equal(one, other) for one, other in zip(before, after)), name)
            step()


class Growth(unittest.TestCase):
    """Steps that leave more than they find."""

    def test_what_grows_is_said_with_the_line_and_what_holds_it(self):
        for name, by, said in (("leaks", 8192, "held by log"), ("leaks_graphs", 57344, "held by the graph of kept")):
            graph = capture_step(None, getattr(torch_state_steps, name)(BATCH))
            self.assertRegex(graph.head["grows"], rf"{by} bytes.* made at torch_state_steps.py:\d+, {said}")
            self.assertIn(graph.head["grows"], graph.head["read"]["assumed"])

    def test_steps_are_run_until_they_are_steady(self):
        graph = capture_step(None, STEPS["keeps_three"](BATCH))
        self.assertNotIn("grows", graph.head)
        kept = 3 * 8 * 16 * BATCH * 64 * 4
        self.assertEqual(graph.start_bytes() - graph.persistent_bytes(), kept // 3)   # two of the three stay
        names = [record["id"] for record in graph.tensors.values() if record["id"].startswith("left")]
        self.assertEqual(len(names), 3)

    def test_a_log_of_numbers_is_no_growth(self):
        model, (x, y), log = mlp(), data(BATCH), []

        def step():
            loss = F.mse_loss(model(x).flatten()[None], y.flatten()[None]).sum()
            loss.backward()
            model.zero_grad()
            log.append(loss.item())
        self.assertNotIn("grows", capture_step(None, step).head)


class Ways(unittest.TestCase):
    """Branches that depend on values."""

    def step(self, extra):
        """A step that looks at its loss and scores; extra may leave it out."""
        model, (x, y) = mlp(), data(BATCH)
        optimizer = torch.optim.Adam(model.parameters())

        def step():
            out = model(x)
            loss = F.mse_loss(out, y)
            if extra(out, loss) != "skip":
                loss.backward()
                optimizer.step()
            optimizer.zero_grad()
        return step

    def test_an_optimizer_that_decides_by_values_is_refused(self):
        step = torch_state_steps.lbfgs(BATCH)
        said = r"lbfgs.py:\d+ decides .* bytes one way.*real=True"
        self.assertRaisesRegex(tidemark_torch.CaptureError, said, capture_step, None, step)

        def at_once():
            with capture(None):
                step()
        self.assertRaisesRegex(tidemark_torch.CaptureError, r"lbfgs.py:\d+ decides .*real=True", at_once)
        for _ in range(2):
            step()
        graph = capture_step(None, step, real=True)
        self.assertNotIn("assumed", graph.head)

    def test_checks_pass(self):
        def checked(out, loss):
            assert (out.abs() < 1e9).all(), "large"
            assert not out.isnan().any() and torch.isfinite(loss)
            if (out > 1e9).any():
                raise ValueError("large")
            if not (out < 1e9).all():
                raise ValueError(f"large: {out.shape}")
            if torch.isnan(loss) or torch.isinf(out).any() or not torch.isfinite(out).all():
                return "skip"
            return None
        with capture(None) as session:
            self.step(checked)()
        for graph in (session.graph, capture_step(None, self.step(checked))):
            self.assertNotIn("assumed", graph.head)
            self.assertIn("update", {op["phase"] for op in graph.ops.values()})

    def test_what_changes_no_memory_is_followed(self):
        best = [1e9]

        def logged(_out, loss):
            if loss.item() < best[0]:
                best[0] = loss.item()
        self.assertIn(".item() gives 0.0", capture_step(None, self.step(logged)).head["assumed"][0])

    def test_what_decides_the_peak_is_refused_with_both_ways(self):
        def skipped(_out, loss):
            return "skip" if loss > 10 else None

        def endless(_out, loss):
            while loss > 1:
                loss = loss * 0.5
        for extra, said in ((skipped, r"torch_state.py:\d+ decides .* bytes one way, \d+ the other"),
                            (endless, "doesn't end the other")):
            self.assertRaisesRegex(tidemark_torch.CaptureError, said, capture_step, None, self.step(extra))
            capture_step(None, self.step(extra), hints={"item": 0})


class Kinds(unittest.TestCase):
    """What tensors are called that aren't a module's, and ops that others' captures lacked."""

    def kinds(self, step):
        """The kinds of what is there from the start, of a step's graph."""
        graph = capture_step(None, step)
        return sorted(record["kind"] for name, record in graph.tensors.items()
                      if "alias" not in record and name not in graph.writer)

    def test_inputs_that_require_gradients_are_inputs(self):
        model, x = nn.Linear(8, 8), torch.randn(4, 8, requires_grad=True)

        def step():
            model(x).pow(2).sum().backward()
            model.zero_grad()
            x.grad = None
        self.assertEqual(self.kinds(step), ["input", "parameter", "parameter"])
        self.assertEqual(self.kinds(STEPS["manual_sgd"](BATCH)), ["input", "input", "parameter", "parameter"])

    def test_gradients_of_inputs_are_left_as_they_were(self):
        def step():
            model(x).pow(2).sum().backward()   # adds to what is there
            model.zero_grad()
        model, x = nn.Linear(8, 8), torch.randn(4, 8, requires_grad=True)
        graph = capture_step(None, step)
        self.assertIsNone(x.grad)
        self.assertIn("input_1.grad", graph.tensors)
        step()
        before = x.grad.clone()
        mine = tidemark_torch.apply({"order": {"ops": list(graph.ops)}}, capture_step(None, step)).step(model)
        torch.testing.assert_close(x.grad, before)
        mine(x)
        torch.testing.assert_close(x.grad, 2 * before)

    def test_bins_are_as_many_as_asked_for(self):
        model, x = nn.Linear(8, 8), torch.randn(4, 8)

        def step():
            y = model(x)
            (y.sum(0) * torch.bincount(y.argmax(1), minlength=8)).sum().backward()
            model.zero_grad()
        graph = capture_step(None, step)
        self.assertEqual(graph.tensors["bincount_0"]["shape"], [8])

    def test_checks_of_distributions_and_bins_are_applied(self):
        model, labels, x = nn.Linear(8, 4), torch.tensor([0, 3, 3, 1]), torch.randn(4, 8)

        def step():
            bins = torch.bincount(labels, minlength=4)
            chosen = torch.distributions.Categorical(logits=model(x))
            loss = -(chosen.log_prob(labels) * bins.float()).mean()
            loss.backward()
            model.zero_grad()
            return loss.detach()
        graph = capture_step(None, step)
        mine = tidemark_torch.apply({"order": {"ops": list(graph.ops)}}, graph).step(model)
        torch.testing.assert_close(mine(labels, x), step())
        self.assertRaisesRegex(tidemark_torch.CaptureError, "7 bins here, 4 in the graph", mine, labels * 2, x)


class Adapters(unittest.TestCase):
    """Frozen weights of few bits, and LoRA on them."""

    def test_packed_layers_compute_what_their_numbers_say(self):
        torch.manual_seed(0)
        linear, x = nn.Linear(96, 40), torch.randn(6, 96)
        for kind, error in ((adapters.Nf4, 0.15), (adapters.Int8, 0.01)):
            layer, seen = kind(linear), x.clone().requires_grad_()
            weight = layer.unpacked(torch.float32)
            self.assertLess((weight - linear.weight).norm() / linear.weight.norm(), error)
            result = layer(seen)
            self.assertLess((result - F.linear(x, weight, linear.bias)).norm() / result.norm(), error / 10 + 0.01)
            (grad,) = torch.autograd.grad(result.sum(), seen)
            torch.testing.assert_close(grad, torch.ones(6, 40) @ weight)
        self.assertEqual(adapters.Nf4(linear).weight.nbytes, 96 * 40 // 2)

    @unittest.skipUnless(importlib.util.find_spec("peft") and importlib.util.find_spec("transformers"),
                         "needs peft and transformers")
    def test_adapters_are_those_of_peft(self):
        import peft
        from tidemark_torch.models import Size
        from tidemark_torch.zoo import build
        for name in (
            "hf:llama:num_hidden_layers=1,hidden_size=64,intermediate_size=96,num_attention_heads=4,vocab_size=99",
                     "hf:gpt2:n_layer=1,n_embd=48,n_head=4,vocab_size=99,bos_token_id=0,eos_token_id=0"):
            with fake():
                ours = adapters.with_adapters(build(name, Size(1, 8))[0], 4)
                theirs = peft.get_peft_model(build(name, Size(1, 8))[0],
                                             peft.LoraConfig(r=4, target_modules="all-linear"))
                packed = adapters.with_adapters(build(name, Size(1, 8))[0], 4, "attention", "nf4")
            trained = [[key for key, value in model.named_parameters() if value.requires_grad]
                       for model in (ours, theirs, packed)]
            self.assertEqual(trained[0], trained[1])
            self.assertEqual(trained[2], [key for key in trained[0] if "attn" in key])


class Autocast(unittest.TestCase):
    """A GPU's autocast on a machine without one."""

    @unittest.skipIf(torch.cuda.is_available(), "a GPU does it itself")
    def test_what_a_checkpoint_runs_again_is_cast_as_before(self):
        for reentrant in (False, True):
            layer, x = nn.Linear(4, 4), torch.randn(2, 4, requires_grad=True)
            with capture(None) as session:
                with torch.autocast("cuda", torch.bfloat16):
                    made = torch.utils.checkpoint.checkpoint(
                        lambda x: layer(x).pow(3).relu(), x, use_reentrant=reentrant)    # CPUs' lists don't have pow
                made.sum().backward()
            powers = [session.graph.tensors[op["out"][0]]["dtype"] for op in session.graph.ops.values()
                      if op["op"].startswith("aten.pow.")]
            self.assertEqual(powers[:2], ["f32", "f32"])

    @unittest.skipIf(torch.cuda.is_available(), "a GPU does it itself")
    def test_a_gpus_lists_are_followed(self):
        def dtypes(device):
            x, seen = torch.randn(4, 8), {}

            def step():
                with torch.autocast(device, torch.bfloat16):
                    y = linear(x)
                    seen.update(linear=y, softmax=y.softmax(1), norm=F.layer_norm(y, (8,)), power=y ** 2, sum=y.sum(0),
                                gelu=F.gelu(y),
                                outside=torch.sin(y))
                    loss = sum(value.float().mean() for value in seen.values())
                loss.backward()
            linear = nn.Linear(8, 8)
            capture_step(None, step)
            self.assertIsNone(linear.weight.grad)
            return {name: value.dtype == torch.float32 for name, value in seen.items()}
        wide = {"softmax", "norm", "power", "sum"}
        self.assertEqual(dtypes("cuda"), {name: name in wide for name in dtypes("cpu")})
        self.assertFalse(any(dtypes("cpu").values()))
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(torch.randn(2, 2).bfloat16().softmax(1).dtype, torch.bfloat16)


    @unittest.skipIf(torch.cuda.is_available(), "a GPU does it itself")
    def test_regions_that_were_made_before_the_step(self):
        def captured(region):
            linear, x = nn.Linear(8, 8), torch.randn(4, 8)

            def step():
                with region:
                    y = linear(x)
                y.float().mean().backward()
                seen.append(y.dtype)
            return capture_step(None, step)
        seen = []
        with fake():
            made_under_fake = torch.autocast("cuda", torch.bfloat16)
        self.assertNotIn("assumed", captured(made_under_fake).head)
        self.assertNotIn("assumed", captured(torch.autocast("cpu", torch.bfloat16)).head)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")     # PyTorch's own, that there is no GPU
            graph = captured(torch.autocast("cuda", torch.bfloat16))
        self.assertIn("made before the capture is off", " ".join(graph.head["assumed"]))
        self.assertEqual((seen[0], seen[-1], torch.bfloat16 in seen[len(seen) // 3:2 * len(seen) // 3]),
                         (torch.bfloat16, torch.float32, True))


class Names(unittest.TestCase):
    """What the command line calls its graphs."""

    def test_a_long_name_is_cut_to_what_a_file_may_be_called(self):
        from tidemark_torch import command
        from tidemark_torch.models import Size
        parser = argparse.ArgumentParser()
        command.add_step_options(parser)
        options = parser.parse_args(["hf:llama:" + "hidden_size=256," * 30])
        name = command.graph_name(options, Size(2, 64))
        self.assertRegex(name, "^llama:hidden_size=256,.*_b2_s64_adam$")
        self.assertLess(len(name), 128)


class Optimizers(unittest.TestCase):
    """State of those that the command line makes."""

    def test_muon_keeps_one_number_of_matrices_and_lion_of_all(self):
        for name, numbers in (("lion", 40 * 16 + 16 * 16 + 16 + 40 * 16 + 40),
                              ("muon", 16 * 16 + 2 * (40 * 16 + 16 + 40 * 16 + 40))):
            if OPTIMIZERS[name][0] is None:
                continue
            with fake():
                model = nn.Sequential(nn.Embedding(40, 16), nn.Linear(16, 16), nn.Linear(16, 40))
                graph = capture_step(None, TrainingStep(model, (torch.zeros(8, dtype=torch.int64),), name))
            state = [record for record in graph.tensors.values() if record["kind"] == "optimizer" and record["shape"]
                     and "alias" not in record]
            self.assertEqual(sum(record["bytes"] for record in state), 4 * numbers, name)

    def test_a_number_of_a_fake_weight_is_refused_with_the_way_out(self):
        with self.assertRaisesRegex(Exception, "make it outside of tidemark_torch.fake"), fake():
            nn.Linear(8, 8).weight.std().item()


class Returned(dict):
    """What a model returns, with something that isn't a tensor and an object that holds one."""

    def __init__(self, loss, kept):
        super().__init__(loss=loss, name="x", pair=(kept, 3))
        self["cache"] = types.SimpleNamespace(keys=[kept])


class Wide(nn.Module):
    """Keeps much in eager mode, whose half torch.compile's partitioner computes again; its embedding is tied."""

    def __init__(self, branches=False, checks=False, returns=dict):
        super().__init__()
        self.returns, self.checks = returns, checks
        self.table, self.up, self.down = nn.Embedding(64, 32), nn.Linear(32, 256), nn.Linear(256, 32)
        self.head, self.branches = nn.Linear(32, 64, bias=False), branches
        self.head.weight = self.table.weight

    def forward(self, indices):
        x = self.table(indices)
        if self.checks and not torch.compiler.is_compiling() and (indices < 0).any():
            raise IndexError(indices)
        if self.branches and x.sum() > 0:
            x = x * 2
        wide = F.gelu(torch.sigmoid(self.up(x)) * 3 + 1)
        logits = self.head(self.down(wide))
        return self.returns(loss=F.cross_entropy(logits.flatten(0, 1), indices.flatten()), kept=wide)


class Compiled(unittest.TestCase):
    """Steps with compiled modules and functions in them."""

    def step(self, way, **options):
        """A step of a module that is compiled in some way."""
        torch.manual_seed(0)
        torch._dynamo.reset()
        model = Wide(**options)
        compiled, indices = way(model), torch.randint(0, 64, (8, 16))
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        return torch_state_steps.trains(model, optimizer, lambda: compiled(indices)["loss"])

    def test_compiled_modules_need_what_they_need_when_run(self):
        for way in (lambda model: torch.compile(model, backend="aot_eager"),
                    lambda model: model.compile(backend="aot_eager") or model,
                    lambda model: setattr(model, "up", torch.compile(model.up, backend="aot_eager")) or model):
            for make in (lambda: contextlib.nullcontext(), fake):
                with make():
                    step = self.step(way)
                graph = capture_step(None, step)
                real = self.step(way)
                for _ in range(2):
                    real()
                self.assertLess(abs(growth_of(graph) / allocator_peak(real) - 1), 0.001)
                self.assertIn("torch.compile's partitioner", graph.head["compiled"])
                self.assertIn(graph.head["compiled"], graph.head["read"]["assumed"])
                self.assertTrue(any("up.weight" in name for name in graph.tensors))
        eager = capture_step(None, self.step(lambda model: model))
        whole = capture_step(None, self.step(lambda model: torch.compile(model)))
        self.assertNotIn("compiled", eager.head)
        self.assertLess(growth_of(whole), growth_of(eager))
        odd = capture_step(None, self.step(torch.compile, returns=Returned))   # where Dynamo would break the graph
        self.assertEqual(list(odd.ops), list(whole.ops))

    def test_what_is_not_traced_runs_as_written_and_that_is_said(self):
        eager = list(capture_step(None, self.step(lambda model: model)).ops)
        same = capture_step(None, self.step(lambda model: torch.compile(model, backend="eager")))
        self.assertNotIn("compiled", same.head)
        self.assertEqual(list(same.ops), eager)
        branching = capture_step(None, self.step(torch.compile, branches=True))
        self.assertIn("can't be traced", branching.head["compiled"])
        checked = capture_step(None, self.step(torch.compile, checks=True))     # as models of transformers do
        self.assertIn("torch.compile's partitioner", checked.head["compiled"])
        self.assertEqual(list(checked.ops), list(capture_step(None, self.step(torch.compile)).ops))
        gelu = torch.compile(lambda x: F.gelu(x).sum())
        model, x = nn.Linear(8, 8), torch.randn(4, 8)

        def step():
            gelu(model(x)).backward()
            model.zero_grad()
        self.assertIn("compiled function", capture_step(None, step).head["compiled"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
