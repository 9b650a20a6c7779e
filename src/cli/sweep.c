/* sweep.c: `tidemark sweep`: plans every combination of knob values, one line each.
 *
 * Scenario number k is the k-th combination, the last --vary turning fastest. Jobs are processes that take runs of
 * neighbouring numbers, so that each one's store serves what its neighbours share. Every line is written by one
 * write(2), so lines of several jobs never mix; a line that was torn by a kill is cut off when resuming. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch.h"
#include "options.h"
#include "src/base/streams.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "sweep_row.h"

#define VARIED_MAX 32
#define VALUES_MAX 4096
#define RUN 4 /* scenarios that a job takes at once */

/* A knob or a figure of the device, and its values as they are written. */
struct varied {
	const char **value;
	uint32_t values;
};

struct sweep {
	struct scenario base;
	struct varied varied[VARIED_MAX];
	const char *columns[VARIED_MAX]; /* what is varied */
	struct arena arena; /* of names and values */
	int count;
	enum sweep_form form;
	uint64_t total;
	uint64_t part, parts;
	int jobs, descriptor;
	bool resume, merge;
	struct command_line line;
	bool *done;           /* [total]: already in the output */
	uint64_t fingerprint; /* of all that its rows have in common */
	struct graph **graph; /* [graphs] */
	int graphs;           /* several: the first that is varied, by their names */
};

/* What jobs share. */
struct shared {
	_Atomic uint64_t next, finished;
};

/* ---- options ---- */

static int vary(struct sweep *sweep, const char *text)
{
	char name[64], word[128];
	const char *at = strchr(text, '=');
	if (!at || sweep->count == VARIED_MAX)
		return usage_error("sweep", "--vary %s: expected KNOB=V1,V2,...", text);
	PRINT_TO(name, "%.*s", (int)(at - text), text);
	struct varied *varied = &sweep->varied[sweep->count];
	enum knob_id knob = knob_find(name);
	struct error unknown = { 0 };
	if (text_is(name, SWEEP_GRAPH))
		return usage_error("sweep", "--vary %s: the graphs themselves are given: tidemark sweep FIRST SECOND", text);
	if (knob == KNOB_COUNT && figure_find(name) == FIGURE_COUNT && knob_unknown(name, &unknown) != OK)
		return usage_error("sweep", "%s", unknown.text);
	const char *column = knob == KNOB_COUNT ? name : knobs[knob].name;
	sweep->columns[sweep->count] = column = arena_text(&sweep->arena, column, strlen(column));
	if (!(ROOM(&sweep->arena, varied->value, VALUES_MAX) && column))
		return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	sweep->count++;
	do {
		struct scenario probe;
		struct error error = { 0 };
		size_t length = strcspn(++at, ",");
		PRINT_TO(word, "%s=%.*s", name, (int)SMALLER(length, 60), at);
		at += length;
		scenario_init(&probe);
		if (scenario_set(&probe, word, &error) != OK)
			return usage_error("sweep", "%s", error.text);
		bool pinned = probe.pins > 0 && knob != KNOB_COUNT;
		if (pinned)
			scenario_done(&probe);
		if (pinned)
			return usage_error("sweep", "--vary %s: a file can't be varied: set it for the whole sweep with --set", word);
		if (varied->values == VALUES_MAX)
			return usage_error("sweep", "--vary %s: more than %d values", name, VALUES_MAX);
		scenario_value_text(&probe, name, word, sizeof word);
		if (!(varied->value[varied->values++] = arena_text(&sweep->arena, word, strlen(word))))
			return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
		batch_doubt(&probe, NULL);
		scenario_done(&probe);
	} while (*at == ',');
	return EXIT_FINE;
}

/* A file's name without folder and ending: what its rows call the graph. */
static const char *sweep_graph_name(struct sweep *sweep, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strcspn(name, ".");
	return arena_text(&sweep->arena, name, length ? SMALLER(length, 60) : strlen(name));
}

/* Several graphs are varied before all knobs. */
static int sweep_vary_graphs(struct sweep *sweep)
{
	struct varied *varied = sweep->varied;
	if (sweep->graphs < 2)
		return EXIT_FINE;
	if (sweep->count == VARIED_MAX)
		return usage_error("sweep", "several graphs, and %d knobs: one less can be varied", VARIED_MAX);
	memmove(varied + 1, varied, (size_t)sweep->count * sizeof *varied);
	memmove(sweep->columns + 1, sweep->columns, (size_t)sweep->count++ * sizeof *sweep->columns);
	sweep->columns[0] = SWEEP_GRAPH;
	varied->values = (uint32_t)sweep->graphs;
	if (!ROOM(&sweep->arena, varied->value, varied->values))
		return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	FOR(i, varied->values) {
		if (!(varied->value[i] = sweep_graph_name(sweep, sweep->line.operand[i])))
			return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
		FOR(k, i)
			if (text_is(varied->value[i], varied->value[k]))
				return usage_error("sweep", "%s and %s: rows would call both %s", sweep->line.operand[k],
					sweep->line.operand[i], varied->value[i]);
	}
	return EXIT_FINE;
}

static bool sweep_number(const char *text, char until, uint64_t *value, const char **end)
{
	char *stop;
	errno = 0;
	*value = strtoull(text, &stop, 10);
	*end = stop;
	return errno == 0 && stop != text && *text >= '0' && *text <= '9' && *stop == until;
}

static int sweep_part(struct sweep *sweep, const char *text)
{
	const char *end;
	if (!sweep_number(text, '/', &sweep->part, &end) || !sweep_number(end + 1, '\0', &sweep->parts, &end) ||
		sweep->part >= sweep->parts)
		return usage_error("sweep", "--part %s: expected I/N with I from 0 to N-1", text);
	return EXIT_FINE;
}

static int sweep_take_option(void *context, int row, const char *value)
{
	struct sweep *sweep = context;
	int64_t number = sweep->jobs;
	int code = EXIT_FINE;
	switch (row) {
	case OPTION_vary: return vary(sweep, value);
	case OPTION_jobs:
		code = option_number(&sweep->line, row, value, 1, 1024, &number);
		sweep->jobs = (int)number;
		return code;
	case OPTION_csv: sweep->form = SWEEP_CSV; return EXIT_FINE;
	case OPTION_table: sweep->form = SWEEP_TABLE; return EXIT_FINE;
	case OPTION_resume: sweep->resume = true; return EXIT_FINE;
	case OPTION_merge: sweep->merge = true; return EXIT_FINE;
	default: return sweep_part(sweep, value);
	}
}

static int sweep_parse(struct sweep *sweep, int argc, char **argv)
{
	sweep->line = (struct command_line){
		.command = SUBCOMMAND_sweep, .scenario = &sweep->base, .take = sweep_take_option, .context = sweep,
		.several = true
	};
	int code = command_line_parse(&sweep->line, argc, argv);
	if (code != EXIT_FINE || sweep->line.helped)
		return code;
	if (sweep->merge && (sweep->resume || sweep->form == SWEEP_TABLE || sweep->parts > 1 || sweep->jobs > 1))
		return usage_error("sweep", "--merge plans nothing: it takes the pieces' files, the sweep's --vary and -o FILE");
	if (sweep->resume && !sweep->line.output)
		return usage_error("sweep", "--resume needs -o FILE");
	if (sweep->resume && sweep->form == SWEEP_TABLE)
		return usage_error("sweep", "--resume continues a sweep in JSON or --csv, not a --table");
	sweep->graphs = sweep->merge ? 0 : sweep->line.operands;
	code = sweep_vary_graphs(sweep);
	sweep->total = 1;
	FOR_INT(i, sweep->count)
		if (__builtin_mul_overflow(sweep->total, sweep->varied[i].values, &sweep->total) || sweep->total > UINT32_MAX)
			return usage_error("sweep", "more than 2^32 scenarios");
	batch_doubt(&sweep->base, NULL);
	return code;
}

/* ---- one scenario ---- */

/* The place of the graph of scenario k. */
static uint64_t sweep_graph_of(const struct sweep *sweep, uint64_t k)
{
	return sweep->graphs > 1 ? k / (sweep->total / (uint64_t)sweep->graphs) : 0;
}

/* Its name; NULL of one graph. */
static const char *sweep_graph_text(const struct sweep *sweep, uint64_t k)
{
	return sweep->graphs > 1 ? sweep->varied[0].value[sweep_graph_of(sweep, k)] : NULL;
}

static enum status scenario_number(const struct sweep *sweep, uint64_t k, struct scenario *scenario)
{
	NEED(scenario_copy(scenario, &sweep->base) == OK);
	enum status status = OK;
	uint64_t step = sweep->total;
	bool devices = false;
	for (int i = 0; i < sweep->count && status == OK; i++) {
		const struct varied *varied = &sweep->varied[i];
		step /= varied->values;
		if (text_is(sweep->columns[i], SWEEP_GRAPH))
			continue;
		status = scenario_set(scenario, PRINTED(160, "%s=%s", sweep->columns[i],
			varied->value[k / step % varied->values]), NULL);
		devices |= text_is(sweep->columns[i], knobs[K_device].name);
	}
	return status == OK && devices ? scenario_by_data_sheets(scenario, NULL) : status;
}

static int sweep_write_text(const struct sweep *sweep, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(sweep->descriptor, text, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			struct error error = { 0 };
			fail(&error, LIMIT, "can't write: %s", strerror(errno));
			return complain(sweep->line.output, &error, LIMIT);
		}
		text += written;
		size -= (size_t)written;
	}
	return EXIT_FINE;
}

static int plan_one(const struct sweep *sweep, struct planner *planner, uint64_t k)
{
	struct scenario scenario;
	struct error error = { 0 };
	if (scenario_number(sweep, k, &scenario) != OK)
		return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	OWN(plan) *plan = planner_run(planner, sweep->graph[sweep_graph_of(sweep, k)], &scenario, PLAN_COMPLETE, &error);
	int code = EXIT_FINE;
	if (!plan && (error.status == NO_MEMORY || error.status == CANCELLED)) {
		code = batch_signal() ? batch_signal() : complain(NULL, &error, error.status);
	} else if (plan && plan->limited) {
		code = batch_signal();
	} else {
		char *text = NULL;
		size_t size = 0;
		bool kept = false;
		FILE *line = text_stream(&text, &size);
		if (line) {
			if (plan)
				notes_guesses(plan->transformed->notes, error.text);
			struct sweep_row row = { sweep->columns, sweep->count, sweep->form, sweep->fingerprint, k, &scenario, plan,
				error.text, sweep_graph_text(sweep, k), false };
			sweep_row_write(&row, line);
			kept = fclose(line) == 0;
		}
		code = kept ? sweep_write_text(sweep, text, size) : complain(sweep->line.output, &(struct error){ 0 }, NO_MEMORY);
		free(text);
	}
	scenario_done(&scenario);
	return code;
}

/* ---- jobs ---- */

static void sweep_show_progress(const struct sweep *sweep, struct shared *shared)
{
	enum { WIDTH = 40 };
	if (!isatty(STDERR_FILENO))
		return;
	uint64_t finished = atomic_load(&shared->finished),
			 total = (sweep->total + sweep->parts - 1 - sweep->part) / sweep->parts;
	int full = total ? (int)(finished * WIDTH / total) : WIDTH;
	fprintf(stderr, "\r[%.*s%*s] %" PRIu64 " of %" PRIu64, full, "########################################",
		WIDTH - full, "", finished, total);
	if (finished == total)
		fputc('\n', stderr);
}

/* One job: takes runs of neighbouring scenarios until there are none. */
static int sweep_work(const struct sweep *sweep, struct shared *shared)
{
	OWN(planner)
	planner = { .store = store_new(), .rules_file = sweep->line.rules_file, .control = { .cancel = batch_cancel() } };
	int code = planner.store ? EXIT_FINE : complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	while (code == EXIT_FINE) {
		uint64_t first = atomic_fetch_add(&shared->next, RUN);
		if (first >= sweep->total)
			break;
		for (uint64_t i = first; i < first + RUN && i < sweep->total && code == EXIT_FINE; i++) {
			/* Scenarios are dealt to parts in turn, so that hard neighbours are spread. */
			if (i % sweep->parts != sweep->part)
				continue;
			if (!sweep->done[i])
				code = plan_one(sweep, &planner, i);
			atomic_fetch_add(&shared->finished, 1);
			sweep_show_progress(sweep, shared);
		}
	}
	return code;
}

static int run_jobs(const struct sweep *sweep)
{
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	int code = EXIT_FINE, started = 1;
	fflush(NULL);
	for (; started < sweep->jobs; started++) {
		pid_t child = fork();
		if (child == 0)
			_exit(sweep_work(sweep, shared));
		if (child < 0)
			break;
	}
	code = sweep_work(sweep, shared);
	for (int i = 1; i < started; i++) {
		int state;
		wait(&state);
		int other = WIFEXITED(state) ? WEXITSTATUS(state) : EXIT_LIMIT;
		code = code ? code : other;
	}
	munmap(shared, sizeof *shared);
	return code;
}

/* ---- output and resuming ---- */

/* What all rows of the sweep have in common: the graph, the operators' rules, what --set and --pin fix, and what
 * varies. */
static void find_fingerprint(struct sweep *sweep)
{
	struct key key = key_of("sweep");
	FOR_INT(i, sweep->graphs)
		key_add(&key, sweep->graph[i]->fingerprint);
	if (sweep->line.rules_file)
		key_add_file(&key, sweep->line.rules_file);
	FOR_INT(i, sweep->count) {
		key_add_bytes(&key, sweep->columns[i], strlen(sweep->columns[i]) + 1);
		FOR(k, sweep->varied[i].values)
			key_add_bytes(&key, sweep->varied[i].value[k], strlen(sweep->varied[i].value[k]) + 1);
	}
	key_add_scenario(&key, &sweep->base);
	sweep->fingerprint = key.half[0];
}

/* A line of the output, which has to be one of this sweep's that isn't there yet. */
static enum status take_finished(struct sweep *sweep, struct sweep_row *row, const char *line, struct error *error)
{
	struct scenario scenario;
	uint64_t of;
	TRY(sweep_row_read(line, &row->number, &of, error));
	if (of != sweep->fingerprint || row->number >= sweep->total)
		return refuse(error,
			"is a line of another sweep: of another graph, or with other --set, --pin, --rules or --vary");
	if (scenario_number(sweep, row->number, &scenario) != OK)
		return fail_memory(error);
	row->scenario = &scenario;
	row->graph = sweep_graph_text(sweep, row->number);
	enum status status = sweep_row_check(row, line, error);
	row->scenario = NULL;
	scenario_done(&scenario);
	if (status == OK && sweep->done[row->number])
		return refuse(error, "scenario %" PRIu64 " is there twice", row->number);
	sweep->done[row->number] = status == OK;
	return status;
}

/* Marks what the output holds already and cuts off a torn last line. */
static int read_finished(struct sweep *sweep)
{
	FILE *file = fopen(sweep->line.output, "r+e");
	if (!file)
		return complain(sweep->line.output, &(struct error){ .text = "can't read" }, BAD_INPUT);
	struct sweep_row row = {
		.varied = sweep->columns, .count = sweep->count, .form = sweep->form, .sweep = sweep->fingerprint
	};
	struct error error = { 0 };
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;
	off_t whole = 0;
	enum status status = OK;
	for (unsigned n = 1; status == OK && (length = getline(&line, &capacity, file)) > 0 && line[length - 1] == '\n'; n++) {
		if (strlen(line) != (size_t)length)
			status = refuse(&error, "a byte 0 is not text");
		else if (sweep->form == SWEEP_JSON || n > 1)
			status = take_finished(sweep, &row, line, &error);
		else
			status = sweep_row_check(&row, line, &error);
		error.line = n;
		whole += length;
	}
	int code = status == OK ? EXIT_FINE : complain(sweep->line.output, &error, status);
	if (code == EXIT_FINE && length < 0 && !feof(file)) /* what was not read must not be cut off */
		code = complain(sweep->line.output, &(struct error){ .text = "can't be read to its end" }, LIMIT);
	if (code == EXIT_FINE && ftruncate(fileno(file), whole) != 0)
		code = complain(sweep->line.output, &(struct error){ .text = "can't cut off the torn last line" }, LIMIT);
	free(line);
	fclose(file);
	return code;
}

/* Two sweeps that write one file would plan the same scenarios twice, and one would cut off the other's lines: the
 * first one locks it, until the last of its jobs is gone. Where there are no locks it goes without. */
static bool is_locked(int descriptor)
{
	struct stat there;
	return fstat(descriptor, &there) == 0 && S_ISREG(there.st_mode) && flock(descriptor, LOCK_EX | LOCK_NB) != 0 &&
		errno == EWOULDBLOCK;
}

static int open_output(struct sweep *sweep)
{
	sweep->descriptor = STDOUT_FILENO;
	if (!sweep->line.output || text_is(sweep->line.output, "-"))
		return EXIT_FINE;
	if (gzip_named(sweep->line.output))
		return usage_error("sweep",
			"--output %.60s: lines are added as they come, which a compressed file can't take; compress it afterwards",
			sweep->line.output);
	sweep->descriptor = open(sweep->line.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (sweep->descriptor < 0)
		return complain(sweep->line.output, &(struct error){ .text = "can't be written" }, LIMIT);
	if (is_locked(sweep->descriptor))
		return complain(sweep->line.output,
			&(struct error){
				.text = "another sweep writes it; give each a file of its own, --merge puts them together" },
			LIMIT);
	if (sweep->resume)
		return read_finished(sweep);
	if (ftruncate(sweep->descriptor, 0) != 0 && errno != EINVAL) /* a device or a pipe */
		return complain(sweep->line.output, &(struct error){ .text = "can't be emptied" }, LIMIT);
	return EXIT_FINE;
}

/* The line of names, where the output is empty. */
static int write_names(const struct sweep *sweep)
{
	struct sweep_row row = { .varied = sweep->columns, .count = sweep->count, .form = sweep->form,
		.assumed = device_is_assumed(&sweep->base) };
	FOR_INT(i, sweep->count)
		row.assumed &= !text_is(sweep->columns[i], "device");
	if (sweep->form == SWEEP_JSON || (sweep->descriptor != STDOUT_FILENO && lseek(sweep->descriptor, 0, SEEK_END) > 0))
		return EXIT_FINE;
	char *text = NULL;
	size_t size = 0;
	bool kept = false;
	FILE *line = text_stream(&text, &size);
	if (line) {
		sweep_row_names(&row, line);
		kept = fclose(line) == 0;
	}
	int code = kept ? sweep_write_text(sweep, text, size) : complain(sweep->line.output, &(struct error){ 0 }, NO_MEMORY);
	free(text);
	return code;
}

/* Opens the graphs, plans, writes. */
static int sweep_run(struct sweep *sweep)
{
	int code = EXIT_FINE;
	MAKE(sweep->done, sweep->total);
	if (!sweep->done || !ROOM(&sweep->arena, sweep->graph, sweep->graphs))
		return complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	for (int i = 0; i < sweep->graphs && code == EXIT_FINE; i++)
		sweep->graph[i] = batch_open(sweep->line.operand[i], &sweep->line.reading, &code);
	batch_limit(0); /* until here, while graphs are read, signals end the program at once */
	if (code == EXIT_FINE) {
		find_fingerprint(sweep);
		code = open_output(sweep);
	}
	if (code == EXIT_FINE)
		code = write_names(sweep);
	return code == EXIT_FINE ? run_jobs(sweep) : code;
}

int sweep_command(int argc, char **argv)
{
	struct sweep sweep = { .jobs = 1, .parts = 1, .descriptor = -1 };
	scenario_init(&sweep.base);
	int code = sweep_parse(&sweep, argc, argv);
	if (code == EXIT_FINE && !sweep.line.helped)
		code = sweep.merge
			? sweep_merge(sweep.line.operand, sweep.line.operands, sweep.count ? sweep.total : 0, sweep.line.output)
			: sweep_run(&sweep);
	if (sweep.descriptor > STDOUT_FILENO && close(sweep.descriptor) != 0 && code == EXIT_FINE)
		code = EXIT_LIMIT;
	for (int i = 0; sweep.graph && i < sweep.graphs; i++)
		graph_release(sweep.graph[i]);
	mem_free(sweep.done);
	arena_free(&sweep.arena);
	scenario_done(&sweep.base);
	return code;
}
