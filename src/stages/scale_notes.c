/* scale_notes.c: what another batch or sequence of a step rests on, in words. */
#include "solver/graph/growth.h"
#include "src/base/words.h"
#include "table.h"

/* Which captures tell of another batch. */
static void scale_notes_captured(char notes[NOTES_BYTES], const struct graph *graph, bool extended)
{
	const int64_t *line = growth_base(graph)->line;
	char seen[80];
	struct words words = { seen, sizeof seen, 0 };
	words_add(&words, "%lld", (long long)line[0]);
	for (int i = 1; i < LINE_BATCHES && line[i] > 0; i++)
		words_add(&words, "%s%lld", i + 1 < LINE_BATCHES && line[i + 1] > 0 ? ", " : " and ", (long long)line[i]);
	note(notes, extended
		? NOTE_GUESS "one sample is on the line through batch %s; tidemark_torch.capture_batches also captures it"
		: "the batch as captured: what each sample adds was seen at batch %s", seen);
}

static const char *scale_notes_plural(uint32_t count, const char *one, const char *more)
{
	return count == 1 ? one : more;
}

void scale_notes(char notes[NOTES_BYTES], const struct graph *graph, const struct scale_report *report)
{
	if (report->captured)
		scale_notes_captured(notes, graph, report->extended);
	if (report->copies)
		note(notes, "%u view%s copied at this size, as PyTorch's reshape does; the first is %s", report->copies,
			scale_notes_plural(report->copies, " is", "s are"), graph->op[report->first_copy].name);
	if (report->left_behind)
		note(notes, NOTE_GUESS "%u of the tensors copied %s freed when the module returns that was called with %s; "
			"if the program has a name for %s longer, the plan is too low: tidemark_torch.capture_batches tells",
			report->left_behind, scale_notes_plural(report->left_behind, "is", "are"),
			scale_notes_plural(report->left_behind, "it", "them"), scale_notes_plural(report->left_behind, "it", "them"));
	if (report->unfused)
		note(notes, "%u linear layer%s a copied operand: a product and an addition now, as PyTorch runs there",
			report->unfused, scale_notes_plural(report->unfused, " has", "s have"));
	if (report->capacities)
		note(notes, "%u number%s of slots per expert taken to grow with the tokens", report->capacities,
			scale_notes_plural(report->capacities, " is", "s are"));
	if (report->sums)
		note(notes, "%u gradient%s summed over the batch by an op of %s own now", report->sums,
			scale_notes_plural(report->sums, " is", "s are"), scale_notes_plural(report->sums, "its", "their"));
	if (report->workspaces)
		note(notes, NOTE_GUESS "the workspace of %u op%s is scaled like %s tensors; measured at several batches, it is "
			"known", report->workspaces, scale_notes_plural(report->workspaces, "", "s"),
			scale_notes_plural(report->workspaces, "its", "their"));
	if (report->reserves)
		note(notes, NOTE_GUESS "what %u recurrent layer%s for the backward pass is scaled like %s operand",
			report->reserves, scale_notes_plural(report->reserves, " keeps", "s keep"),
			scale_notes_plural(report->reserves, "its", "their"));
	if (report->once)
		note(notes,
			NOTE_GUESS "%u tensor%s made once for all samples; if the program makes %s for each, the plan is too "
					   "low: tidemark_torch.capture_batches tells; the first is %s",
			report->once, scale_notes_plural(report->once, " is assumed to be", "s are assumed to be"),
			scale_notes_plural(report->once, "it", "them"), graph->tensor[report->first_once].name);
	if (report->flat)
		note(notes,
			"shapes are flat: the batch multiplies what comes from the inputs, not weights, their gradients and steps");
	if (report->ambiguous)
		note(notes, "%u op%s equal extents; the likelier reading of the two was taken", report->ambiguous,
			scale_notes_plural(report->ambiguous, " has", "s have"));
}
