/* open.h: opens a graph for a command: warnings and errors go to standard error.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     open          opens a graph for a command
 *     read_options  how graphs are read, where a file leaves it open
 *     input         opens a file: plain or gzip, any format
 *     detect        what a file is, by its content
 *     card          what was got of a file
 *     native        reads the native format
 *     device_members  what only device graphs have in it
 *     dot_child     runs tidemark-dot, which reads DOT
 *     hlo           modules of XLA HLO; shapes
 *     hlo_scan      words and shapes of their text
 *     hlo_text      reads their text
 *     wire          fields of protocol buffers
 *     hlo_proto     reads their proto
 *     hlo_assignment  where XLA puts each array
 *     hlo_flat      a module as a list of ops over arrays
 *     hlo_places    XLA's addresses for its storages
 *     hlo_cost      what an instruction computes, and in whose memory
 *     hlo_graph     from a flat module to a graph
 *     fx            FX graphs of PyTorch
 *     fx_text       finds them in logs
 *     fx_folder     collects them from a folder
 *     fx_step       joins forward and backward
 *     places        placements as DTensor writes them
 *     autoparallel  reads what AutoParallel writes of a sharded step
 *     inductor      reads Inductor's memory graphs
 *     onnx_values   attributes of ONNX nodes, numbers of small tensors
 *     onnx_infer    operands and results of an ONNX node
 *     onnx_arrays   sizes of arrays that are cut, joined and turned
 *     onnx_shapes   sizes that ONNX files don't say, by operator
 *     onnx          reads ONNX models
 *     plan_file     plan files as JSON
 *     sweep_file    what a sweep wrote, as a table
 *     rules_file    reads a user's operator rules
 *     buffers_csv   reads and writes MiniMalloc's CSV
 *     pickle        walks over a Python pickle, builds nothing
 *     stacks        stack traces, each once
 *     snapshot      reads PyTorch's memory snapshots
 *     snapshot_buffers  buffers and lives out of a trace
 *     snapshot_addresses  real addresses as offsets in one memory
 *     snapshot_graph  a trace as a graph, and what holds its peak
 *     schedule_csv  reads schedules of torch.distributed.pipelining
 *     problem_json  reads IOPDDL problems
 */
#ifndef TIDEMARK_READ_OPEN_H
#define TIDEMARK_READ_OPEN_H

#include "read_options.h"
#include "solver/graph/graph.h"

/* Reads a graph, with its warnings printed (options: as in graph_open()); NULL after complaining, *exit_code set. */
struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code);

#endif
