/* notes.c: what is told of recomputation that fits a step into the memory cap. */

#include "src/base/words.h"
#include "src/scenario/own_device.h"
#include "src/scenario/shard_mesh.h"
#include "stage.h"

static bool goes_back(const struct graph *step)
{
	uint32_t op = 0;
	while (op < step->ops && step->op[op].phase != PHASE_BACKWARD)
		op++;
	return op < step->ops;
}

/* Parameters are gathered for the step, and a layer ahead of their place in the order. */
static bool gathers_ahead(const struct graph *step, const struct scenario *scenario)
{
	bool gathers = false;
	FOR_WHILE(op, step->ops, scenario_prefetch(scenario) > 0)
		FOR_ITEMS(read, &step->reads, op)
			gathers |= step->op[op].phase == PHASE_COMMUNICATION &&
				graph_home(step, read)->persistent;
	return gathers;
}

/* What comes on top of what recomputation counts with. */
static const char *added_to(const struct graph *step, const struct scenario *scenario)
{
	bool ahead = gathers_ahead(step, scenario),
		 buffers = scenario_shards(scenario) && scenario_group_buffers(scenario) > 0;
	return ahead && buffers ? "the layout, what is gathered ahead and the buffers of groups"
		: ahead ? "the layout and what is gathered ahead"
		: buffers ? "the layout and the buffers of groups"
		: "the layout";
}

/* "9.32 % more time, 13.5 ms". */
void fit_notes(char notes[NOTES_BYTES], const struct fitted *fitted, const struct scenario *scenario, int64_t left)
{
	double step = (double)(fitted->total > 0 ? fitted->total : 1),
		   giga = fitted->slope;   /* picoseconds a byte are milliseconds a gigabyte */
	char less[100] = "", among[100] = "";
	const char *added = added_to(fitted->step, scenario);
	left = fitted->planned ? 0 : left;    /* the cap was held against the arena */
	if (left > 0) {
		PRINT_TO(less, " less what is left to %s", added);
		PRINT_TO(among, " that leaves as much to %s", added);
	}
	if (fitted->left_out)
		note(notes, NOTE_LEFT_OUT "plans of some choices of recomputation, because the step has many ops");
	if (fitted->impossible)
		note(notes, "nothing fits: what %s alone reads and writes, with what must be there, is above the memory cap%s",
			fitted->step->op[fitted->certificate.op].name, less);
	else if (fitted->replayed > fitted->cap && !goes_back(fitted->step))
		note(notes, "recompute=auto changes nothing: the graph has no backward pass, for which something could be "
			"recomputed");
	else if (fitted->replayed > fitted->cap)
		note(notes, "no recomputation was found that meets the memory cap%s", less);
	if (fitted->away > 0)
		note(notes, "%u tensor%s, %s, wait%s in the host's memory between the passes", fitted->away,
			fitted->away == 1 ? "" : "s", BYTES(fitted->moved),
			fitted->away == 1 ? "s" : "");
	if (fitted->extra > fitted->stall)
		note(notes, "activations are computed again: %.4g %% of the step's time more, %.4g ms%s",
			100 * (double)(fitted->extra - fitted->stall) / step, (double)(fitted->extra - fitted->stall) / 1e9,
			!fitted->proved || fitted->away > 0 ? ""
			: *among ? ", proved the least among plans that leave as much"
			: ", proved least");
	if (left > 0 && fitted->replayed <= fitted->cap)
		note(notes, "that leaves %s of the memory cap to %s", BYTES(left), added);
	if (fitted->bound > 0 && !fitted->proved)
		note(notes,
			"any order with any recomputation%s takes at least %.4g %% more; at this cap 1 GB more is worth %.3g ms",
			among, 100 * (double)fitted->bound / step, giga);
}
