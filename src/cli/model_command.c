/* model_command.c: tidemark model: a built-in model's training step, in the native format. */
#include <stdlib.h>
#include <string.h>

#include "batch.h"
#include "src/write/export.h"
#include "src/models/models.h"
#include "solver/step/recompute_auto.h"
#include "subcommands.h"
#include "options.h"

enum { SIZE_OPTION = 256 };   /* getopt values of the sizes: behind the letters */

struct request {
	struct model_config config;
	struct model_training training;
	const char *name, *output;
	int curve;             /* points of the curve to print instead of the step, or 0 */
	bool helped;
};

enum { CURVE_MAX = 1000 };

/* The curve of memory against extra FLOPs, as CSV. */
static enum status print_curve(const struct graph *step, int count, struct error *error)
{
	struct activations activations = { 0 };
	struct recompute_options options = { 0 };
	struct control control = { 0 };
	struct rules *rules = rules_new();
	struct recompute_point *point = mem_alloc((size_t)count, sizeof *point);
	enum status status = rules && point ? activations_find(step, rules, &activations, error) : fail_memory(error);
	if (status == OK)
		status = recompute_curve(step, &activations, &options, (uint32_t)count, &control, point, error);
	if (status == OK)
		puts("saved_bytes,extra_flops,extra_flops_bound,peak_bytes,proved");
	for (int i = 0; i < count && status == OK; i++)
		printf("%lld,%lld,%lld,%lld,%d\n", (long long)point[i].bytes, (long long)point[i].flops, (long long)point[i].bound,
			(long long)point[i].peak, point[i].proved);
	activations_free(&activations);
	mem_free(point);
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

int model_command(int argc, char **argv)
{
	struct request request = { .training = { .optimizer = OPTIMIZER_ADAM } };
	if (argc < 2)
		return usage_error("model", "which model? see --help");
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
		return print_help();
	const struct model_preset *preset = model_find(argv[1]);
	if (!preset)
		return usage_error("model", "no model \"%s\"", argv[1]);
	request.config = preset->config;
	request.name = preset->name;
	int code = parse(argc - 1, argv + 1, &request);
	if (code != EXIT_FINE)
		return code;
	if (request.helped)
		return print_help();
	if (optind < argc - 1)
		return usage_error("model", "what is \"%s\"?", argv[1 + optind]);
	struct error error = { 0 };
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
