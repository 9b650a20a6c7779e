/* pins.c: checks the names in pins against a graph and suggests the nearest. */
#include "shard_mesh.h"
#include "src/base/words.h"

static enum status scenario_pins_unknown(
	const char *what, const char *name, const struct nearest *nearest, struct error *error)
{
	char text[300] = "";
	struct words words = { text, sizeof text, 0 };
	for (int i = 0; i < nearest->count; i++)
		words_add(&words, "%s\"%.80s\"", i ? ", " : "; the nearest are ", nearest->name[i]);
	return refuse(error, "there is no %s named \"%.80s\"%s", what, name, text);
}

static enum status scenario_pins_check_op(const struct graph *graph, const char *name, struct error *error)
{
	if (graph_find_op(graph, name) != NONE)
		return OK;
	struct nearest nearest = { .wanted = name };
	FOR(op, graph->ops)
		nearest_consider(&nearest, graph->op[op].name);
	return scenario_pins_unknown("op", name, &nearest, error);
}

static enum status check_tensor(const struct graph *graph, const char *name, struct error *error)
{
	if (graph_find_tensor(graph, name) != NONE)
		return OK;
	struct nearest nearest = { .wanted = name };
	FOR(tensor, graph->tensors)
		nearest_consider(&nearest, graph->tensor[tensor].name);
	return scenario_pins_unknown("tensor", name, &nearest, error);
}

/* "aten.add_.Tensor" less what comes before the name, the overload and the mark of ops in place. */
static const char *plain_name(const char *type, size_t *length)
{
	const char *dot = strchr(type, '.'), *name = dot ? dot + 1 : type;
	*length = strcspn(name, ".");
	*length -= *length > 1 && name[*length - 1] == '_';
	return name;
}

/* Whether an op's type is meant by that name of a type: whole, or without overload, the mark of ops in place, or what
 * comes before the name. */
static bool type_is_named(const char *type, const char *name)
{
	const char *dot = strchr(type, '.');
	size_t length, wanted = strlen(name), front = dot ? (size_t)(dot + 1 - type) : 0;
	const char *plain = plain_name(type, &length);
	if (text_is(type, name) || (wanted == length && strncmp(plain, name, length) == 0))
		return true;
	if (wanted != front + length && wanted != front + strcspn(plain, "."))
		return false;
	return strncmp(type, name, wanted) == 0;
}

/* The parts of a path one after the other: *at begins with NULL; its length is returned, 0 at the end. */
static size_t next_part(const char *module, const char **at)
{
	*at = !*at ? module : *at + strcspn(*at, ".");
	*at += **at == '.';
	return strcspn(*at, ".");
}

size_t module_part(const char *module, const char *name)
{
	const char *part = NULL;
	for (size_t length; module && (length = next_part(module, &part)) > 0;)
		if (strlen(name) == length && strncmp(part, name, length) == 0)
			return (size_t)(part - module) + length;
	return 0;
}

bool module_is_named(const char *module, const char *name)
{
	return module_part(module, name) > 0;
}

static bool normalizes(const struct op *op)
{
	const char *part = NULL;
	bool named = false;
	for (size_t length; op->module && !named && (length = next_part(op->module, &part)) > 0;) {
		char word[64];
		PRINT_TO(word, "%.*s", (int)length, part);
		named = strstr(word, "norm") || text_begins(word, "ln_");
	}
	return named && op->phase == PHASE_FORWARD;
}

#define X(id, word, help) word,
static const char *const rerun_words[] = { RERUN_WORDS(X) };
#undef X

int rerun_word(const char *name)
{
	return name_index(rerun_words, RERUN_COUNT, name);
}

bool op_is_named(const struct op *op, const char *name)
{
	return type_is_named(op->type, name) || (rerun_word(name) == RERUN_NORMS && normalizes(op));
}

static enum status check_type(const struct graph *graph, const char *name, struct error *error)
{
	struct nearest nearest = { .wanted = name };
	bool known = rerun_word(name) >= 0;    /* a list of Megatron's says more than some models have */
	FOR_WHILE(op, graph->ops, !known)
		known = op_is_named(&graph->op[op], name) || module_is_named(graph->op[op].module, name);
	if (known)
		return OK;
	FOR(op, graph->ops)
		nearest_consider(&nearest, graph->op[op].type);
	return scenario_pins_unknown("type of ops or module", name, &nearest, error);
}

enum status check_pins(const struct graph *graph, const struct scenario *scenario, struct error *error)
{
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		switch (pin->kind) {
		case PIN_ORDER:
			TRY(scenario_pins_check_op(graph, pin->a, error));
			TRY(scenario_pins_check_op(graph, pin->b, error));
			break;
		case PIN_BEHIND:
			TRY(check_tensor(graph, pin->a, error));
			TRY(check_tensor(graph, pin->b, error));
			break;
		case PIN_PLACEMENT:
			TRY(check_tensor(graph, pin->a, error));
			if (!scenario_shards(scenario))
				return refuse(error,
					"tensor \"%.100s\" can't be sharded on %.20s: the step is not split; set devices and strategy",
					pin->a, pin->b);
			break;
		case PIN_RERUN:
			TRY(check_type(graph, pin->a, error));
			break;
		case PIN_SCHEDULE:    /* the stage that reads the file says what is wrong */
		case PIN_FIGURE:      /* of the device, whatever the graph */
		case PIN_RECOMPUTE:
			break;   /* layers are counted when they are found */
		default:
			TRY(check_tensor(graph, pin->a, error));
		}
	}
	return OK;
}

uint32_t pins_drop(struct scenario *scenario, const struct graph *before, const struct graph *next)
{
	uint32_t dropped = 0;
	for (uint32_t i = scenario->pins; i > 0; i--) {
		struct scenario one = *scenario;
		struct error error;
		one.pin = &scenario->pin[i - 1];
		one.pins = 1;
		if (check_pins(before, &one, &error) == OK && check_pins(next, &one, &error) != OK &&
			scenario_unpin(scenario, i, &error) == OK)
			dropped++;
	}
	return dropped;
}
