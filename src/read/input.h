/* input.h: opens graph files: plain or gz, "-" for standard input, the format found by content.
 *
 * Formats with several files have a room of their own below this one: problems; python.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     read_options  how graphs are read, where a file leaves it open
 *     input         opens a file of any format
 *     detect        what a file is, by its content
 *     card          what was got of a file
 *     record        a line of JSON as a row of values
 *     native        reads the native format
 *     device_members  what only device graphs have in it
 *     growth_members  how a step grows with its batch
 *     argument_members  what captured ops are called with
 *     dot_child     runs tidemark-dot, which parses DOT and draws
 *     python_child  runs the readers in Python, in src/read/python
 *     snapshot      what the readers of memory snapshots and traces say, as buffers
 *     snapshot_groups  the allocations of a long trace in groups
 *     snapshot_graph  a trace as a graph
 *     plan_file     plan files as JSON
 *     launch        reads launchers' configurations
 *     rules_file    reads a user's operator rules
 *     schedule_csv  reads schedules of torch.distributed.pipelining */
#pragma once

#include "read_options.h"
#include "solver/graph/graph.h"
#include "src/base/source.h"

/* Reads a graph of any format that is known. Errors as the formats' readers give them. options NULL: as the formats'
 * files have it. */
struct graph *graph_open(const char *path, const struct read_options *options, struct error *error);
