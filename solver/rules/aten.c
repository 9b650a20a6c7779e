/* aten.c: the rules of PyTorch's operators.
 *
 * Saved tensors are those that PyTorch keeps (measured on 101 operators of 1.13; of others as its derivatives say).
 * In-place variants ("relu_") have their plain operator's rule. Scalars are no operands. */
#include "rules.h"

#define ANY "...* -> ...*" /* elementwise, any number of operands */
#define ELEMENTWISE_WITH(name, gradients, saved, traits) \
	{ "aten." name, ANY, COST_ELEMENT, gradients, saved, NULL, traits }
#define ELEMENTWISE(name, gradients, saved) ELEMENTWISE_WITH(name, gradients, saved, 0)
#define CONSTANT_WITH(name, traits) { "aten." name, ANY, COST_ELEMENT, "", "", NULL, traits }
#define CONSTANT(name) CONSTANT_WITH(name, 0)
#define VIEW_WITH(name, factors, traits) { "aten." name, factors, COST_NONE, "0", "", NULL, traits }
#define VIEW(name, factors) VIEW_WITH(name, factors, 0)
#define SOURCE_WITH(name, traits) { "aten." name, "@source", COST_ELEMENT, "", "", NULL, traits }
#define SOURCE(name) SOURCE_WITH(name, 0)
#define MOVE_WITH(name, factors, traits) { "aten." name, factors, COST_ELEMENT, "*", "", NULL, traits }
#define MOVE(name, factors) MOVE_WITH(name, factors, 0)
/* One kernel that goes over what it is given; of those that have derivatives, of which operands and what they read. */
#define KERNEL(name, factors, gradients, saved) { "aten." name, factors, COST_ELEMENT, gradients, saved, NULL, 0 }
#define LAST(name, factors) KERNEL(name, factors, "", "")
/* Planes of another size, and the backward kernel: which reads nothing, the planes before, or where each came from. */
#define WITH_BACKWARD(name, factors, saved, backward) \
	KERNEL(name, factors, "0", saved), LAST(name "_backward", backward)
#define RESIZED(name) WITH_BACKWARD(name, "b c y~.. -> b c y..", "", "b c y.. -> b c y~..")
#define POOLED(name) WITH_BACKWARD(name, "b c y~.. -> b c y..", "i0*", "b c y.., b c y~.. -> b c y~..")
#define PICKED(name, more) \
	WITH_BACKWARD(name, "b c y~.." more " -> b c y.., b c y..", "i0 o1", "b c y.., b c y~.., b c y.. -> b c y~..")

/* Measured on the CPU, where the library that captures steps knows the same ones (ROOMY in shapes.py). */
const char *const rules_aten_roomy[] = { "aten.mse_loss", "aten.smooth_l1_loss", "aten.binary_cross_entropy",
	"aten.soft_margin_loss", NULL };

/* What autocast on a GPU does with ops that rules_autocast() can't tell by what they are. */
const struct autocast_rule rules_aten_autocast[] = {
#define X(name) { "aten." name, AUTOCAST_WIDE },
	X("acos") X("asin") X("cosh") X("erfinv") X("exp") X("expm1") X("log") X("log10") X("log2") X("log1p")
	X("reciprocal") X("rsqrt") X("sinh") X("tan") X("pow") X("softplus") X("native_layer_norm")
	X("native_group_norm") X("_fused_rms_norm") X("linalg_vector_norm") X("norm") X("renorm") X("logsumexp")
	X("_cdist_forward") X("_pdist_forward") X("dist") X("upsample_nearest1d") X("upsample_nearest2d")
	X("upsample_nearest3d") X("upsample_linear1d") X("upsample_bilinear2d") X("upsample_trilinear3d")
	X("upsample_bicubic2d") X("_upsample_nearest_exact2d") X("_upsample_bilinear2d_aa") X("_upsample_bicubic2d_aa")
#undef X
	{ "aten.sum", AUTOCAST_WIDE_RESULT }, { "aten.prod", AUTOCAST_WIDE_RESULT }, { "aten.cumsum", AUTOCAST_WIDE_RESULT },
	{ "aten.cumprod", AUTOCAST_WIDE_RESULT }, { "aten._grouped_mm", AUTOCAST_LIKE }, { "aten.dot", AUTOCAST_LIKE },
	{ "aten.vdot", AUTOCAST_LIKE }, { "aten._safe_softmax", AUTOCAST_ATTENTION }, { NULL, AUTOCAST_LIKE } };

const struct rule rules_aten[] = { /* contractions */
	{ "aten.mm", "m k+, k+ n -> m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, TRAIT_PRODUCT },
	{ "aten.bmm", "b m k+, b k+ n -> b m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, TRAIT_PRODUCT | TRAIT_HEADS },
	{ "aten.addmm", "&m? n?, m k+, k+ n -> m n", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL,
		TRAIT_PRODUCT | TRAIT_BIASED },
	{ "aten.baddbmm", "&b? m? n?, b m k+, b k+ n -> b m n", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL,
		TRAIT_PRODUCT },
	{ "aten.addbmm", "&m? n?, b+ m k+, b+ k+ n -> m n", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL, TRAIT_PRODUCT },
	{ "aten.matmul", "... m k+, ... k+ n -> ... m n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL,
		TRAIT_PRODUCT | TRAIT_HEADS },
	{ "aten.linear", "... k+, n k+, ?&n -> ... n", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, 0 },
	{ "aten.mv", "m k+, k+ -> m", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, 0 },
	{ "aten.dot", "k+, k+ -> ", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, 0 },
	{ "aten.vdot", "k+, k+ -> ", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, 0 },
	{ "aten.addmv", "&m?, m k+, k+ -> m", COST_CONTRACTION, "0 1 2", "i1|2 i2|1", NULL, 0 },
	KERNEL("addr", "m? n?, m, n -> m n", "0 1 2", "i1|2 i2|1"),
	{ "aten._grouped_mm", "t^ k+, e^ k+ n, e^ -> t n | e m k+, e k+ n, ?e -> e m n | m t^, t^ n, e^ -> e m n",
		COST_CONTRACTION, "0 1", "i0|1 i1|0 i2", NULL, 0 },
	{ "aten._scaled_mm", "m k+, k+ n, ?, ?, ?&n -> m n | m k+, k+ n, m 1, 1 n, ?&n -> m n", COST_CONTRACTION, "", "",
		NULL, TRAIT_PRODUCT },
	KERNEL("_trilinear", "b i!, w! x! y!, b j! -> b o! | b+ i!, b+ o!, b+ j! -> w! x! y!", "0 1 2",
		"i0 i1 i2"), /* which dims are summed is in its arguments */
	{ "aten._cdist_forward", "... n k^, ... m k^ -> ... n m", COST_CONTRACTION, "0 1", "i0 i1 o0", NULL, 0 },
	{ "aten._cdist_backward", "... n^ m^, ... n^ k^, ... m^ k^, ... n^ m^ -> ... n k", COST_CONTRACTION, "", "", NULL,
		0 },
	KERNEL("_pdist_forward", "n^ k^ -> m!", "0", "i0 o0"),
	LAST("_pdist_backward", "m^, n^ k^, m^ -> n k"),
	KERNEL("dist", "x^.., x^.. -> ", "0 1", "i0 i1 o0"),
	{ "aten.convolution",
		"b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y.. | b (g c+) y.., (g c+) o k.., ?&(g o) -> b (g o) y~k..",
		COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, TRAIT_CONVOLUTION }, /* the second: transposed */
	{ "aten.convolution_backward",
		"b+ (g o+) y+.., b+ (g c) y~k.., ?(g o+) c k.. -> ?b (g c) y~k.., ?(g o) c k.., ?(g o)"
		" | b+ (g o+) y~k.., b+ (g c) y^.., ?(g c) o+ k+.. -> ?b (g c) y.., ?(g c) o k.., ?(g o)",
		COST_CONTRACTION, "", "", NULL, 0 },

	/* attention in one kernel: queries, keys, values; the result and the log-sum-exp; groups of queries may share a
	 * head of keys, values may have a width of their own */
	{ "aten._scaled_dot_product_flash_attention",
		"b h q d^, b h t^ d^, b h t^ d^ -> b h q d, ?b h q, ?r!, ?, ?z!"
		" | b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q, ?r!, ?, ?z!"
		" | b h q d^, b h t^ d^, b h t^ v^ -> b h q v, ?b h q, ?r!, ?, ?z!",
		COST_ATTENTION, "0 1 2", "i0 i1 i2 o0 o1", NULL, TRAIT_STATISTICS },
	{ "aten._scaled_dot_product_flash_attention_backward",
		"b h q+ d^, b h q+ d^, b h t^ d^, b h t^ d^, b h q+ d^, ?b h q+, ?r!, ? -> b h q d, b h t d, b h t d"
		" | b (k g+) q+ d^, b (k g+) q+ d^, b k t^ d^, b k t^ d^, b (k g+) q+ d^, ?b (k g+) q+, ?r!, ? -> b (k g) q d, "
		"b k t d, b k t d"
		" | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, b h q+ v^, ?b h q+, ?r!, ? -> b h q d, b h t d, b h t v",
		COST_ATTENTION_BACKWARD, "", "", NULL, 0 },

/* on GPUs, with a mask that is added; the efficient kernel rounds the rows of its statistics up */
#define MASKED(rows) \
	"b h q d^, b h t^ d^, b h t^ d^, ?b? h? q? t^ -> b h q d, ?" rows ", ?, ?, ?z!" \
	" | b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q, ?, ?, ?z!" \
	" | b (k g) q d^, b k t^ d^, b k t^ v^, b? 1 q? t^ -> b (k g) q v, ?b (k g) q, ?, ?, ?z!" \
	" | b h q d^, b h t^ d^, b h t^ v^, ?b? h? q? t^ -> b h q v, ?" rows ", ?, ?, ?z!"
#define MASKED_BACKWARD(rows, before, behind) \
	"b h q+ d^, b h q+ d^, b h t^ d^, b h t^ d^, " before "b h q+ d^, ?" rows ", ?, ?" behind " -> b h q d, b h t d, b " \
		"h t d, ?b? h? q? t" \
	" | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, " before "b h q+ v^, ?" rows ", ?, ?" behind " -> b h q d, b h t " \
		"d, b h t v, ?b? h? q? t"
	{ "aten._scaled_dot_product_efficient_attention",
		MASKED("b h q") " | b h q^ d^, b h t^ d^, b h t^ v^, ?b? h? q? t^ -> b h q v, ?b h l!, ?, ?", COST_ATTENTION,
		"0 1 2 3", "i0 i1 i2 i3 o0 o1", NULL, TRAIT_STATISTICS },
	{ "aten._scaled_dot_product_efficient_attention_backward",
		MASKED_BACKWARD(
			"b h q+", "?b? h? q? t^, ", "") " | b h q^ v^, b h q^ d^, b h t^ d^, b h t^ v^, ?b? h? q? t^, b h q^ v^, "
											"?b h l!, ?, ? -> b h q d, b h t d, b h t v, ?b? h? q? t",
		COST_ATTENTION_BACKWARD, "", "", NULL, 0 },
	{ "aten._scaled_dot_product_cudnn_attention", MASKED("b h q 1"), COST_ATTENTION, "0 1 2", "i0 i1 i2 i3 o0 o1", NULL,
		TRAIT_STATISTICS },
	{ "aten._scaled_dot_product_cudnn_attention_backward", MASKED_BACKWARD("b h q+ 1", "", ", ?b? h? q? t^"),
		COST_ATTENTION_BACKWARD, "", "", NULL, 0 },
	{ "aten._scaled_dot_product_fused_attention_overrideable", MASKED("b h q"), COST_ATTENTION, "0 1 2 3",
		"i0 i1 i2 i3 o0 o1", NULL, TRAIT_STATISTICS },
	{ "aten._scaled_dot_product_fused_attention_overrideable_backward", MASKED_BACKWARD("b h q+", "?b? h? q? t^, ", ""),
		COST_ATTENTION_BACKWARD, "", "", NULL, 0 },

	/* on CPUs; the mask is added */
	{ "aten._scaled_dot_product_flash_attention_for_cpu",
		"b h q d^, b h t^ d^, b h t^ d^ -> b h q d, ?b h q"
		" | b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q"
		" | b h q d^, b h t^ d^, b h t^ v^, ?b? h? q? t^ -> b h q v, ?b h q"
		" | b (k g) q d^, b k t^ d^, b k t^ v^, b? 1 q? t^ -> b (k g) q v, ?b (k g) q",
		COST_ATTENTION, "0 1 2", "i0 i1 i2 o0 o1", NULL, TRAIT_STATISTICS },
	{ "aten._scaled_dot_product_flash_attention_for_cpu_backward",
		"b h q+ d^, b h q+ d^, b h t^ d^, b h t^ d^, b h q+ d^, ?b h q+ -> b h q d, b h t d, b h t d"
		" | b (k g+) q+ d^, b (k g+) q+ d^, b k t^ d^, b k t^ d^, b (k g+) q+ d^, ?b (k g+) q+ -> b (k g) q d, b k t "
		"d, b k t d"
		" | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, b h q+ v^, b h q+, ?b? h? q? t^ -> b h q d, b h t d, b h t v"
		" | b (k g+) q+ v^, b (k g+) q+ d^, b k t^ d^, b k t^ v^, b (k g+) q+ v^, b (k g+) q+, b? 1 q? t^ -> b (k g) q "
		"d, b k t d, b k t v",
		COST_ATTENTION_BACKWARD, "", "", NULL, 0 },

	/* normalisation */
	{ "aten.native_layer_norm", "... h^, ?h, ?h -> ... h, ... 1, ... 1", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL,
		TRAIT_STATISTICS },
	LAST("native_layer_norm_backward", "...+ h^, ...+ h^, ...+ 1, ...+ 1, ?h, ?h -> ?... h, ?h, ?h"),
	{ "aten._fused_rms_norm", "... h^, ?h -> ... h, ... 1", COST_ELEMENT, "0 1", "i0 i1 o1", NULL, TRAIT_STATISTICS },
	LAST("_fused_rms_norm_backward", "...+ h^, ...+ h^, ...+ 1, ?h -> ?... h, ?h"),
/* in training; with statistics of its own the result is an affine function, and nothing is kept. cuDNN keeps bytes of
 * its own */
#define BATCH_NORM "b^ c x^.., c* -> b c x.., ?c, ?c, ?z! | b c x.., c* -> b c x.., ?z!, ?z!, ?z!"
#define BATCH_NORM_BACKWARD \
	"b^ c x^.., b^ c x^.., c* -> ?b c x.., ?c, ?c | b^ c x^.., b^ c x^.., c*, ?z!, ?z!, ?z! -> ?b c x.., ?c, ?c"
	{ "aten.native_batch_norm", BATCH_NORM, COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL,
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten.native_batch_norm_backward", BATCH_NORM_BACKWARD, COST_ELEMENT, "", "", NULL, TRAIT_SUMS_OF_CHANNELS },
	{ "aten._native_batch_norm_legit", "b^ c x^.., c* -> b c x.., c*", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL,
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten._native_batch_norm_legit_functional", "b^ c x^.., c* -> b c x.., c*", COST_ELEMENT, "0 1 2", "i0 i1 o1 o2",
		"aten.native_batch_norm_backward", TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten._native_batch_norm_legit_no_training", BATCH_NORM, COST_ELEMENT, "0 1 2", "i0 i1",
		"aten.native_batch_norm_backward", TRAIT_STATISTICS },
	{ "aten._batch_norm_with_update", BATCH_NORM, COST_ELEMENT, "0 1 2", "i0 i1 o1 o2 o3", "aten.batch_norm_backward",
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten.batch_norm_backward", BATCH_NORM_BACKWARD, COST_ELEMENT, "", "", NULL, TRAIT_SUMS_OF_CHANNELS },
	{ "aten.cudnn_batch_norm", BATCH_NORM, COST_ELEMENT, "0 1 2", "i0 i1 o1 o2 o3", NULL,
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten.cudnn_batch_norm_backward", BATCH_NORM_BACKWARD, COST_ELEMENT, "", "", NULL, TRAIT_SUMS_OF_CHANNELS },
	{ "aten.miopen_batch_norm", BATCH_NORM, COST_ELEMENT, "0 1 2", "i0 i1 o1 o2", NULL,
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS },
	{ "aten.miopen_batch_norm_backward", BATCH_NORM_BACKWARD, COST_ELEMENT, "", "", NULL, TRAIT_SUMS_OF_CHANNELS },
	KERNEL("_weight_norm_interface",
		"o i^, o 1 -> o i, o 1 | o i^ x^, o 1 1 -> o i x, o 1 1 | o i^ x^ y^, o 1 1 1 -> o i x y, o 1 1 1", "0 1",
		"i0 i1 o1"),
	LAST("_weight_norm_interface_backward",
		"o i^, o i^, o 1, o 1 -> o i, o 1 | o i^ x^, o i^ x^, o 1 1, o 1 1 -> o i x, o 1 1"
		" | o i^ x^ y^, o i^ x^ y^, o 1 1 1, o 1 1 1 -> o i x y, o 1 1 1"),
	{ "aten.native_group_norm", "b (g c^) x^.., ?(g c), ?(g c) -> b (g c) x.., b g, b g", COST_ELEMENT, "0 1 2",
		"i0 i1 o1 o2", NULL, TRAIT_STATISTICS },
	LAST("native_group_norm_backward",
		"b+ (g c^) x^.., b+ (g c^) x^.., b+ g, b+ g, ?(g c) -> ?b (g c) x.., ?(g c), ?(g c)"),
	{ "aten._safe_softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", "aten._softmax_backward_data",
		TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS },
	{ "aten._softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", "aten._softmax_backward_data",
		TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS },
	{ "aten._softmax_backward_data", "... v^, ... v^ -> ... v", COST_ELEMENT, "", "", NULL, TRAIT_SUMS_OF_ROWS },
	{ "aten._log_softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", "aten._log_softmax_backward_data",
		TRAIT_WIDE | TRAIT_MAXIMA_OF_ROWS },
	{ "aten._log_softmax_backward_data", "... v^, ... v^ -> ... v", COST_ELEMENT, "", "", NULL,
		TRAIT_WIDE | TRAIT_SUMS_OF_ROWS },
	KERNEL("logsumexp", "@reduce^", "0", "i0 o0"),
	KERNEL("glu", "... (g^ h) -> ... h", "0", "i0"),
	LAST("glu_backward", "... h, ... (g^ h) -> ... (g h)"),

	/* losses */
	{ "aten.nll_loss_forward", "n+ v+ x+.., n+ x+.., ?v -> , ", COST_ELEMENT, "0", "i0* i1 o1",
		"aten.nll_loss_backward", TRAIT_CLASSES | TRAIT_WIDE },
	{ "aten.nll_loss_backward", ", ?n v x.., n x.., ?v, -> n v x..", COST_ELEMENT, "", "", NULL, TRAIT_WIDE },
	{ "aten.nll_loss2d_forward", "n+ v+ x+.., n+ x+.., ?v -> , ", COST_ELEMENT, "0", "i0* i1 o1",
		"aten.nll_loss2d_backward", TRAIT_CLASSES | TRAIT_WIDE },
	{ "aten.nll_loss2d_backward", ", ?n v x.., n x.., ?v, -> n v x..", COST_ELEMENT, "", "", NULL, TRAIT_WIDE },
	{ "aten.mse_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL, TRAIT_WIDE },
	{ "aten.mse_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL, TRAIT_WIDE },
	{ "aten.smooth_l1_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL, TRAIT_WIDE },
	{ "aten.smooth_l1_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL,
		TRAIT_WIDE },
	{ "aten.binary_cross_entropy_with_logits", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0", "i0 i1", NULL,
		TRAIT_WIDE },
	{ "aten.binary_cross_entropy_with_logits_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "",
		"", NULL, TRAIT_WIDE },
	{ "aten.huber_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL, TRAIT_WIDE },
	{ "aten.huber_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL, TRAIT_WIDE },
	{ "aten.soft_margin_loss", "x+.., x+.. ->  | x.., x.. -> x..", COST_ELEMENT, "0 1", "i0 i1", NULL, TRAIT_WIDE },
	{ "aten.soft_margin_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", COST_ELEMENT, "", "", NULL,
		TRAIT_WIDE },
	{ "aten.binary_cross_entropy", "x+.., x+.., ?x+.. ->  | x.., x.., ?x.. -> x..", COST_ELEMENT, "0 1", "i0 i1 i2",
		NULL, TRAIT_WIDE },
	{ "aten.binary_cross_entropy_backward", ", x.., x.., ?x.. -> x.. | x.., x.., x.., ?x.. -> x..", COST_ELEMENT, "",
		"", NULL, TRAIT_WIDE },
	{ "aten.multi_margin_loss", "n+ v^, n+, ?v ->  | n v^, n, ?v -> n", COST_ELEMENT, "0", "i0 i1 i2", NULL,
		TRAIT_WIDE },
	{ "aten.multi_margin_loss_backward", ", n v^, n, ?v -> n v | n, n v^, n, ?v -> n v", COST_ELEMENT, "", "", NULL,
		TRAIT_WIDE },
	{ "aten.multilabel_margin_loss_forward", "n+ v^, n+ v^ -> , n v | n v^, n v^ -> n, n v", COST_ELEMENT, "0",
		"i0 i1 o1", "aten.multilabel_margin_loss_backward", TRAIT_WIDE },
	{ "aten.multilabel_margin_loss_backward", ", n v^, n v^, n v^ -> n v | n, n v^, n v^, n v^ -> n v", COST_ELEMENT,
		"", "", NULL, TRAIT_WIDE },
	{ "aten._ctc_loss", "t^ n c^, n s^ -> n, n t y! | t^ n c^, s^ -> n, n t y!", COST_ELEMENT, "0", "i0 i1 o0 o1", NULL,
		TRAIT_WIDE },
	{ "aten._ctc_loss_backward", "n, t^ n c^, n s^, n, n t^ y^ -> t n c | n, t^ n c^, s^, n, n t^ y^ -> t n c",
		COST_ELEMENT, "", "", NULL, TRAIT_WIDE },
	KERNEL("cross_entropy_loss", "n+ v^, n+ -> ", "0", "x:f32(n v) i1"),

	/* tables */
	{ "aten.embedding", "v+ h, ... -> ... h", COST_ELEMENT, "0", "i1", "aten.embedding_dense_backward",
		TRAIT_ROWS | TRAIT_EMBEDDING },
	{ "aten.embedding_dense_backward", "...+ h, ...+ -> v h", COST_ELEMENT, "", "", NULL, TRAIT_SCATTER | TRAIT_ROWS },
	KERNEL("gather", "... v^, ... k -> ... k", "0", "i0* i1"),
	KERNEL("scatter", "... v^, ... k^, ?... k^ -> ... v", "0 2", "i1"),
	KERNEL("scatter_add", "... v^, ... k^, ?... k^ -> ... v", "0 2", "i1"),
	KERNEL("scatter_reduce", "... v^, ... k^, ?... k^ -> ... v", "0 2", "i0 i1 i2 o0"),
	LAST("searchsorted", "... v^, ... k -> ... k"),
	LAST("bucketize", "..., v^ -> ..."),
	LAST("isin", "..., v^ -> ..."),
	{ "aten._embedding_bag", "v^ h, n^, b^ -> b h, ?n, ?b, ?b | v^ h, n^, b^ -> b h, ?o!, ?p!, ?r!", COST_ELEMENT, "0",
		"i1 i2 o1 o2 o3", "aten._embedding_bag_dense_backward", 0 },
	LAST("_embedding_bag_backward", "b^ h, n^, o!, p!, r!, ?q!, ?s! -> v! h"),
	LAST("_embedding_bag_dense_backward", "b^ h, n^, n^, ?b^, ?b^ -> v! h | b^ h, n^, o!, p!, r! -> v! h"),
	{ "aten.index_add",
		"&v x.., n+, n+ x.. -> v x.. | &b v^ x.., n+, b n+ x.. -> b v x.. | &b c v^ x.., n+, b c n+ x.. -> b c v x.. | "
		"&b c d v^ x.., n+, b c d n+ x.. -> b c d v x..",
		COST_ELEMENT, "0 2", "i1", NULL, TRAIT_SCATTER },
	KERNEL("masked_scatter",
		"b^ n^.., b^ n^.., k^ e^ -> b n.. | b^ n^.., b^ n^.., k^ -> b n.. | b^ n^.., b^ n^.., k^ e^ f^ -> b n..", "0 2",
		"i1"),
	KERNEL("slice_scatter", "b n^.., b m^.. -> b n.. | n^.., m^.. -> n..", "0 1", ""),
	KERNEL("diagonal_scatter", "n! m!, k! -> n! m! | b n! m!, b k! -> b n! m! | b c n! m!, b c k! -> b c n! m!", "0 1",
		""),
	KERNEL("as_strided_scatter", "n^.., ...^ -> n..", "0 1", ""),
	KERNEL("index_fill", "v^.., n^ -> v..", "0", "i1"),
	KERNEL("index_copy", "v^.., n^, k^.. -> v..", "0 2", "i1"),
	KERNEL("index_reduce", "v^.., n^, k^.. -> v..", "0 2", "i0 i1 i2 o0"),
	KERNEL("take", "v^.., ... -> ...", "0", "i0* i1"), /* of the whole, as if it were flat */
	KERNEL("put", "v^.., ...^, ...^ -> v..", "0 2", "i1"),
	LAST("embedding_renorm", "v^ h^, ...^ -> v h"),
	LAST("_embedding_bag_per_sample_weights_backward", "b^ h+, v^ h+, n^, o!, p! -> n"),
	{ "aten.segment_reduce", "n^ x.., s^ -> s x.. | n^ x.., o! -> s! x..", COST_ELEMENT, "0", "i0 i1 o0",
		"aten._segment_reduce_backward", 0 },
	LAST("_segment_reduce_backward", "s^ x.., s^ x.., n^ x.., ?o! -> n x.."),
	LAST("masked_scatter_backward", "b^ n^.., b^ n^.. -> k! | b^ n^.., b^ n^.. -> k! e! | b^ n^.., b^ n^.. -> k! e! f!"),
	/* into which dim is in its arguments; where the first two dims are equal, shapes don't tell, and both stay whole */
	KERNEL("select_scatter",
		"n^ n^ x^.., n^ x^.. -> n n x.. | b k^ x^.., b x^.. -> b k x.. | b c^ k^ x^.., b c^ x^.. -> b c k x.."
		" | b c^ d^ k^ x^.., b c^ d^ x^.. -> b c d k x.. | k^ x.., x.. -> k x..", "0 1", ""),
	KERNEL("index_select", "@gather", "0", "i1"),
	KERNEL("index", "@gather", "0", "i1"),
	KERNEL("_unsafe_index", "@gather", "0", "i1"),
	{ "aten.index_put", "&v x.., n+, n+ x.. -> v x..", COST_ELEMENT, "0 2", "i1", NULL, TRAIT_SCATTER },
	{ "aten._unsafe_index_put", "&v x.., n+, n+ x.. -> v x..", COST_ELEMENT, "0 2", "i1", NULL, TRAIT_SCATTER },
	{ "aten._index_put_impl", "&v x.., n+, n+ x.. -> v x..", COST_ELEMENT, "0 2", "i1", NULL, TRAIT_SCATTER },
	/* the gradient of rows that are looked up, as PyTorch 2.15 writes it: the mask leaves padding out */
	{ "aten._unsafe_masked_index_put_accumulate", "&v h, ...+ 1, ...+, ...+ h -> v h", COST_ELEMENT, "0 3", "i1 i2",
		NULL, TRAIT_SCATTER },

	/* pooling */
	PICKED("max_pool2d_with_indices", ""),
	POOLED("avg_pool2d"), POOLED("_adaptive_avg_pool2d"),
	RESIZED("upsample_nearest2d"), RESIZED("upsample_bilinear2d"), RESIZED("upsample_bicubic2d"),
	RESIZED("_upsample_nearest_exact2d"), RESIZED("_upsample_bilinear2d_aa"), RESIZED("upsample_nearest1d"),
	RESIZED("upsample_linear1d"),
	PICKED("max_pool3d_with_indices", ""), PICKED("adaptive_max_pool2d", ""), PICKED("adaptive_max_pool3d", ""),
	PICKED("fractional_max_pool2d", ", b c e!"), PICKED("fractional_max_pool3d", ", b c e!"),
	POOLED("avg_pool3d"), POOLED("_adaptive_avg_pool3d"), POOLED("reflection_pad1d"), POOLED("reflection_pad2d"),
	POOLED("reflection_pad3d"), POOLED("replication_pad1d"), POOLED("replication_pad2d"), POOLED("replication_pad3d"),
	RESIZED("_upsample_bicubic2d_aa"), RESIZED("_upsample_nearest_exact1d"), RESIZED("_upsample_nearest_exact3d"),
	RESIZED("upsample_nearest3d"), RESIZED("upsample_trilinear3d"),
	KERNEL("max_unpool2d", "b c y~.., b c y~.. -> b c y..", "0", "i1"),
	KERNEL("max_unpool3d", "b c y~.., b c y~.. -> b c y..", "0", "i1"),
	{ "aten.im2col", "b c y~k 1 -> b (c k^) y | b c h^ w^ -> b (c k^) l!", COST_ELEMENT, "0", "", "aten.col2im", 0 },
	{ "aten.col2im", "b (c k^) y -> b c y~k 1 | b (c k^) l^ -> b c h! w!", COST_ELEMENT, "0", "", "aten.im2col", 0 },
	{ "aten.pixel_shuffle", "b (c k^) h^ w^ -> b c y! x!", COST_ELEMENT, "0", "", "aten.pixel_unshuffle", 0 },
	{ "aten.pixel_unshuffle", "b c y^ x^ -> b (c k^) h! w!", COST_ELEMENT, "0", "", "aten.pixel_shuffle", 0 },
	{ "aten.channel_shuffle", "b c^ x^.. -> b c x..", COST_ELEMENT, "0", "", "aten.channel_shuffle", 0 },
	{ "aten.native_channel_shuffle", "b c^ x^.. -> b c x..", COST_ELEMENT, "0", "", "aten.native_channel_shuffle", 0 },
	KERNEL("grid_sampler_2d", "b c h^ w^, b y x e^ -> b c y x", "0 1", "i0 i1"),
	LAST("grid_sampler_2d_backward", "b c+ y+ x+, b c+ h^ w^, b y+ x+ e^ -> ?b c h w, b y x e"),
	KERNEL("grid_sampler_3d", "b c u^ v^ w^, b z y x e^ -> b c z y x", "0 1", "i0 i1"),
	LAST("grid_sampler_3d_backward", "b c+ z+ y+ x+, b c+ u^ v^ w^, b z+ y+ x+ e^ -> ?b c u v w, b z y x e"),
	KERNEL("affine_grid_generator", "b e^ f^ -> b y! x! e! | b e^ f^ -> b z! y! x! e!", "0", ""),

	/* cells of recurrent networks */
	{ "aten._thnn_fused_lstm_cell", "b (g^ h^), b (g^ h^), b h^, ?(g^ h^), ?(g^ h^) -> b h, b h, b (g h)", COST_ELEMENT,
		"0 1 2 3 4", "i2 o1 o2", "aten._thnn_fused_lstm_cell_backward_impl", 0 },
	LAST("_thnn_fused_lstm_cell_backward_impl", "?b+ h^, ?b+ h^, b+ h^, b+ h^, b+ (g^ h^) -> b (g h), b h, ?(g h)"),
	KERNEL("_thnn_fused_gru_cell", "b (g^ h^), b (g^ h^), b h^, ?(g^ h^), ?(g^ h^) -> b h, b (s! h)", "0 1 2 3 4", "o1"),
	LAST("_thnn_fused_gru_cell_backward", "b+ h^, b+ (s^ h^) -> b (g! h), b (g! h), b h, ?(g! h), ?(g! h)"),
/* a layer over all times, as CPUs run LSTMs; without biases there are zeros like the weights; a captured backward
 * kernel has the gradients last, one made by rule first */
#define LAYER(b, biases) "t! " b " i!, r! i!, r! h!, " biases ", " b " h!, ?" b " h!"
#define LAYER_MADE(biases) " -> t! b i!, r! i!, r! h!, " biases ", b h!, ?b h!"
#define LAYER_GRADIENTS "?t! b+ h!, ?b+ h!, ?b+ h!"
#define LAYER_RESULTS(b) "t! " b " h!, " b " h!, " b " h!"
#define BIASES "?r!, ?r!"
#define NO_BIASES "r! i!, r! h!"
	{ "aten.mkldnn_rnn_layer",
		LAYER("b", BIASES) " -> " LAYER_RESULTS("b") ", ?z! | " LAYER("b", NO_BIASES) " -> " LAYER_RESULTS("b") ", ?z!",
		COST_RECURRENCE, "0 1 2 3 4 5 6", "i0 i1 i2 i3 i4 i5 i6 o0 o1 o2 o3", NULL, 0 },
	{ "aten.mkldnn_rnn_layer_backward",
		LAYER("b+", BIASES) ", " LAYER_RESULTS(
			"b+") ", " LAYER_GRADIENTS
				  ", ?z!" LAYER_MADE(BIASES) " | " LAYER("b+", NO_BIASES) ", " LAYER_RESULTS(
					  "b+") ", " LAYER_GRADIENTS ", ?z!" LAYER_MADE(BIASES) " | " LAYER_GRADIENTS ", " LAYER("b+",
					  BIASES) ", " LAYER_RESULTS("b+") ", ?z!" LAYER_MADE(BIASES) " | " LAYER_GRADIENTS ", " LAYER("b+",
					  NO_BIASES) ", " LAYER_RESULTS("b+") ", ?z!" LAYER_MADE(NO_BIASES),
		COST_RECURRENCE, "", "", NULL, 0 },
/* the same on GPUs, for all layers and directions at once: the weights are many, and lie in one buffer, too */
#define NET(b) "t! " b " i!, _*, l! " b " h!, ?l! " b " h!"
	{ "aten._cudnn_rnn",
		NET("b") ", ?z! -> t! b o!, l! b h!, ?l! b h!, ?x!, ?y!, ?w!"
				 " | b t! i!, _*, l! b h!, ?l! b h!, ?z! -> b t! o!, l! b h!, ?l! b h!, ?x!, ?y!, ?w!",
		COST_RECURRENCE, "*", "i0 o0 o3", NULL, 0 },
	{ "aten._cudnn_rnn_backward",
		NET("b+") ", t! b+ o!, ?t! b+ o!, ?l! b+ h!, ?l! b+ h!, ?z!, ?y! -> ?t! b i!, ?l! b h!, ?l! b h!, _*"
				  " | b+ t! i!, _*, l! b+ h!, ?l! b+ h!, b+ t! o!, ?b+ t! o!, ?l! b+ h!, ?l! b+ h!, ?z!, ?y! -> ?b t! "
				  "i!, ?l! b h!, ?l! b h!, _*",
		COST_RECURRENCE, "", "", NULL, 0 },
	KERNEL("_pack_padded_sequence", "t^ b^ h, b^ -> (t b) h, t | b^ t^ h, b^ -> (t b) h, t", "0",
		"i0* o1"), /* all of one length: else how much there is depends on data */

	/* reductions */
	{ "aten.sum", "@reduce+", COST_ELEMENT, "0", "", NULL, TRAIT_LINEAR },
	{ "aten.mean", "@reduce+", COST_ELEMENT, "0", "", NULL, TRAIT_LINEAR },
	KERNEL("amax", "@reduce^", "0", "i0 o0"),
	KERNEL("amin", "@reduce^", "0", "i0 o0"),
	KERNEL("max", "@reduce^", "0", "o1"),
	KERNEL("min", "@reduce^", "0", "o1"),
	KERNEL("prod", "@reduce^", "0", "i0 o0"),
	KERNEL("norm", "@reduce^2", "0", "i0 o0"),
	KERNEL("linalg_vector_norm", "@reduce^2", "0", "i0 o0"),
	LAST("all", "@reduce^"),
	LAST("any", "@reduce^"),
	LAST("_is_all_true", "@reduce^"),
	LAST("_is_any_true", "@reduce^"),
	KERNEL("var", "@reduce^", "0", "i0"),
	KERNEL("std", "@reduce^", "0", "i0 o0"),
	KERNEL("var_mean", "@reduce^", "0", "i0 o1"),
	KERNEL("std_mean", "@reduce^", "0", "i0 o0 o1"),
	KERNEL("nansum", "@reduce^", "0", "i0"),
	KERNEL("median", "@reduce^", "0", "o1"),
	KERNEL("nanmedian", "@reduce^", "0", "o1"),
	KERNEL("mode", "@reduce^", "0", "o1"),
	KERNEL("kthvalue", "@reduce^2", "0", "o1"),
	LAST("argmin", "@reduce^"),
	LAST("count_nonzero", "@reduce^"),
	KERNEL("aminmax", "@reduce^", "0", "i0 o0 o1"),
	LAST("argmax", "@reduce^"),
	{ "aten.topk", "... n^ -> ... k, ... k", COST_ELEMENT, "0", "o1", NULL, TRAIT_CHOICE },
	{ "aten.multinomial", "... n^ -> ... k", COST_ELEMENT, "", "", NULL, TRAIT_RANDOM },
	KERNEL("sort", "... n^ -> ... n, ... n", "0", "o1"),
	KERNEL("cumsum", "... n^ -> ... n", "0", ""),
	KERNEL("cumprod", "... n^ -> ... n", "0", "i0 o0"),
	KERNEL("logcumsumexp", "... n^ -> ... n", "0", "i0 o0"),
	KERNEL("cummax", "... n^ -> ... n, ... n", "0", "o1"),
	KERNEL("cummin", "... n^ -> ... n, ... n", "0", "o1"),
	KERNEL("trace", "n^ m^ -> ", "0", "i0*"),
	LAST("bincount", "n^, ?n^ -> c!"),
	KERNEL("renorm", "x^.. -> x..", "0", "i0"), /* of slices along a dim that is in its arguments */
	{ "aten.linalg_cross", "e^.., e^.. -> e..", COST_ELEMENT, "0 1", "i0 i1", "aten.linalg_cross", 0 },

	/* matrices, each on its own */
	KERNEL("linalg_inv_ex", "... n^ n^ -> ... n n, ...", "0", "o0"),
	KERNEL("linalg_cholesky_ex", "... n^ n^ -> ... n n, ...", "0", "o0"),
	KERNEL("linalg_matrix_exp", "... n^ n^ -> ... n n", "0", "i0"),
	KERNEL("linalg_qr", "... n^ m^ -> ... n k!, ... k! m", "0", "o0 o1"),
	KERNEL("_linalg_svd", "... n^ m^ -> ... n k!, ... k!, ... k! m", "0", "o0 o1 o2"),
	KERNEL("_linalg_eigh", "... n^ n^ -> ... n, ... n n", "0", "o0 o1"),
	KERNEL("_linalg_det", "... n^ n^ -> ..., ... n n, ... n", "0", "i0 o0 o1 o2"),
	KERNEL("_linalg_slogdet", "... n^ n^ -> ..., ..., ... n n, ... n", "0", "i0 o0 o2 o3"),
	KERNEL("_linalg_solve_ex", "... n^ n^, ... n^ k^ -> ... n k, ... n n, ... n, ...", "0 1", "i0 o0 o1 o2"),
	KERNEL("linalg_solve_triangular", "... n^ n^, ... n^ k^ -> ... n k | ... n^ n^, ... k^ n^ -> ... k n", "0 1", "i0 o0"),
	KERNEL("triangular_solve", "... n^ k^, ... n^ n^ -> ... n k, ... n n", "0 1", "i1 o0"),
	KERNEL("cholesky_solve", "... n^ k^, ... n^ n^ -> ... n k", "0 1", "i1 o0"),
	KERNEL("cholesky_inverse", "... n^ n^ -> ... n n", "0", "i0 o0"),
	KERNEL("linalg_lu_factor_ex", "... n^ m^ -> ... n m, ... k!, ...", "0", "o0 o1"),
	KERNEL("linalg_lu", "... n^ m^ -> ?... n n, ... n k!, ... k! m", "0", "o0 o1 o2"),
	KERNEL("linalg_lu_solve", "... n^ n^, ... n^, ... n^ k^ -> ... n k | ... n^ n^, ... n^, ... k^ n^ -> ... k n", "0 2",
		"i0 i1 o0"),
	KERNEL("lu_unpack",
		"... n^ m^, ... k^ -> ... n n, ... n k, ... k m | ... n^ m^, ... k^ -> z!, ... n k, ... k m | ... n^ m^, ... "
		"k^ -> ... n n, z!, y!", "0", ""),
	LAST("linalg_ldl_factor_ex", "... n^ n^ -> ... n n, ... n, ..."),
	LAST("linalg_ldl_solve", "... n^ n^, ... n^, ... n^ k^ -> ... n k"),
	KERNEL("linalg_pinv", "... n^ m^, ?, ? -> ... m n", "0", "i0 o0"),
	KERNEL("linalg_eig", "... n^ n^ -> ... n, ... n n", "0", "o0 o1"),
	KERNEL("linalg_householder_product", "... m^ n^, ... k^ -> ... m n", "0 1", "i0 i1 o0"),
	LAST("geqrf", "... n^ m^ -> ... n m, ... k!"),
	KERNEL("ormqr", "... m^ k^, ... k^, ... m^ n^ -> ... m n", "0 1 2", "i0 i1 i2 o0"),

	/* pretended quantization: of a tensor, of each of its channels, and with scales that are learnt or observed */
	{ "aten.fake_quantize_per_tensor_affine_cachemask", ANY, COST_ELEMENT, "0", "o1",
		"aten.fake_quantize_per_tensor_affine_cachemask_backward", 0 },
	{ "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
		"x.., s!, z!, e! -> x.., x.. | x.., ?, ?, e! -> x.., x..", COST_ELEMENT, "0", "o1",
		"aten.fake_quantize_per_tensor_affine_cachemask_backward", 0 },
	LAST("fake_quantize_per_tensor_affine_cachemask_backward", ANY),
	{ "aten.fake_quantize_per_channel_affine_cachemask",
		"c x.., c, c -> c x.., c x.. | b c x.., c, c -> b c x.., b c x..", COST_ELEMENT, "0", "o1",
		"aten.fake_quantize_per_channel_affine_cachemask_backward", 0 },
	LAST("fake_quantize_per_channel_affine_cachemask_backward", ANY),
	KERNEL("_fake_quantize_learnable_per_tensor_affine", "x.., s!, z! -> x..", "0 1 2", "i0 i1 i2"),
	LAST("_fake_quantize_learnable_per_tensor_affine_backward", "x^.., x^.., s!, z! -> x.., s!, z!"),
	KERNEL("_fake_quantize_learnable_per_channel_affine", "c x.., c, c -> c x.. | b c x.., c, c -> b c x..", "0 1 2",
		"i0 i1 i2"),
	LAST("_fake_quantize_learnable_per_channel_affine_backward",
		"c x^.., c x^.., c, c -> c x.., c, c | b^ c^ x^.., b^ c^ x^.., c, c -> b c x.., c, c"),
	{ "aten._fused_moving_avg_obs_fq_helper",
		"x^.., p!, q!, ?, ?, s!, z! -> x.., x.. | x^.., p!, q!, l!, h!, s!, z! -> x.., x..", COST_ELEMENT, "0", "o1",
		"aten.fake_quantize_per_tensor_affine_cachemask_backward", 0 },

	/* spectra: of any dims but the first */
	KERNEL("_fft_r2c", "b n^.. l^ -> b n.. m! | l^ -> m!", "0", ""),
	KERNEL("_fft_c2r", "b n^.. m^ -> b n.. l! | m^ -> l!", "0", ""),
	KERNEL("_fft_c2c", "b n^.. -> b n..", "0", ""),

	/* views */
#define DIAGONAL \
	"n! n! -> n | b n! n! -> b n | b c n! n! -> b c n | n! m! -> k! | b n! m! -> b k! | b c n! m! -> b c k!"
	{ "tidemark.release", ANY, COST_NONE, "", "", NULL, 0 }, /* no work: a framework lets go of a storage here */
	VIEW_WITH("view", "@reshape", TRAIT_VERBATIM), VIEW_WITH("_unsafe_view", "@reshape", TRAIT_VERBATIM),
	VIEW("_reshape_alias", "@reshape"), VIEW_WITH("reshape", "@reshape", TRAIT_VERBATIM), VIEW("flatten", "@reshape"),
	VIEW("squeeze", "@reshape"), VIEW("unsqueeze", "@reshape"),
	VIEW("as_strided", "@reshape"), /* where it keeps all elements; else it doesn't fit */
	VIEW_WITH("t", "m n -> n m | m -> m", TRAIT_VERBATIM), VIEW_WITH("transpose", "@permute", TRAIT_VERBATIM),
	VIEW_WITH("permute", "@permute", TRAIT_VERBATIM), VIEW("expand", "@expand"), VIEW("slice", "@slice"),
	VIEW("narrow", "@slice"), VIEW("select", "@select"), VIEW("split", "@split"), VIEW("split_with_sizes", "@split"),
	VIEW("chunk", "@split"), VIEW("unsafe_split", "@split"), VIEW("unbind", "@unbind"),
	VIEW_WITH("detach", "... -> ...", TRAIT_VERBATIM), VIEW("alias", "... -> ..."), VIEW("lift_fresh", "... -> ..."),
	VIEW("_conj", "... -> ..."), VIEW("view_as_complex", "... e! -> ..."), VIEW("view_as_real", "... -> ... e!"),
	VIEW("diagonal", DIAGONAL),
	VIEW("unfold",
		"... n^ -> ... l! k! | b n^ x.. -> b l! x.. k! | b c n^ x.. -> b c l! x.. k! | b c d n^ x.. -> b c d l! x.. "
		"k!"),

	/* movers: a new buffer, nothing saved */
	MOVE_WITH("clone", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY),
	MOVE_WITH("contiguous", "... -> ...", TRAIT_LINEAR),
	MOVE_WITH("_to_copy", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY | TRAIT_CAST), MOVE("copy", ANY),
	MOVE_WITH("cat", "@cat", TRAIT_JOINTLY_LINEAR), MOVE_WITH("stack", "@stack", TRAIT_JOINTLY_LINEAR),
	MOVE_WITH("constant_pad_nd", "@pad", TRAIT_LINEAR), MOVE_WITH("repeat", "@expand", TRAIT_LINEAR),
	MOVE("diag_embed", "n! -> m! m! | b n! -> b m! m! | b c n! -> b c m! m!"),
	MOVE("diagonal_backward",
		"n! -> n! n! | b n! -> b n! n! | b c n! -> b c n! n! | k! -> n! m! | b k! -> b n! m! | b c k! -> b c n! m!"),
	MOVE("unfold_backward",
		"... l^ k^ -> ... n! | b l^ x.. k^ -> b n! x.. | b c l^ x.. k^ -> b c n! x.. | b c d l^ x.. k^ -> b c d n! "
		"x.."),
	MOVE_WITH("slice_backward", "@pad", TRAIT_LINEAR), MOVE_WITH("select_backward", "@place", TRAIT_LINEAR),
	MOVE_WITH("roll", "@move2", TRAIT_LINEAR), MOVE_WITH("flip", "@move", TRAIT_LINEAR),
	MOVE_WITH("tril", "... -> ...", TRAIT_LINEAR), MOVE_WITH("triu", "... -> ...", TRAIT_LINEAR),
	/* views that copy, as programs without side effects have them */
	MOVE_WITH("view_copy", "@reshape", TRAIT_LINEAR), MOVE_WITH("squeeze_copy", "@reshape", TRAIT_LINEAR),
	MOVE_WITH("unsqueeze_copy", "@reshape", TRAIT_LINEAR), MOVE("as_strided_copy", "@reshape"),
	MOVE_WITH("t_copy", "m n -> n m | m -> m", TRAIT_LINEAR), MOVE_WITH("transpose_copy", "@permute", TRAIT_LINEAR),
	MOVE_WITH("permute_copy", "@permute", TRAIT_LINEAR), MOVE_WITH("expand_copy", "@expand", TRAIT_LINEAR),
	MOVE_WITH("slice_copy", "@slice", TRAIT_LINEAR), MOVE_WITH("narrow_copy", "@slice", TRAIT_LINEAR),
	MOVE_WITH("select_copy", "@select", TRAIT_LINEAR), MOVE_WITH("split_copy", "@split", TRAIT_LINEAR),
	MOVE_WITH("split_with_sizes_copy", "@split", TRAIT_LINEAR), MOVE_WITH("unbind_copy", "@unbind", TRAIT_LINEAR),
	MOVE_WITH("alias_copy", "... -> ...", TRAIT_LINEAR), MOVE_WITH("detach_copy", "... -> ...", TRAIT_LINEAR),
	MOVE("diagonal_copy", DIAGONAL),
	MOVE("rot90", "n^.. -> n.. | n^ m^ x.. -> m n x.. | b n^ m^ x.. -> b m n x.. | b c n^ m^ -> b c m n"),

	/* elementwise, by what they save */
	ELEMENTWISE_WITH("add", "*", "", TRAIT_ADDITION | TRAIT_JOINTLY_LINEAR),
	ELEMENTWISE_WITH("sub", "*", "", TRAIT_JOINTLY_LINEAR), ELEMENTWISE("rsub", "*", ""),
	ELEMENTWISE_WITH("neg", "*", "", TRAIT_LINEAR), ELEMENTWISE("lerp", "*", ""),
	ELEMENTWISE_WITH("mul", "0 1", "i0|1 i1|0", TRAIT_LINEAR), ELEMENTWISE_WITH("div", "0 1", "i0|1 i1", TRAIT_LINEAR),
	ELEMENTWISE_WITH("where", "1 2", "i0", TRAIT_LINEAR | TRAIT_JOINTLY_LINEAR), ELEMENTWISE("masked_fill", "0", "i1"),
	ELEMENTWISE("maximum", "0 1", "i0 i1"), ELEMENTWISE("minimum", "0 1", "i0 i1"),
	ELEMENTWISE("addcmul", "*", "i1|2 i2|1"), ELEMENTWISE_WITH("addcdiv", "*", "i1|2 i2", TRAIT_DIVIDES),
	{ "aten.relu", ANY, COST_ELEMENT, "0", "o0", "aten.threshold_backward", 0 },
	{ "aten.sigmoid", ANY, COST_ELEMENT, "0", "o0", "aten.sigmoid_backward", 0 },
	{ "aten.tanh", ANY, COST_ELEMENT, "0", "o0", "aten.tanh_backward", 0 }, ELEMENTWISE("exp", "0", "o0"),
	ELEMENTWISE("sqrt", "0", "o0"), ELEMENTWISE("rsqrt", "0", "o0"), ELEMENTWISE("reciprocal", "0", "o0"),
	ELEMENTWISE("gelu", "0", "i0"), ELEMENTWISE("silu", "0", "i0"), ELEMENTWISE("mish", "0", "i0"),
	ELEMENTWISE("hardtanh", "0", "i0"), ELEMENTWISE("hardswish", "0", "i0"), ELEMENTWISE("hardsigmoid", "0", "i0"),
	ELEMENTWISE("elu", "0", "i0"), ELEMENTWISE("leaky_relu", "0", "i0"), ELEMENTWISE("softplus", "0", "i0"),
	ELEMENTWISE("clamp", "0", "i0"), ELEMENTWISE("clamp_min", "0", "i0"), ELEMENTWISE("log", "0", "i0"),
	ELEMENTWISE("abs", "0", "i0"), ELEMENTWISE("erf", "0", "i0"), ELEMENTWISE("square", "0", "i0"),
	ELEMENTWISE("log1p", "0", "i0"), ELEMENTWISE("expm1", "0", "o0"), ELEMENTWISE("log_sigmoid_forward", "0", "i0 o1"),
	ELEMENTWISE("erfinv", "0", "o0"), ELEMENTWISE("atan2", "0 1", "i0 i1"), ELEMENTWISE("hypot", "0 1", "i0 i1 o0"),
	ELEMENTWISE("sin", "0", "i0"), ELEMENTWISE("cos", "0", "i0"), ELEMENTWISE("pow", "0", "i0"),
	ELEMENTWISE_WITH("native_dropout", "0", "o1", TRAIT_RANDOM | TRAIT_MASKED),
	ELEMENTWISE_WITH("dropout", "0", "x:bool(...)", TRAIT_RANDOM), CONSTANT("native_dropout_backward"),
	CONSTANT("threshold_backward"), CONSTANT("sigmoid_backward"), CONSTANT("tanh_backward"), CONSTANT("gelu_backward"),
	CONSTANT("silu_backward"), CONSTANT("mish_backward"), CONSTANT("hardtanh_backward"), CONSTANT("hardswish_backward"),
	CONSTANT("hardsigmoid_backward"), CONSTANT("elu_backward"), CONSTANT("leaky_relu_backward"),
	CONSTANT("softplus_backward"), CONSTANT("log_sigmoid_backward"), CONSTANT("isnan"), CONSTANT("isinf"),
	CONSTANT("sgn"), CONSTANT("floor"), CONSTANT("ceil"), CONSTANT("round"), CONSTANT("trunc"), CONSTANT("remainder"),
	CONSTANT("fmod"), CONSTANT("floor_divide"), CONSTANT("bitwise_xor"), CONSTANT("logical_xor"),
	CONSTANT("bitwise_not"), CONSTANT("logical_not"), CONSTANT("bitwise_and"), CONSTANT("bitwise_or"),
	CONSTANT("logical_and"), CONSTANT("logical_or"), CONSTANT("eq"), CONSTANT("ne"), CONSTANT("lt"), CONSTANT("le"),
	CONSTANT("gt"), CONSTANT("ge"), CONSTANT("sign"), CONSTANT_WITH("bernoulli", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT("fill"), CONSTANT("zero"), CONSTANT_WITH("uniform", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT_WITH("normal", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT_WITH("_amp_foreach_non_finite_check_and_unscale",
		TRAIT_UNSCALES), /* of one gradient; devices that share it combine the flag, one number a step */
	CONSTANT_WITH("ones_like", TRAIT_WIDE), CONSTANT("zeros_like"), CONSTANT("empty_like"),
	CONSTANT_WITH("rand_like", TRAIT_RANDOM), CONSTANT("full_like"), ELEMENTWISE("tan", "0", "o0"),
	ELEMENTWISE("sinh", "0", "i0"), ELEMENTWISE("cosh", "0", "i0"), ELEMENTWISE("asin", "0", "i0"),
	ELEMENTWISE("acos", "0", "i0"), ELEMENTWISE("atan", "0", "i0"), ELEMENTWISE("asinh", "0", "i0"),
	ELEMENTWISE("acosh", "0", "i0"), ELEMENTWISE("atanh", "0", "i0"), ELEMENTWISE("erfc", "0", "i0"),
	ELEMENTWISE("exp2", "0", "o0"), ELEMENTWISE("log2", "0", "i0"), ELEMENTWISE("log10", "0", "i0"),
	ELEMENTWISE("logit", "0", "i0"), ELEMENTWISE("celu", "0", "i0"), ELEMENTWISE("softshrink", "0", "i0"),
	ELEMENTWISE("hardshrink", "0", "i0"), ELEMENTWISE("threshold", "0", "i0"), ELEMENTWISE("frac", "0", ""),
	ELEMENTWISE("nan_to_num", "0", "i0"), ELEMENTWISE("clamp_max", "0", "i0"), ELEMENTWISE("lgamma", "0", "i0"),
	ELEMENTWISE("digamma", "0", "i0"), ELEMENTWISE("sinc", "0", "i0"), ELEMENTWISE("conj_physical", "0", ""),
	ELEMENTWISE("angle", "0", "i0"), ELEMENTWISE("special_entr", "0", "i0"), ELEMENTWISE("special_i0e", "0", "i0"),
	ELEMENTWISE("special_i1e", "0", "i0"), ELEMENTWISE("polygamma", "0", "i0"), ELEMENTWISE("mvlgamma", "0", "i0"),
	ELEMENTWISE("deg2rad", "0", ""), ELEMENTWISE("rad2deg", "0", ""), ELEMENTWISE("i0", "0", "i0"),
	ELEMENTWISE("special_i1", "0", "i0 o0"), ELEMENTWISE("special_erfcx", "0", "i0 o0"),
	ELEMENTWISE("special_log_ndtr", "0", "i0 o0"), ELEMENTWISE("special_ndtri", "0", "o0"),
	ELEMENTWISE("igamma", "1", "i0 i1"), ELEMENTWISE("igammac", "1", "i0 i1"),
	ELEMENTWISE("special_zeta", "1", "i0 i1"), ELEMENTWISE("ldexp", "0 1", "i1 o0"), ELEMENTWISE("frexp", "0", "o1"),
	ELEMENTWISE("_conj_physical", "0", ""), CONSTANT("gcd"), CONSTANT("lcm"), CONSTANT("equal"), CONSTANT("allclose"),
	CONSTANT("_linalg_check_errors"), CONSTANT("resize"), CONSTANT("resize_as"),
	ELEMENTWISE("logaddexp", "0 1", "i0 i1 o0"), ELEMENTWISE("logaddexp2", "0 1", "i0 i1 o0"),
	ELEMENTWISE("xlogy", "0 1", "i0 i1"), ELEMENTWISE("fmax", "0 1", "i0 i1"), ELEMENTWISE("fmin", "0 1", "i0 i1"),
	ELEMENTWISE("copysign", "0 1", "i0 o0"), ELEMENTWISE("complex", "0 1", "i0 i1"),
	ELEMENTWISE("polar", "0 1", "i0 i1"), ELEMENTWISE("_prelu_kernel", "0 1", "i0 i1"),
	ELEMENTWISE("special_xlog1py", "0 1", "i0 i1"), ELEMENTWISE_WITH("rrelu_with_noise", "0", "i0 i1", TRAIT_RANDOM),
	ELEMENTWISE_WITH("_fused_dropout", "0", "o1", TRAIT_RANDOM | TRAIT_MASKED), CONSTANT("_prelu_kernel_backward"),
	ELEMENTWISE_WITH("_standard_gamma", "0", "i0 o0", TRAIT_RANDOM), CONSTANT("_standard_gamma_grad"),
	{ "aten._sample_dirichlet", "... v^ -> ... v", COST_ELEMENT, "0", "i0 o0", NULL, TRAIT_RANDOM },
	CONSTANT("_dirichlet_grad"), CONSTANT_WITH("poisson", TRAIT_RANDOM), CONSTANT("special_bessel_j0"),
	CONSTANT("special_bessel_j1"), CONSTANT("special_bessel_y0"), CONSTANT("special_bessel_y1"),
	CONSTANT("special_modified_bessel_i0"), CONSTANT("special_modified_bessel_i1"),
	CONSTANT("special_modified_bessel_k0"), CONSTANT("special_modified_bessel_k1"),
	CONSTANT("rrelu_with_noise_backward"), CONSTANT("logit_backward"), CONSTANT("softshrink_backward"),
	CONSTANT("hardshrink_backward"), CONSTANT("isneginf"), CONSTANT("isposinf"), CONSTANT("signbit"),
	CONSTANT("heaviside"), CONSTANT("bitwise_left_shift"), CONSTANT("bitwise_right_shift"), CONSTANT("nextafter"),
	CONSTANT("_masked_scale"), CONSTANT_WITH("exponential", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT_WITH("geometric", TRAIT_RANDOM | TRAIT_NOISE), CONSTANT_WITH("cauchy", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT_WITH("log_normal", TRAIT_RANDOM | TRAIT_NOISE), CONSTANT_WITH("random", TRAIT_RANDOM | TRAIT_NOISE),
	CONSTANT_WITH("randn_like", TRAIT_RANDOM | TRAIT_NOISE), CONSTANT_WITH("randint_like", TRAIT_RANDOM | TRAIT_NOISE),

	/* from nothing */
	SOURCE("arange"), SOURCE("empty"), SOURCE("zeros"), SOURCE("ones"), SOURCE("full"), SOURCE("scalar_tensor"),
	SOURCE("empty_strided"), SOURCE("new_empty_strided"), SOURCE("eye"), SOURCE("linspace"),
	SOURCE_WITH("randint", TRAIT_RANDOM | TRAIT_NOISE), SOURCE_WITH("randperm", TRAIT_RANDOM | TRAIT_NOISE),
	SOURCE_WITH("rand", TRAIT_RANDOM | TRAIT_NOISE), SOURCE_WITH("randn", TRAIT_RANDOM | TRAIT_NOISE),
	SOURCE("new_zeros"), SOURCE("new_ones"), SOURCE("new_empty"), SOURCE("new_full"), SOURCE("empty_permuted"),
	SOURCE("logspace"), SOURCE("range"), SOURCE("tril_indices"), SOURCE("triu_indices"), SOURCE("hann_window"),
	SOURCE("hamming_window"), SOURCE("blackman_window"), SOURCE("_efficientzerotensor"), SOURCE("kaiser_window"),
	SOURCE("bartlett_window"),

	/* mixture of experts: one op per layer routes tokens to experts' slots and back */
	{ "tidemark.swiglu", ANY, COST_ELEMENT, "0 1", "i0 i1", NULL, 0 }, /* silu(gate) * up in one kernel */
	{ "tidemark.swiglu_backward", ANY, COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.geglu", ANY, COST_ELEMENT, "0 1", "i0 i1", NULL, 0 }, /* gelu(gate) * up */
	{ "tidemark.geglu_backward", ANY, COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.cross_entropy", "n+ v+^, n+ -> ", COST_ELEMENT, "0", "i0 i1", NULL,
		TRAIT_CLASSES | TRAIT_MAXIMA_OF_ROWS }, /* of logits, in one kernel */
	{ "tidemark.cross_entropy_backward", ", n v^, n -> n v", COST_ELEMENT, "", "", NULL, TRAIT_MAXIMA_OF_ROWS },
	{ "tidemark.offload", ANY, COST_ELEMENT, "", "", NULL, 0 }, /* every device moves its own piece */
	{ "tidemark.fetch", ANY, COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.offload_wait", ANY, COST_NONE, "", "", NULL, 0 },
	{ "prims.convert_element_type", "... -> ...", COST_ELEMENT, "*", "", NULL,
		TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY | TRAIT_CAST },
	{ "prims.device_put", "... -> ...", COST_ELEMENT, "*", "", NULL, TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY },
	{ "prims.fma", ANY, COST_ELEMENT, "0 1 2", "i0|1 i1|0", NULL, 0 },
	{ "prims.iota", "@source", COST_ELEMENT, "", "", NULL, 0 },
	{ "prims.inductor_seeds", "@source", COST_NONE, "", "", NULL, TRAIT_RANDOM | TRAIT_NOISE },
	{ "prims.inductor_lookup_seed", "n^ -> ", COST_ELEMENT, "", "", NULL, 0 },
	{ "prims.inductor_random", "@source", COST_ELEMENT, "", "", NULL, TRAIT_RANDOM | TRAIT_NOISE },
	LAST("histc", "n^.. -> c!"),
	/* they make no tensors: a number for the program, a size, a check */
	CONSTANT("_local_scalar_dense"), CONSTANT("_assert_scalar"), CONSTANT("_assert_async"), CONSTANT("sym_size"),
	CONSTANT("sym_numel"), { "torch.sym_sum", ANY, COST_NONE, "", "", NULL, 0 }, CONSTANT("_assert_tensor_metadata"),
	{ "tidemark.fetch_buffer", "@source", COST_NONE, "", "", NULL, 0 },
	{ "tidemark.generator_state", "@source", COST_NONE, "", "", NULL,
		TRAIT_RANDOM }, /* what a captured step keeps of it, for a checkpoint */
	{ "tidemark.random_state", "@source", COST_NONE, "", "", NULL,
		0 }, /* the generator's seed and offset, for an op that runs again */
	{ "tidemark.grouped_mm", "b m k+, b k+ n -> b m n", COST_GROUPED, "0 1", "i0|1 i1|0", NULL, TRAIT_PRODUCT },
	{ "tidemark.dispatch", "t^ h, t^ e^ -> e c h", COST_ELEMENT, "0 1", "i1", NULL, TRAIT_DISPATCH | TRAIT_ROUTES },
	{ "tidemark.combine", "e+ c+ h, t e+ -> t h", COST_ELEMENT, "0 1", "i0 i1", NULL, TRAIT_ROUTES },
	{ "tidemark.dispatch_backward", "e^ c^ h+, t^ e^ -> t h, t e", COST_ELEMENT, "", "", NULL, TRAIT_ROUTES },
	{ "tidemark.combine_backward", "t^ h+, e^ c^ h+, t^ e^ -> e c h, t e", COST_ELEMENT, "", "", NULL, TRAIT_ROUTES },
	/* the same with scores that weigh the experts' inner activations instead of tokens: they travel with the tokens */
	{ "tidemark.dispatch_scored", "t^ h, t^ e^ -> e c h, e c 1", COST_ELEMENT, "0 1", "i1", NULL,
		TRAIT_DISPATCH | TRAIT_ROUTES },
	{ "tidemark.dispatch_scored_backward", "e^ c^ h, e^ c^ 1, t^ e^ -> t h, t e", COST_ELEMENT, "", "", NULL,
		TRAIT_ROUTES },
	{ "tidemark.combine_plain", "e+ c+ h, t e+ -> t h", COST_ELEMENT, "0", "i1", NULL, TRAIT_ROUTES },
	{ "tidemark.combine_plain_backward", "t^ h, t^ e^ -> e c h", COST_ELEMENT, "", "", NULL, TRAIT_ROUTES },
	{ "tidemark.swiglu_scaled", "e c f, e c f, e c 1 -> e c f", COST_ELEMENT, "0 1 2", "i0 i1 i2", NULL, 0 },
	{ "tidemark.swiglu_scaled_backward", "e c f+, e c f+, e c f+, e c 1 -> e c f, e c f, e c 1", COST_ELEMENT, "", "",
		NULL, 0 },
	/* frozen weights of fewer bits, unpacked for a product */
	{ "tidemark.unpack_blocks", "@opaque", COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.unpack_nf4", "@opaque", COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.unpack_rows", "o i, o 1 -> o i", COST_ELEMENT, "", "", NULL, 0 },
	{ "bitsandbytes.optimizer_update_8bit_blockwise", "n x.., n x.., n x.., n x.., n _, n _, _, _ -> n x.. | "
		"..., ..., ..., ..., _, _, _, _ -> ...", COST_ELEMENT, "", "", NULL, 0 },
	{ "bitsandbytes.optimizer_update_32bit", ANY, COST_ELEMENT, "", "", NULL, 0 },
	/* recurrences along the sequence, each one kernel that keeps what goes into it */
	{ "tidemark.causal_conv", "b+ s! c!, c 1 w!, ?c -> b s c", COST_ELEMENT, "0 1 2", "i0 i1", NULL, 0 },
	{ "tidemark.causal_conv_backward", "b+ s! c!, b s c, c 1 w! -> b s c, c 1 w, ?c", COST_ELEMENT, "", "", NULL, 0 },
	{ "tidemark.linear_attention", "b+ s! h! k!, b s h k, b s h v!, ?b s h, ?b s h -> b s h v | "
		"b+ s! h! k!, b s h k, b s h v!, b s h k, b s h -> b s h v", COST_CONTRACTION, "0 1 2 3 4",
		"i0 i1 i2 i3 i4", NULL, 0 },
	{ "tidemark.linear_attention_backward",
		"b+ s! h! v!, b s h k!, b s h k, b s h v, ?b s h, ?b s h -> b s h k, b s h k, b s h v, ?b s h, ?b s h | "
		"b+ s! h! v!, b s h k!, b s h k, b s h v, b s h k, b s h -> b s h k, b s h k, b s h v, b s h k, b s h",
		COST_CONTRACTION, "", "", NULL, 0 },
	{ "tidemark.state_space", "b+ s! h! d!, b s h, b s m!, b s m, h, h, h -> b s h d", COST_ELEMENT,
		"0 1 2 3 4 5 6", "i0 i1 i2 i3 i4 i5 i6", NULL, 0 },
	{ "tidemark.state_space_backward",
		"b+ s! h! d!, b s h d, b s h, b s m!, b s m, h, h, h -> b s h d, b s h, b s m, b s m, h, h, h", COST_ELEMENT,
		"", "", NULL, 0 },
	{ "tidemark.selective_scan", "b+ s! c!, b s c, c n!, b s n, b s n, c -> b s c", COST_CONTRACTION, "0 1 2 3 4 5",
		"i0 i1 i2 i3 i4 i5", NULL, 0 },
	{ "tidemark.selective_scan_backward",
		"b+ s! c!, b s c, b s c, c n!, b s n, b s n, c -> b s c, b s c, c n, b s n, b s n, c", COST_CONTRACTION, "", "",
		NULL, 0 },
	{ "tidemark.index_topk", "b _, b _, b _ -> b _", COST_ELEMENT, "", "", NULL, 0 }, /* tokens that attention sees */
	{ NULL, NULL, COST_NONE, NULL, NULL, NULL, 0 }
};
