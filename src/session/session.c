/* session.c: a graph, a scenario, its history, and the worker that plans it. */
#include <stdarg.h>
#include <sys/stat.h>

#include "commands.h"
#include "log.h"
#include "opened.h"
#include "src/base/source.h"
#include "src/models/open.h"
#include "src/decide/planner.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "src/tidemark.h"
#include "src/write/export.h"
#include "worker.h"

#define RUNS_MAX 500 /* plans kept for Runs while they take at most `store` bytes; older ones are forgotten */

/* One point of the undo history. */
struct moment {
	struct scenario scenario;
	uint32_t op, tensor; /* the screen's cursor */
	bool refused;        /* it has no plan */
};

/* What a knob's other value would come to. */
struct question {
	int knob;
	int64_t value;
	uint64_t number; /* of the worker's preview while it is unanswered, else 0 */
	struct preview preview;
};
#define QUESTIONS_MOST 64u

struct session {
	struct graph *graph;
	struct moment *moment; /* history: [0, moments), now stands at the present one */
	uint32_t moments, now;
	size_t moment_room;
	struct worker *worker;
	uint64_t request;  /* the newest */
	struct plan *plan; /* the newest published, perhaps of an older request */
	uint64_t plan_request;
	struct plan *baseline;
	uint64_t foreign; /* baselines from other files so far */
	struct plan *run[RUNS_MAX];
	uint32_t runs;
	char asked[60]; /* the newest settings */
	struct error missed[MISSED_MOST];
	uint32_t misses;
	uint64_t stopped; /* a request */
	struct session_log *log;
	struct opened opened;
	const char *rules_file; /* the caller's, or NULL */
	const char *folder;     /* the caller's, or NULL */
	bool interactive;
	uint32_t op, tensor;
	struct question question[QUESTIONS_MOST]; /* about the present scenario */
	uint32_t questions;
	struct error problem; /* why the present scenario has no plan */
	char message[500];
};

static struct scenario *present(const struct session *session)
{
	return &session->moment[session->now].scenario;
}

__attribute__((format(printf, 2, 3)))
static void session_say(struct session *session, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(session->message, sizeof session->message, format, arguments);
	va_end(arguments);
}

static void session_start(struct session *session)
{
	session->problem.text[0] = '\0';
	session->questions = 0;
	if (session->graph)
		session->request = worker_request(session->worker, session->graph, present(session), session->interactive);
}

/* ---- history ---- */

static void forget_after(struct session *session, uint32_t kept)
{
	while (session->moments > kept)
		scenario_done(&session->moment[--session->moments].scenario);
}

/* Takes over scenario as the new present; what was undone is forgotten. */
static enum status session_remember(struct session *session, struct scenario *scenario)
{
	if (session->moments) {
		forget_after(session, session->now + 1);
		session->moment[session->now].op = session->op;
		session->moment[session->now].tensor = session->tensor;
	}
	if (!mem_reserve(&session->moment, &session->moment_room, session->moments + 1, sizeof *session->moment)) {
		scenario_done(scenario);
		return NO_MEMORY;
	}
	session->now = session->moments;
	session->moment[session->moments++] = (struct moment){ *scenario, session->op, session->tensor, false };
	return OK;
}

static enum status travel(struct session *session, int direction, struct error *error)
{
	if (direction < 0 ? session->now == 0 : session->now + 1 >= session->moments)
		return refuse(error, direction < 0 ? "nothing to undo" : "nothing to redo");
	session->moment[session->now].op = session->op;
	session->moment[session->now].tensor = session->tensor;
	session->now = direction < 0 ? session->now - 1 : session->now + 1;
	session->asked[0] = '\0';
	session->op = session->moment[session->now].op;
	session->tensor = session->moment[session->now].tensor;
	session_start(session);
	return OK;
}

static struct error *session_miss(struct session *session)
{
	return &session->missed[session->misses++ % MISSED_MOST];
}

const char *session_missed(const struct session *session, uint32_t i)
{
	return i < MISSED_MOST && i < session->misses ? session->missed[(session->misses - 1 - i) % MISSED_MOST].text : NULL;
}

/* Why the newest settings were refused, and what is as it was before. */
static void session_say_refused(struct session *session, const struct scenario *kept)
{
	enum knob_id turned = KNOB_COUNT;
	unsigned count = 0;
	FOR_INT(knob, KNOB_COUNT)
		if (present(session)->value[knob] != kept->value[knob]) {
			turned = (enum knob_id)knob;
			count++;
		}
	if (count == 1)
		session_say(session, "%s: %s stays %s", session->problem.text, knobs[turned].name,
			kept->value[turned] == KNOB_GIVEN ? "as it was" : knob_text(turned, kept->value[turned], TEXT(64)));
	else
		session_say(session, "%s: %s", session->problem.text, count ? "these knobs stay as they were" : "no pin is added");
}

bool session_take_back(struct session *session)
{
	uint32_t kept = session->now;
	if (!session->problem.text[0])
		return false;
	session->moment[kept].refused = true;
	while (kept > 0 && session->moment[kept].refused)
		kept--;
	if (session->moment[kept].refused)
		return false;
	refuse(session_miss(session), "refused  %s: %s", session->asked, session->problem.text);
	session_say_refused(session, &session->moment[kept].scenario);
	for (; session->now > kept; session->now--)
		log_add(session->log, "undo");
	forget_after(session, kept + 1);
	session_start(session);
	return true;
}

/* ---- life ---- */
static void drop_plans(struct session *session)
{
	plan_release(session->plan);
	session->plan = NULL;
	while (session->runs)
		plan_release(session->run[--session->runs]);
	session->misses = 0;
}

/* Name as a word of a session file. */
static const char *session_quoted(const char *word)
{
	return strpbrk(word, " \t") ? "\"" : "";
}

static void log_start(struct session *session, const char *path, const struct read_options *reading)
{
	/* The whole path: a session may be taken up from elsewhere. */
	opened_note(&session->opened, path, reading);
	const char *whole = *session->opened.path ? session->opened.path : path;
	if (whole)
		log_add(session->log, "open %s%s%s%s", session_quoted(whole), whole, session_quoted(whole),
			reading ? read_options_text(reading, TEXT(1200)) : "");
	const struct scenario *scenario = present(session);
	FOR_INT(knob, KNOB_COUNT)
		if (scenario->value[knob] != knobs[knob].normal)
			log_add(session->log, "set %s=%s", knobs[knob].name, knob_text(knob, scenario->value[knob], TEXT(1200)));
	FOR(i, scenario->pins)
		log_add(session->log, "%s", pin_text(&scenario->pin[i], TEXT(1200)));
}

struct session *session_new(struct graph *graph, const char *path, const struct scenario *scenario,
	const struct session_options *options, struct error *error)
{
	struct session *MAKE(session, 1);
	struct scenario first;
	scenario_init(&first); /* owns nothing yet */
	if (session) {
		session->graph = graph;
		session->interactive = options->interactive;
		session->rules_file = options->rules_file;
		session->folder = options->folder;
		session->log = log_new(options->interactive);
		session->worker = worker_new(options->order_solver, options->rules_file);
	}
	if (!session || !session->log || !session->worker || (scenario && scenario_copy(&first, scenario) != OK) ||
		session_remember(session, &first) != OK) {
		fail(error, NO_MEMORY, "out of memory, or no thread can be started");
		session ? session_free(session) : graph_release(graph);
		return NULL;
	}
	log_start(session, path, options->reading);
	session_start(session);
	return session;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	worker_free(session->worker);
	drop_plans(session);
	plan_release(session->baseline);
	graph_release(session->graph);
	forget_after(session, 0);
	mem_free(session->moment);
	log_free(session->log);
	mem_free(session);
}

/* ---- plans ---- */

int session_wake_fd(const struct session *session)
{
	return worker_wake_fd(session->worker);
}

/* The oldest ones. */
static void forget_runs(struct session *session, uint32_t count)
{
	FOR(i, count)
		plan_release(session->run[i]);
	session->runs -= count;
	memmove(session->run, session->run + count, session->runs * sizeof *session->run);
}

static void keep_run(struct session *session, struct plan *plan)
{
	if (!plan->complete)
		return;
	/* A plan of knobs that had one takes its place, with whatever effort it was found: undo and redo make no new runs. */
	FOR(i, session->runs)
		if (session->run[i]->input->fingerprint == plan->input->fingerprint &&
			scenario_alike(&session->run[i]->scenario, &plan->scenario, KNOB_COUNT)) {
			plan_release(session->run[i]);
			session->run[i] = plan_retain(plan);
			return;
		}
	if (session->runs == RUNS_MAX)
		forget_runs(session, 1);
	session->run[session->runs++] = plan_retain(plan);
	forget_runs(
		session, session->runs - plans_within(session->run, session->runs, (size_t)present(session)->value[K_store]));
}

/* ---- previews ---- */

/* Questions before an answer that have none were given up. */
static void take_answers(struct session *session)
{
	struct preview preview;
	uint32_t kept = 0;
	if (!worker_take_preview(session->worker, &preview))
		return;
	FOR(i, session->questions) {
		struct question *question = &session->question[i];
		if (question->number == preview.number)
			question->preview = preview;
		if (question->number > 0 && question->number < preview.number)
			continue;
		if (question->number == preview.number)
			question->number = 0;
		session->question[kept++] = *question;
	}
	session->questions = kept;
}

static struct question *unanswered(struct session *session)
{
	FOR(i, session->questions)
		if (session->question[i].number)
			return &session->question[i];
	return NULL;
}

/* Knobs of whole configurations, in steps that are split over devices: a plan takes long, heuristics are near. */
static bool session_by_heuristics(const struct scenario *now, const struct scenario *then, enum knob_id knob)
{
	static const enum knob_id known[] = { K_devices, K_dp, K_tp, K_pp, K_cp, K_ep, K_sp, K_zero,
		K_microbatches, K_schedule, K_chunks, K_recompute };
	FOR(i, COUNT_OF(known))
		if (known[i] == knob)
			return scenario_shards(now) || scenario_shards(then);
	return false;
}

const struct preview *session_preview(struct session *session, int knob, int64_t value)
{
	struct scenario scenario;
	FOR(i, session->questions)
		if (session->question[i].knob == knob && session->question[i].value == value)
			return session->question[i].number ? NULL : &session->question[i].preview;
	struct question *open = unanswered(session);
	if (!session->graph || session->plan_request != session->request || (open && open->knob == knob) ||
	    scenario_copy(&scenario, present(session)) != OK)
		return NULL;
	if (!open && session->questions == QUESTIONS_MOST)
		session->questions = 0;
	if (!open)
		open = &session->question[session->questions++];
	scenario_put(&scenario, knob, value);
	*open = (struct question){ .knob = knob,
		.value = value,
		.number = worker_preview(session->worker, session->graph, &scenario,
			session_by_heuristics(present(session), &scenario, knob) ? session->plan : NULL) };
	session->questions -= !open->number;
	scenario_done(&scenario);
	return NULL;
}

bool session_previewing(const struct session *session)
{
	FOR(i, session->questions)
		if (session->question[i].number)
			return true;
	return false;
}

void session_wait_preview(struct session *session)
{
	worker_wait_preview(session->worker);
	take_answers(session);
}

bool session_poll(struct session *session)
{
	uint64_t request, failed;
	struct error error;
	struct worker_state state;
	take_answers(session);
	worker_state(session->worker, &state);
	struct plan *plan = worker_take(session->worker, &request, &failed, &error);
	if (failed == session->request && error.text[0])
		session->problem = error;
	if (plan) {
		plan_release(session->plan);
		session->plan = plan;
		session->plan_request = request;
		keep_run(session, plan);
	}
	if (session->stopped && !state.busy) {
		if (session->stopped == session->request && (session->plan_request != session->request || !session->plan->complete))
			fail(session_miss(session), CANCELLED, "stopped  %s", session->asked);
		session->stopped = 0;
	}
	return plan != NULL;
}

const struct plan *session_plan(const struct session *session)
{
	return session->plan;
}

const struct plan *session_baseline(const struct session *session)
{
	return session->baseline;
}

uint32_t session_runs(const struct session *session)
{
	return session->runs;
}

struct plan *const *session_run(const struct session *session)
{
	return session->run;
}

const char *session_path(const struct session *session)
{
	return session->opened.path;
}

const char *session_rules_file(const struct session *session)
{
	return session->rules_file;
}

const struct scenario *session_scenario(const struct session *session)
{
	return present(session);
}

const char *session_problem(const struct session *session)
{
	return session->problem.text;
}

void session_status(const struct session *session, struct session_status *status)
{
	struct worker_state state;
	worker_state(session->worker, &state);
	*status = (struct session_status){
		.solving = state.busy, .stale = session->plan_request != session->request, .fraction = state.progress.fraction
	};
	PRINT_TO(status->stage, "%s", state.progress.stage ? state.progress.stage : "");
	PRINT_TO(status->message, "%s", session->message);
	PRINT_TO(status->problem, "%s", session->problem.text);
	for (int stage = 0; session->plan && stage < STAGE_COUNT; stage++) {
		status->reused += session->plan->run[stage].reused;
		status->solved += session->plan->run[stage].solved;
	}
}

void session_cancel(struct session *session)
{
	session->stopped = session->request;
	worker_cancel(session->worker);
}

void session_wait(struct session *session)
{
	if (session->graph)
		worker_wait(session->worker, session->request);
	session_poll(session);
}

void session_set_cursor(struct session *session, uint32_t op, uint32_t tensor)
{
	session->op = op;
	session->tensor = tensor;
}

void session_cursor(const struct session *session, uint32_t *op, uint32_t *tensor)
{
	*op = session->op;
	*tensor = session->tensor;
}

/* ---- commands ---- */

/* Changes a copy of the present scenario and, where that works, makes it the present. */
static enum status session_change(struct session *session,
	enum status (*edit)(struct scenario *, const char *, struct error *), const char *argument, struct error *error)
{
	struct scenario scenario;
	if (scenario_copy(&scenario, present(session)) != OK)
		return fail_memory(error);
	enum status status = edit(&scenario, argument, error);
	if (status != OK) {
		scenario_done(&scenario);
		return status;
	}
	if (session_remember(session, &scenario) != OK)
		return fail_memory(error);
	PRINT_TO(session->asked, "%s", argument);
	session_start(session);
	return OK;
}

static enum status do_set(struct session *session, const char *argument, struct error *error)
{
	char word[200];
	for (const char *at = argument; *at;) {
		at += scenario_line_word(at, word);
		const char *value = strchr(word, '=');
		value = *word == '@' ? word : value ? value + 1 : "";
		if (*value == '@')
			TRY(opened_check_source(session->folder, value + 1, error));
	}
	TRY(session_change(session, scenario_line_set, argument, error));
	session_say(session, "%s", error->text);
	return OK;
}

static enum status do_reset(struct session *session, const char *argument, struct error *error)
{
	return session_change(session, scenario_line_reset, argument, error);
}

/* Pins are checked against the graph at once, so that a typing error changes nothing. */
static enum status do_pin(struct session *session, const char *line, struct error *error)
{
	OWN(scenario) probe;
	enum status status = scenario_copy(&probe, present(session));
	if (status != OK)
		return fail_status(error, status);
	TRY(scenario_pin(&probe, line, error));
	FOR(i, probe.pins)
		if (probe.pin[i].kind == PIN_SCHEDULE)
			TRY(opened_check_source(session->folder, probe.pin[i].a, error));
	if (session->graph)
		TRY(check_pins(session->graph, &probe, error));
	return session_change(session, scenario_pin, line, error);
}

static enum status do_unpin(struct session *session, const char *argument, struct error *error)
{
	return session_change(session, scenario_line_unpin, argument, error);
}

static enum status do_undo(struct session *session, const char *argument, struct error *error)
{
	(void)argument;
	return travel(session, -1, error);
}

static enum status do_redo(struct session *session, const char *argument, struct error *error)
{
	(void)argument;
	return travel(session, +1, error);
}

/* The newest plan, if it is one of the present scenario and as good as was asked for. */
static enum status finished_plan(struct session *session, struct error *error)
{
	if (!session->interactive)
		session_wait(session);
	if (session->problem.text[0])
		return refuse(error, "no plan: %s", session->problem.text);
	if (!session->plan)
		return refuse(error, session->graph ? "no plan yet" : "no graph is open");
	if (session->plan_request != session->request || !session->plan->complete)
		return refuse(error, "the plan is not finished yet: wait, or stop it with Esc");
	return OK;
}

static enum status do_baseline(struct session *session, const char *argument, struct error *error)
{
	(void)argument;
	TRY(finished_plan(session, error));
	plan_release(session->baseline);
	session->baseline = plan_retain(session->plan);
	session_say(session, "this plan is the baseline now");
	return OK;
}

/* The step of another file, as it ran, for the baseline. Planned here and now: its order is given. */
static enum status do_against(struct session *session, const char *argument, struct error *error)
{
	char path[4096];
	struct read_options reading;
	if (!*argument)
		return refuse(error, "against FILE: which file?");
	TRY(opened_words(argument, path, sizeof path, &reading, error));
	TRY(opened_check_source(session->folder, path, error));
	struct graph *graph = open_graph(path, &reading, error);
	struct plan *plan = graph ? plan_as_read(graph, session->rules_file, NULL, error) : NULL;
	graph_release(graph);
	if (!plan)
		return error->status;
	plan_release(session->baseline);
	session->baseline = plan;
	plan->serial = UINT64_C(1) << 63 | ++session->foreign; /* no plan of the worker has such a one */
	session_say(session, "the baseline is %s, as it ran", path);
	return OK;
}

/* argument: as export_line_parse() reads it */
static enum status do_export(struct session *session, const char *argument, struct error *error)
{
	struct export_line words;
	TRY(export_line_parse(argument, &words, error));
	enum export_kind_id kind = export_find(words.kind);
	if (kind == EXPORT_KIND_COUNT)
		return refuse(error, "unknown kind of export \"%.60s\"", words.kind);
	TRY(opened_check_target(&session->opened, session->folder, words.path, error));
	TRY(finished_plan(session, error));
	struct export_options options = { .utf8 = true,
		.rules_file = session->rules_file,
		.view = *words.view ? words.view : NULL,
		.stage = *words.stage ? words.stage : NULL,
		.width = strtod(words.width, NULL),
		.no_title = words.no_title,
		.no_legend = words.no_legend,
		.factors = words.factors };
	TRY(export_to(kind, session->plan, &options, words.path, words.force || !session->interactive, error));
	log_export(session->log, session->plan, present(session), export_line_text(&words, TEXT(5300)));
	session_say(session, "wrote %s", words.path);
	return OK;
}

static enum status do_save(struct session *session, const char *argument, struct error *error)
{
	if (!*argument)
		return refuse(error, "save FILE: which file?");
	TRY(opened_check_target(&session->opened, session->folder, argument, error));
	TRY(log_save(session->log, argument, !session->interactive, error));
	session_say(session, "saved %s", argument);
	return OK;
}

/* Reads a graph in the place of the one that is open. The baseline stays, to be compared with. Knobs stay, and of pins,
 * which name ops and tensors of the old graph, those that the new one has, too: none where another file is opened. The
 * history goes. *dropped: pins that are gone. */
static enum status session_open_graph(struct session *session, const char *path, const struct read_options *reading,
	bool again, uint32_t *dropped, struct error *error)
{
	struct scenario scenario;
	struct opened opened;
	opened_note(&opened, path, reading);
	struct graph *graph = open_graph(path, reading, error);
	if (!graph) {
		if (again) /* of this state of the file all is said */
			session->opened.seen = opened.read;
		return input_name(path, error);
	}
	if (scenario_copy(&scenario, present(session)) != OK) {
		graph_release(graph);
		return fail_memory(error);
	}
	*dropped = again && session->graph ? pins_drop(&scenario, session->graph, graph) : 0;
	while (!again && scenario.pins)
		scenario_unpin(&scenario, 1, NULL);
	session_cancel(session);
	drop_plans(session);
	graph_release(session->graph);
	session->graph = graph;
	session->opened = opened;
	forget_after(session, 0);
	session->now = 0;
	session->op = session->tensor = 0;
	session->questions = 0;
	enum status status = session_remember(session, &scenario);
	session_start(session);
	return status;
}

static enum status do_open(struct session *session, const char *argument, struct error *error)
{
	char path[4096];
	struct read_options reading;
	uint32_t dropped;
	TRY(opened_words(argument, path, sizeof path, &reading, error));
	TRY(opened_check_source(session->folder, path, error));
	return session_open_graph(session, path, &reading, false, &dropped, error);
}

static enum status open_again(struct session *session, struct read_options reading, struct error *error)
{
	char path[sizeof session->opened.path];
	uint32_t dropped;
	if (!*session->opened.path)
		return refuse(error,
			session->graph ? "the graph came from standard input: it can't be read again" : "no graph is open");
	memcpy(path, session->opened.path, sizeof path);
	TRY(session_open_graph(session, path, &reading, true, &dropped, error));
	if (dropped)
		session_say(session, "read again: %s; %u pin%s named what is not there any more", path, dropped,
			dropped == 1 ? "" : "s");
	else
		session_say(session, "read again: %s", path);
	return OK;
}

static enum status do_reload(struct session *session, const char *argument, struct error *error)
{
	(void)argument;
	return open_again(session, session->opened.reading, error);
}

static enum status do_graph(struct session *session, const char *argument, struct error *error)
{
	struct read_options reading = session->opened.reading;
	const struct intake *intake = session->graph ? &session->graph->about.intake : NULL;
	if (!intake || !intake->graphs)
		return refuse(error, "the file has one graph");
	if (!*argument) {
		session_say(session, "graph %u stays", intake->graph);
		return OK;
	}
	TRY(read_options_take(&reading, "graph", argument, error));
	return open_again(session, reading, error);
}

bool session_file_changed(struct session *session)
{
	return opened_changed(&session->opened);
}

/* Words that only move on the screen: a replay takes them as they are. */
static enum status do_nothing(struct session *session, const char *argument, struct error *error)
{
	(void)session;
	(void)argument;
	(void)error;
	return OK;
}

static const struct word {
	const char *word;
	enum status (*run)(struct session *session, const char *argument, struct error *error);
	bool whole_line; /* the word is part of the argument */
	bool logged;     /* `export` logs itself */
} words[] = {
	{ "set", do_set, false, true },
	{ "reset", do_reset, false, true },
	{ "pin", do_pin, true, true },
	{ "keep", do_pin, true, true },
	{ "offload", do_pin, true, true },
	{ "unpin", do_unpin, false, true },
	{ "undo", do_undo, false, true },
	{ "redo", do_redo, false, true },
	{ "baseline", do_baseline, false, true },
	{ "against", do_against, false, true },
	{ "export", do_export, false, false },
	{ "save", do_save, false, false },
	{ "open", do_open, false, true },
	{ "reload", do_reload, false, true },
	{ "graph", do_graph, false, true },
	{ "view", do_nothing, false, true },
	{ "go", do_nothing, false, true },
};

bool session_knows(const char *word)
{
	FOR(i, COUNT_OF(words))
		if (text_is(words[i].word, word))
			return true;
	return false;
}

enum status session_line(struct session *session, const char *line, bool execute_exports, struct error *error)
{
	line += strspn(line, " \t");
	size_t length = strcspn(line, " \t");
	if (!*line || *line == '#')
		return OK;
	FOR(i, COUNT_OF(words)) {
		if (strlen(words[i].word) != length || strncmp(words[i].word, line, length) != 0)
			continue;
		if (!execute_exports && (words[i].run == do_export || words[i].run == do_save))
			return OK;
		const char *argument = words[i].whole_line ? line : line + length + strspn(line + length, " \t");
		enum status status = words[i].run(session, argument, error);
		if (status == OK && words[i].logged)
			log_add(session->log, "%s", line);
		return status;
	}
	/* A short form, which is said in full. */
	char word[60], settings[2 * ALIAS_SIZE], full[1000];
	PRINT_TO(word, "%.*s", (int)length, line);
	bool alias = !strchr(word, '=') && alias_settings(word, settings, sizeof settings),
		 degree = (text_begins(word, "tp=") || text_begins(word, "pp=")) && present(session)->value[K_strategy] == 0;
	if (!strchr(word, '=') && !alias)
		return command_unknown(line, error);
	PRINT_TO(full, "%s%s", alias ? settings : degree ? "strategy=megatron " : "", alias ? line + length : line);
	TRY(do_set(session, full, error));
	log_add(session->log, "set %s", full);
	if (!*session->message)
		session_say(session, "set %s", full);
	return OK;
}

enum status session_command(struct session *session, const char *line, struct error *error)
{
	struct error unused = { 0 };
	error = error ? error : &unused;
	session->message[0] = '\0';
	*error = (struct error){ 0 };
	enum status status = session_line(session, line, true, error);
	if (status != OK)
		session_say(session, "%s", error->text);
	return status;
}
