"""What the scripts beside this one share: each case in a process of its own, SCRIPT FOLDER [NAME...]; what JAX and PyTorch are to write of it."""

import json, os, subprocess, sys


def cases(script, helpers):
    """The functions that a script (globals()) defines itself, but for its helpers."""
    return [n for n, f in script.items() if callable(f) and n not in helpers and not isinstance(f, type) and getattr(f, "__module__", "") == "__main__"]


def each_alone(names, run, environment, log=False):
    """run(name, folder) of the names on the command line, or of all. log: what a process prints goes to FOLDER/NAME.log."""
    if sys.argv[1] == "--one":
        run(sys.argv[2], sys.argv[3])
        sys.stdout.flush()
        os._exit(0)                # threads of a fake process group would wait
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or names:
        to = open(f"{folder}/{name}.log", "w") if log else None
        try:
            code = subprocess.run([sys.executable, os.path.abspath(sys.argv[0]), "--one", name, folder], env=dict(os.environ, **environment(folder, name)),
                                  stdout=to, stderr=to, timeout=None if log else 300).returncode
        except subprocess.TimeoutExpired:
            code = "takes more than five minutes"
        if code or log:
            print(name, code, flush=True)


def for_torch(folder, name):
    """TORCH_LOGS, TORCH_TRACE; BACKEND=inductor: its folder of debugging, too."""
    debug = {"TORCH_COMPILE_DEBUG": "1", "TORCH_COMPILE_DEBUG_DIR": f"{folder}/{name}.debug"} if os.environ.get("BACKEND") == "inductor" else {}
    return dict(debug, TORCH_LOGS="aot_joint_graph,aot_graphs", TORCH_TRACE=f"{folder}/{name}.trace", TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")


def for_jax(folder, name):
    """XLA makes 8 devices of one CPU, and dumps what it compiles."""
    return {"XLA_FLAGS": f"--xla_force_host_platform_device_count=8 --xla_dump_to={folder}/{name}.dump --xla_dump_hlo_as_proto --xla_dump_hlo_as_text"}


def compile_jax(lowered, folder, name):
    """FOLDER/NAME.txt: the compiled text; NAME.json: the peak by memory_analysis()."""
    import jax

    compiled = lowered.compile()
    with open(f"{folder}/{name}.txt", "w") as out:
        out.write(compiled.as_text())
    m = compiled.memory_analysis()
    peak = m.argument_size_in_bytes + m.temp_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes
    with open(f"{folder}/{name}.json", "w") as out:
        json.dump({"peak": peak, "jax": jax.__version__}, out)
    print(name, peak, flush=True)
