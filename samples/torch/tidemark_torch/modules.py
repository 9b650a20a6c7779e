"""What things are called: the module path of every op, forward and backward, and the names of parameters."""
import bisect
import contextlib
import os
import sys

import torch
from torch.nn.modules import module as nn_module
from torch.optim import optimizer as optim
from torch.utils._python_dispatch import _disable_current_modes

from .kept import Snapshot
from .memory import name_of, nested


def joined(*parts):
    """The path of a module or a parameter; what torch.compile has put around a module isn't in it."""
    return ".".join(part for part in ".".join(parts).split(".") if part and part != "_orig_mod")


HERE = os.path.dirname(__file__)
OURS = HERE, os.path.dirname(torch.__file__), os.path.dirname(os.__file__), "<"
OWN = os.path.join("", "site-packages", ""), os.path.join(HERE, "models.py")   # programs all the same


def program_line():
    """"model.py:6 in forward": the innermost line that is neither PyTorch's nor this package's; below the working folder as from there."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if file == OWN[1] or not file.startswith(OURS) or (OWN[0] in file and not file.startswith(OURS[:2])):
            break
        frame = frame.f_back
    if frame is None:
        return None
    folder = os.path.join(os.getcwd(), "")
    file = file[len(folder):] if file.startswith(folder) else file.split(OWN[0])[-1]
    return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"


class Modules:
    """Follows the modules of the step by PyTorch's global hooks.

    Forward, a stack of modules is kept. Backward, the autograd node that runs tells by its sequence number when it
    was made, hence in which module.
    """

    def __init__(self, found, kept):
        self.kept = kept              # what modules hold before they run
        self.found = found            # called with (name, tensor, kind) for each parameter and buffer of a new root
        self.path, self.stack, self.called = {}, [], []   # called: from outside of any other
        self.roots = 0
        self.hidden = False           # calls aren't the step's
        self.numbers, self.module_at = [], []  # sequence numbers, ascending, and the module and line from there on
        self.last_backward = self.last = "", None

    def start(self):
        """Installs the hooks; returns what removes them."""
        return [nn_module.register_module_forward_pre_hook(self.enter),
                nn_module.register_module_forward_hook(self.leave, always_call=True)]

    def add_root(self, module):
        """Names everything in a module that is called from outside of any."""
        module = getattr(module, "_orig_mod", module)
        has_state = next(module.parameters(), None) is not None or next(module.buffers(), None) is not None
        prefix = "" if has_state and self.roots == 0 else type(module).__name__
        self.roots += has_state
        for name, child in module.named_modules(remove_duplicate=True):
            self.path.setdefault(id(child), joined(prefix, name))
            self.kept.note_module(child)
        self.called.append((prefix, module))
        self.name_state(prefix, module)

    def name_state(self, prefix, module):
        """Names a module's parameters and buffers."""
        for kind, named in (("parameter", module.named_parameters()), ("buffer", module.named_buffers())):
            for name, tensor in named:
                self.found(joined(prefix, name), tensor, kind)

    def name_all(self):
        """Names those that a run of the step has made anew."""
        for prefix, module in self.called:
            self.name_state(prefix, module)

    @contextlib.contextmanager
    def unseen(self):
        """What is called meanwhile is no part of the step."""
        self.hidden = True
        try:
            yield
        finally:
            self.hidden = False

    def enter(self, module, _):
        """A module is called."""
        if self.hidden:
            return
        if id(module) not in self.path:
            if self.stack:
                self.path[id(module)] = joined(self.stack[-1], type(module).__name__)
            else:
                self.add_root(module)
        self.stack.append(self.path.setdefault(id(module), ""))

    def leave(self, _module, _inputs, _outputs):
        """A module's call has ended."""
        if self.stack and not self.hidden:
            self.stack.pop()

    def current(self, in_backward):
        """The path for the op that runs now; its line in the program is self.last's."""
        if self.stack or not in_backward:
            self.last = self.stack[-1] if self.stack else "", program_line()
            self.note()
            return self.last[0]
        node = torch._C._current_autograd_node()
        if node is not None and not node.name().endswith("AccumulateGrad"):
            place = bisect.bisect_right(self.numbers, node._sequence_nr()) - 1
            self.last_backward = self.module_at[place] if place >= 0 else ("", None)
        self.last = self.last_backward
        return self.last[0]

    def note(self):
        """Nodes made from now on are of this module. A node is made before its op runs, so its number is one less."""
        number = torch.autograd._get_sequence_nr() - 1
        while self.numbers and self.numbers[-1] >= number:
            self.numbers.pop()
            self.module_at.pop()
        if not self.module_at or self.module_at[-1] != self.last:
            self.numbers.append(number)
            self.module_at.append(self.last)


def counter(key, value):
    """What reading a counter of an optimizer gives: its value where there is one, or what it may be after ten steps."""
    if value.numel() != 1:
        return None
    if type(value) is torch.Tensor and value.device.type == "cpu":
        with _disable_current_modes():
            return value.item()
    return 10.0 if key == "step" else 0.5


class Optimizers:
    """Knows when an optimizer's step runs, and what it keeps.

    On fake tensors the state that an optimizer makes in its first step is made beforehand, by a step that isn't
    recorded: what is captured is a step of many. Afterwards the optimizers have the state that they came with.
    """

    def __init__(self, recorder, prime):
        self.recorder, self.prime = recorder, prime
        self.running, self.seen, self.before = 0, set(), []

    def start(self):
        """Installs the hooks; returns what removes them."""
        return [optim.register_optimizer_step_pre_hook(self.enter), optim.register_optimizer_step_post_hook(self.leave)]

    def enter(self, optimizer, args, kwargs):
        """An optimizer's step begins."""
        if self.prime and all(known is not optimizer for known, _ in self.before):
            own = {key: Snapshot(value, self.recorder.holds, same=key == "state")
                   for key, value in vars(optimizer).items() if key != "param_groups"}
            self.before.append((optimizer, own))
        if self.recorder.paused:
            return
        self.recorder.note_gradients()
        self.running += 1
        if id(optimizer) not in self.seen:
            self.seen.add(id(optimizer))
            self.first_step(optimizer, args, kwargs)

    def first_step(self, optimizer, args, kwargs):
        """Makes the state that there will be, and names it."""
        lacking = [p for group in optimizer.param_groups for p in group["params"]
                   if p.grad is not None and p not in optimizer.state]
        if self.prime and lacking and not args[1:] and not kwargs:
            with self.recorder.pause():
                optimizer.step()
        for i, group in enumerate(optimizer.param_groups):
            for p in group["params"]:
                name = self.recorder.name_parameter(p)
                for path, value in nested(optimizer.state.get(p, {})):
                    number = counter(path[-1], value)
                    self.recorder.found(name_of(name, path), value, "optimizer", number)
                    if path[-1] == "step" and number is not None and self.prime:   # counts on from there
                        self.recorder.keep_number(value, number)
            for key, value in group.items():
                if isinstance(value, torch.Tensor):
                    self.recorder.found(f"{type(optimizer).__name__}.{i}.{key}", value, "optimizer", 0.001)

    def leave(self, optimizer, *_):
        """An optimizer's step has ended: what lies in its state now may be new."""
        if self.recorder.paused:
            return
        self.running -= 1
        for p in (p for group in optimizer.param_groups for p in group["params"]):
            for path, value in nested(optimizer.state.get(p, {})):
                self.recorder.note_successor(name_of(self.recorder.name_parameter(p), path), value)

    def restore(self):
        """Gives optimizers that were run on fake tensors their own state back."""
        for optimizer, own in self.before:
            vars(optimizer).update({key: value.restore() for key, value in own.items()})
