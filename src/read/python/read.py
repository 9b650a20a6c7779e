"""Reads a file of a foreign format: python3 -I -S -B read.py READER [OPTION]...

tidemark runs this as a child. The file's bytes come on standard input; the graph goes to standard output, in the native
format of tidemark(5), or what else the program takes from there. What is wrong goes to standard error as
"reader: -:LINE: text" with exit status 3, a limit with status 4. A reader opens nothing that its input names.

Files in reading order, for each format:
    all             draft: options, records, errors
    DOT             dot, label_size
    config.json     families; config, defaults; decoders, encoders, diffusion; towers of mixers and layers,
                    vision
    ONNX            onnx, onnx_node, onnx_shapes, onnx_arrays; wire: protocol buffers
    XLA             hlo_module; hlo (protos), hlo_text, stablehlo; hlo_groups, hlo_sources; hlo_assignment, hlo_flat,
                    hlo_shares, hlo_bodies, hlo_flops, hlo_graph; hlo_folder
    torch.compile   fx, fx_size, fx_step, fx_folder; inductor; autoparallel; exported
    memory          snapshot, unpickle; kineto; stacks, lives, addresses, growth; handover
    launchers       launch, launch_settings, launch_keys
    others          tflite; tvm; weights: headers of checkpoints; message: an out-of-memory error
"""
import gc
import os
import sys

READERS = ("autoparallel", "dot", "exported", "families", "fx", "hlo", "hlo_folder", "hlo_text", "inductor", "kineto",
           "launch", "message", "onnx", "snapshot", "stablehlo", "tflite", "tvm", "weights")
MEMORY = 4 << 30   # bytes, at least: a snapshot of a long run takes four times its file's
SECONDS = 120      # of processor time; tidemark watches the clock


def memory():
    """Bytes that a reader may take: half of the machine's."""
    try:
        return max(MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (ValueError, OSError):
        return MEMORY


def limit():
    """What a strange file may take of this machine."""
    import resource
    room = memory() + os.fstat(0).st_size   # a file may be mapped
    for what, most in ((resource.RLIMIT_AS, room), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        try:   # at the first limit of time it ends by a signal that says what it is
            resource.setrlimit(what, (most, most + 5 * (what == resource.RLIMIT_CPU)))
        except (ValueError, OSError):   # a smaller limit is there already, or the system has none of this kind
            pass


def say(status, text, line=0):
    """Ends with a message, the words cut so that the program gets all of them."""
    sys.stderr.write("reader: -:%s %s\n" % ("%d:" % line if line else "", text[:400].replace("\n", " ")))
    sys.stderr.flush()
    os._exit(status)


def main():
    """Runs the reader that is named; a fault of its own is said, and never a half graph written."""
    if sys.version_info < (3, 9):
        say(4, "python3 is %d.%d: this format needs 3.9 or later" % sys.version_info[:2])
    limit()
    gc.disable()   # a reader makes no cycles worth looking for, and ends soon
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.stderr.reconfigure(encoding="utf-8", errors="replace")
    from draft import Bad, Options
    name, options = sys.argv[1], Options(sys.argv[2:])
    try:
        if name not in READERS:
            say(4, "there is no reader " + name)
        parts = __import__(name).read(sys.stdin.buffer, options)
        sys.stdout.buffer.write(b"".join(part.encode("utf-8", "replace") if isinstance(part, str) else part
                                         for part in parts))
        sys.stdout.buffer.flush()
    except Bad as bad:
        say(3, bad.text, bad.line)
    except MemoryError:
        say(4, "out of memory: a reader may take %d GiB" % (memory() >> 30))
    except RecursionError:
        say(3, "it is nested too deep")
    except BrokenPipeError:
        os._exit(4)
    except Exception as fault:   # not the file's fault, whatever is in it
        say(4, "the reader %s failed: %s: %s" % (name, type(fault).__name__, fault))


if __name__ == "__main__":
    main()
