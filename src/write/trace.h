/* trace.h: the frame of Chrome's trace format, which a plan and a pipeline share. */
#pragma once

#include "src/base/json.h"

/* Begins a trace of that graph. Members of its description may follow until trace_events(). */
void trace_begin(struct json *json, const char *graph, FILE *stream);
void trace_events(struct json *json);
void trace_end(struct json *json);

/* Begins an event with its first three members: the caller adds the others and closes it. phase: "X", "C", "b", "e",
 * "M". */
void trace_event(struct json *json, const char *name, const char *phase, int process);
/* The name of a process or thread (what: "process_name", "thread_name"); thread -1: none is said. */
void trace_name(struct json *json, const char *what, int process, int thread, const char *name);
