/* aten.c: the rules of PyTorch's operators.
 *
 * Saved tensors are those that PyTorch 1.13 keeps (measured on 101 operators). In-place variants ("relu_")
 * have their plain operator's rule. Scalars are no operands.
 */
#include "rules.h"

#define ANY "...* -> ...*"                       /* elementwise, any number of operands */
#define ELEMENTWISE(name, gradients, saved) { "aten." name, ANY, COST_ELEMENT, gradients, saved, NULL }
#define CONSTANT(name) { "aten." name, ANY, COST_ELEMENT, "", "", NULL }
#define VIEW(name, factors) { "aten." name, factors, COST_NONE, "0", "", NULL }
#define SOURCE(name) { "aten." name, "@source", COST_ELEMENT, "", "", NULL }
#define MOVE(name, factors) { "aten." name, factors, COST_ELEMENT, "*", "", NULL }

const struct rule rules_aten[] = {
	/* contractions */
	{ "aten.mm", "m k+, k+ n -> m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL },
	{ "aten.bmm", "b m k+, b k+ n -> b m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL },
	{ "aten.addmm", "&m? n?, m k+, k+ n -> m n", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL },
	{ "aten.baddbmm", "&b? m? n?, b m k+, b k+ n -> b m n", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL },
	{ "aten.matmul", "... m k+, ... k+ n -> ... m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL },
	{ "aten.linear", "... k+, n k+, ?&n -> ... n", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL },
	{ "aten.mv", "m k+, k+ -> m", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL },
	{ "aten.dot", "k+, k+ -> ", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL },
	{ "aten.convolution", "b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y..", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL },
	{ "aten.convolution_backward", "b+ (g o+) y+.., b+ (g c) y~k.., ?(g o+) c k.. -> ?b (g c) y~k.., ?(g o) c k.., ?(g o)",
		COST_CONTRACTION, "", "", NULL },

	/* attention in one kernel: queries, keys, values; the result and the log-sum-exp; groups of queries may share a head of keys,
	 * values may have a width of their own */
	{ "aten._scaled_dot_product_flash_attention", "b h q d^, b h t^ d^, b h t^ d^ -> b h q d, ?b h q"
		" | b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q"
		" | b h q d^, b h t^ d^, b h t^ v^ -> b h q v, ?b h q", COST_ATTENTION,
		"0 1 2", "i0 i1 i2 o0 o1", NULL },
	{ "aten._scaled_dot_product_flash_attention_backward",
		"b h q+ d^, b h q+ d^, b h t^ d^, b h t^ d^, b h q+ d^, ?b h q+ -> b h q d, b h t d, b h t d"
		" | b (k g+) q+ d^, b (k g+) q+ d^, b k t^ d^, b k t^ d^, b (k g+) q+ d^, ?b (k g+) q+ -> b (k g) q d, b k t d, b k t d"
		" | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, b h q+ v^, ?b h q+ -> b h q d, b h t d, b h t v",
		COST_ATTENTION_BACKWARD, "", "", NULL },

	/* normalisation */
	{ "aten.native_layer_norm", "... h^, ?h, ?h -> ... h, ... 1, ... 1", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL },
	{ "aten.native_layer_norm_backward", "...+ h^, ...+ h^, ...+ 1, ...+ 1, ?h, ?h -> ?... h, ?h, ?h", COST_ELEMENT, "", "", NULL },
	{ "aten._fused_rms_norm", "... h^, ?h -> ... h, ... 1", COST_ELEMENT, "0 1", "i0 i1 o1", NULL },
	{ "aten._fused_rms_norm_backward", "...+ h^, ...+ h^, ...+ 1, ?h -> ?... h, ?h", COST_ELEMENT, "", "", NULL },
	{ "aten.native_batch_norm", "b^ c x^.., c* -> b c x.., c*", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL },
	{ "aten.native_batch_norm_backward", "b^ c x^.., b^ c x^.., c* -> ?b c x.., ?c, ?c", COST_ELEMENT, "", "", NULL },
	{ "aten.native_group_norm", "b (g c^) x^.., ?(g c), ?(g c) -> b (g c) x.., b g, b g", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL },
	{ "aten.native_group_norm_backward", "b+ (g c^) x^.., b+ (g c^) x^.., b+ g, b+ g, ?(g c) -> ?b (g c) x.., ?(g c), ?(g c)",
		COST_ELEMENT, "", "", NULL },
	{ "aten._softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", "aten._softmax_backward_data" },
	{ "aten._softmax_backward_data", "... v^, ... v^ -> ... v", COST_ELEMENT, "", "", NULL },
	{ "aten._log_softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", "aten._log_softmax_backward_data" },
	{ "aten._log_softmax_backward_data", "... v^, ... v^ -> ... v", COST_ELEMENT, "", "", NULL },
	{ "aten.logsumexp", "@reduce^", COST_ELEMENT, "0", "i0 o0", NULL },
	{ "aten.glu", "... (g^ h) -> ... h", COST_ELEMENT, "0", "i0", NULL },
	{ "aten.glu_backward", "... h, ... (g^ h) -> ... (g h)", COST_ELEMENT, "", "", NULL },

	/* losses */
	{ "aten.nll_loss_forward", "n+ v+ x+.., n+ x+.., ?v -> , ", COST_ELEMENT, "0", "i0* i1 o1", "aten.nll_loss_backward" },
	{ "aten.nll_loss_backward", ", n v x.., n x.., ?v, -> n v x..", COST_ELEMENT, "", "", NULL },
	{ "aten.mse_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL },
	{ "aten.mse_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL },
	{ "aten.smooth_l1_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL },
	{ "aten.smooth_l1_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL },
	{ "aten.binary_cross_entropy_with_logits", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0", "i0 i1", NULL },
	{ "aten.binary_cross_entropy_with_logits_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL },
	{ "aten.cross_entropy_loss", "n+ v^, n+ -> ", COST_ELEMENT, "0", "x:f32(n v) i1", NULL },

	/* tables */
	{ "aten.embedding", "v+ h, ... -> ... h", COST_ELEMENT, "0", "i1", "aten.embedding_dense_backward" },
	{ "aten.embedding_dense_backward", "...+ h, ...+ -> v h", COST_ELEMENT, "", "", NULL },
	{ "aten.gather", "... v^, ... k -> ... k", COST_ELEMENT, "0", "i0* i1", NULL },
	{ "aten.scatter", "... v^, ... k^, ?... k^ -> ... v", COST_ELEMENT, "0 2", "i1", NULL },
	{ "aten.index_select", "@gather", COST_ELEMENT, "0", "i1", NULL },
	{ "aten.index", "@gather", COST_ELEMENT, "0", "i1", NULL },
	{ "aten.index_put", "&v x.., n+, n+ x.. -> v x..", COST_ELEMENT, "0 2", "i1", NULL },

	/* pooling */
	{ "aten.max_pool2d_with_indices", "b c y~.. -> b c y.., b c y..", COST_ELEMENT, "0", "i0 o1", NULL },
	{ "aten.max_pool2d_with_indices_backward", "b c y.., b c y~.., b c y.. -> b c y~..", COST_ELEMENT, "", "", NULL },
	{ "aten.avg_pool2d", "b c y~.. -> b c y..", COST_ELEMENT, "0", "i0*", NULL },
	{ "aten.avg_pool2d_backward", "b c y.., b c y~.. -> b c y~..", COST_ELEMENT, "", "", NULL },
	{ "aten._adaptive_avg_pool2d", "b c y~.. -> b c y..", COST_ELEMENT, "0", "i0*", NULL },
	{ "aten._adaptive_avg_pool2d_backward", "b c y.., b c y~.. -> b c y~..", COST_ELEMENT, "", "", NULL },
	{ "aten.upsample_nearest2d", "b c y~.. -> b c y..", COST_ELEMENT, "0", "", NULL },
	{ "aten.upsample_nearest2d_backward", "b c y.. -> b c y~..", COST_ELEMENT, "", "", NULL },

	/* reductions */
	{ "aten.sum", "@reduce+", COST_ELEMENT, "0", "", NULL },
	{ "aten.mean", "@reduce+", COST_ELEMENT, "0", "i0*", NULL },
	{ "aten.amax", "@reduce^", COST_ELEMENT, "0", "i0 o0", NULL },
	{ "aten.amin", "@reduce^", COST_ELEMENT, "0", "i0 o0", NULL },
	{ "aten.max", "@reduce^", COST_ELEMENT, "0", "o1", NULL },
	{ "aten.min", "@reduce^", COST_ELEMENT, "0", "o1", NULL },
	{ "aten.prod", "@reduce^", COST_ELEMENT, "0", "i0 o0", NULL },
	{ "aten.norm", "@reduce^", COST_ELEMENT, "0", "i0 o0", NULL },
	{ "aten.var", "@reduce^", COST_ELEMENT, "0", "i0", NULL },
	{ "aten.argmax", "@reduce^", COST_ELEMENT, "", "", NULL },
	{ "aten.topk", "... n^ -> ... k, ... k", COST_ELEMENT, "0", "o1", NULL },
	{ "aten.sort", "... n^ -> ... n, ... n", COST_ELEMENT, "0", "o1", NULL },
	{ "aten.cumsum", "... n^ -> ... n", COST_ELEMENT, "0", "", NULL },

	/* views */
	VIEW("view", "@reshape"), VIEW("_unsafe_view", "@reshape"), VIEW("_reshape_alias", "@reshape"), VIEW("reshape", "@reshape"),
	VIEW("flatten", "@reshape"), VIEW("squeeze", "@reshape"), VIEW("unsqueeze", "@reshape"),
	VIEW("as_strided", "@reshape"), /* where it keeps all elements; else it doesn't fit */
	VIEW("t", "m n -> n m | m -> m"), VIEW("transpose", "@permute"), VIEW("permute", "@permute"), VIEW("expand", "@expand"),
	VIEW("slice", "@slice"), VIEW("narrow", "@slice"), VIEW("select", "@select"), VIEW("split", "@split"),
	VIEW("split_with_sizes", "@split"), VIEW("chunk", "@split"), VIEW("unsafe_split", "@split"), VIEW("unbind", "@unbind"),
	 VIEW("detach", "... -> ..."), VIEW("alias", "... -> ..."),
	VIEW("lift_fresh", "... -> ..."),

	/* movers: a new buffer, nothing saved */
	MOVE("clone", "... -> ..."), MOVE("contiguous", "... -> ..."), MOVE("_to_copy", "... -> ..."), MOVE("copy", ANY),
	MOVE("cat", "@cat"), MOVE("stack", "@stack"), MOVE("constant_pad_nd", "@pad"), MOVE("repeat", "@expand"),
	MOVE("slice_backward", "@pad"), MOVE("select_backward", "@place"), MOVE("roll", "... -> ..."), MOVE("flip", "... -> ..."),
	MOVE("tril", "... -> ..."), MOVE("triu", "... -> ..."),

	/* elementwise, by what they save */
	ELEMENTWISE("add", "*", ""), ELEMENTWISE("sub", "*", ""), ELEMENTWISE("rsub", "*", ""), ELEMENTWISE("neg", "*", ""),
	ELEMENTWISE("lerp", "*", ""), ELEMENTWISE("mul", "0 1", "i0|1 i1|0"), ELEMENTWISE("div", "0 1", "i0|1 i1"),
	ELEMENTWISE("where", "1 2", "i0"), ELEMENTWISE("masked_fill", "0", "i1"),
	ELEMENTWISE("maximum", "0 1", "i0 i1"), ELEMENTWISE("minimum", "0 1", "i0 i1"),
	ELEMENTWISE("addcmul", "*", "i1|2 i2|1"), ELEMENTWISE("addcdiv", "*", "i1|2 i2"),
	{ "aten.relu", ANY, COST_ELEMENT, "0", "o0", "aten.threshold_backward" },
	{ "aten.sigmoid", ANY, COST_ELEMENT, "0", "o0", "aten.sigmoid_backward" },
	{ "aten.tanh", ANY, COST_ELEMENT, "0", "o0", "aten.tanh_backward" },
	ELEMENTWISE("exp", "0", "o0"), ELEMENTWISE("sqrt", "0", "o0"), ELEMENTWISE("rsqrt", "0", "o0"), ELEMENTWISE("reciprocal", "0", "o0"),
	ELEMENTWISE("gelu", "0", "i0"), ELEMENTWISE("silu", "0", "i0"), ELEMENTWISE("mish", "0", "i0"), ELEMENTWISE("hardtanh", "0", "i0"),
	ELEMENTWISE("hardswish", "0", "i0"), ELEMENTWISE("hardsigmoid", "0", "i0"), ELEMENTWISE("elu", "0", "i0"),
	ELEMENTWISE("leaky_relu", "0", "i0"), ELEMENTWISE("softplus", "0", "i0"), ELEMENTWISE("clamp", "0", "i0"),
	ELEMENTWISE("clamp_min", "0", "i0"), ELEMENTWISE("log", "0", "i0"), ELEMENTWISE("abs", "0", "i0"), ELEMENTWISE("erf", "0", "i0"),
	ELEMENTWISE("sin", "0", "i0"), ELEMENTWISE("cos", "0", "i0"), ELEMENTWISE("pow", "0", "i0"),
	ELEMENTWISE("native_dropout", "0", "o1"), ELEMENTWISE("dropout", "0", "x:bool(...)"),
	CONSTANT("native_dropout_backward"), CONSTANT("threshold_backward"), CONSTANT("sigmoid_backward"), CONSTANT("tanh_backward"),
	CONSTANT("gelu_backward"), CONSTANT("silu_backward"), CONSTANT("mish_backward"), CONSTANT("hardtanh_backward"),
	CONSTANT("hardswish_backward"), CONSTANT("hardsigmoid_backward"), CONSTANT("elu_backward"), CONSTANT("leaky_relu_backward"),
	CONSTANT("softplus_backward"),
	CONSTANT("bitwise_not"), CONSTANT("logical_not"), CONSTANT("bitwise_and"), CONSTANT("bitwise_or"), CONSTANT("logical_and"),
	CONSTANT("logical_or"), CONSTANT("eq"), CONSTANT("ne"), CONSTANT("lt"), CONSTANT("le"), CONSTANT("gt"), CONSTANT("ge"),
	CONSTANT("sign"), CONSTANT("bernoulli"), CONSTANT("fill"), CONSTANT("zero"), CONSTANT("uniform"), CONSTANT("normal"),
	CONSTANT("_amp_foreach_non_finite_check_and_unscale"), /* of one gradient; devices that share it combine the flag, one number a step */
	CONSTANT("ones_like"), CONSTANT("zeros_like"), CONSTANT("empty_like"), CONSTANT("rand_like"), CONSTANT("full_like"),

	/* from nothing */
	SOURCE("arange"), SOURCE("empty"), SOURCE("zeros"), SOURCE("ones"), SOURCE("full"), SOURCE("scalar_tensor"),
	SOURCE("rand"), SOURCE("randn"), SOURCE("new_zeros"), SOURCE("new_ones"), SOURCE("new_empty"), SOURCE("new_full"),

	/* mixture of experts: one op per layer routes tokens to experts' slots and back */
	{ "tidemark.swiglu", ANY, COST_ELEMENT, "0 1", "i0 i1", NULL }, /* silu(gate) * up in one kernel */
	{ "tidemark.swiglu_backward", ANY, COST_ELEMENT, "", "", NULL },
	{ "tidemark.cross_entropy", "n+ v+^, n+ -> ", COST_ELEMENT, "0", "i0 i1", NULL }, /* of logits, in one kernel */
	{ "tidemark.cross_entropy_backward", ", n v^, n -> n v", COST_ELEMENT, "", "", NULL },
	{ "tidemark.offload", ANY, COST_ELEMENT, "", "", NULL }, /* every device moves its own piece */
	{ "tidemark.fetch", ANY, COST_ELEMENT, "", "", NULL },
	{ "tidemark.dispatch", "t^ h, t^ e^ -> e c h", COST_ELEMENT, "0 1", "i1", NULL },
	{ "tidemark.combine", "e+ c+ h, t e+ -> t h", COST_ELEMENT, "0 1", "i0 i1", NULL },
	{ "tidemark.dispatch_backward", "e^ c^ h+, t^ e^ -> t h, t e", COST_ELEMENT, "", "", NULL },
	{ "tidemark.combine_backward", "t^ h+, e^ c^ h+, t^ e^ -> e c h, t e", COST_ELEMENT, "", "", NULL },
	/* the same with scores that weigh the experts' inner activations instead of tokens: they travel with the tokens */
	{ "tidemark.dispatch_scored", "t^ h, t^ e^ -> e c h, e c 1", COST_ELEMENT, "0 1", "i1", NULL },
	{ "tidemark.dispatch_scored_backward", "e^ c^ h, e^ c^ 1, t^ e^ -> t h, t e", COST_ELEMENT, "", "", NULL },
	{ "tidemark.combine_plain", "e+ c+ h, t e+ -> t h", COST_ELEMENT, "0", "i1", NULL },
	{ "tidemark.combine_plain_backward", "t^ h, t^ e^ -> e c h", COST_ELEMENT, "", "", NULL },
	{ "tidemark.swiglu_scaled", "e c f, e c f, e c 1 -> e c f", COST_ELEMENT, "0 1 2", "i0 i1 i2", NULL },
	{ "tidemark.swiglu_scaled_backward", "e c f+, e c f+, e c f+, e c 1 -> e c f, e c f, e c 1", COST_ELEMENT, "", "", NULL },
	{ NULL, NULL, COST_NONE, NULL, NULL, NULL }
};
