/* model_command.c: tidemark model: a built-in model's training step, in the native format. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "src/write/export.h"
#include "src/configs/model_source.h"
#include "src/models/hugging_face.h"
#include "solver/cost/op_time.h"
#include "solver/fit/fit.h"
#include "src/scenario/devices.h"
#include "subcommands.h"
#include "options.h"

enum { SIZE_OPTION = 256 };   /* getopt values of the sizes: behind the letters */

struct request {
	struct model_config config;
	struct model_training training;
	const char *name, *output;
	struct hugging_face file;   /* where the model comes from a config.json */
	int curve;             /* points of the curve to print instead of the step, or 0 */
	bool helped;
};

enum { CURVE_MAX = 1000 };

/* A row each: the peak, its bytes below that of keeping all, and what the least recomputation adds to the step on an A100. */
static enum status print_points(struct fit_solver *solver, int64_t all, int64_t least, int count, struct error *error)
{
	struct control control = { 0 };
	struct fit_options options = { .ticks = FIT_EFFORT_DEFAULT / 8 };
	struct fit_plan *plan = mem_alloc((size_t)count, sizeof *plan);
	int64_t *cap = mem_alloc((size_t)count, sizeof *cap);
	for (int i = 0; i < count && cap; i++)
		cap[i] = all - (all - least) / (count - 1) * i;
	enum status status = plan && cap ? fit_curve(solver, cap, (uint32_t)count, &options, &control, plan) : NO_MEMORY;
	for (int i = 0; i < count && status == OK; i++)
		if (plan[i].extra < INT64_MAX)
			printf("%lld,%lld,%.6f,%.6f,%d\n", (long long)plan[i].peak, (long long)(all - plan[i].peak), (double)plan[i].extra / 1e12, (double)plan[i].bound / 1e12,
				plan[i].proved);
	for (int i = 0; i < count && plan; i++)
		fit_plan_free(&plan[i]);
	mem_free(plan);
	mem_free(cap);
	return status == OK ? OK : fail_memory(error);
}

/* The curve of memory against extra time, as CSV: from all that is kept to the least that fits. */
static enum status print_curve(const struct graph *step, int count, struct error *error)
{
	struct machine machine = device_preset(DEVICE_NONE).machine;
	struct rules *rules = rules_new();
	struct fit_solver solver = { 0 };
	int64_t *time = mem_alloc(step->ops, sizeof *time);
	uint32_t *traits = mem_alloc(step->ops, sizeof *traits);
	uint8_t *keep = mem_alloc(step->storages, sizeof *keep);
	struct fit_input input = { .graph = step, .time = time, .traits = traits, .alignment = 1, .workspace = true };
	enum status status = rules && time && traits && keep ? OK : fail_memory(error);
	for (uint32_t op = 0; op < step->ops && status == OK; op++) {
		time[op] = op_whole_time(step, rules, &machine, op);
		traits[op] = rules_traits(rules, step->op[op].type);
	}
	if (status == OK && (fit_solver_new(&input, &solver) != OK || fit_play(&solver.replay, &solver.base[0], keep) != OK))
		status = fail_memory(error);
	int64_t all = solver.replay.peak, least = 0;
	for (uint32_t i = 0; i < solver.step.ops && status == OK; i++)
		least = solver.base[0].fixed[i] > least ? solver.base[0].fixed[i] : least;
	if (status == OK)
		puts("peak_bytes,saved_bytes,extra_seconds,bound_seconds,proved");
	if (status == OK)
		status = print_points(&solver, all, least, count, error);
	fit_solver_free(&solver);
	mem_free(time);
	mem_free(traits);
	mem_free(keep);
	rules_free(rules);
	return status;
}

/* ---- options ----------------------------------------------------------------------------------------------- */

/* Where a size is kept in the configuration, and its range. */
static int64_t *size_field(struct model_config *config, int index, const char **name, int64_t *least, int64_t *most)
{
	int at = 0;
#define X(field, low, high, help) \
	if (at++ == index) { \
		*name = #field; \
		*least = low; \
		*most = high; \
		return &config->field; \
	}
	MODEL_SIZES(X)
#undef X
	return NULL;
}

static int set_size(struct request *request, int index, const char *text)
{
	const char *name = "";
	int64_t least = 0, most = 0, *field = size_field(&request->config, index, &name, &least, &most);
	char *end;
	long long value = strtoll(text, &end, 10);
	if (!field || end == text || *end || value < least || value > most)
		return usage_error("model", "--%s %s: expected a number from %lld to %lld", name, text, (long long)least, (long long)most);
	*field = value;
	return EXIT_FINE;
}

static int set_curve(struct request *request, const char *text)
{
	char *end;
	long points = strtol(text, &end, 10);
	if (end == text || *end || points < 2 || points > CURVE_MAX)
		return usage_error("model", "--curve %s: expected 2 to %d points", text, CURVE_MAX);
	request->curve = (int)points;
	return EXIT_FINE;
}

/* The index of a word in a table, or -1 after complaining. */
static int word_of(const char *const *words, int count, const char *option, const char *text, int *code)
{
	int index = name_index(words, count, text);
	if (index < 0)
		*code = usage_error("model", "--%s %s: no such choice, see --help", option, text);
	return index < 0 ? 0 : index;
}

static int take_option(struct request *request, int letter)
{
	static const char *const policies[] = { "eager", "ideal" }, *const attentions[] = { "math", "flash" };
	struct model_training *training = &request->training;
	int code = EXIT_FINE;
	switch (letter) {
	case 'p': training->precision = (enum precision)word_of(precision_names, PRECISION_COUNT, "precision", optarg, &code); break;
	case 'O': training->optimizer = (enum optimizer)word_of(optimizer_names, OPTIMIZER_COUNT, "optimizer", optarg, &code); break;
	case 'r': training->recompute = (enum recompute)word_of(recompute_names, RECOMPUTE_AUTO, "recompute", optarg, &code); break;
	case 'P': training->policy = word_of(policies, 2, "policy", optarg, &code) ? GRADIENT_IDEAL : GRADIENT_EAGER; break;
	case 'a': request->config.flash = word_of(attentions, 2, "attention", optarg, &code) == 1; break;
	case 'c':
		code = set_curve(request, optarg);
		break;
	case 'd': request->config.dropout = false; break;
	case 'f': training->forward_only = true; break;
	case 'A': training->accumulate = true; break;
	case 'o': request->output = optarg; break;
	case 'h': request->helped = true; break;
	default: code = set_size(request, letter - SIZE_OPTION, optarg); break;
	}
	return code;
}

static const char *dashed(const char *name, char *text, size_t size)
{
	snprintf(text, size, "%s", name);
	for (char *at = text; *at; at++)
		*at = *at == '_' ? '-' : *at;
	return text;
}

static int print_help(void)
{
	char text[32];
	subcommand_usage("model");
	puts("\nNAME:");
	for (const struct model_preset *preset = model_presets; preset->name; preset++)
		printf("  %-16s %s\n", preset->name, preset->help);
	puts("\nSizes, where the model has them:");
#define X(field, least, most, help) printf("  --%-14s %s\n", dashed(#field, text, sizeof text), help);
	MODEL_SIZES(X)
#undef X
	puts("\nTraining:\n"
	     "  --precision P    fp32, bf16, fp16 or mixed (fp16 with f32 master weights and loss scaling); as given: fp32\n"
	     "  --optimizer O    none, sgd, momentum, adam (the default), adamw or adafactor\n"
	     "  --recompute R    none, selective (attention scores) or full (every layer)\n"
	     "  --policy P       what backward keeps: eager (as PyTorch, the default) or ideal\n"
	     "  --attention A    math (keeps the scores) or flash (one kernel that doesn't)\n"
	     "  --no-dropout     leave dropout layers out\n"
	     "  --accumulate     add gradients to buffers that live from step to step\n"
	     "  --forward        the forward pass alone\n"
	     "  --curve N        print N points of peak memory against the fewest FLOPs run again, as CSV\n"
	     "  -o, --output F   the file to write, - for standard output (the default)");
	return EXIT_FINE;
}

#define X(field, least, most, help) { #field, required_argument, NULL, 0 },
static const struct option size_options[] = { MODEL_SIZES(X) };
#undef X
#define SIZES (sizeof size_options / sizeof *size_options)

static int parse(int argc, char **argv, struct request *request)
{
	static const struct option others[] = {
		{ "precision", required_argument, NULL, 'p' }, { "optimizer", required_argument, NULL, 'O' },
		{ "recompute", required_argument, NULL, 'r' }, { "policy", required_argument, NULL, 'P' },
		{ "attention", required_argument, NULL, 'a' }, { "no-dropout", no_argument, NULL, 'd' },
		{ "curve", required_argument, NULL, 'c' },
		{ "accumulate", no_argument, NULL, 'A' }, { "forward", no_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	struct option options[SIZES + sizeof others / sizeof *others];
	char names[SIZES][32];
	for (size_t i = 0; i < SIZES; i++) {
		options[i] = size_options[i];
		options[i].name = dashed(size_options[i].name, names[i], sizeof names[i]);
		options[i].val = SIZE_OPTION + (int)i;
	}
	memcpy(options + SIZES, others, sizeof others);
	int letter, code = EXIT_FINE;
	while (code == EXIT_FINE && !request->helped && (letter = option_next("model", argc, argv, ":o:h", options)) != -1)
		code = letter == '?' ? EXIT_USAGE : take_option(request, letter);
	return code;
}

/* A preset, or the config.json of a Hugging Face model. */
static int find_model(struct request *request, const char *name)
{
	char hint[120];
	const struct model_preset *preset = model_find(name);
	struct error error = { 0 };
	if (preset) {
		request->config = preset->config;
		request->name = preset->name;
		return EXIT_FINE;
	}
	if (access(name, F_OK) != 0)
		return usage_error("model", "no model \"%.60s\", and no such file%s", name, model_hint(name, hint, sizeof hint));
	if (hugging_face_open(name, &request->file, &error) != OK)
		return complain(name, &error, error.status);
	request->config = request->file.config;
	request->name = request->file.name;
	return EXIT_FINE;
}

int model_command(int argc, char **argv)
{
	struct request request = { .training = { .optimizer = OPTIMIZER_ADAM } };
	if (argc < 2)
		return usage_error("model", "which model? see --help");
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
		return print_help();
	struct error error = { 0 };
	int code = find_model(&request, argv[1]);
	if (code == EXIT_FINE)
		code = parse(argc - 1, argv + 1, &request);
	if (code != EXIT_FINE)
		return code;
	if (request.helped)
		return print_help();
	if (optind < argc - 1)
		return usage_error("model", "what is \"%s\"?", argv[1 + optind]);
	if (hugging_face_fits(&request.file, request.config.seq, &error) != OK)
		return usage_error("model", "%s", error.text);
	struct plan plan = { .graph = model_step(request.name, &request.config, &request.training, &error) };
	if (!plan.graph)
		return complain(NULL, &error, error.status);
	struct export_options options = { 0 };
	enum status status;
	if (request.curve)
		status = print_curve(plan.graph, request.curve, &error);
	else
		status = export_to(EXPORT_native, &plan, &options, request.output, true, &error);
	graph_release(plan.graph);
	return status == OK ? EXIT_FINE : complain(NULL, &error, status);
}
