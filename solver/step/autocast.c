/* autocast.c: a step in f32 as PyTorch runs it under torch.autocast("cuda", dtype=torch.bfloat16).
 *
 * Forward ops run in the format that autocast's lists say (rules_autocast()), others in that of their operands.
 * Autograd gives a gradient the format of the tensor that it is of, so backward ops follow from their partner: the
 * forward op that they belong to, which reads or makes what they read of the forward pass. What ops read changes, and
 * nothing else. */

#include "build.h"
#include "precision.h"
#include "update.h"

struct cast { uint32_t made, op, region, next; }; /* the draft's tensor; for which op */

struct value {
	uint32_t last;      /* its last cast, or NONE */
	bool early;         /* a view of a cast: linear() casts before it takes its views */
	bool based;         /* made with parameters */
	bool gradient;      /* made with a gradient */
	bool kept;          /* products of the backward pass read it */
	bool others[2];     /* something else than products reads it; in the forward pass, in the backward pass */
	uint32_t readers[2];
};

struct memory {
	uint32_t let_go;   /* the draft's tensor that is let go of in its place, or NONE */
	uint32_t uses;     /* of the cast of a parameter in the forward pass */
	bool trained;      /* a parameter with a gradient: one cast serves the whole forward pass */
	bool gradient;     /* such a gradient */
};

struct casting {
	const struct graph *graph;
	const struct rules *rules;
	struct build build;
	struct arena *arena;
	uint32_t *tensor;      /* [tensors] the draft's tensor that stands for it */
	struct value *value;   /* [tensors] */
	struct memory *memory; /* [storages] */
	uint32_t *op;          /* [ops] the draft's op */
	bool captured;         /* the graph says where memory is let go of */
	bool *forward;         /* [ops] of the forward pass, or runs it again */
	bool *inside;          /* [ops] of an attention in plain ops, which computes in f32 */
	uint32_t *stood;       /* [reads] what stands for an operand again behind its op */
	uint64_t *line;        /* [lines] of those */
	struct cast *cast;
	uint32_t casts, lines, region; /* of ops that run again, with their own casts */
	uint32_t pending[8], pendings; /* gradients whose cast waits for their product's other results */
	uint32_t product, held;        /* the cast of a parameter that it reads, or NONE */
	uint32_t norm_end;             /* the op whose result goes to 16 bits again, or NONE */
};

static bool same_module(const struct casting *run, uint32_t a, uint32_t b)
{
	return strcmp(run->graph->op[a].module, run->graph->op[b].module) == 0;
}

static enum rule_autocast listed(const struct casting *run, uint32_t op)
{
	return rules_autocast(run->rules, run->graph->op[op].type);
}

static int64_t elements_of(const struct casting *run, uint32_t tensor)
{
	const struct tensor *record = &run->graph->tensor[tensor];
	return dtype_bits[record->dtype] ? record->bytes * 8 / dtype_bits[record->dtype] : record->bytes;
}

static struct memory *home_of(const struct casting *run, uint32_t tensor)
{
	return &run->memory[run->graph->tensor[tensor].storage];
}

static bool floats(const struct casting *run, uint32_t tensor)
{
	return run->graph->tensor[tensor].dtype == DTYPE_F32;
}

static enum dtype dtype_now(const struct casting *run, uint32_t tensor)
{
	return build_dtype(&run->build, run->tensor[tensor]);
}

static uint32_t root_of(const struct casting *run, uint32_t made)
{
	uint32_t alias = draft_tensor_at(run->build.draft, made)->alias;
	return alias == NONE ? made : root_of(run, alias);
}

/* The operand that a result is a view of, or written over. */
static uint32_t seen_by(const struct casting *run, uint32_t op, uint32_t result)
{
	const struct graph *graph = run->graph;
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].storage == graph->tensor[result].storage)
			return read;
	return NONE;
}

/* What a tensor is a view of; NONE where its writer is no view. */
static uint32_t above(const struct casting *run, uint32_t tensor)
{
	uint32_t writer = run->graph->tensor[tensor].writer;
	return writer != NONE && graph_is_view(run->graph, writer) ? seen_by(run, writer, tensor) : NONE;
}

/* What a backward op reads of the forward pass, seen through the backward pass' views; NONE: a gradient. */
static uint32_t saved_of(const struct casting *run, uint32_t tensor)
{
	uint32_t writer;
	while (tensor != NONE && (writer = run->graph->tensor[tensor].writer) != NONE && !run->forward[writer])
		tensor = above(run, tensor);
	return tensor;
}

/* Captures know a tensor by its memory: of equal views the backward pass reads the last. Each product has its own, of a
 * cast, and other ops read what those are views of. */
static uint32_t own_view(const struct casting *run, uint32_t op, bool product, uint32_t tensor)
{
	const struct graph *graph = run->graph;
	const struct tensor *record = &graph->tensor[tensor];
	uint32_t own = tensor;
	if (!run->value[tensor].early || !run->forward[record->writer] || run->forward[op] || graph_is_view(graph, op))
		return tensor;
	FOR_ITEMS(twin, &graph->members, record->storage) {
		const struct tensor *other = &graph->tensor[twin];
		bool equal = record->dims > 0 && tensor_same_shape(other, record);
		if (equal && run->value[twin].early == product && other->writer != NONE && other->writer < op &&
			run->forward[other->writer] && (!product || same_module(run, other->writer, op)))
			own = twin;
	}
	return own;
}

/* linear() adds its bias so to a product of what isn't contiguous. */
static bool adds_bias(const struct casting *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	if (!(rules_traits(run->rules, graph->op[op].type) & TRAIT_ADDITION) || graph_operands(graph, op) != 2)
		return false;
	uint32_t bias = graph_argument(graph, op, 1),
			 writer = graph_home(graph, graph_argument(graph, op, 0))->allocator;
	return writer != NONE && graph->tensor[bias].dims == 1 && home_of(run, bias)->trained &&
		listed(run, writer) == AUTOCAST_NARROW && same_module(run, writer, op);
}

/* Libraries compute positions without autocast: products that have nothing to do with parameters. */
static enum rule_autocast mode_of(const struct casting *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	enum rule_autocast mode = listed(run, op);
	bool based = false;
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out != NONE)
			return AUTOCAST_LIKE;
	if (run->inside[op] || !run->forward[op])
		return run->inside[op] ? run->forward[op] ? AUTOCAST_WIDE : AUTOCAST_LIKE
			: mode == AUTOCAST_NARROW ? mode : AUTOCAST_LIKE;
	FOR_ITEMS(read, &graph->reads, op)
		based |= run->value[read].based;
	if (mode == AUTOCAST_LIKE)
		return adds_bias(run, op) ? AUTOCAST_NARROW : mode;
	return based || mode != AUTOCAST_NARROW ? mode : AUTOCAST_LIKE;
}

/* ---- what comes later ---- */

static uint64_t line_of(const struct op *op)
{
	return hash_join(text_hash(op->src), text_hash(op->module));
}

/* Backward ops read gradients, which begin at a number; others of that phase help them, or, where products are among
 * them, are checkpointing's. Also finds attention in plain ops, and what is made with parameters. */
static void look_over(struct casting *run)
{
	const struct graph *graph = run->graph;
	uint32_t begin = 0;
	bool products = false;
	FOR(op, graph->ops) {
		const struct op *record = &graph->op[op];
		bool gradient = false, based = false;
		run->forward[op] = record->phase == PHASE_FORWARD || record->recomputed;
		FOR_ITEMS(read, &graph->reads, op) {
			gradient |= run->value[read].gradient;
			run->value[read].based |= graph_home(graph, read)->kind == KIND_PARAMETER;
			based |= run->value[read].based;
		}
		const struct rule *rule = based ? rules_find(run->rules, record->type) : NULL;
		bool ones = !run->forward[op] || (rule && !*rule->gradients); /* like the loss */
		FOR_ITEMS(result, &graph->writes, op)
			gradient |= ones && graph->tensor[result].dims == 0 && floats(run, result);
		FOR_ITEMS(result, &graph->writes, op) {
			run->value[result].gradient = gradient;
			run->value[result].based |= based;
		}
		if (record->phase != PHASE_BACKWARD || (gradient && !op_releases(record))) {
			begin = op + 1;
			products = false;
		}
		products |= begin <= op && listed(run, op) == AUTOCAST_NARROW;
		for (; products && begin <= op; begin++)
			run->forward[begin] = true;
		if (listed(run, op) == AUTOCAST_ATTENTION && record->src)
			run->line[run->lines++] = line_of(record);
	}
	FOR(op, graph->ops)
		FOR(i, graph->op[op].src ? run->lines : 0)
			run->inside[op] |= run->line[i] == line_of(&graph->op[op]);
}

/* Views are taken of casts whose only reader of the forward pass is a product, and in the backward pass those that only
 * products read, and sums for a bias. */
static void look_ahead(struct casting *run)
{
	const struct graph *graph = run->graph;
	FOR_DOWN(op, graph->ops) {
		bool back = !run->forward[op], product = mode_of(run, op) == AUTOCAST_NARROW;
		if (op_releases(&graph->op[op]) || (back && listed(run, op) == AUTOCAST_WIDE_RESULT))
			continue;
		if (graph_is_view(graph, op) && graph_results(graph, op) == 1 && graph_operands(graph, op) > 0) {
			uint32_t result = graph_result(graph, op, 0);
			struct value *value = &run->value[result];
			bool late = value->readers[0] == 0, alone = late ? value->readers[1] > 0 : value->readers[0] == 1;
			uint32_t of = seen_by(run, op, result);
			int64_t more = of == NONE ? -1 : elements_of(run, result) - elements_of(run, of);
			product = value->early = floats(run, result) && alone && !value->others[late] && (back ? more == 0 : more >= 0);
		}
		FOR_ITEMS(read, &graph->reads, op) {
			run->value[read].others[back] |= !product;
			run->value[read].readers[back]++;
			run->value[read].kept |= product && back;
		}
	}
}

/* ---- casts ---- */

static void begin_op(struct casting *run, uint32_t op, const char *type, uint32_t made)
{
	build_beside(&run->build, &run->graph->op[op]);
	build_op(&run->build, type, IN(made));
}

static uint32_t cast_to(struct casting *run, uint32_t op, uint32_t made, enum dtype dtype)
{
	begin_op(run, op, "aten._to_copy.default", made);
	uint32_t cast = build_output(&run->build, dtype, build_shape(&run->build, made));
	if (cast != NONE) { /* of tensors without a shape, too */
		const struct tensor *of = draft_tensor_at(run->build.draft, made);
		draft_tensor_at(run->build.draft, cast)->bytes = of->bytes * dtype_bits[dtype] / dtype_bits[of->dtype];
	}
	return cast;
}

static bool is_cached(const struct casting *run, uint32_t tensor)
{
	return home_of(run, tensor)->trained && run->graph->tensor[tensor].alias == NONE;
}

/* The forward pass casts parameters once, and what a norm works on; backward ops read what their partner did. */
static uint32_t cast_for(struct casting *run, uint32_t op, uint32_t partner, uint32_t tensor, enum dtype dtype)
{
	bool forward = run->forward[op], saved = saved_of(run, tensor) != NONE, cached = is_cached(run, tensor);
	uint32_t found = NONE, best = 0;
	home_of(run, tensor)->uses += cached && forward;
	for (uint32_t c = run->value[tensor].last; c != NONE; c = run->cast[c].next) {
		const struct cast *cast = &run->cast[c];
		bool same = same_module(run, cast->op, op), shared = forward ? (cached && cast->region == run->region) ||
			(same && dtype == DTYPE_F32 && mode_of(run, op) == AUTOCAST_LIKE) : saved;
		uint32_t rank = cast->op == op || cast->op == partner ? 3 : same && !forward ? 2 : shared;
		if (rank > best && build_dtype(&run->build, cast->made) == dtype) {
			best = rank;
			found = cast->made;
		}
	}
	if (found == NONE)
		found = cast_to(run, op, run->tensor[tensor], dtype);
	run->cast[run->casts] = (struct cast){ found, op, run->region, run->value[tensor].last };
	run->value[tensor].last = run->casts++;
	return found;
}

/* From here on a tensor is its cast. */
static void becomes(struct casting *run, uint32_t op, uint32_t tensor, enum dtype dtype)
{
	run->tensor[tensor] = home_of(run, tensor)->let_go =
		cast_to(run, op, run->tensor[tensor], dtype);
}

static void flush_pending(struct casting *run)
{
	if (run->pendings && run->held != NONE && run->captured)
		begin_op(run, run->product, RELEASE_TYPE, run->held);
	run->held = NONE;
	FOR_INT(parameters, 2)
		FOR(i, run->pendings)
			if (home_of(run, run->pending[i])->gradient == parameters)
				becomes(run, run->product, run->pending[i], DTYPE_F32);
	run->pendings = 0;
}

/* Views of a result go before its cast, and so do the product's other results. */
static void wait_or_flush(struct casting *run, uint32_t op, enum rule_autocast mode)
{
	const struct graph *graph = run->graph;
	bool view = graph_is_view(graph, op) && graph_results(graph, op) == 1, reads = false;
	FOR(i, run->pendings)
		FOR_ITEMS(read, &graph->reads, op) {
			const struct value *value = &run->value[read];
			if (view && read == run->pending[i] && value->readers[0] + value->readers[1] == 1)
				run->pending[i] = graph_result(graph, op, 0);
			else
				reads |= graph->tensor[read].storage == graph->tensor[run->pending[i]].storage;
		}
	bool beside = mode == AUTOCAST_NARROW || listed(run, op) == AUTOCAST_WIDE_RESULT; /* the bias' sum */
	if (reads || !(graph_is_view(graph, op) || op_releases(&graph->op[op]) ||
		(beside && (run->pendings || run->held != NONE) && same_module(run, run->product, op))))
		flush_pending(run);
}

/* ---- backward ops ---- */

/* How likely a backward op is of a forward op. */
static uint32_t kinship(const struct casting *run, uint32_t forward, uint32_t op)
{
	const struct graph *graph = run->graph;
	const struct rule *rule = rules_find(run->rules, graph->op[forward].type),
					  *back = rules_find(run->rules, graph->op[op].type);
	bool product = listed(run, op) == AUTOCAST_NARROW, same = same_module(run, forward, op);
	if (graph_is_view(graph, forward) || graph_results(graph, forward) == 0 || !rule || !back ||
		(listed(run, forward) == AUTOCAST_NARROW) != product)
		return 0;
	uint32_t rank = product || rule == back || rules_is_backward(rule, back) ? 64 + 32 * same : 32 * same;
	FOR_ITEMS(read, &graph->reads, op)
		FOR(k, graph_operands(graph, forward) + graph_results(graph, forward))
			rank += rank && graph_argument(graph, forward, k) == read;
	return rank;
}

/* The forward op that a backward op is of, and the tensor by which that shows; NONE. */
static uint32_t partner_of(const struct casting *run, uint32_t op, bool product, uint32_t *by)
{
	const struct graph *graph = run->graph;
	uint32_t best = 1, partner = *by = NONE;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t saved = saved_of(run, read);
		if (saved == NONE)
			continue;
		saved = own_view(run, op, product, saved);
		FOR_ITEMS(user, &graph->users, graph->tensor[saved].storage) {
			bool touches = false;
			FOR(k, graph_operands(graph, user) + graph_results(graph, user))
				touches |= graph_argument(graph, user, k) == saved;
			uint32_t rank = touches && user < op && run->forward[user] ? kinship(run, user, op) : 0;
			if (rank >= best) {
				best = rank;
				partner = user;
				*by = saved;
			}
		}
	}
	return partner;
}

/* The partner's next operand that a result may be the gradient of, as it was before casts; NONE. */
static uint32_t operand_of(const struct casting *run, uint32_t partner, uint32_t by, uint32_t result, uint32_t *next)
{
	while (partner != NONE && *next < graph_operands(run->graph, partner)) {
		uint32_t operand = graph_argument(run->graph, partner, (*next)++);
		if (operand == by || !floats(run, operand) || elements_of(run, operand) != elements_of(run, result))
			continue;
		while (run->value[operand].early)
			operand = above(run, operand);
		return operand;
	}
	return NONE;
}

/* Gradients get the format of what they are of. */
static void cast_gradients(struct casting *run, uint32_t op, uint32_t partner, uint32_t by, enum rule_autocast mode)
{
	const struct graph *graph = run->graph;
	uint32_t next = 0;
	FOR_ITEMS(result, &graph->writes, op) {
		if (!floats(run, result) || graph->tensor[result].alias != NONE)
			continue;
		uint32_t operand = operand_of(run, partner, graph_results(graph, op) > 1 ? NONE : by, result, &next);
		bool narrow = dtype_now(run, result) == DTYPE_BF16, alone = operand != NONE &&
			home_of(run, operand)->uses <= 1 && dtype_now(run, operand) == DTYPE_F32;
		if (narrow && (alone || home_of(run, result)->gradient) &&
			run->pendings < COUNT_OF(run->pending)) {
			run->pending[run->pendings++] = result;
			run->product = op;
		} else if (!narrow && operand != NONE && mode != AUTOCAST_NARROW && dtype_now(run, operand) == DTYPE_BF16) {
			becomes(run, op, result, DTYPE_BF16);
		}
	}
}

/* ---- ops ---- */

/* x * rsqrt(mean(pow(x, 2)) + e) of 16 bits: models cast x before and the result behind, which doesn't show in f32. */
static bool scales_norm(const struct casting *run, uint32_t op, uint32_t read)
{
	const struct graph *graph = run->graph;
	bool root = false, cast = false;
	if (!run->forward[op] || dtype_now(run, read) != DTYPE_BF16 || graph_operands(graph, op) != 2 ||
		graph_results(graph, op) != 1)
		return false;
	FOR_ITEMS(other, &graph->reads, op) {
		uint32_t writer = graph->tensor[other].writer;
		root |= other != read && writer != NONE && listed(run, writer) == AUTOCAST_WIDE && same_module(run, writer, op);
	}
	for (uint32_t c = root ? run->value[read].last : NONE; c != NONE; c = run->cast[c].next)
		cast |= same_module(run, run->cast[c].op, op);
	return cast;
}

/* The op whose result goes to 16 bits: this one, before a parameter scales it, or the module's next. */
static uint32_t norm_ends(const struct casting *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	uint32_t result = graph_result(graph, op, 0);
	FOR_ITEMS(user, &graph->users, graph->tensor[result].storage) {
		if (user <= op || !run->forward[user] || !same_module(run, user, op) || graph_results(graph, user) != 1)
			continue;
		FOR_ITEMS(read, &graph->reads, user)
			if (graph_home(graph, read)->kind == KIND_PARAMETER)
				return op;
		return user;
	}
	return op;
}

/* In which an op reads floats. */
static enum dtype format_read(
	const struct casting *run, uint32_t op, uint32_t partner, enum rule_autocast mode, uint32_t read)
{
	const struct graph *graph = run->graph;
	uint32_t writer = graph->tensor[read].writer, first = partner == NONE ? NONE
		: graph_result(graph, partner, 0);
	bool statistic = writer != NONE && (rules_traits(run->rules, graph->op[writer].type) & TRAIT_STATISTICS) &&
		graph_result(graph, writer, 0) != read;
	if (writer != NONE && run->forward[op] && run->inside[writer] && !run->inside[op])
		return DTYPE_BF16;
	if (mode == AUTOCAST_WIDE || graph->op[op].phase == PHASE_UPDATE)
		return DTYPE_F32;
	if (graph_is_view(graph, op)
		? run->value[graph_result(graph, op, 0)].early
		: mode == AUTOCAST_NARROW && !statistic)
		return DTYPE_BF16;
	for (uint32_t c = partner == NONE ? NONE : run->value[read].last; c != NONE; c = run->cast[c].next)
		if (run->cast[c].op == partner)
			return build_dtype(&run->build, run->cast[c].made);
	bool arrives = first != NONE && floats(run, first) && saved_of(run, read) == NONE &&
		elements_of(run, first) == elements_of(run, read);
	return scales_norm(run, op, read) ? DTYPE_F32 : dtype_now(run, arrives ? first : read);
}

/* The widest of the operands' formats, of scalars only where there is nothing else; of a norm and of several gradients
 * the first operand's. */
static enum dtype format_result(const struct casting *run, uint32_t op, enum rule_autocast mode, uint32_t place)
{
	const struct graph *graph = run->graph;
	bool statistics = rules_traits(run->rules, graph->op[op].type) & TRAIT_STATISTICS, found[2] = { false, false };
	if (mode == AUTOCAST_NARROW)
		return statistics && place > 0 ? DTYPE_F32 : DTYPE_BF16;
	if (mode != AUTOCAST_LIKE || (statistics && place > 0))
		return DTYPE_F32;
	bool first = statistics || (place == 0 && graph_results(graph, op) > 1);
	for (int scalars = 0; scalars < 2 && !found[0] && !found[1]; scalars++)
		FOR_ITEMS(read, &graph->reads, op)
			if (floats(run, read) && (graph->tensor[read].dims == 0) == scalars && !(first && (found[0] || found[1])))
				found[dtype_now(run, read) == DTYPE_BF16] = true;
	return found[1] && !found[0] ? DTYPE_BF16 : DTYPE_F32;
}

static void set_results(struct casting *run, uint32_t op, enum rule_autocast mode)
{
	const struct graph *graph = run->graph;
	uint32_t place = 0;
	FOR_ITEMS(result, &graph->writes, op) {
		struct tensor *record = draft_tensor_at(run->build.draft, run->tensor[result]);
		uint32_t of = graph->tensor[result].alias == NONE ? NONE : seen_by(run, op, result);
		enum dtype dtype = of == NONE ? format_result(run, op, mode, place) : dtype_now(run, of);
		place++;
		if (of != NONE) {
			record->alias = root_of(run, run->tensor[of]);
			record->kind = draft_tensor_at(run->build.draft, record->alias)->kind;
		}
		if (floats(run, result) && (of == NONE || floats(run, of))) {
			record->bytes = record->bytes * dtype_bits[dtype] / dtype_bits[record->dtype];
			record->dtype = (uint8_t)dtype;
		}
	}
}

static void copy_op(struct casting *run, uint32_t op)
{
	run->op[op] = build_copy_op(&run->build, run->graph, op, run->tensor);
	build_rename_by(&run->build, run->arena, run->graph, op, run->op[op], run->tensor);
}

static void cast_operand(struct casting *run, uint32_t op, uint32_t partner, enum rule_autocast mode, uint32_t tensor)
{
	struct memory *memory = home_of(run, tensor);
	bool computes = !run->forward[op] && !graph_is_view(run->graph, op);
	run->tensor[tensor] = run->tensor[own_view(run, op, mode == AUTOCAST_NARROW, tensor)];
	enum dtype dtype = floats(run, tensor) ? format_read(run, op, partner, mode, tensor) : dtype_now(run, tensor);
	if (dtype != dtype_now(run, tensor)) {
		if (run->forward[op] && mode == AUTOCAST_LIKE && dtype == DTYPE_F32 && !graph_is_view(run->graph, op))
			run->norm_end = norm_ends(run, op);
		run->tensor[tensor] = cast_for(run, op, partner, tensor, dtype);
	}
	if (computes && run->build.status == OK && saved_of(run, tensor) != NONE) {
		memory->let_go = root_of(run, run->tensor[tensor]);
		if (mode == AUTOCAST_NARROW && memory->trained) {
			run->held = memory->let_go;
			run->product = op;
		}
	}
}

/* Casts of the last operands come first. */
static void cast_op(struct casting *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	bool computes = !run->forward[op] && graph->op[op].phase != PHASE_UPDATE && !graph_is_view(graph, op);
	enum rule_autocast mode = mode_of(run, op);
	uint32_t by = NONE, partner = computes ? partner_of(run, op, mode == AUTOCAST_NARROW, &by) : NONE;
	uint32_t reads = graph_operands(graph, op), k = reads;
	if (partner != NONE && mode == AUTOCAST_NARROW)
		mode = mode_of(run, partner) == mode ? mode : AUTOCAST_LIKE;
	wait_or_flush(run, op, mode);
	while (k > 0 && run->build.status == OK) {
		uint32_t tensor = graph_argument(graph, op, --k);
		run->stood[k] = run->tensor[tensor];
		cast_operand(run, op, partner, mode, tensor);
	}
	if (run->build.status == OK)
		set_results(run, op, mode);
	copy_op(run, op);
	for (; k < reads; k++)
		run->tensor[graph_argument(graph, op, k)] = run->stood[k];
	if (run->build.status == OK && computes)
		cast_gradients(run, op, partner, by, mode);
	if (run->build.status == OK && op == run->norm_end)
		becomes(run, op, graph_result(graph, op, 0), DTYPE_BF16);
}

/* Where the last reader reads a cast now, that is let go of. */
static void cast_release(struct casting *run, uint32_t op)
{
	uint32_t tensor = graph_argument(run->graph, op, 0), stood = run->tensor[tensor],
			 let_go = home_of(run, tensor)->let_go;
	wait_or_flush(run, op, AUTOCAST_LIKE);
	run->tensor[tensor] = let_go == NONE ? stood : let_go;
	copy_op(run, op);
	run->tensor[tensor] = stood;
}

/* Autocast's block ends and lets go of casts of parameters that no backward op reads. */
static void end_forward(struct casting *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	run->region = 1;
	FOR(t, graph->tensors)
		if (is_cached(run, t) && run->value[t].last != NONE) {
			const struct cast *cast = &run->cast[run->value[t].last];
			bool view = graph_is_view(graph, cast->op);
			if (!run->value[view ? graph_result(graph, cast->op, 0) : t].kept)
				begin_op(run, op, RELEASE_TYPE, cast->made);
		}
}

static void cast_all(struct casting *run)
{
	const struct graph *graph = run->graph;
	bool before = false;
	FOR_WHILE(op, graph->ops, run->build.status == OK) {
		bool again = run->forward[op] && graph->op[op].phase != PHASE_FORWARD;
		if (run->region == 0 && graph->op[op].phase == PHASE_BACKWARD && run->captured)
			end_forward(run, op);
		run->region += again && !before;
		before = again;
		if (op_releases(&graph->op[op]) && graph_operands(graph, op) == 1)
			cast_release(run, op);
		else
			cast_op(run, op);
	}
	flush_pending(run);
	build_finish(&run->build);
	build_copy_control(&run->build, graph, run->op);
}

/* Also finds which parameters are trained. */
static enum status cast_prepare(struct casting *run, struct error *error)
{
	const struct graph *graph = run->graph;
	struct update_groups groups;
	bool wide = false;
	FOR(t, graph->tensors) {
		run->value[t].last = NONE;
		wide |= graph->tensor[t].kind == KIND_PARAMETER && floats(run, t);
	}
	if (!wide)
		return refuse(error, "precision=autocast needs a step in fp32: no parameter is in fp32");
	FOR(op, graph->ops)
		FOR_ITEMS(result, &graph->writes, op)
			if (listed(run, op) == AUTOCAST_NARROW && dtype_bits[graph->tensor[result].dtype] == 16)
				return refuse(error, "precision=autocast needs a step in fp32: op \"%.200s\" computes in 16 bits, as under "
					"autocast", graph->op[op].name);
	FOR(s, graph->storages)
		run->memory[s].let_go = NONE;
	enum status status = update_groups_find(graph, run->rules, &groups, error);
	FOR_WHILE(g, groups.groups, status == OK) {
		home_of(run, groups.group[g].parameter)->trained = true;
		if (groups.group[g].gradient != NONE)
			home_of(run, groups.group[g].gradient)->gradient = true;
	}
	update_groups_free(&groups);
	return status;
}

struct graph *autocast_apply(const struct graph *graph, const struct rules *rules, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct casting run = { .graph = graph, .rules = rules, .captured = graph_releases(graph), .held = NONE,
		.norm_end = NONE, .build = { .source = graph, .rules = rules }, .arena = &arena };
	uint32_t reads = graph->reads.start[graph->ops];
	bool room = build_copy_begin(&run.build, graph, &arena, &run.tensor, &run.op) &&
		ROOM(&arena, run.value, graph->tensors) && ROOM(&arena, run.memory, graph->storages) &&
		ROOMS(&arena, graph->ops, run.forward, run.inside, run.line) && ROOMS(&arena, reads, run.stood, run.cast);
	if (error_set(error, room ? cast_prepare(&run, error) : fail_memory(error)) != OK) {
		draft_free(run.build.draft);
		return NULL;
	}
	look_over(&run);
	look_ahead(&run);
	build_copy_tensors(&run.build, graph, run.tensor);
	cast_all(&run);
	return build_like(&run.build, graph, error);
}
