"""Graph files from anywhere: no word in one of them runs code, imports a module or opens a file. Run by torch_test."""
import copy
import os
import sys
import tempfile
import unittest

import torch

import tidemark_torch
from tidemark_torch import lookup, replay
from tidemark_torch.graph import read_graph, StepGraph, write_graph

OPERATORS = """load_library.__self__.import_module load_library.__self__.load_library import_module.__call__.__func__
    aten.__class__.__init__ aten.add.__class__ aten.add.__init__ aten.add.op aten.add.overloads aten.__dict__.clear
    aten._dir.append aten.__getattr__.default __class__.__base__.__subclasses__ __init__.__globals__.get
    classes.__torch__.x higher_order.cond.default higher_order.wrap.default prim.Print.default aten.save.default
    aten.from_file.default aten.from_file.out debugprims.load_tensor.default aten.format.default
    profiler._record_function_enter_new.default aten.add.Tensor.__call__ aten..default . aten aten.add aten::add.Tensor
    os.system.default torchvision.os.system tidemark_torch.os.system aten.add.Ｔｅｎｓｏｒ
    aten.no_such_operator.default""".split() + ["", "aten.add.Tensor\n", "aten.add. Tensor"]
WORDS = """load hub ops os sys __builtins__ __dict__ serialization classes float32.__class__ utils.cpp_extension.load _C
    jit Tensor device Generator set_default_dtype __import__""".split() + ["float32\n", "", None, 3, ["float32"]]


def tensor(name, kind):
    """A record of four numbers."""
    return {"id": name, "bytes": 16, "dtype": "f32", "shape": [4], "kind": kind, "init": ["fill", 1.0]}


def op(name, words, args, reads, writes, kwargs=None):
    """A record of an op."""
    return {"id": name, "op": words, "phase": "forward", "mod": "", "in": [reads], "out": [writes], "flops": 0,
            "args": list(args), "kwargs": kwargs or {}, "result": writes}


def graph(words="aten.relu.default", args=({"t": "x"},), kwargs=None, name="x"):
    """A step of one op, as a file brings it."""
    return StepGraph({"v": 1, "name": "step"}, [tensor(name, "input"), tensor("y", "output")],
                     [op("first", words, args, name, "y", kwargs)])


def applied(made):
    """The step in its own order."""
    return tidemark_torch.apply({"order": {"ops": list(made.ops)}}, made).step([])


class Names(unittest.TestCase):
    """What a file calls an op, an argument, a constant or a tensor."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.canary = os.path.join(self.folder.name, "canary")
        with open(os.path.join(self.folder.name, "canary_module.py"), "w", encoding="utf-8") as text:
            text.write(f"open({self.canary!r}, 'w').close()\n")
        sys.path.insert(0, self.folder.name)
        self.addCleanup(sys.path.remove, self.folder.name)

    def runs(self, made, name="x", workspace=True):
        """Brings a graph into every place that runs ops of a file; returns the errors. Measuring workspace has none:
        it counts the calls that fail."""
        errors = []
        for run in (lambda: applied(made)(**{name: torch.ones(4)}),
                    lambda: replay.Replay(made).call("first", {name: torch.ones(4)}),
                    lambda: workspace and tidemark_torch.measure_workspace(copy.deepcopy(made))):
            try:
                run()
            except (ValueError, RuntimeError, tidemark_torch.CaptureError) as error:
                errors.append(str(error))
            self.assertFalse(os.path.exists(self.canary))
            self.assertNotIn("canary_module", sys.modules)
        return errors

    def refused(self, made, said, **more):
        """Checks that a graph is refused, with an error that says so."""
        errors = self.runs(made, **more)
        self.assertEqual(len(errors), 2, made.ops)
        self.assertTrue(all(said in error for error in errors), errors)

    def test_a_usual_graph_runs(self):
        two = [{"t": "x"}, {"t": "x"}]
        cast = {"dtype": {"torch": "float64"}, "memory_format": {"torch": "contiguous_format"}}
        for made in (graph(), graph("aten.div.Tensor_mode", two, {"rounding_mode": "floor"}),
                     graph("aten._to_copy.default", kwargs=cast)):
            self.assertEqual(self.runs(made), [])

    def test_only_operators_are_called(self):
        for words in OPERATORS:
            for args in (["canary_module"], [self.canary, True, 4096], [{"t": "x"}, self.canary]):
                self.refused(graph(words, args), "unknown operator", workspace=False)
            self.refused(graph(words, [], {"filename": self.canary, "size": 4096}), "unknown operator")
        for words in (None, 7, ["aten.add.Tensor"], {"t": "x"}):
            self.assertRaisesRegex(ValueError, "isn't text", graph, words)

    def test_names_of_arguments_are_no_program_text(self):
        for key in (f"dtype=open({self.canary!r}, 'w')", "dtype=None) or __import__('canary_module', **dict()",
                    "no_such", "", "self\n"):
            self.refused(graph("aten.sum.default", kwargs={key: None}), "has no argument")

    def test_constants_are_dtypes_layouts_and_memory_formats(self):
        for word in WORDS:
            self.refused(graph("aten.sum.default", kwargs={"dtype": {"torch": word}}), "unknown dtype")
            self.refused(graph("aten.sum.dim_IntList", [{"t": "x"}, [{"torch": word}]]), "unknown dtype")
        for word in ("float32", "strided", "channels_last"):
            self.assertIs(lookup.constant(word), getattr(torch, word))

    def test_texts_stay_texts(self):
        for text in (f"open({self.canary!r}, 'w')", "' + __import__('canary_module') + '",
                     "\\' or __import__(\"canary_module\")#", "\n__import__('canary_module')\n"):
            self.runs(graph("aten.div.Tensor_mode", [{"t": "x"}, {"t": "x"}], {"rounding_mode": text}))

    def test_names_of_tensors_are_no_program_text(self):
        for name in (f"x, y=open({self.canary!r}, 'w')", "x): __import__('canary_module')\n    def f(", "self", "torch",
                     "None", "__import__", "print", "lambda", "²", "x\x00", "", "1", "a b", "numbers", "ｘ",
                     "__builtins__", "inf", "x#"):
            self.assertEqual(self.runs(graph(args=[{"t": name}], name=name), name), [], name)

    def test_names_that_look_alike_stay_apart(self):
        names = ["a.b", "a_b", "a_b_", "a_b_2", "a b"]
        ops = [op(f"op{i}", "aten.relu.default", [{"t": name}], name, f"y{i}") for i, name in enumerate(names)]
        tensors = [tensor(name, "input") for name in names] + [tensor(f"y{i}", "output") for i in range(len(names))]
        made = StepGraph({"v": 1, "name": "step"}, tensors, ops)
        found = applied(made)(**{name: torch.full((4,), float(i)) for i, name in enumerate(names)})
        self.assertEqual([float(found[f"y{i}"][0]) for i in range(len(names))], [0.0, 1.0, 2.0, 3.0, 4.0])

    def test_a_tensor_that_is_its_own_view_is_refused(self):
        path = os.path.join(self.folder.name, "step.jsonl")
        for loop in ({"x": "x"}, {"x": "y", "y": "x"}):
            made = graph()
            for name, alias in loop.items():
                made.tensors[name]["alias"] = alias
            write_graph(path, made)
            self.assertRaisesRegex(ValueError, "view of itself", read_graph, path)


if __name__ == "__main__":
    unittest.main(verbosity=1)
