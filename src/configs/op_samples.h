/* op_samples.h: from what a profiler saw to times of ops by what they do: FLOPs and bytes by the rules of their types.
 */
#pragma once

#include "solver/cost/op_time.h"

/* Classes of ops, as the model of time has them. */
#define SAMPLE_CLASSES(X) \
	X(PRODUCT, "matrix products")            /* and convolutions */ \
	X(ATTENTION, "attention in one kernel") \
	X(COPY, "copies and casts")              /* each byte is read or written once */ \
	X(FUSED, "fused kernels")                /* likewise: a compiler's */ \
	X(EAGER, "other ops")                    /* one after the other */
#define X(id, name) SAMPLE_##id,
enum sample_class { SAMPLE_CLASSES(X) SAMPLE_CLASS_COUNT };
#undef X
extern const char *const sample_class_names[SAMPLE_CLASS_COUNT];

/* Ops that do the same: one shape of one class. */
struct op_sample {
	enum sample_class class;
	uint8_t format;             /* enum machine_format */
	int64_t flops, bytes;
	double seconds;             /* the median */
	uint32_t count;             /* so many ops */
};

/* Collectives alike: kind, bytes, members. */
struct collective_sample {
	enum collective_kind kind;
	uint32_t size, near;        /* members; of them within one node, which divides size */
	int64_t bytes;              /* as collective_time() takes them */
	double seconds;             /* the lower quartile: in a longer one, members wait for each other */
	uint32_t count;
};

struct samples {
	struct op_sample *op;
	struct collective_sample *collective;
	uint32_t ops, collectives;
	size_t op_room, collective_room;
	uint32_t ops_of[SAMPLE_CLASS_COUNT];     /* ops, not shapes */
	double seconds_of[SAMPLE_CLASS_COUNT], other_seconds;  /* other: of ops without a rule or shapes that it fits */
	uint32_t others;
	uint32_t traces, kernels, unowned;       /* unowned: kernels of no op in their trace */
	double unowned_seconds;
	bool gpu;
	char device[100];                        /* as the traces call it, "" where they don't */
	int64_t memory;                          /* bytes; 0: not said */
};

/* Adds those of a trace: its text, or a file, gz or not. devices_per_node: members of a group whose numbers are in one
 * node. BAD_INPUT with the line, also where the trace is of another device than those before it, or NO_MEMORY; free
 * them in any case. O(n log n) of its events. */
enum status samples_read(struct samples *samples, const char *text, size_t size, const struct rules *rules,
	uint32_t devices_per_node, struct error *error);
enum status samples_open(struct samples *samples, const char *path, const struct rules *rules,
	uint32_t devices_per_node, struct error *error);
/* At the end: one of all that are alike. */
void samples_join(struct samples *samples);
void samples_free(struct samples *samples);
#define samples_drop samples_free

/* What the model of time takes of such an op. */
struct op_work sample_work(const struct op_sample *sample);
