/* verdict.c: what a plan needs, and whether that fits its device. */
#include "fsdp.h"
#include "src/read/card.h"
#include "src/scenario/own_device.h"
#include "src/stages/base/stages.h"
#include "verdict.h"

const char *const fits_text[] = { "no cap", "yes", "expandable", "planned", "no", "unknown" };
#define X(id, key, remark) { key, remark },
const struct ledger_words ledger[LEDGER_PARTS] = { LEDGER(X) };
#undef X

/* Every axis of the mesh is a group, and so are the neighbours in a pipeline. */
static int64_t verdict_buffers(const struct plan *plan)
{
	int64_t axes = plan->sharded ? plan->sharded->sharding.mesh.axes : 0;
	return (axes + (plan->pipelined && plan->pipelined->ranks > 1)) *
		scenario_group_buffers(&plan->scenario);
}

/* What fully_shard gathers is played with the rest. */
static int64_t verdict_ahead(const struct plan *plan, enum allocator allocator)
{
	const struct pipelined *pipelined = plan->pipelined;
	return pipelined ? pipelined->ahead
		: plan->time && !(plan->fully_shard && allocator != ALLOCATOR_PLAN) ? plan->time->model.ahead
		: 0;
}

/* < 0: not played. */
static int64_t verdict_needs(const struct plan *plan, enum allocator allocator)
{
	int64_t least = plan->pytorch[allocator == ALLOCATOR_EXPANDABLE].least;
	if (allocator != ALLOCATOR_PLAN && least == 0)
		return -1;
	return (allocator == ALLOCATOR_PLAN ? plan_arena(plan) : larger_of(least, plan_peak(plan))) +
		verdict_ahead(plan, allocator) + verdict_buffers(plan);
}

int64_t plan_needs(const struct plan *plan)
{
	return verdict_needs(plan, plan->allocator);
}

enum status plan_allocate(struct plan *plan, bool expandable)
{
	enum allocator allocator = expandable ? ALLOCATOR_EXPANDABLE : ALLOCATOR_PYTORCH;
	struct fsdp_step step = { plan->graph, &plan->scenario, plan->ordered->position, plan->laid_out->first,
		plan->laid_out->last, plan->laid_out->bytes };
	struct allocated *allocated = &plan->pytorch[expandable];
	OWN(arena) arena = { 0 };
	struct buffers buffers = { 0 };
	int64_t said = plan->graph->about.intake.caching[expandable], limit = scenario_budget(&plan->scenario);
	if (plan->sharded && !plan->pipelined)
		TRY(fsdp_buffers(&step, &arena, &buffers));
	plan->fully_shard = buffers.n > 0;
	if (buffers.n == 0)
		TRY(allocator_buffers(plan->ordered, plan->laid_out,
			graph_of_allocations(plan->input) ? 1 : ALLOCATOR_STEPS, plan->state_first, &arena, &buffers));
	limit = limit < 0 ? -1 : larger_of(limit - verdict_ahead(plan, allocator) - verdict_buffers(plan), 0);
	NEED(layout_holds(&buffers, expandable, limit, allocated));
	if (said > 0)   /* of a trace's own buffers, several of which are one tensor here */
		*allocated = (struct allocated){ said, said, said, limit >= 0 && said > limit ? 0 : -1, 0 };
	allocated->least = larger_of(allocated->least, 1);
	return OK;
}

/* A bound doesn't count what is gathered ahead: that could wait. */
static enum fits verdict_fits(const struct verdict *verdict, int64_t bound)
{
	const int64_t *by = verdict->by;
	if (verdict->cap < 0)
		return FITS_ANY;
	if (verdict->needed <= verdict->cap)
		return FITS_YES;
	if (bound + verdict->part[PART_BUFFERS] + verdict->part[PART_CONTEXT] > verdict->cap)
		return FITS_NO;
	return by[ALLOCATOR_EXPANDABLE] >= 0 && by[ALLOCATOR_EXPANDABLE] <= verdict->cap &&
			verdict->allocator == ALLOCATOR_PYTORCH
		? FITS_EXPANDABLE
		: by[ALLOCATOR_PLAN] <= verdict->cap ? FITS_PLANNED
		: FITS_UNKNOWN;
}

static void verdict_parts(const struct plan *plan, struct verdict *verdict)
{
	int64_t bytes[KIND_COUNT] = { 0 }, workspace = 0, *part = verdict->part, sum = 0;
	if (plan->graph->ops > 0)
		plan_categories(plan, plan->ordered->peak_position, bytes, &workspace);
	part[PART_OTHER] = workspace;
	FOR_INT(kind, KIND_COUNT)
		part[ledger_part_of((enum kind)kind)] += bytes[kind];
	part[PART_AHEAD] = verdict_ahead(plan, plan->allocator);
	part[PART_BUFFERS] = verdict_buffers(plan);
	part[PART_CONTEXT] = scenario_reserve(&plan->scenario);
	FOR_INT(p, LEDGER_PARTS)
		sum += part[p];
	part[PART_HOLES] = verdict->needed - sum;
}

struct verdict plan_verdict(const struct plan *plan)
{
	struct verdict verdict = { .allocator = plan->allocator,
		.cap = scenario_budget(&plan->scenario) < 0 ? -1 : scenario_device_memory(&plan->scenario),
		.needed = plan_needs(plan) + scenario_reserve(&plan->scenario),
		.retries = plan->allocator == ALLOCATOR_PLAN ? 0
			: plan->pytorch[plan->allocator == ALLOCATOR_EXPANDABLE].retries };
	char guesses[GUESSES_BYTES];
	for (int a = ALLOCATOR_PLAN; a <= ALLOCATOR_EXPANDABLE; a++) {
		int64_t needs = verdict_needs(plan, (enum allocator)a);
		verdict.by[a] = needs < 0 ? -1 : needs + scenario_reserve(&plan->scenario);
	}
	verdict_parts(plan, &verdict);
	verdict.state_first = plan->state_first;
	verdict.fits = verdict_fits(&verdict, plan_bound(plan));
	verdict.guess = *notes_guesses(plan->transformed->notes, guesses) != '\0';
	return verdict;
}

int64_t plan_budget(const struct plan *plan)
{
	int64_t budget = scenario_budget(&plan->scenario), beside = plan_needs(plan) - plan_arena(plan);
	return budget < 0 ? -1 : larger_of(budget - beside, 0);
}

/* ---- words ---- */

struct scale { const char *name; double bytes; };

/* That of the larger of what is needed and the cap; none where a figure is below a tenth of it: all have their own. */
static struct scale verdict_scale(const struct verdict *verdict)
{
	static const struct scale units[] = { { " GiB", 1073741824.0 }, { " MiB", 1048576.0 }, { " KiB", 1024.0 },
		{ " B", 1.0 } }, none = { "", 1e30 };
	int64_t most = larger_of(verdict->needed, verdict->cap), least = verdict->needed;
	size_t i = 0;
	while (i < 3 && (double)most < units[i].bytes)
		i++;
	least = verdict->cap >= 0 ? smaller_of(least, verdict->cap) : least;
	for (int a = ALLOCATOR_PLAN; a <= ALLOCATOR_EXPANDABLE; a++)
		least = verdict->by[a] >= 0 ? smaller_of(least, verdict->by[a]) : least;
	return (double)least < units[i].bytes / 10 ? none : units[i];
}

/* "3.85", or with a unit of its own where there is no scale. */
static const char *verdict_bytes(int64_t bytes, const struct scale *scale, char *text, size_t size)
{
	if (*scale->name == '\0')
		return bytes_text(bytes, text, size);
	return printed(text, size, "%.*f", scale->bytes < 2 ? 0 : 2, (double)bytes / scale->bytes);
}

char *verdict_plan_text(const struct verdict *verdict, char *text, size_t size)
{
	static const char *const words[] = { "NEEDS", "FITS", "FITS with expandable segments only",
		"AS PLANNED ONLY", "DOES NOT FIT", "DOES NOT FIT" };
	struct scale scale = verdict_scale(verdict);
	char needed[32], cap[32];
	verdict_bytes(verdict->needed, &scale, needed, sizeof needed);
	return printed(text, size, "%s %s%s%s%s%s%s%s", words[verdict->fits], needed, verdict->cap < 0 ? "" : " of ",
		verdict->cap < 0 ? "" : verdict_bytes(verdict->cap, &scale, cap, sizeof cap), scale.name,
		verdict->state_first ? ", the optimizer's state made first" : "", verdict->guess ? ", a guess" : "",
		verdict->cap < 0 ? ", no limit" : "");
}

static char *verdict_allocator_text(const struct verdict *verdict, char *text, size_t size)
{
	static const char *const names[] = { "", "as planned", "default segments", "expandable segments" };
	struct scale scale = verdict_scale(verdict);
	struct words words = { text, size, 0 };
	text[0] = '\0';
	for (int a = ALLOCATOR_PLAN; a <= ALLOCATOR_EXPANDABLE; a++)
		if (verdict->by[a] >= 0)
			words_add(&words, "%s%s%s %s", words.at > 0 ? "; " : "",
				a == (int)verdict->allocator ? "judged: " : "", names[a],
				verdict_bytes(verdict->by[a], &scale, TEXT(32)));
	if (verdict->fits == FITS_YES && verdict->retries > 0)
		words_add(&words, "; gives memory back %u times", verdict->retries);
	return text;
}

/* What is too much; "" where nothing is. */
static char *verdict_excess_text(const struct verdict *verdict, char *text, size_t size)
{
	text[0] = '\0';
	if (!fits_runs(verdict->fits))
		snprintf(text, size, "%s too much%s", BYTES(verdict->needed - verdict->cap),
			verdict->fits == FITS_NO ? ": no order fits" : verdict->fits == FITS_UNKNOWN ? "; another plan may fit" : "");
	return text;
}

char *verdict_text(const struct verdict *verdict, char *text, size_t size)
{
	char excess[VERDICT_TEXT];
	verdict_excess_text(verdict, excess, sizeof excess);
	return printed(text, size, "%s%s%s (%s)", verdict_plan_text(verdict, TEXT(VERDICT_TEXT)), *excess ? ", " : "", excess,
		verdict_allocator_text(verdict, TEXT(VERDICT_TEXT)));
}
