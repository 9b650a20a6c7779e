/* detect.h: what an input is, by its content and never by its name. */
#pragma once

#include <stddef.h>

/* Graphs: name for people; the function of input.c that opens it. */
#define GRAPH_KINDS(X) \
	X(NATIVE, "native graph", open_native) \
	X(DOT, "DOT graph", open_dot) \
	X(ONNX, "ONNX model", open_python) \
	X(HLO, "XLA HLO proto", open_python) \
	X(HLO_TEXT, "XLA HLO text", open_python) \
	X(STABLEHLO, "StableHLO text", open_python) \
	X(FX, "PyTorch FX text", open_python) \
	X(INDUCTOR, "Inductor memory graph", open_python) \
	X(AUTOPARALLEL, "AutoParallel JSON", open_python) \
	X(EXPORTED, "torch.export program", open_python) \
	X(TFLITE, "TensorFlow Lite model", open_python) \
	X(TVM, "TVM graph JSON", open_python) \
	X(SNAPSHOT, "PyTorch memory snapshot", open_events) \
	X(TRACE, "profiler trace (Chrome JSON)", open_events)

/* What is no graph to open: name; what to do with it. */
#define OTHER_KINDS(X) \
	X(MINIMALLOC, "MiniMalloc CSV", "it holds buffers, not ops: tidemark layout FILE") \
	X(PLAN, "Tidemark plan", "open the graph it was made from, or run: tidemark check GRAPH PLAN") \
	X(MLIR, "MLIR text", "take the compiled module instead: jit(f).lower(...).compile().as_text() in JAX, or " \
		"XLA_FLAGS=\"--xla_dump_to=DIR --xla_dump_hlo_as_proto\" python train.py") \
	X(PICKLE, "Python pickle", "capture the training step instead: tidemark_torch (samples/torch) writes a graph") \
	X(OLD_PICKLE, "Python pickle of protocol 0 or 1", "memory snapshots are read in protocols 2 to 5, of which " \
		"torch.cuda.memory._dump_snapshot() writes one") \
	X(ZIP, "zip archive (torch.save, Keras, NumPy)", "capture the step where it runs (samples/torch)") \
	X(CONFIG, "config.json of a Hugging Face model", "it holds the sizes of a model: tidemark model FILE -o step.jsonl " \
		"writes its training step, tidemark search FILE ranks configurations") \
	X(SCHEDULE, "pipeline schedule", "it says what ranks do in turn: tidemark plan GRAPH --set pp=RANKS --set " \
		"microbatches=N --set schedule=@FILE") \
	X(JSON, "JSON file of an unknown kind", "tidemark(5) describes the graph format, and samples/torch writes it") \
	X(SETTINGS, "settings (YAML, TOML or JSON)", "a launcher's set knobs: tidemark search MODEL --set @FILE") \
	X(MESSAGE, "out-of-memory message", "what filled the memory is in a snapshot: " \
		"torch.cuda.memory._record_memory_history() before the step, " \
		"torch.cuda.memory._dump_snapshot(\"FILE\") where it fails, then open FILE") \
	X(PYTHON, "Python program", "capture the step that it runs with tidemark_torch (samples/torch), and open what that " \
		"writes") \
	X(WEIGHTS, "file of weights (safetensors, GGUF, HDF5 or NumPy)", "it holds no ops: open the model's " \
		"config.json (tidemark model FILE -o step.jsonl), or capture its step (samples/torch)") \
	X(DATABASE, "SQLite database", "as Nsight Systems exports one, it says what ran when, not what a step holds: " \
		"capture the step with tidemark_torch (samples/torch)") \
	X(PACKED, "archive, or a file compressed twice or otherwise than by gzip", "unpack it, and open what is in it") \
	X(UTF16, "text in UTF-16", "convert it: iconv -f UTF-16 -t UTF-8 FILE") \
	X(DOCUMENT, "picture, page, program or table (PNG, PDF, HTML, ELF, Parquet, TensorBoard)", "it holds no step: " \
		"capture one with tidemark_torch (samples/torch)") \
	X(TIMELINE, "timeline or trace without allocations (execution trace, export_memory_timeline)", "what is alive when " \
		"is in export_chrome_trace() of a profile with profile_memory=True") \
	X(EXECUTORCH, "ExecuTorch program", "open the .pt2 that it was made from (torch.export.save)") \
	X(EMPTY, "empty file", "there is nothing in it") \
	X(UNKNOWN, "file of an unknown kind", "known are: native graphs, DOT, ONNX, XLA HLO, StableHLO, logs and folders of " \
		"torch.compile, torch.export, TFLite, PyTorch's snapshots and traces, JSON of Inductor, AutoParallel and TVM, " \
		"config.json, MiniMalloc CSV")

#define X(id, name, what) INPUT_##id,
enum input_kind { GRAPH_KINDS(X) OTHER_KINDS(X) INPUT_KIND_COUNT };
#undef X

/* The kind of an input from its first bytes, uncompressed (64 KiB are enough). O(size). */
enum input_kind input_detect(const char *data, size_t size);
const char *input_kind_name(enum input_kind kind);
/* What to do with a kind that is not a graph to open, NULL for those that are. */
const char *input_kind_advice(enum input_kind kind);
