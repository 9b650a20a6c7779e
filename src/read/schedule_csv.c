/* schedule_csv.c: the schedule CSV of torch.distributed.pipelining. */

#include "schedule_csv.h"

#include "src/base/source.h"

#define RANKS_MOST (1u << 12)
#define STAGES_MOST (1u << 16)
#define MICROBATCHES_MOST (1u << 20)
#define CELLS_MOST (1u << 24)
#define FILE_MOST ((size_t)1 << 28)

/* A pass as it was read. */
struct cell {
	uint32_t stage, microbatch, line, column;
	uint8_t pass;
	bool overlapped; /* with the next one */
};

struct reader {
	struct schedule_csv *csv;
	struct error *error;
	const char *at, *end, *line_start;
	uint32_t line;
	struct cell *cell;
	uint32_t cells;
	size_t room, row_room;
	uint32_t *row_end; /* [ranks] the cells of the ranks so far */
	uint32_t ranks, stages, microbatches;
	bool split;
};

static enum status wrong_at(struct reader *reader, uint32_t line, uint32_t column, const char *what, const char *more)
{
	enum status status = refuse(reader->error, "column %u: %s%s", column, what, more);
	if (reader->error)
		reader->error->line = line;
	return status;
}

static enum status wrong_here(struct reader *reader, const char *what)
{
	char shown[24] = "";
	size_t left = (size_t)(reader->end - reader->at);
	for (size_t i = 0; i < left && i + 1 < sizeof shown && !strchr(",\n\r", reader->at[i]); i++)
		shown[i] = reader->at[i] >= ' ' && reader->at[i] <= '~' ? reader->at[i] : '?';
	return wrong_at(reader, reader->line, (uint32_t)(reader->at - reader->line_start) + 1, what, shown);
}

/* ---- cells ---- */

static bool at_digit(const struct reader *reader)
{
	return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

/* False: too large. */
static bool schedule_csv_number(struct reader *reader, uint32_t most, uint32_t *value)
{
	uint64_t sum = 0;
	while (at_digit(reader) && sum <= most)
		sum = 10 * sum + (uint64_t)(*reader->at++ - '0');
	*value = (uint32_t)sum;
	return sum < most;
}

/* An action's name; PASS_COUNT for those that are left out, -1 for none. */
static int action(struct reader *reader)
{
	static const struct {
		const char *name;
		int pass;
	} actions[] = { { "WAIT_REDUCE_GRAD", PASS_COUNT }, { "WAIT_SEND_F", PASS_COUNT }, { "WAIT_SEND_B", PASS_COUNT },
		{ "REDUCE_GRAD", PASS_COUNT }, { "UNSHARD", PASS_COUNT }, { "RESHARD", PASS_COUNT }, { "SEND_F", PASS_COUNT },
		{ "RECV_F", PASS_COUNT }, { "SEND_B", PASS_COUNT }, { "RECV_B", PASS_COUNT }, { "F", PASS_FORWARD },
		{ "I", PASS_INPUT }, { "B", PASS_BACKWARD }, { "W", PASS_WEIGHT } };
	FOR(i, COUNT_OF(actions)) {
		size_t length = strlen(actions[i].name);
		if ((size_t)(reader->end - reader->at) >= length && memcmp(reader->at, actions[i].name, length) == 0) {
			reader->at += length;
			return actions[i].pass;
		}
	}
	return -1;
}

static enum status add_cell(struct reader *reader, const struct cell *cell)
{
	if (reader->cells == CELLS_MOST)
		return wrong_here(reader, "more than 16 million passes: ");
	NEEDED(reader->error, mem_reserve(&reader->cell, &reader->room, reader->cells + 1, sizeof *reader->cell));
	reader->cell[reader->cells++] = *cell;
	reader->stages = cell->stage >= reader->stages ? cell->stage + 1 : reader->stages;
	reader->microbatches = cell->microbatch >= reader->microbatches ? cell->microbatch + 1 : reader->microbatches;
	reader->split |= cell->pass == PASS_INPUT || cell->pass == PASS_WEIGHT;
	return OK;
}

/* "12F3": a stage, an action, a microbatch. */
static enum status read_action(struct reader *reader, bool overlapped)
{
	static const char expected[] = "expected a stage, an action (F, B, I, W, SEND_F, ...) and a microbatch, such as 0F3: ";
	struct cell cell = {
		.line = reader->line, .column = (uint32_t)(reader->at - reader->line_start) + 1, .overlapped = overlapped
	};
	const char *begin = reader->at;
	bool fine = at_digit(reader) && schedule_csv_number(reader, STAGES_MOST, &cell.stage);
	int pass = fine ? action(reader) : -1;
	bool numbered = pass >= 0 && at_digit(reader);
	if (numbered)
		fine = schedule_csv_number(reader, MICROBATCHES_MOST, &cell.microbatch);
	if (!fine || pass < 0 || (pass < PASS_COUNT && !numbered)) {
		reader->at = begin;
		return wrong_here(reader, expected);
	}
	if (pass == PASS_COUNT) {
		reader->csv->left_out++;
		return OK;
	}
	cell.pass = (uint8_t)pass;
	return add_cell(reader, &cell);
}

static void schedule_csv_skip_blanks(struct reader *reader)
{
	while (reader->at < reader->end &&
		(*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r' || *reader->at == '"'))
		reader->at++;
}

static bool schedule_csv_take(struct reader *reader, const char *text)
{
	size_t length = strlen(text);
	if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, text, length) != 0)
		return false;
	reader->at += length;
	return true;
}

/* "(0F4;1B2)OVERLAP_F_B" */
static enum status schedule_csv_read_pair(struct reader *reader)
{
	uint32_t before = reader->cells;
	TRY(read_action(reader, true));
	schedule_csv_skip_blanks(reader);
	if (!schedule_csv_take(reader, ";"))
		return wrong_here(reader, "expected ; and the second pass of a pair: ");
	schedule_csv_skip_blanks(reader);
	TRY(read_action(reader, false));
	schedule_csv_skip_blanks(reader);
	if (!schedule_csv_take(reader, ")OVERLAP_F_B"))
		return wrong_here(reader, "expected )OVERLAP_F_B: ");
	if (reader->cells != before + 2)
		return wrong_here(reader, "only passes overlap: ");
	return OK;
}

static enum status schedule_csv_read_row(struct reader *reader)
{
	for (;;) {
		schedule_csv_skip_blanks(reader);
		if (reader->at == reader->end || *reader->at == '\n')
			return OK;
		if (*reader->at != ',')
			TRY(schedule_csv_take(reader, "(") ? schedule_csv_read_pair(reader) : read_action(reader, false));
		schedule_csv_skip_blanks(reader);
		if (reader->at < reader->end && *reader->at != '\n' && !schedule_csv_take(reader, ","))
			return wrong_here(reader, "expected a comma: ");
	}
}

static enum status schedule_csv_read_rows(struct reader *reader)
{
	while (reader->at < reader->end) {
		reader->line++;
		reader->line_start = reader->at;
		uint32_t before = reader->cells;
		TRY(schedule_csv_read_row(reader));
		reader->at += reader->at < reader->end;
		if (reader->cells == before && reader->at == reader->end) /* an empty last line is no rank */
			break;
		if (reader->ranks == RANKS_MOST)
			return wrong_at(reader, reader->line, 1, "more than 4096 ranks", "");
		NEEDED(reader->error, mem_reserve(&reader->row_end, &reader->row_room, reader->ranks + 1, sizeof *reader->row_end));
		reader->row_end[reader->ranks++] = reader->cells;
	}
	return OK;
}

/* ---- what is wrong with the whole ---- */

static uint32_t row_begin(const struct reader *reader, uint32_t rank)
{
	return rank == 0 ? 0 : reader->row_end[rank - 1];
}

static enum status wrong_cell(struct reader *reader, const struct cell *cell, const char *what)
{
	static const char letters[PASS_COUNT] = {
		[PASS_FORWARD] = 'F', [PASS_BACKWARD] = 'B', [PASS_INPUT] = 'I', [PASS_WEIGHT] = 'W'
	};
	char name[64];
	PRINT_TO(name, "%u%c%u: ", cell->stage, letters[cell->pass], cell->microbatch);
	return wrong_at(reader, cell->line, cell->column, name, what);
}

/* Stages in turn, or in a V. */
static enum status schedule_csv_find_places(struct reader *reader)
{
	struct pipeline_order *order = &reader->csv->order;
	const struct cell *turned = NULL, *vee = NULL;
	if (reader->ranks == 0 || reader->cells == 0)
		return refuse(reader->error, "no passes: expected a row a rank, of cells such as 0F3");
	if (reader->stages % reader->ranks != 0)
		return refuse(reader->error, "%u stages are not spread evenly over %u ranks, as many as there are rows",
			reader->stages, reader->ranks);
	FOR(rank, reader->ranks)
		FOR_FROM(i, row_begin(reader, rank), reader->row_end[rank]) {
			const struct cell *cell = &reader->cell[i];
			turned = !turned && piece_rank(cell->stage, reader->ranks, false) != rank ? cell : turned;
			vee = !vee && piece_rank(cell->stage, reader->ranks, true) != rank ? cell : vee;
		}
	if (turned && vee)
		return wrong_cell(reader, turned,
			"this stage belongs elsewhere: stages are on the ranks in turn (0, 1, 2, 0, 1, 2) or in a V (0, 1, 2, 2, 1, "
			"0)");
	*order = (struct pipeline_order){ .ranks = reader->ranks,
		.chunks = reader->stages / reader->ranks,
		.microbatches = reader->microbatches,
		.folded = turned != NULL,
		.split = reader->split };
	return OK;
}

/* Whether the last of as many stages as ranks counts its forward passes from 1 while everything else counts from 0. */
static bool counts_from_one(const struct reader *reader)
{
	uint32_t begin = row_begin(reader, reader->ranks - 1), passes = reader->microbatches - 1, forward = 0;
	if (reader->stages != reader->ranks || reader->microbatches < 2)
		return false;
	FOR(i, reader->cells) {
		const struct cell *cell = &reader->cell[i];
		bool last = i >= begin && cell->pass == PASS_FORWARD;
		if (last ? cell->microbatch == 0 : cell->microbatch == passes)
			return false;
		forward += last;
	}
	return forward == passes;
}

/* Schedule1F1B of torch.distributed.pipelining writes it so. */
static void count_from_zero(struct reader *reader)
{
	reader->csv->renumbered = true;
	reader->microbatches--;
	FOR_FROM(i, row_begin(reader, reader->ranks - 1), reader->cells)
		reader->cell[i].microbatch -= reader->cell[i].pass == PASS_FORWARD;
}

/* Every pass once, behind those that it needs of its rank. done[stages * microbatches] */
static enum status schedule_csv_check_passes(struct reader *reader, uint8_t *done)
{
	enum { FORWARD = 1, INPUT = 2, WEIGHT = 4 };
	static const struct {
		uint8_t adds, needs;
		const char *missing;
	} rule[PASS_COUNT] = { [PASS_FORWARD] = { FORWARD, 0, "" },
		[PASS_BACKWARD] = { INPUT | WEIGHT, FORWARD, "this microbatch has not gone forward" },
		[PASS_INPUT] = { INPUT, FORWARD, "this microbatch has not gone forward" },
		[PASS_WEIGHT] = { WEIGHT, FORWARD | INPUT, "gradients of the input come before" } };
	FOR(i, reader->cells) {
		const struct cell *cell = &reader->cell[i];
		uint8_t *at = &done[(size_t)cell->stage * reader->microbatches + cell->microbatch];
		if (*at & rule[cell->pass].adds)
			return wrong_cell(reader, cell, "this pass has been done before");
		if ((*at & rule[cell->pass].needs) != rule[cell->pass].needs)
			return wrong_cell(reader, cell, rule[cell->pass].missing);
		*at |= rule[cell->pass].adds;
	}
	FOR_SIZE(i, (size_t)reader->stages * reader->microbatches)
		if (done[i] != (FORWARD | INPUT | WEIGHT))
			return refuse(reader->error, "stage %zu: %s of microbatch %zu is missing",
				i / reader->microbatches,
				!(done[i] & FORWARD) ? "the forward pass"
				: !(done[i] & INPUT) ? "the backward pass"
				: "the weights' pass (W)",
				i % reader->microbatches);
	return OK;
}

/* ---- the order ---- */

static void schedule_csv_put(struct pipeline_slot **slot, const struct cell *cell, enum pass pass, bool joined)
{
	*(*slot)++ = (struct pipeline_slot){ .piece = cell->stage,
		.microbatch = cell->microbatch,
		.pass = (uint8_t)pass,
		.joined = joined,
		.overlapped = cell->overlapped && pass != PASS_WEIGHT };
}

static enum status list_slots(struct reader *reader)
{
	struct pipeline_order *order = &reader->csv->order;
	order->slots = (order->split ? 3 : 2) * order->microbatches * order->chunks;
	ROOM(&reader->csv->arena, order->slot, (size_t)order->slots * order->ranks);
	struct pipeline_slot *slot = order->slot;
	for (uint32_t i = 0; slot && i < reader->cells; i++) {
		const struct cell *cell = &reader->cell[i];
		bool whole = order->split && cell->pass == PASS_BACKWARD;
		schedule_csv_put(&slot, cell, whole ? PASS_INPUT : (enum pass)cell->pass, whole);
		if (whole)
			schedule_csv_put(&slot, cell, PASS_WEIGHT, false);
	}
	return slot ? OK : fail_memory(reader->error);
}

/* Plays it with equal times: to its end, or to where ranks wait for each other. */
static enum status schedule_csv_play(struct reader *reader)
{
	const struct pipeline_order *order = &reader->csv->order;
	struct pipeline_plan plan;
	int64_t *unit;
	NEEDED(reader->error, ROOM(&reader->csv->arena, unit, reader->stages));
	struct pipeline pipeline = { .schedule = SCHEDULE_FILE,
		.ranks = order->ranks,
		.chunks = order->chunks,
		.microbatches = order->microbatches,
		.forward = unit,
		.backward = unit,
		.weight = unit,
		.send = unit,
		.order = order };
	struct pipeline_stuck stuck;
	enum status status = pipeline_play(&pipeline, &plan, &stuck, reader->error);
	if (status == OK)
		pipeline_free(&plan);
	else if (status == BAD_INPUT)
		FOR_FROM(i, row_begin(reader, stuck.rank), reader->row_end[stuck.rank]) {
			const struct cell *cell = &reader->cell[i];
			bool same = cell->stage == stuck.piece && cell->microbatch == stuck.microbatch &&
				(cell->pass == PASS_FORWARD) == (stuck.pass == PASS_FORWARD);
			if (same && cell->pass != PASS_WEIGHT)
				return wrong_cell(reader, cell, "it waits for ever: ranks wait for each other");
		}
	return status == NO_MEMORY ? fail_memory(reader->error) : status;
}

static enum status schedule_csv_read_all(struct reader *reader)
{
	TRY(schedule_csv_read_rows(reader));
	if (reader->cells && counts_from_one(reader))
		count_from_zero(reader);
	TRY(schedule_csv_find_places(reader));
	uint64_t cells = (uint64_t)reader->stages * reader->microbatches;
	if (cells > reader->cells) /* each has at least a forward pass, and a table of them is no larger than the text */
		return refuse(reader->error, "%u stages and %u microbatches are at least %llu passes, but there are %u",
			reader->stages, reader->microbatches, (unsigned long long)(2 * cells), reader->cells);
	HELD uint8_t *MAKE(done, cells);
	NEEDED(reader->error, done);
	TRY(schedule_csv_check_passes(reader, done));
	TRY(list_slots(reader));
	return schedule_csv_play(reader);
}

enum status schedule_csv_read(const char *text, size_t size, struct schedule_csv *csv, struct error *error)
{
	struct reader reader = { .csv = csv, .error = error, .at = text, .end = text + size, .line_start = text };
	*csv = (struct schedule_csv) { 0 };
	enum status status = schedule_csv_read_all(&reader);
	mem_free(reader.cell);
	mem_free(reader.row_end);
	return status;
}

enum status schedule_csv_open(const char *path, struct schedule_csv *csv, struct error *error)
{
	struct error why = { 0 };
	size_t size;
	*csv = (struct schedule_csv) { 0 };
	char *text = input_text(path, FILE_MOST, &size, &why);
	enum status status = text ? schedule_csv_read(text, size, csv, &why) : why.status;
	mem_free(text);
	input_name(path, &why);
	return status == BAD_INPUT ? fail(error, status, "%s", why.text) : status == OK ? OK : fail_memory(error);
}

void schedule_csv_free(struct schedule_csv *csv)
{
	arena_free(&csv->arena);
	*csv = (struct schedule_csv) { 0 };
}
