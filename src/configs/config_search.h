/* config_search.h: all whole configurations of a model on a cluster, evaluated and ranked.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     config_search  all configurations, ranked
 *     config_words   configurations in words, and how far apart they are
 *     ranking        the order in which they are shown
 *     model_source   steps of any batch and recomputation
 *     planned        rows as plans
 *     outlook        one scenario as a configuration
 *     way_out        the nearest configuration that fits
 *     fit_list       the changes that make a step fit, planned
 *     fit_most       the largest batch or sequence that fits; the devices on which a step does
 *     calibrate      a machine fitted to measured steps
 *     least_squares  factors fitted to measurements, for that */
#pragma once

#include "src/models/models.h"
#include "src/scenario/scenario.h"
#include "solver/pipeline/configuration.h"

/* Gives the training step of a batch under a recomputation; a new reference. NULL with *status and *error: BAD_INPUT
 * where the graph can't have that batch. *guess, false before: whether it rests on what nobody knows (NOTE_GUESS). */
typedef struct graph *config_step(
	void *context, int64_t batch, enum recompute recompute, bool *guess, struct error *error);

struct config_request {
	config_step *step;
	void *context;
	uint32_t repeat;             /* copies of the step's repeated layer that are not in the graph */
	uint32_t devices, devices_per_node;
	int64_t batch;               /* samples of a step, of all devices */
	struct machine machine;      /* memory < 0: no limit */
	struct overheads overheads;
	bool eager;                  /* the machine's traffic of eager kernels counts */
	bool padding;                /* as the knob */
	bool keeps;                  /* ZeRO stage 3 without reshard_after_forward */
	uint32_t replicate;          /* groups with copies of states; 0 is 1 */
	uint32_t offload; /* OFFLOAD_*: what may wait in the host's memory where a configuration doesn't fit without */
	int64_t host_memory;         /* bytes of that for a device; 0: any */
	bool even;                   /* pipelines are cut into equal numbers of layers */
	/* What is wanted: 0, or for zero, sp, recompute and schedule -1, where any will do. chunks: of interleaved
	 * schedules. */
	uint32_t dp, tp, pp, cp, ep, microbatches, microbatch, chunks;
	int zero, sp, recompute, schedule;   /* recompute: up to PRODUCTS, or OPS, where step has their names */
};

/* What the plan of a configuration comes to (planned.h). */
struct config_planned {
	bool tried, known, fits;     /* known false: reason says why it can't be planned */
	int64_t needs, time;         /* bytes of the cap less the reserve; picoseconds of a step */
	int64_t reserves;            /* as needs, where PyTorch's caching allocator places what the plan places */
	char reason[160];
};

struct config_entry {
	struct config config;
	struct config_result result; /* estimated */
	struct config_planned planned;
	bool fits;
	bool guess;                  /* its step rests on what nobody knows: its plan's notes say on what */
	bool played;                 /* the schedule, if it has one, slot by slot: the time is no closed form */
	bool front;                  /* no other that fits is faster and takes no more memory */
	bool leads;                  /* the fastest that fits of those that cut the model alike (tp, pp, ep) */
	uint32_t variants;           /* where it leads: how many others of this cut fit */
};

struct config_list {
	/* Those that fit first: the fastest of each way to cut the model, then their variants, each by time, then memory.
	 * Then those that don't fit, by memory. */
	struct config_entry *entry;
	uint32_t entries, fitting, leading;  /* leading: ways to cut the model of which any fits */
	uint32_t graphs, splits;     /* steps built, shardings evaluated */
};

/* Evaluates every combination: degrees that multiply to devices (tp within a node, cp and ep where the model has them),
 * microbatches of 1, 2, 4, ... samples, ZeRO stages, schedules, recomputation, sequence parallelism. Deterministic.
 * Free with config_list_free(). OK, NO_MEMORY, CANCELLED, or BAD_INPUT where nothing can be evaluated: the error says
 * why. */
enum status config_search(
	const struct config_request *request, struct control *control, struct config_list *list, struct error *error);
/* OK or NO_MEMORY. */
enum status config_list_copy(struct config_list *to, const struct config_list *from);
void config_list_free(struct config_list *list);

/* One configuration, kept ready to be evaluated on other machines. */
struct config_case;
/* A new case of the request's model. NULL with *status and *error. */
struct config_case *config_case_open(
	const struct config_request *request, const struct config *config, struct error *error);
void config_case_free(struct config_case *opened);
/* OK, NO_MEMORY, or INFEASIBLE: more pieces than blocks. */
enum status config_case_evaluate(struct config_case *opened, const struct machine *machine,
	const struct overheads *overheads, bool exact, struct config_result *result);

/* On the request's own machine and overheads, the schedule played slot by slot. Further: BAD_INPUT, the schedule can't
 * be played so. Free timetable with timetable_free(). */
enum status config_case_timetable(
	struct config_case *opened, struct config_result *result, struct timetable *timetable, struct error *error);

/* Of the entries that fit the one that differs least from a wanted one: fewest changed choices, then the least time.
 * NONE: none fits. */
uint32_t config_nearest(const struct config_list *list, const struct config *wanted);
/* What most of a rank's memory is, in words, and its bytes. */
const char *config_biggest(const struct rank_memory *memory, int64_t *bytes);
/* True where both are the same choices. */
bool config_equal(const struct config *a, const struct config *b);
/* Changes between two configurations, in words:
 * "tp 4 -> 8, zero 0 -> 1". Returns text. */
char *config_changes(const struct config *from, const struct config *to, char *text, size_t size);
/* "dp 8 tp 8 pp 1 ...", only what is above 1. Returns text. */
char *config_text(const struct config *config, char *text, size_t size);
