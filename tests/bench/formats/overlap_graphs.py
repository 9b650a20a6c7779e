#!/usr/bin/env python3
"""FX text with shapes of the graphs in meta-pytorch/autoparallel's tools/overlap_simulator: overlap_graphs.py THAT_FOLDER OUT [NAME...]

repro_NAME.py there is code without shapes: Llama3-8B and DeepSeek-V3, forward and backward, of one of 64 to 256 GPUs, with collectives. It is traced once on fake
tensors, nothing is computed, and OUT/NAME.log gets its readable text, as TORCH_LOGS=aot_graphs would have it. Collectives run on a process group that does nothing.
"""
import glob, importlib.util, os, sys, warnings

warnings.filterwarnings("ignore")
import torch
from torch._dynamo.debug_utils import InputReader
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.testing._internal.distributed.fake_pg import FakeStore

folder, out = sys.argv[1:3]
names = sys.argv[3:] or sorted(os.path.basename(p)[6:-3] for p in glob.glob(folder + "/repro_*.py"))
os.makedirs(out, exist_ok=True)
torch.cuda.current_device = lambda: 0
torch.cuda.device_count = lambda: 1
torch.cuda._lazy_init = lambda: None
torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=256)


registered = set()   # names of groups


class Fake(InputReader):
    """Arguments as fake tensors of the sizes that load_args names."""

    def __init__(self, mode):
        self.mode, self.args = mode, []

    def storage(self, storage_hash, nbytes, *, device=None, dtype_hint=None):
        return device, dtype_hint

    def tensor(self, storage, shape, stride=None, *, storage_offset=None, dtype=None, requires_grad=None, is_leaf=None,
               **more):
        device, hint = storage
        kwargs = dict(dtype=dtype or hint or torch.float32, device=device or "cpu")
        with self.mode:
            self.args.append(torch.empty_strided(shape, stride, **kwargs)
                             if stride is not None else torch.empty(shape, **kwargs))

    def symint(self, value):
        self.args.append(value)

    const = symint


def trace(name):
    spec = importlib.util.spec_from_file_location("repro", f"{folder}/repro_{name}.py")
    repro = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(repro)
    from torch.distributed.distributed_c10d import _register_process_group
    group = torch.distributed.distributed_c10d._get_default_group()
    for tag in set(repro.get_pg_config()) - registered - {group.group_name}:
        _register_process_group(tag, group)
        registered.add(tag)
    mode = FakeTensorMode(allow_non_fake_inputs=True,
                          shape_env=ShapeEnv(allow_scalar_outputs=True, allow_dynamic_output_shape_ops=True))
    reader = Fake(mode)
    repro.load_args(reader)
    with mode:
        graph = make_fx(repro.Repro(), pre_dispatch=False)(*reader.args)
    graph.graph.eliminate_dead_code()
    text = graph.print_readable(print_output=False, include_stride=True, include_device=True)
    kind = "Backward" if "_bw_" in name else "Forward"
    with open(f"{out}/{name}.log", "w") as file:
        file.write(f"TRACED GRAPH\n ===== {kind} graph 0 =====\n {text}\n")
    print(name, len(graph.graph.nodes), flush=True)


for name in names:
    try:
        trace(name)
    except Exception as error:
        print(name, "not traced:", type(error).__name__, str(error).split("\n")[0][:200], flush=True)
