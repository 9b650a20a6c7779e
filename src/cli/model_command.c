/* model_command.c: tidemark model: a built-in model's training step, in the native format. */
#include "batch.h"
#include "src/write/export.h"
#include "options.h"

struct request {
	struct model_training training;
	struct command_line line;
	struct named_model model;
};

/* ---- options ---- */

static int set_size(struct request *request, int row, const char *text)
{
	char name[32];
	struct error error = { 0 };
	return model_size(&request->model.config, option_rows[row].name, text, &error) == OK ? EXIT_FINE
		: usage_error("model", "--%s %s: %s", option_name(&option_rows[row], name, sizeof name), text, error.text);
}

static int model_command_take_option(void *context, int row, const char *value)
{
	static const char *const policies[] = { "eager", "ideal" }, *const attentions[] = { "math", "flash" },
							 *const kernels[] = { "eager", "fused" }, *const losses[] = { "kernels", "eager" };
	struct request *request = context;
	struct model_training *training = &request->training;
	int word = 0, code = EXIT_FINE;
	switch (row) {
	case OPTION_precision:
		code = option_word(&request->line, row, value, precision_names, PRECISION_COUNT, &word);
		training->precision = (enum precision)word;
		break;
	case OPTION_optimizer:
		code = option_word(&request->line, row, value, optimizer_names, OPTIMIZER_COUNT, &word);
		training->optimizer = (enum optimizer)word;
		break;
	case OPTION_recompute:
		code = option_word(&request->line, row, value, recompute_names, RECOMPUTE_AUTO, &word);
		training->recompute = (enum recompute)word;
		break;
	case OPTION_policy:
		code = option_word(&request->line, row, value, policies, 2, &word);
		training->policy = word == 1 ? GRADIENT_IDEAL : GRADIENT_EAGER;
		break;
	case OPTION_attention:
		code = option_word(&request->line, row, value, attentions, 2, &word);
		request->model.config.flash = word == 1;
		break;
	case OPTION_loss:
		code = option_word(&request->line, row, value, losses, 2, &word);
		request->model.config.eager_loss = word == 1;
		break;
	case OPTION_kernels:
		code = option_word(&request->line, row, value, kernels, 2, &word);
		request->model.config.fused = word == 1;
		break;
	case OPTION_no_dropout: request->model.config.dropout = false; break;
	case OPTION_forward: training->forward_only = true; break;
	case OPTION_accumulate: training->accumulate = true; break;
	default: code = set_size(request, row, value);
	}
	return code;
}

static void model_command_print_names(void)
{
	puts("\nNAME:");
	for (const struct model_preset *preset = model_presets; preset->name; preset++)
		printf("  %-16s %s\n", preset->name, preset->help);
	putchar('\n');
	words_print(stdout, "", 0,
		"Or a config.json, or the folder of one, of a Hugging Face model: llama, mistral, qwen, gemma, mixtral, "
		"deepseek and others.");
}

/* The model's own sizes are there before options change them: its name is looked for first. */
static const char *first_operand(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (text_is(argv[i], "-h") || text_is(argv[i], "--help"))
			return NULL;
	return argc > 1 ? argv[1] : NULL;
}

int model_command(int argc, char **argv)
{
	struct request request = { .training = model_training_default,
		.line = { .command = SUBCOMMAND_model,
			.take = model_command_take_option,
			.context = &request,
			.help = model_command_print_names } };
	const char *name = first_operand(argc, argv);
	struct error error = { 0 };
	if (name && model_open(name, false, &request.model, &error) == OK && !request.model.name)
		refuse(&error, "expected a model's name, or a config.json of a Hugging Face model");
	if (error.status != OK)
		return complain(name, &error, error.status);
	int code = command_line_parse(&request.line, argc, argv);
	if (code != EXIT_FINE || request.line.helped)
		return code;
	struct plan plan = { .graph = model_step(request.model.name, &request.model.config, &request.training, &error) };
	hugging_face_close(&request.model.file);
	if (!plan.graph)
		return complain(name, &error, error.status);
	struct export_options options = { 0 };
	enum status status = export_to(EXPORT_native, &plan, &options, request.line.output, true, &error);
	graph_release(plan.graph);
	return status == OK ? EXIT_FINE : complain(NULL, &error, status);
}
