"""One call: what a step needs, what an out-of-memory error is told, trainers that plan first. Run by torch_test."""
import importlib.util
import io
import os
import sys
import tempfile
import unittest
import warnings

import torch
from torch import nn

import tidemark_torch
from tidemark_torch import estimates, oom
from tidemark_torch.program import ask_program

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_state_steps

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
# As PyTorch 2.6 and PyTorch 2.1 write them.
NEW = ("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.05 GiB is free. "
       "Including non-PyTorch memory, this process has 22.58 GiB memory in use. Of the allocated memory 19.80 GiB is allocated "
       "by PyTorch, and 2.33 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try ...")
OLD = ("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacty of 15.77 GiB of which 13.06 MiB is free. "
       "Of the allocated memory 15.10 GiB is allocated by PyTorch, and 12.11 MiB is reserved by PyTorch but unallocated.")


def make_step(batch=64):
    """A step whose activations are most of its memory."""
    layers = [layer for _ in range(4) for layer in (nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 64))]
    model = nn.Sequential(*layers)
    x = torch.randn(batch, 64)
    return torch_state_steps.trains(model, torch.optim.Adam(model.parameters()), lambda: model(x).square().mean())


class Estimates(unittest.TestCase):
    """estimate() says what the program says of the captured step."""

    def test_figures_are_those_of_the_plan(self):
        with tidemark_torch.fake():
            step = make_step()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/step.jsonl.gz"
            graph = tidemark_torch.capture_step(path, step)
            memory = ask_program("plan", path, "--set", "order=program", "--set", "device=rtx4090-24gb")["memory"]
            from_file = tidemark_torch.estimate(path, limit="rtx4090-24gb")
        found = tidemark_torch.estimate(step, limit="rtx4090-24gb")
        self.assertEqual(found, from_file)
        self.assertEqual((found.needed_bytes, found.peak_bytes),
                         (memory["needed_bytes"], graph.peak_bytes(list(graph.ops))))
        self.assertTrue(found.fits)
        self.assertEqual(found.changes, [])
        self.assertIn("FITS", str(found))
        self.assertIsNone(tidemark_torch.estimate(step).fits)

    def test_what_needn_t_be_there_is_said(self):
        def step_that(validates=False, retains=False):
            layers = [layer for _ in range(4) for layer in (nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 64))]
            model, x = nn.Sequential(*layers), torch.randn(4096, 64)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

            def step():
                loss = nn.functional.mse_loss(model(x), x)
                loss.backward(retain_graph=retains)
                optimizer.step()
                optimizer.zero_grad()
                return [loss] + [nn.functional.mse_loss(model(x), x) for _ in range(2 if validates else 0)]
            return step
        with tidemark_torch.fake():
            plain, validates, retains = (tidemark_torch.estimate(step_that(**kind))
                                         for kind in ({}, {"validates": True}, {"retains": True}))
        kept = 2 * 4 * (4 * 2 * 4096 * 512 + 5 * 4096 * 64)    # what GELUs and layers read again, the loss its prediction; mse_loss makes another
        self.assertEqual(plain.advice, [])
        self.assertEqual(len(validates.advice), 1)
        self.assertRegex(validates.advice[0],
                         rf"^no backward pass follows 2 losses \(.*torch_estimate.py:\d+ in <listcomp>\), and their graphs keep {kept / 2**20:.1f} MiB")
        self.assertIn(validates.advice[0], str(validates))
        self.assertEqual(retains.advice,
                         ["the graph is kept after its backward pass: 60.0 MiB stay that retain_graph=False lets go"])   # but what the op reads

    def test_an_optimizer_s_temporaries_are_said(self):
        def advice(**options):
            layers = [nn.Linear(512, 512) for _ in range(8)]
            model, x = nn.Sequential(*layers), torch.randn(1, 512)
            with tidemark_torch.fake():
                return tidemark_torch.estimate(torch_state_steps.trains(
                    model, torch.optim.Adam(model.parameters(), **options), lambda: model(x).mean())).advice
        self.assertEqual(advice(foreach=True),
                         ["the optimizer's temporaries take 8.0 MiB at the peak: fused=True makes none, foreach=False at most 3.0 MiB"])
        self.assertEqual(advice(foreach=False),
                         ["the optimizer's temporaries take 2.0 MiB at the peak: fused=True makes none"])
        self.assertEqual(advice(fused=True), [])

    def test_what_is_at_the_peak_adds_up(self):
        graph = tidemark_torch.capture_step(None, make_step())
        op, held = estimates.holders_of(graph)
        self.assertEqual(sum(holder.bytes for holder in held), graph.peak_bytes(list(graph.ops)))
        self.assertIn(op, graph.ops)
        self.assertIn(("gelu *", "activation", 4), [(holder.name, holder.kind, holder.count) for holder in held])

    def test_changes_make_it_fit(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/step.jsonl.gz"
            tidemark_torch.capture_step(path, make_step(4096))
            whole = tidemark_torch.estimate(path)
            limit = f"{whole.needed_bytes * 3 // 4 // 2**20}MiB"
            found = tidemark_torch.estimate(path, limit=limit, settings=["reserve=0"])
            self.assertFalse(found.fits)
            self.assertTrue(any(change.same_results for change in found.changes))
            self.assertTrue(all(change.needed_bytes <= found.limit_bytes for change in found.changes))
            self.assertIn("to make it fit", str(found))
            self.assertTrue(any("no device was named" in text for text in found.unknown))
            kept = [change.text.endswith("changes the run") for change in found.changes]
            self.assertEqual(kept, sorted(kept), "what changes the run is last")
            fewest = tidemark_torch.estimate(path, limit=limit, settings=["reserve=0"], changes=False)
            self.assertEqual(fewest.changes, [])

    def test_what_the_program_refuses_is_one_error(self):
        step = make_step()
        with self.assertRaisesRegex(tidemark_torch.CaptureError, "4060"):
            tidemark_torch.estimate(step, limit="rtx4060-999gb")
        before = os.environ.pop("TIDEMARK")
        os.environ["TIDEMARK"] = "/nowhere/tidemark"
        try:
            with self.assertRaisesRegex(tidemark_torch.CaptureError, "/nowhere/tidemark"):
                tidemark_torch.estimate(step)
        finally:
            os.environ["TIDEMARK"] = before


class OutOfMemory(unittest.TestCase):
    """The card of torch.OutOfMemoryError."""

    def test_figures_of_the_error_are_read(self):
        found = oom.read_oom(NEW)
        self.assertEqual(found["asked"], 2 * 2**30)
        self.assertEqual({name: round(size / 2**30, 2) for name, size in found.items()},
                         {"asked": 2.0, "total": 23.64, "free": 1.05, "in_use": 22.58, "allocated": 19.8,
                          "reserved": 2.33})
        self.assertEqual(oom.read_oom(OLD)["asked"], 20 * 2**20)
        self.assertEqual(oom.read_oom("no figures"), {})

    def test_holes_are_told_from_too_little(self):
        self.assertIn("expandable_segments:True", oom.card(torch.OutOfMemoryError(NEW)))
        self.assertNotIn("expandable", oom.card(torch.OutOfMemoryError(OLD)))
        self.assertEqual(oom.card(torch.OutOfMemoryError("")), "out of memory")

    def test_the_error_goes_on_and_the_step_is_planned(self):
        out = io.StringIO()
        with self.assertRaises(torch.OutOfMemoryError):
            with tidemark_torch.explain_oom(make_step(), limit="1GiB", out=out):
                raise torch.OutOfMemoryError(NEW)
        self.assertIn("2.00 GiB were asked for", out.getvalue())
        self.assertIn("at the peak", out.getvalue())
        out = io.StringIO()
        with tidemark_torch.explain_oom(make_step(), out=out):
            pass
        self.assertEqual(out.getvalue(), "")


class Parts(unittest.TestCase):
    """Parts of a step have peaks of their own, by name or by the optimizers' steps."""

    def parts_of(self, step):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/step.jsonl"
            graph = tidemark_torch.capture_step(path, step)
            found = tidemark_torch.estimate(path)
        live = dict(zip(graph.ops, graph.live_bytes(list(graph.ops))))
        return graph, live, found

    def test_named_blocks(self):
        with tidemark_torch.fake():
            model = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 64))
            optimizer, x, more = torch.optim.Adam(model.parameters()), torch.randn(8, 64), torch.randn(2048, 64)

            def step():
                model(x).square().mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                with tidemark_torch.part("validation"), torch.no_grad():
                    model(more).square().mean()
            graph, live, found = self.parts_of(step)
        inside = {name for name, op in graph.ops.items() if op.get("part") == "validation"}
        self.assertTrue(inside and inside != set(graph.ops))
        self.assertEqual(list(found.parts), ["the rest", "validation"])
        self.assertEqual(found.parts["validation"], max(live[name] for name in inside))
        self.assertEqual(max(found.parts.values()), max(live.values()))
        self.assertIn("validation: at most", str(found))

    def test_steps_of_optimizers(self):
        with tidemark_torch.fake():
            small, large = nn.Linear(16, 16), nn.Linear(512, 512)
            pairs = [(net, torch.optim.Adam(net.parameters()), torch.randn(4, net.in_features))
                     for net in (small, large)]

            def step():
                for net, optimizer, x in pairs:
                    net(x).square().mean().backward()
                    optimizer.step()
                    optimizer.zero_grad()
            _, live, found = self.parts_of(step)
            one = self.parts_of(lambda: [pairs[0][0](pairs[0][2]).square().mean().backward(), pairs[0][1].step(),
                                         pairs[0][1].zero_grad()])[2]
        self.assertEqual(list(found.parts), ["step 1", "step 2"])
        self.assertEqual(max(found.parts.values()), max(live.values()))
        self.assertLess(found.parts["step 1"], found.parts["step 2"])
        self.assertEqual(one.parts, {})


class Trainers(unittest.TestCase):
    """Callbacks plan before training, and change nothing."""

    @unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("accelerate"),
                         "no transformers")
    def test_the_trainer_of_transformers(self):
        from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
        ids = torch.arange(32) % 100

        def train(*callbacks):
            torch.manual_seed(0)
            model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=32, vocab_size=100, n_positions=32,
                                               resid_pdrop=0,
                                               embd_pdrop=0, attn_pdrop=0, bos_token_id=1, eos_token_id=1))
            with tempfile.TemporaryDirectory() as folder:
                options = TrainingArguments(output_dir=folder, per_device_train_batch_size=2, max_steps=2, report_to=[],
                                            use_cpu=True, save_strategy="no", disable_tqdm=True,
                                            gradient_accumulation_steps=2)
                Trainer(model, options, train_dataset=[{"input_ids": ids, "labels": ids}] * 8,
                        callbacks=list(callbacks)).train()
            return model.transformer.wte.weight.detach()
        out = io.StringIO()
        planned = train(tidemark_torch.trainer_callback(limit="1GiB", out=out))
        self.assertIn("FITS", out.getvalue())
        torch.testing.assert_close(planned, train(), rtol=0, atol=0)
        with self.assertRaisesRegex(tidemark_torch.CaptureError, "DOES NOT FIT"):
            train(tidemark_torch.trainer_callback(limit="200KiB", stop=True, out=io.StringIO()))


if __name__ == "__main__":
    unittest.main(verbosity=1)
