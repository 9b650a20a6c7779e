/* devices_search.c: what was searched: bound and gap, the candidates with what each costs, time against redundancy. */
#include "devices.h"
#include "src/stages/shard/stage.h"

#define GIB 1073741824.0

enum { TIME_AT = 12, BYTES_AT = 24, CURVE_WIDE = 60, CURVE_HIGH = 8, EXPLAINED_FROM = 20, CANDIDATES_LEAST = 6 };

/* A sentence from row y on, broken at blanks. Returns the next row. */
static int draw_sentence(struct frame *frame, int y, enum role role, const char *text)
{
	int width = frame->window.width - 2;
	frame_wrapped(frame, (struct rect){ 1, y, width, frame->window.height - y }, role, text);
	return y + text_rows(text, width);
}

/* What was minimised, the bound and where it comes from; the price of memory that shows it where there is a cap. */
static int draw_proof(struct frame *frame, const struct plan *plan)
{
	const struct sharded *sharded = plan->transformed->sharded;
	const struct proof *proof = &sharded->proof;
	const struct price *price = &sharded->price;
	char text[300], bound[32], cost[32], mesh[96];
	int y = 0;
	if (proof->quantity == QUANTITY_NONE) {
		y = draw_sentence(frame, y, ROLE_FAINT,
			!sharded->candidates ? "nothing is searched: an expert's sharding"
			: sharded->space ? "the best that was found; nothing is proved of it"
			: "the best of what experts write by hand; no bound");
	} else {
		bool time = quantity_is_time[proof->quantity];
		snprintf(text, sizeof text, "%s %s, bound on mesh %s %s: %s (%s)%s%s", quantity_names[proof->quantity],
			time ? time_text(proof->value, cost, sizeof cost) : bytes_text(proof->value, cost, sizeof cost),
			mesh_text(&sharded->sharding.mesh, mesh, sizeof mesh),
			time ? time_text(proof->bound, bound, sizeof bound) : bytes_text(proof->bound, bound, sizeof bound),
			proof_closed(proof) ? "proved the least" : "not proved the least", proof->by,
			price->limit < 0 ? "" : ", among ",
			price->limit < 0 ? "" : shard_bound_among(&plan->scenario, sharded->price.limit));
		y = draw_sentence(frame, y, proof_closed(proof) ? ROLE_GOOD : ROLE_TEXT, text);
	}
	if (proof->quantity != QUANTITY_NONE && price->alpha > 0 && price->beta > 0 && price->limit >= 0) {
		char priced[32];
		double per_gib = (double)price->beta / (double)price->alpha * GIB;
		snprintf(text, sizeof text, "with each GiB kept priced at %s, nothing within %s takes less than %s",
			 time_text(per_gib < (double)INT64_MAX / 2 ? (int64_t)per_gib : INT64_MAX, priced, sizeof priced),
			 bytes_text(price->limit, bound, sizeof bound), time_text(price->priced, cost, sizeof cost));
		y = draw_sentence(frame, y, ROLE_FAINT, text);
	}
	if (plan->compared > 1) {
		snprintf(text, sizeof text,
			"the best of %u planned, by memory and simulated step; nothing is proved of other meshes", plan->compared);
		y = draw_sentence(frame, y, ROLE_TEXT, text);
	}
	if (plan->foretold > 0) {
		snprintf(text, sizeof text,
			"%u shardings were planned with a few of the equal layers, to see which are worth a whole plan",
			plan->foretold);
		y = draw_sentence(frame, y, ROLE_FAINT, text);
	}
	if (sharded->space) {
		snprintf(text, sizeof text, "searched: %s; %s ops folded", sharded->space, count_text(sharded->folded, cost));
		y = draw_sentence(frame, y, ROLE_FAINT, text);
	}
	return y;
}

/* Searches compare estimates: what they count, where there is room, and the plan's own numbers. */
static int draw_estimates(struct frame *frame, int y, const struct plan *plan)
{
	char text[300], gain[120];
	snprintf(text, sizeof text, "estimates of the search%s; %s",
		frame->window.height < EXPLAINED_FROM
			? ""
			: "; kept: parameters, state, what is saved for the backward pass, gradients",
		plan_gain_text(plan, gain, sizeof gain));
	return draw_sentence(frame, y, ROLE_FAINT, text);
}

/* The candidate in a row: what was chosen comes first, the others as they were looked at. */
static uint32_t candidate_at(const struct sharded *sharded, uint32_t row)
{
	uint32_t chosen = 0;
	while (chosen < sharded->candidates && !sharded->candidate[chosen].chosen)
		chosen++;
	return chosen == sharded->candidates || row > chosen ? row : row == 0 ? chosen : row - 1;
}

static int draw_candidates(struct frame *frame, int y, int end, const struct sharded *sharded, uint32_t *top)
{
	char text[40];
	frame_right(frame, TIME_AT, y, ROLE_LABEL, "step");
	frame_right(frame, BYTES_AT, y, ROLE_LABEL, "kept");
	frame_text(frame, BYTES_AT + 2, y++, frame->window.width, ROLE_LABEL, "candidate");
	*top = scroll_to(*top, *top, sharded->candidates, end - y);
	for (uint32_t i = *top; i < sharded->candidates && y < end; i++, y++) {
		const struct shard_candidate *candidate = &sharded->candidate[candidate_at(sharded, i)];
		enum role role = !candidate->possible ? ROLE_FAINT : candidate->chosen ? ROLE_GOOD : ROLE_TEXT;
		frame_right(frame, TIME_AT, y, role, candidate->possible ? time_text(candidate->time, text, sizeof text) : "-");
		frame_right(frame, BYTES_AT, y, role,
			candidate->possible && candidate->usage >= 0 ? bytes_text(candidate->usage, text, sizeof text) : "-");
		frame_name(frame, BYTES_AT + 2, y, frame->window.width - BYTES_AT - 2, role, candidate->text);
		if (candidate->chosen)
			frame_glyph(frame, 1, y, GLYPH_INCREASE, ROLE_KEY);
	}
	return y;
}

/* ---- time against redundancy ---- */

static int devices_search_place_of(int64_t value, int64_t least, int64_t most, int cells)
{
	return most > least ? (int)((double)(value - least) / (double)(most - least) * (cells - 1) + 0.5) : 0;
}

/* Redundant bytes to the right, time upwards: the curve falls. Then its points in numbers. */
static int devices_search_draw_curve(struct frame *frame, int y, const struct sharded *sharded)
{
	int64_t least = INT64_MAX, most = 0, fast = INT64_MAX, slow = 0;
	int width = frame->window.width - 12, high = CURVE_HIGH;
	char text[40];
	for (uint32_t i = 0; i < sharded->points; i++) {
		const struct sharding_point *point = &sharded->curve[i];
		least = point->redundant < least ? point->redundant : least;
		most = point->redundant > most ? point->redundant : most;
		fast = point->time < fast ? point->time : fast;
		slow = point->time > slow ? point->time : slow;
	}
	frame_right(frame, 10, y, ROLE_LABEL, time_text(slow, text, sizeof text));
	frame_right(frame, 10, y + high - 1, ROLE_LABEL, time_text(fast, text, sizeof text));
	for (int row = 0; row < high; row++)
		frame_glyph(frame, 11, y + row, GLYPH_VERTICAL, ROLE_LINE);
	frame_repeat(frame, 12, y + high, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_text(frame, 12, y + high + 1, width, ROLE_LABEL, bytes_text(least, text, sizeof text));
	frame_right(frame, 12 + width, y + high + 1, ROLE_LABEL, bytes_text(most, text, sizeof text));
	frame_text(frame, 12 + width / 2 - 8, y + high + 1, 20, ROLE_LABEL, "extra copies");
	for (uint32_t i = 0; i < sharded->points; i++) {
		const struct sharding_point *point = &sharded->curve[i];
		frame_glyph(frame, 12 + devices_search_place_of(point->redundant, least, most, width),
			y + high - 1 - devices_search_place_of(point->time, fast, slow, high), GLYPH_BULLET, ROLE_TITLE);
	}
	return y + high + 3;
}

static int devices_search_draw_points(struct frame *frame, int y, int end, const struct sharded *sharded)
{
	char text[40];
	frame_right(frame, TIME_AT, y, ROLE_LABEL, "step");
	frame_right(frame, BYTES_AT, y, ROLE_LABEL, "kept");
	frame_right(frame, BYTES_AT + 12, y, ROLE_LABEL, "copies");
	frame_text(frame, BYTES_AT + 14, y++, frame->window.width, ROLE_LABEL, "above the least");
	for (uint32_t i = 0; i < sharded->points && y < end; i++, y++) {
		const struct sharding_point *point = &sharded->curve[i];
		frame_right(frame, TIME_AT, y, ROLE_TEXT, time_text(point->time, text, sizeof text));
		frame_right(frame, BYTES_AT, y, ROLE_TEXT, bytes_text(point->usage, text, sizeof text));
		frame_right(frame, BYTES_AT + 12, y, ROLE_TEXT, bytes_text(point->redundant, text, sizeof text));
		frame_print(frame, BYTES_AT + 14, y, ROLE_FAINT, "%2u %%", point->eps);
	}
	return y;
}

void devices_draw_search(struct frame *frame, const struct model *model, uint32_t *top)
{
	const struct sharded *sharded = model->plan->transformed->sharded;
	int y = draw_proof(frame, model->plan), height = frame->window.height;
	if (sharded->candidates + sharded->points > 0)
		y = draw_estimates(frame, y, model->plan);
	if (sharded->points) {
		y = devices_search_draw_points(frame, y + 1, height, sharded);
		if (y + CURVE_HIGH + 3 + CANDIDATES_LEAST < height && frame->window.width >= CURVE_WIDE)
			y = devices_search_draw_curve(frame, y + 1, sharded);
	}
	if (sharded->candidates && y + 2 < height)
		draw_candidates(frame, y + 1, height, sharded, top);
	else if (!sharded->points)
		frame_wrapped(frame, (struct rect){ 1, y + 1, frame->window.width - 1, 3 }, ROLE_FAINT,
			":set strategy=auto searches for the fastest step, minred for the least memory (with :set curve=on time "
			"against it), tap for the least communication");
}
