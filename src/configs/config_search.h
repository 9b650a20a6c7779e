/* config_search.h: all whole configurations of a model on a cluster, evaluated and ranked.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     config_search  all configurations, ranked
 *     config_words   configurations in words, and how far apart they are
 *     ranking        the order in which they are shown
 *     model_source   steps of any batch and recomputation
 *     planned        rows as plans
 *     fit_list       the changes that make a step fit, planned
 *     fit_most       the largest batch or sequence that fits; the devices on which a step does */
#pragma once

#include "solver/pipeline/configuration.h"
#include "src/models/models.h"
#include "src/decide/planner.h"

/* Gives the training step of a batch under a recomputation; a new reference. NULL with *status and *error: BAD_INPUT
 * where the graph can't have that batch. *guess, false before: whether it rests on what nobody knows (NOTE_GUESS). */
typedef struct graph *config_step(
	void *context, int64_t batch, enum recompute recompute, bool *guess, struct error *error);

struct config_list;
/* Told of the list after every row that was tried, or while a search goes on, then as far as it is there and not
 * ranked; the list is lent for the call. */
struct config_watch {
	void (*found)(void *context, const struct config_list *list);
	void *context;
};

struct config_request {
	config_step *step;
	void *context;
	const struct config_watch *watch;  /* or NULL */
	uint32_t repeat;  /* copies of the step's repeated layer that are not in the graph */
	uint32_t devices, devices_per_node;
	int64_t batch;  /* samples of a step, of all devices */
	struct machine machine;  /* memory < 0: no limit */
	struct overheads overheads;
	bool eager;  /* the machine's traffic of eager kernels counts */
	bool padding;  /* as the knob */
	bool copies;  /* as of struct mesh */
	bool keeps;  /* ZeRO stage 3 without reshard_after_forward */
	uint32_t replicate;  /* groups with copies of states; 0 is 1 */
	uint32_t offload; /* OFFLOAD_*: what may wait in the host's memory where a configuration doesn't fit without */
	int64_t host_memory;  /* bytes of that for a device; 0: any */
	bool even;  /* pipelines are cut into equal numbers of layers */
	uint32_t rows;  /* where fewer fit, what doesn't fit is listed, too, as where nothing does */
	/* What is wanted: 0, or for zero, sp, recompute and schedule -1, where any will do. chunks: of interleaved
	 * schedules. */
	uint32_t dp, tp, pp, cp, ep, microbatches, microbatch, chunks;
	int zero, sp, recompute, schedule;   /* recompute: up to PRODUCTS, or OPS, where step has their names */
};

/* What the plan of a configuration comes to (config_search.h). */
struct config_planned {
	bool tried, known, fits;  /* known false: reason says why it can't be planned */
	int64_t needs, time;  /* bytes of a device, context and all; picoseconds of a step */
	char reason[160];
};

struct config_entry {
	struct config config;
	bool fits;
	bool guess;  /* its step rests on what nobody knows: its plan's notes say on what */
	bool played;  /* the schedule, if it has one, slot by slot: the time is no closed form */
	bool front;  /* no other that fits is faster and takes no more memory */
	bool leads;  /* the fastest that fits of those that cut the model alike (tp, pp, ep) */
	uint32_t variants;  /* where it leads: how many others of this cut fit */
	uint32_t next;  /* place of the next one of this cut, by time; 0: there is none */
	struct config_result result; /* estimated */
	struct config_planned planned;
};

struct config_list {
	/* Those that fit first: the fastest of each way to cut the model, then their variants, each by time, then memory.
	 * Then, where they are listed, those that don't fit, by memory. */
	struct config_entry **entry;  /* in the arena */
	uint32_t entries, fitting, leading;  /* leading: ways to cut the model of which any fits */
	uint32_t evaluated;  /* listed or not: what isn't doesn't fit */
	uint32_t graphs, splits;  /* steps built, shardings evaluated */
	uint32_t looked, all;  /* combinations looked at, of all */
	struct arena arena;
};

/* Evaluates every combination: degrees that multiply to devices (tp within a node, cp and ep where the model has them),
 * microbatches of 1, 2, 4, ... samples, ZeRO stages, schedules, recomputation, sequence parallelism. Deterministic.
 * Free with config_list_free(). OK, NO_MEMORY, CANCELLED with what was found, or BAD_INPUT where nothing can be
 * evaluated: the error says why. */
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
	const struct overheads *overheads, struct config_result *result);

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

/* Why nothing can be evaluated: the first of what is wanted that can't be. dense: no experts; unsplit: the last degree
 * that no dim divides by, in words, or ""; blocks: of the model, 0 unknown. BAD_INPUT. */
enum status config_refuse(const struct config_request *request, bool dense, const char *unsplit, uint32_t blocks,
	struct error *error);

/* ranking: configurations in the order in which they are shown. */

/* The model is cut alike (tp, pp, ep): the copies that dp and cp make of what is left differ in how they share the
 * tokens out. */
bool config_same_cut(const struct config *a, const struct config *b);
/* All that fit by time, then memory, none of them leading; then the others in any order. Marks the front. O(entries +
 * fitting log fitting). OK or NO_MEMORY. */
enum status config_rank_by_time(struct config_list *list);
/* The same, the fastest of each way to cut the model (tp, pp, ep) before its variants: as a search that was stopped
 * leaves them. OK or NO_MEMORY. */
enum status config_rank_fitting(struct config_list *list);
/* The same, and what doesn't fit by memory, as config_search() ranks. O(entries log entries). OK or NO_MEMORY. */
enum status config_rank(struct config_list *list);
/* Marks as wanted, of the first `most` leading entries that nobody has played and of the variants that come next in
 * their cuts, `each`; how many in all. wanted: [entries]. O(fitting) a cut. */
uint32_t config_want_leading(const struct config_list *list, uint32_t most, uint32_t each, bool *wanted);
/* The plan of entry number doesn't fit the cap: the fastest variant of its cut that should, by how far plan and
 * estimate of this one are apart, takes its place and leads them. The entry becomes a variant and lies no longer by
 * time. False where it leads nothing or has no such variant. O(variants). */
bool config_pass_lead(struct config_list *list, uint32_t number, int64_t cap);
/* Of the fitting entries from number begin on the next one by time; *at, zeros at first, keeps the place. NONE: all
 * were returned. */
uint32_t config_next_by_time(const struct config_list *list, uint32_t begin, uint32_t at[2]);
/* Of the cut of a leading entry the fastest entry of every other way to share the tokens out (dp, cp), by time, into
 * share[most]; how many. O(variants). */
uint32_t config_token_shares(const struct config_list *list, uint32_t number, uint32_t most, uint32_t *share);
/* It was planned, or tried to be, and doesn't fit. */
bool config_failed(const struct config_entry *entry);
/* Leading entries that estimates can't tell apart: the number of the first one from begin on that takes more than so
 * many thousandths longer than entry begin, or is known not to fit. error 0: that isn't known, and none is said to be
 * as fast as another: begin. */
uint32_t config_tie_end(const struct config_list *list, uint32_t begin, uint32_t error);
/* Leading entries by their estimates, those that are known not to fit last; of a tie those whose plans fit first, by
 * the time of these, but that of the fastest within 0.1 % the one with the least memory leads. O(leading^2). */
void config_order_rows(struct config_list *list, uint32_t error);

/* planned: rows of a search as plans: the knobs that give a configuration, and what its plan comes to.
 *
 * A search estimates by formulas. Its best rows are planned, so that memory and time of the two stand side by side. */

/* False where optimizer states wait in the host's memory: plans keep them on the devices. */
bool config_has_plan(const struct config *config);
/* Sets the knobs so that a plan has the configuration. */
void config_knobs(const struct config *config, struct scenario *scenario);
/* " --set devices=8 --set tp=2 ...": every knob that isn't at its default. Returns text. */
char *config_set_text(const struct scenario *scenario, char *text, size_t size);

#define CONFIGS_PLANNED 3  /* rows, where nobody says how many */

/* Plans rows of a graph under base, in order, until so many fit or twice as many are tried, and fills in their planned.
 * One whose plan is that of another row has none. A configuration that can't be planned has the reason there. Where
 * none fits by the estimates, those that need the least are tried, and what fits counts as fitting: the list is ranked
 * anew. Rows tried are then in the order of their planned times. watch may be NULL. OK, CANCELLED or NO_MEMORY. */
enum status config_plan_best(struct planner *planner, struct graph *graph, const struct scenario *base, uint32_t wanted,
	const struct config_watch *watch, struct config_list *list, struct error *error);
