/* stress_app.c: random keys and clicks in the explorer while the worker plans, for the thread sanitizer (Criterion
 * doesn't run under it). What fails is made short by delta debugging (A. Zeller, R. Hildebrandt: Simplifying and
 * isolating failure-inducing input, 2002): the keys that are needed, and the session file of their run, are printed.
 *
 *   stress_app [KEYS [GRAPH...]]     SEED= sets the seed; exit status 1 where a run failed
 *   stress_app plant [KEYS]          a failure is planted: P somewhere behind a z; exit status 0 where just these two
 * keys are left */
#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/read/input.h"
#include "tests/common/random_keys.h"
#include "ui/app/app.h"

enum { SECONDS_MOST = 600, RUNS_MOST = 400, KEYS_A_SIZE = 97, TELLING = 60 };

/* A key, and the size of the screen and how long the user thinks before it. */
struct step {
	struct key_press key;
	int width, height, microseconds;
};

struct stress {
	const struct step *step;
	const char *graph, *folder;
	bool planted;
	uint32_t runs;
};

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "stress_app: %s\n", what);
	abort();
}

/* ---- one run --------------------------------------------------------------------------------- */

static struct app *open_app(struct session *session)
{
	struct app *app = app_new(session, THEME_ANSI, 256, false, NULL);
	must(app != NULL, "no explorer");
	return app;
}

static void play(const struct stress *stress, const uint32_t *kept, uint32_t count)
{
	struct error error;
	OWN(scenario) scenario;
	struct session_options options = { .interactive = true };
	scenario_init(&scenario);
	struct graph *graph = graph_open(stress->graph, NULL, &error);
	must(graph != NULL, "no graph");
	OWN(session) *session = session_new(graph, stress->graph, &scenario, &options, &error);
	must(session != NULL && chdir(stress->folder) == 0, "no session");
	struct app *app = open_app(session);
	bool z = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct step *step = &stress->step[kept[i]];
		int x, y;
		app_key(app, &step->key);
		app->wishes = 0;
		if (step->microseconds)
			usleep((useconds_t)step->microseconds);
		app_look(app);
		must(app_draw(app, step->width, step->height, &x, &y), "nothing is drawn");
		must(x < step->width && y >= 0 && y < step->height, "the cursor is off the screen");
		if (!app->running) {
			app_free(app);
			app = open_app(session);
		}
		must(!stress->planted || !z || strcmp(step->key.name, "P") != 0, "planted");
		z |= strcmp(step->key.name, "z") == 0;
	}
	app_free(app);
}

/* Removes what a run left in the folder. */
static void clear(const char *folder)
{
	char command[200];
	snprintf(command, sizeof command, "rm -rf '%s'/* '%s'/.state", folder, folder);
	must(system(command) == 0, "the folder can't be cleared");
}

/* In a process of its own. */
static bool fails(struct stress *stress, const uint32_t *kept, uint32_t count)
{
	int state;
	stress->runs++;
	clear(stress->folder);
	fflush(NULL);
	pid_t child = fork();
	must(child >= 0, "no process");
	if (child == 0) {
		alarm(SECONDS_MOST);
		play(stress, kept, count);
		exit(0);   /* where the sanitizer has its say */
	}
	must(waitpid(child, &state, 0) == child, "no child");
	return !WIFEXITED(state) || WEXITSTATUS(state) != 0;
}

/* ---- delta debugging ------------------------------------------------------------------------- */

/* Leaves out parts of `kept` as long as the rest fails, first halves, then ever smaller ones, to single keys. Returns
 * how many are left. */
static uint32_t shorten(struct stress *stress, uint32_t *kept, uint32_t count)
{
	uint32_t *rest = malloc(count * sizeof *rest), parts = 2;
	must(rest != NULL, "out of memory");
	while (count > 1 && stress->runs < RUNS_MOST) {
		bool shorter = false;
		for (uint32_t part = 0; part < parts && !shorter && stress->runs < RUNS_MOST; part++) {
			uint32_t begin = (uint32_t)((uint64_t)count * part / parts), end = (uint32_t)((uint64_t)count * (part + 1) / parts);
			memcpy(rest, kept, begin * sizeof *rest);
			memcpy(rest + begin, kept + end, (count - end) * sizeof *rest);
			if (end > begin && fails(stress, rest, count - (end - begin))) {
				count -= end - begin;
				memcpy(kept, rest, count * sizeof *kept);
				parts = parts > 2 ? parts - 1 : 2;
				shorter = true;
			}
		}
		if (!shorter && parts >= count)
			break;
		if (!shorter)
			parts = parts * 2 < count ? parts * 2 : count;
	}
	free(rest);
	return count;
}

/* The commands of the last run, as it logged them: a session file. */
static void show_session(const char *folder)
{
	char path[300], line[1000];
	snprintf(path, sizeof path, "%s/.state/tidemark/sessions", folder);
	printf("its session file:\n");
	DIR *entries = opendir(path);
	struct dirent *entry;
	while (entries && (entry = readdir(entries))) {
		char name[700];
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		FILE *file = *entry->d_name == '.' ? NULL : fopen(name, "r");
		while (file && fgets(line, sizeof line, file))
			printf("    %s", line);
		if (file)
			fclose(file);
	}
	if (entries)
		closedir(entries);
}

static uint32_t tell(struct stress *stress, uint32_t *kept, uint32_t count)
{
	uint32_t left = shorten(stress, kept, count);
	fails(stress, kept, left);
	printf("not ok %s: of %u keys %u fail alone, found in %u runs:", stress->graph, count, left, stress->runs);
	for (uint32_t i = 0; i < left && i < TELLING; i++) {
		const struct step *step = &stress->step[kept[i]];
		printf(strstr(step->key.name, "click") ? " %s@%d,%d" : " %s", step->key.name, step->key.x, step->key.y);
	}
	printf("\n");
	show_session(stress->folder);
	return left;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static uint64_t seed(void)
{
	const char *text = getenv("SEED");
	return text ? strtoull(text, NULL, 0) : 20261123;
}

static struct step *random_steps(uint64_t *random, uint32_t count)
{
	struct step *step = calloc(count, sizeof *step);
	int width = 80, height = 24;
	for (uint32_t i = 0; i < count && step; i++) {
		random_key(random, &step[i].key);
		if (i % KEYS_A_SIZE == 0) {
			width = 40 + (int)((*random >> 20) % 110);
			height = 10 + (int)((*random >> 40) % 50);
		}
		step[i].width = width;
		step[i].height = height;
		step[i].microseconds = *random >> 50 & 1 ? 0 : (int)((*random >> 30) % 3000);
	}
	must(step != NULL, "out of memory");
	return step;
}

int main(int argc, char **argv)
{
	static const char *const samples[] = { "samples/weight_update.jsonl", "samples/lessons/recompute.jsonl", NULL };
	char folder[] = "/tmp/tidemark-stress-XXXXXX", state[100], path[4096];
	bool planted = argc > 1 && strcmp(argv[1], "plant") == 0, bad = false;
	argc -= planted;
	argv += planted;
	uint32_t keys = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 400;
	uint64_t random = seed();
	setlocale(LC_CTYPE, "C.UTF-8");
	must(mkdtemp(folder) != NULL, "no folder");
	snprintf(state, sizeof state, "%s/.state", folder);
	setenv("XDG_STATE_HOME", state, 1);
	setenv("XDG_CONFIG_HOME", state, 1);
	printf("%u keys a graph, SEED=%llu\n", keys, (unsigned long long)random);
	for (const char *const *name = argc > 2 ? (const char *const *)argv + 2 : samples; *name; name++) {
		struct step *step = random_steps(&random, keys);
		uint32_t *kept = calloc(keys + 1, sizeof *kept), left = 0;
		must(kept && realpath(*name, path) != NULL, *name);
		for (uint32_t i = 0; i < keys; i++)
			kept[i] = i;
		struct stress stress = { .step = step, .graph = path, .folder = folder, .planted = planted };
		bool failed = fails(&stress, kept, keys);
		if (failed)
			left = tell(&stress, kept, keys);
		else
			printf("ok %s\n", path);
		bad |= planted
			? left != 2 || strcmp(step[kept[0]].key.name, "z") != 0 || strcmp(step[kept[1]].key.name, "P") != 0
			: failed;
		free(step);
		free(kept);
	}
	clear(folder);
	rmdir(folder);
	return bad;
}
