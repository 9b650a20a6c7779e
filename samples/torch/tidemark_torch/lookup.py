"""What the words of a graph file may name: PyTorch operators, dtypes, layouts and memory formats, and nothing else.

A file may come from anywhere. Its words reach getattr() only after the dispatcher has confirmed that they name an
operator; operators that open files are refused, as no training step needs them.
"""
import contextlib
import re

import torch

WORD = "([A-Za-z_][A-Za-z0-9_]*)"
OPERATOR = re.compile(rf"{WORD}\.{WORD}\.{WORD}")
TAKES_TEXT = {"aten", "c10d", "_c10d_functional", "_c10d_functional_autograd"}   # text arguments: modes, names of groups
CONSTANTS = {str(value).partition(".")[2]: value for value in vars(torch).values()
             if isinstance(value, (torch.dtype, torch.layout, torch.memory_format))}


def opens_files(function):
    """True for an operator that takes a file name, or text of unknown meaning."""
    texts = [argument.name for argument in function._schema.arguments if "str" in str(argument.type)]
    return bool(texts) and (function.namespace not in TAKES_TEXT or "filename" in texts)


def is_registered(name):
    """True for an operator that PyTorch's dispatcher has."""
    try:
        return torch._C._dispatch_has_kernel(name)
    except RuntimeError:   # the name isn't a valid one
        return False


def operator(words):
    """The operator that a file calls "aten.add.Tensor". Raises ValueError if there is none of that name."""
    parts = OPERATOR.fullmatch(words) if isinstance(words, str) else None
    if parts:
        namespace, packet, overload = parts.groups()
        if namespace == "torchvision":
            with contextlib.suppress(ImportError):
                import torchvision  # noqa: F401, registers its ops
        if is_registered(f"{namespace}::{packet}" + ("" if overload == "default" else f".{overload}")):
            function = getattr(getattr(getattr(torch.ops, namespace), packet), overload)
            if type(function) is torch._ops.OpOverload and not opens_files(function):
                return function
    raise ValueError(f"unknown operator {words!r:.200}")


def constant(word):
    """The dtype, layout or memory format that a file calls "float32". Raises ValueError for other words."""
    if not isinstance(word, str) or word not in CONSTANTS:
        raise ValueError(f"unknown dtype, layout or memory format {word!r:.200}")
    return CONSTANTS[word]


def check_arguments(name, function, kwargs):
    """Raises ValueError unless an operator has the arguments that a file names: FX copies these names into code."""
    known = {argument.name for argument in function._schema.arguments}
    unknown = [key for key in kwargs if key not in known]
    if unknown:
        raise ValueError(f"op {name}: {function} has no argument {unknown[0]!r:.200}")
