/* unit_sharding_words.c: placements in other programs' words. */
#include "src/models/models.h"
#include "src/write/plan_json.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static struct mesh mesh = { .axes = 2,
	.axis = { { .name = "dp", .size = 4, .near_size = 1 }, { .name = "tp", .size = 2, .near_size = 2 } } };

static void expect(const char *is, const char *expected)
{
	if (expected)
		cr_expect_str_eq(is ? is : "(none)", expected);
	else
		cr_expect_null(is);
}

static void check(const struct units *units, const char *name, int8_t dp, int8_t tp, const char *dtensor,
	const char *spec, const char *hlo)
{
	char text[200];
	uint32_t tensor = graph_find_tensor(units->graph, name);
	cr_assert_neq(tensor, NONE, "%s", name);
	struct placement placement = { { dp, tp, PLACE_WHOLE, PLACE_WHOLE } };
	expect(sharding_dtensor(units, &mesh, tensor, placement, text, sizeof text), dtensor);
	expect(sharding_partition_spec(units, &mesh, tensor, placement, text, sizeof text), spec);
	expect(sharding_hlo(units, &mesh, tensor, placement, text, sizeof text), hlo);
}

Test(sharding_words, placements)
{
	OWN(graph) *graph = step_of_sizes("gpt", (struct model_config){ .layers = 1, .batch = 8 });
	struct rules *rules = test_rules();
	OWN(units) units;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	const int8_t R = PLACE_WHOLE, P = PLACE_PARTIAL;
	check(&units, "h.0.mlp.c_fc.weight", R, R, "[Replicate(), Replicate()]", "P(None, None)", "{replicated}");
	check(&units, "h.0.mlp.c_fc.weight", R, 0, "[Replicate(), Shard(0)]", "P('tp', None)",
		"{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}");
	check(&units, "h.0.mlp.c_fc.weight", 0, R, "[Shard(0), Replicate()]", "P('dp', None)",
		"{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
	check(&units, "h.0.mlp.c_fc.weight", 1, 0, "[Shard(1), Shard(0)]", "P('tp', 'dp')", "{devices=[2,4]<=[4,2]T(1,0)}");
	check(&units, "h.0.mlp.c_fc.weight", 0, 0, "[Shard(0), Shard(0)]", "P(('dp', 'tp'), None)", "{devices=[8,1]<=[8]}");
	check(&units, "h.0.mlp.c_fc.weight", P, 0, "[Partial(), Shard(0)]", NULL, NULL);
	/* 3 * heads * head size */
	check(&units, "h.0.attn.c_attn.weight", R, 1, "[Replicate(), _StridedShard(0, split_factor=3)]", NULL, NULL);
	/* 50257 words in pieces of 12565, a dim of their own; 768 = 12 heads * 64 by 8: pieces of 2 heads, where others cut
	 * 96 rows */
	check(&units, "wte.weight", 0, R, "[Shard(0), Replicate()]", NULL, "{devices=[4,1,2]<=[8] last_tile_dim_replicate}");
	mesh.axis[0].size = 8;
	check(&units, "h.0.attn.c_proj.weight", 1, R, NULL, NULL, NULL);
	mesh.axis[0].size = 4;
}
