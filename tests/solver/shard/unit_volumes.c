/* unit_volumes.c: what experts' shardings send, collective by collective, against the formulas that were published for them.
 *
 * Formulas are of a model's sizes alone: nothing here knows how a sharding is made. Each counts what one device sends, with rings: (n - 1) / n of what is
 * gathered or scattered, twice that of what is all-reduced, (n - 1) / n^2 of what is exchanged by all-to-all.
 */

#include "src/models/models.h"
#include "solver/shard/device_graph.h"
#include "solver/shard/split_roles.h"
#include "solver/step/shared_views.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* A Llama in f32, sizes as formulas call them. */
enum { L = 3, B = 8, S = 32, H = 64, HEADS = 8, KV = 4, WIDTH = H / HEADS, FFN = 96, V = 160, N = 4, BYTES = 4 };
#define LAYER_WEIGHTS (2 * H * H + 2 * H * KV * WIDTH + 3 * H * FFN)
#define WEIGHTS ((int64_t)L * (LAYER_WEIGHTS + 2 * H) + H + 2 * H * V)
#define ACTIVATION ((int64_t)B * S * H * BYTES)
#define LABELS ((int64_t)B * S * 8)
#define LOSS (2 * 4)                     /* at most: a number, which devices add up */

struct volumes { int64_t bytes[COLLECTIVE_COUNT], count[COLLECTIVE_COUNT]; };

static struct graph *llama(bool fused)
{
	struct model_config config = sized_model("llama", (struct model_config){ .layers = L, .batch = B, .seq = S, .hidden = H, .heads = HEADS, .kv_heads = KV,
		.head_width = WIDTH, .ffn = FFN, .vocab = V });
	config.flash = true;
	config.fused = fused;
	return step_of_config("llama", config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

static bool is_attention(const struct rules *rules, const struct graph *graph, uint32_t op)
{
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	return rule && (rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD);
}

static void split_along(const struct units *units, struct sharding *sharding, uint32_t op, enum factor_role role)
{
	for (uint32_t u = 0; u < unit_count(units, op); u++)
		if (units->unit[units->unit_start[op] + u].role == role) {
			struct split split = sharding->split[op];
			split.on[0] = (int8_t)u;
			sharding_set(sharding, units, op, split);
			return;
		}
}

/* DeepSpeed-Ulysses (Jacobs et al., arXiv 2309.14509): sequences are cut, but heads where attention runs; so gradients of keys and values are no partial
 * sums there. */
static void give_heads(const struct rules *rules, const struct units *units, struct sharding *sharding)
{
	const struct graph *graph = units->graph;
	for (uint32_t op = 0; op < graph->ops; op++)
		if (is_attention(rules, graph, op))
			split_along(units, sharding, op, ROLE_HEADS);
		else if (sharding->split[op].on[0] == UNIT_PARTIAL && sharding->produced[graph->reads.item[graph->reads.start[op]]].on[0] != PLACE_PARTIAL)
			split_along(units, sharding, op, ROLE_SEQUENCE);
}

/* What a device's graph sends over one axis of N devices. */
static struct volumes send(const struct axis_roles *roles, uint8_t zero, bool ulysses)
{
	struct rules *rules = test_rules();
	struct error error = { 0 };
	struct axis_roles role[MESH_AXES] = { *roles };
	struct mesh mesh = { .axes = 1, .axis = { { .name = "dp", .size = N, .near_size = N, .near = { 2000000, INT64_C(100000000000) } } } };
	OWN(graph) *built = llama(true), *graph = graph_share_views(built, rules, &error);
	OWN(units) units;
	OWN(sharding) sharding;
	struct volumes volumes = { 0 };
	role[0].zero = zero;
	mesh.axis[0].far = mesh.axis[0].near;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, role, &sharding), OK);
	if (ulysses)
		give_heads(rules, &units, &sharding);
	OWN(graph) *device = device_graph_build(&units, &sharding, 0, &error);
	cr_assert_not_null(device, "%s", error.text);
	cr_assert_eq(device_graph_check(&units, &sharding, rules, device, &error), OK, "%s", error.text);
	for (uint32_t op = 0; op < device->ops; op++) {
		const struct collective *said = device->op[op].collective;
		if (said && said->moved > 0 && said->kind < COLLECTIVE_COUNT) {
			volumes.bytes[said->kind] += said->moved;
			volumes.count[said->kind]++;
		}
	}
	return volumes;
}

static int64_t ring(int64_t bytes)
{
	return bytes * (N - 1) / N;
}

static void expect(const struct volumes *volumes, enum collective_kind kind, int64_t bytes, int64_t more)
{
	cr_expect(volumes->bytes[kind] >= bytes && volumes->bytes[kind] <= bytes + more, "%s: %ld bytes, published %ld", collective_names[kind], (long)volumes->bytes[kind],
		(long)bytes);
}

/* Shoeybi et al., arXiv 1909.08053, section 3: two all-reduces a layer and pass; the embedding's result and the gradient of the last norm's besides. */
Test(volumes, megatron)
{
	struct volumes volumes = send(&roles_tensor, 0, false);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(ACTIVATION) * (4 * L + 2), 2 * LOSS);
	expect(&volumes, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, 0, 0);
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 0, 0);
}

/* Korthikanti et al., arXiv 2205.05198, section 4.2.2: an all-gather and a reduce-scatter in place of each all-reduce, and the input of the two column-parallel
 * products gathered again for their weights: 6 and 4 a layer. Gradients of norms' weights are summed over the devices. Labels, which every device needs, are
 * gathered too: 8 bytes a token. */
Test(volumes, megatron_with_sequence_parallelism)
{
	struct volumes volumes = send(&roles_tensor_sp, 0, false);
	expect(&volumes, COLLECTIVE_ALL_GATHER, ring(ACTIVATION) * (6 * L + 3), ring(LABELS));
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(ACTIVATION) * (4 * L + 2), 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(H * BYTES) * (2 * L + 1), 2 * LOSS);
	cr_expect_eq(volumes.count[COLLECTIVE_ALL_GATHER], 6 * L + 3 + 1);
	cr_expect_eq(volumes.count[COLLECTIVE_REDUCE_SCATTER], 4 * L + 2);
}

/* Rajbhandari et al., arXiv 1910.02054, section 7: 2 psi without ZeRO and in stages 1 and 2, 3 psi in stage 3. The table of the embedding has no part in the
 * backward pass. */
Test(volumes, zero_stages)
{
	struct volumes none = send(&roles_data, 0, false), first = send(&roles_data, 1, false), second = send(&roles_data, 2, false), third = send(&roles_data, 3, false);
	expect(&none, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
	expect(&none, COLLECTIVE_ALL_GATHER, 0, 0);
	for (int stage = 1; stage <= 2; stage++) {
		struct volumes *volumes = stage == 1 ? &first : &second;
		expect(volumes, COLLECTIVE_REDUCE_SCATTER, ring(WEIGHTS * BYTES), 0);
		expect(volumes, COLLECTIVE_ALL_GATHER, ring(WEIGHTS * BYTES), 0);
		expect(volumes, COLLECTIVE_ALL_REDUCE, 0, 2 * LOSS);
	}
	expect(&third, COLLECTIVE_REDUCE_SCATTER, ring(WEIGHTS * BYTES), 0);
	expect(&third, COLLECTIVE_ALL_GATHER, ring(2 * WEIGHTS * BYTES - (int64_t)V * H * BYTES), 0);
	expect(&third, COLLECTIVE_ALL_REDUCE, 0, 2 * LOSS);
}

/* Liu, Zaharia, Abbeel, arXiv 2310.01889: keys and values go round once in the forward pass; in the backward pass they do so again, and their gradients. With
 * grouped queries those are the groups' own heads. Gradients of weights are summed as with data parallelism. */
Test(volumes, ring_attention)
{
	struct volumes volumes = send(&roles_context, 0, false);
	int64_t keys = (int64_t)B * S * KV * WIDTH * BYTES;
	expect(&volumes, COLLECTIVE_ALL_GATHER, ring(keys) * 4 * L, 0);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(keys) * 2 * L, 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
}

/* Jacobs et al., arXiv 2309.14509, section 3.2: queries, keys, values and the result are exchanged in the forward pass, their gradients in the backward pass. */
Test(volumes, ulysses)
{
	struct volumes volumes = send(&roles_context, 0, true);
	int64_t queries = (int64_t)B * S * HEADS * WIDTH * BYTES, keys = (int64_t)B * S * KV * WIDTH * BYTES;
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 2 * L * (2 * queries + 2 * keys) * (N - 1) / (N * N), 0);
	expect(&volumes, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
}
