/* notes.c: what is told of recomputation that fits a step into the memory cap. */
#include "src/base/bytes.h"
#include "notes.h"

static bool goes_back(const struct graph *step)
{
	uint32_t op = 0;
	while (op < step->ops && step->op[op].phase != PHASE_BACKWARD)
		op++;
	return op < step->ops;
}

/* "9.32 % more time, 13.5 ms". */
void fit_notes(char notes[NOTES_BYTES], const struct fitted *fitted, int64_t left)
{
	double step = (double)(fitted->total > 0 ? fitted->total : 1), giga = fitted->slope;   /* picoseconds a byte are milliseconds a gigabyte */
	char margin[32];
	left = fitted->planned ? 0 : left;    /* the cap was held against the arena */
	const char *less = left > 0 ? " less what the layout may add" : "", *among = left > 0 ? " that leaves the layout as much" : "";
	if (fitted->impossible)
		note(notes, "nothing fits: what %s alone reads and writes, with what must be there, is above the memory cap%s", fitted->step->op[fitted->certificate.op].name, less);
	else if (fitted->replayed > fitted->cap && !goes_back(fitted->step))
		note(notes, "recompute=auto changes nothing: the graph has no backward pass, for which something could run again");
	else if (fitted->replayed > fitted->cap)
		note(notes, "no recomputation was found that meets the memory cap%s", less);
	if (fitted->replayed > fitted->cap && fitted->lowest > 0)
		note(notes, "this plan saves memory for little time: the lowest peak that was found takes %.4g %% of the step's time more", 100 * (double)fitted->lowest_extra / step);
	if (fitted->away > 0)
		note(notes, "%u tensor%s, %s, wait%s in the host's memory between the passes", fitted->away, fitted->away == 1 ? "" : "s",
			bytes_text(fitted->moved, margin, sizeof margin), fitted->away == 1 ? "s" : "");
	if (fitted->extra > fitted->stall)
		note(notes, "activations are computed again: %.4g %% of the step's time more, %.4g ms%s", 100 * (double)(fitted->extra - fitted->stall) / step,
			(double)(fitted->extra - fitted->stall) / 1e9, !fitted->proved || fitted->away > 0 ? "" : *among ? ", proved the least among plans that leave the layout as much memory" : ", proved least");
	if (left > 0 && fitted->replayed <= fitted->cap)
		note(notes, "that leaves %s of the memory cap to what the layout adds", bytes_text(left, margin, sizeof margin));
	if (fitted->bound > 0 && !fitted->proved)
		note(notes, "any order with any recomputation%s takes at least %.4g %% more; at this cap 1 GB more is worth %.3g ms", among, 100 * (double)fitted->bound / step, giga);
}
