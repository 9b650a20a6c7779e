"""Memory snapshots of training steps on the CPU: snapshots.py FOLDER [NAME...]

Writes FOLDER/NAME.pickle, as torch.cuda.memory._dump_snapshot() would have it of a GPU, and FOLDER/NAME.json with the peak that was counted while
recording. There is no GPU in it: a dispatch mode sees which storages come after each op, and which are gone, at the addresses of the CPU's allocator;
stack traces are Python's. What kernels allocate for themselves is not seen, and there are no segments. One step: forward, backward, Adam.
"""
import json, os, pickle, sys

import torch, torchvision, transformers as hf
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.live, self.events, self.frames, self.bytes, self.peak = {}, [], {}, 0, 0

    def stack(self):
        frame, out = sys._getframe(2), []
        while frame:
            key = (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
            out.append(self.frames.setdefault(key, {"filename": key[0], "line": key[1], "name": key[2]}))
            frame = frame.f_back
        return out

    def event(self, action, address, size, frames):
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": len(self.events), "compile_context": "N/A", "frames": frames})

    def sweep(self, frames):
        for address in [a for a, (weak, size) in self.live.items() if weak.expired()]:
            weak, size = self.live.pop(address)
            self.bytes -= size
            self.event("free_requested", address, size, frames)
            self.event("free_completed", address, size, frames)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        frames = self.stack()
        self.sweep(frames)
        for tensor in tree_leaves(out):
            storage = tensor.untyped_storage() if isinstance(tensor, torch.Tensor) else None
            if storage is None or storage.nbytes() == 0 or storage.data_ptr() in self.live:
                continue
            self.live[storage.data_ptr()] = StorageWeakRef(storage), storage.nbytes()
            self.bytes += storage.nbytes()
            self.peak = max(self.peak, self.bytes)
            self.event("alloc", storage.data_ptr(), storage.nbytes(), frames)
        return out


def step(model, inputs, loss):
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    loss(model(*inputs)).backward()
    optimizer.step()


def vision(name, size=64, batch=4):
    return lambda: (getattr(torchvision.models, name)(), (torch.randn(batch, 3, size, size),), lambda y: y.float().mean())


def text(config):
    return lambda: (hf.AutoModelForCausalLM.from_config(config).train(), (torch.randint(0, 500, (2, 64)),), lambda y: y.logits.float().mean())


small = dict(hidden_size=128, num_hidden_layers=3, num_attention_heads=4, vocab_size=500)
steps = {
    "resnet18": vision("resnet18"), "alexnet": vision("alexnet"), "mobilenet_v2": vision("mobilenet_v2"), "densenet121": vision("densenet121"),
    "squeezenet1_1": vision("squeezenet1_1"), "efficientnet_b0": vision("efficientnet_b0"), "shufflenet_v2_x1_0": vision("shufflenet_v2_x1_0"),
    "convnext_tiny": vision("convnext_tiny"), "vit_b_16": vision("vit_b_16", 224, 1), "swin_t": vision("swin_t"),
    "gpt2": text(hf.GPT2Config(n_embd=128, n_layer=3, n_head=4, vocab_size=500)), "llama": text(hf.LlamaConfig(intermediate_size=256, **small)),
    "qwen2": text(hf.Qwen2Config(intermediate_size=256, num_key_value_heads=4, **small)),
}

if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for protocol, name in enumerate(sys.argv[2:] or steps):
        torch.manual_seed(0)
        with Recorder() as recorder:
            model, inputs, loss = steps[name]()
            step(model, inputs, loss)
        snapshot = {"segments": [], "device_traces": [recorder.events], "allocator_settings": {}, "external_annotations": []}
        with open(f"{folder}/{name}.pickle", "wb") as out:
            pickle.dump(snapshot, out, protocol=2 + protocol % 4)
        json.dump({"peak": recorder.peak, "events": len(recorder.events)}, open(f"{folder}/{name}.json", "w"))
        print(name, len(recorder.events), recorder.peak, flush=True)
        del model, inputs
