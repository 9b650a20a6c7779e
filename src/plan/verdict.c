/* verdict.c: whether a plan fits its device. */

#include "src/scenario/own_device.h"
#include "verdict.h"

const char *const fits_text[] = { "no cap", "yes", "no", "unknown" };

/* Every axis of the mesh is a group, and so are the neighbours in a pipeline. */
static int64_t plan_verdict_groups_of(const struct plan *plan)
{
	int64_t axes = plan->transformed->sharded ? plan->transformed->sharded->sharding.mesh.axes : 0;
	return axes + (plan->transformed->pipelined && plan->transformed->pipelined->ranks > 1);
}

static int64_t ahead_of(const struct plan *plan)
{
	const struct pipelined *pipelined = plan->transformed->pipelined;
	return pipelined ? pipelined->ahead : plan->time ? plan->time->model.ahead : 0;
}

int64_t plan_needs(const struct plan *plan)
{
	return plan_arena(plan) + ahead_of(plan) + plan_verdict_groups_of(plan) * scenario_group_buffers(&plan->scenario);
}

enum status plan_reserves(const struct plan *plan, int64_t *bytes)
{
	int64_t fully_shard[2], buffers = plan_verdict_groups_of(plan) * scenario_group_buffers(&plan->scenario);
	enum status status = plan_fsdp(plan, fully_shard);
	*bytes = buffers +
		(status == OK && fully_shard[0] >= 0 ? fully_shard[plan->scenario.value[K_expandable] != 0]
		: plan_caching(plan) + ahead_of(plan));
	return status;
}

/* What is gathered ahead could wait, so that a bound doesn't count it. */
static enum fits fits_of(const struct verdict *verdict, int64_t bound)
{
	if (verdict->cap < 0)
		return FITS_ANY;
	if (verdict->needed <= verdict->cap)
		return FITS_YES;
	return bound + verdict->buffers + verdict->reserve > verdict->cap ? FITS_NO : FITS_UNKNOWN;
}

struct verdict plan_verdict(const struct plan *plan)
{
	int64_t budget = scenario_budget(&plan->scenario);
	struct verdict verdict = { .plan = plan_arena(plan),
		.ahead = ahead_of(plan),
		.buffers = plan_verdict_groups_of(plan) * scenario_group_buffers(&plan->scenario),
		.reserve = scenario_reserve(&plan->scenario),
		.cap = -1 };
	int64_t beside = verdict.ahead + verdict.buffers + verdict.reserve;
	char guesses[GUESSES_BYTES];
	verdict.needed = verdict.plan + beside;
	verdict.cap = budget < 0 ? -1 : scenario_device_memory(&plan->scenario);
	verdict.caching = plan->laid_out->caching[0] + beside;
	verdict.expandable = plan->laid_out->caching[1] + beside;
	verdict.fits = fits_of(&verdict, plan_bound(plan));
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

/* That of the larger of what is needed and the cap. */
static struct scale plan_verdict_scale_of(const struct verdict *verdict)
{
	static const struct scale units[] = { { "GiB", 1073741824.0 }, { "MiB", 1048576.0 }, { "KiB", 1024.0 }, { "B", 1.0 } };
	double most = (double)larger_of(verdict->needed, verdict->cap);
	size_t i = 0;
	while (i < 3 && most < units[i].bytes)
		i++;
	return units[i];
}

static int digits_of(double value, const struct scale *scale)
{
	return scale->bytes < 2 ? 0 : value < 99.95 ? 2 : 1;
}

/* "80.0 GiB", "3.15 GiB": two digits where one would round it to what is needed; "24 B" where it is less than one of
 * the unit. */
static char *cap_text(int64_t cap, const struct scale *scale, char *text, size_t size)
{
	double value = (double)cap / scale->bytes, tenths = value * 10;
	if (value < 1)
		return bytes_text(cap, text, size);
	snprintf(text, size, "%.*f %s", scale->bytes < 2 ? 0 : tenths == (double)(int64_t)tenths ? 1 : 2, value, scale->name);
	return text;
}

char *verdict_plan_text(const struct verdict *verdict, char *text, size_t size)
{
	static const char *const words[] = {
		[FITS_ANY] = "needs", [FITS_YES] = "fits:", [FITS_NO] = "does not fit:", [FITS_UNKNOWN] = "does not fit:"
	};
	struct scale scale = plan_verdict_scale_of(verdict);
	double needed = (double)verdict->needed / scale.bytes;
	bool below = (double)verdict->cap < scale.bytes;     /* each gets a unit of its own */
	const char *guess = verdict->guess ? ", a guess" : "";
	char cap[32];
	if (verdict->fits == FITS_ANY)
		snprintf(text, size, "%s %.*f %s, no cap%s", words[FITS_ANY], digits_of(needed, &scale), needed, scale.name, guess);
	else
		snprintf(text, size, "%s %.*f%s%s of %s%s", words[verdict->fits], digits_of(needed, &scale), needed, below ? " " : "",
			below ? scale.name : "", cap_text(verdict->cap, &scale, cap, sizeof cap), guess);
	return text;
}

char *verdict_allocator_text(const struct verdict *verdict, char *text, size_t size)
{
	struct scale scale = plan_verdict_scale_of(verdict);
	bool broken = verdict->fits == FITS_YES && verdict->caching > verdict->cap;
	snprintf(text, size, "caching allocator %.*f%s; expandable segments %.*f%s", scale.bytes < 2 ? 0 : 1,
		(double)verdict->caching / scale.bytes, broken ? ": fragmentation" : "", scale.bytes < 2 ? 0 : 1,
		(double)verdict->expandable / scale.bytes,
		broken && verdict->expandable > verdict->cap ? ": too much, too" : "");
	return text;
}

char *verdict_excess_text(const struct verdict *verdict, char *text, size_t size)
{
	char over[32];
	text[0] = '\0';
	if (verdict->fits == FITS_NO || verdict->fits == FITS_UNKNOWN)
		snprintf(text, size, "%s too much%s", bytes_text(verdict->needed - verdict->cap, over, sizeof over),
			verdict->fits == FITS_NO ? ": no order fits" : "; another plan may fit");
	return text;
}

char *verdict_text(const struct verdict *verdict, char *text, size_t size)
{
	char plan[VERDICT_TEXT], excess[VERDICT_TEXT], allocator[VERDICT_TEXT];
	verdict_excess_text(verdict, excess, sizeof excess);
	snprintf(text, size, "%s%s%s (%s)", verdict_plan_text(verdict, plan, sizeof plan), *excess ? ", " : "", excess,
		verdict_allocator_text(verdict, allocator, sizeof allocator));
	return text;
}
