/* aten.c: the rules of PyTorch's operators.
 *
 * Saved tensors are those that PyTorch keeps (measured on 101 operators of 1.13; of others as its derivatives say).
 * In-place variants ("relu_") have their plain operator's rule. Scalars are no operands. */
#include "rows.h"

#define ATTENTION(types, ...) RULE(types, COST_ATTENTION, __VA_ARGS__, TRAIT_STATISTICS)
#define ATTENTION_BACKWARD(types, factors) RULE(types, COST_ATTENTION_BACKWARD, factors)
/* Planes of another size, and the backward kernel: which reads nothing, the planes before, or where each came from. */
#define WITH_BACKWARD(name, factors, saved, backward) \
	KERNEL("aten." name, factors, "0", saved), KERNEL("aten." name "_backward", backward)
#define RESIZED(name) WITH_BACKWARD(name, "b c y~.. -> b c y..", "", "b c y.. -> b c y~..")
#define POOLED(name) WITH_BACKWARD(name, "b c y~.. -> b c y..", "i0*", "b c y.., b c y~.. -> b c y~..")
#define PICKED(name, more) \
	WITH_BACKWARD(name, "b c y~.." more " -> b c y.., b c y..", "i0 o1", "b c y.., b c y~.., b c y.. -> b c y~..")

/* Measured on the CPU, where the library that captures steps knows the same ones (ROOMY in shapes.py). */
const char rules_aten_roomy[] = "aten.mse_loss aten.smooth_l1_loss aten.binary_cross_entropy aten.soft_margin_loss";

/* What autocast on a GPU does with ops that rules_autocast() can't tell by what they are. */
const struct autocast_rule rules_aten_autocast[] = {
	{ "acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow softplus native_layer_norm "
		"native_group_norm _fused_rms_norm linalg_vector_norm norm renorm logsumexp _cdist_forward _pdist_forward dist "
		"upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d "
		"upsample_trilinear3d upsample_bicubic2d _upsample_nearest_exact2d _upsample_bilinear2d_aa "
		"_upsample_bicubic2d_aa", AUTOCAST_WIDE },
	{ "sum prod cumsum cumprod", AUTOCAST_WIDE_RESULT }, { "_grouped_mm dot vdot", AUTOCAST_LIKE },
	{ "_safe_softmax", AUTOCAST_ATTENTION }, { NULL, AUTOCAST_LIKE }
};

const struct rule rules_aten[] = {
	/* contractions */
	PRODUCT("aten.mm", "m k+, k+ n -> m n", "0 1", "i0|1 i1|0", TRAIT_PRODUCT),
	PRODUCT("aten.bmm", "b m k+, b k+ n -> b m n", "0 1", "i0|1 i1|0", TRAIT_PRODUCT | TRAIT_HEADS),
	PRODUCT("aten.addmm", "&m? n?, m k+, k+ n -> m n", "0 1 2", "i1|2 i2|1", TRAIT_PRODUCT | TRAIT_BIASED),
	PRODUCT("aten.baddbmm", "&b? m? n?, b m k+, b k+ n -> b m n", "0 1 2", "i1|2 i2|1", TRAIT_PRODUCT),
	PRODUCT("aten.addbmm", "&m? n?, b+ m k+, b+ k+ n -> m n", "0 1 2", "i1|2 i2|1", TRAIT_PRODUCT),
	PRODUCT("aten.matmul", "... m k+, ... k+ n -> ... m n", "0 1", "i0|1 i1|0", TRAIT_PRODUCT | TRAIT_HEADS),
	PRODUCT("aten.linear", "... k+, n k+, ?&n -> ... n", "0 1 2", "i0|1 i1|0"),
	PRODUCT("aten.mv", "m k+, k+ -> m", "0 1", "i0|1 i1|0"),
	PRODUCT("aten.dot vdot", "k+, k+ -> ", "0 1", "i0|1 i1|0"),
	PRODUCT("aten.addmv", "&m?, m k+, k+ -> m", "0 1 2", "i1|2 i2|1"),
	KERNEL("aten.addr", "m? n?, m, n -> m n", "0 1 2", "i1|2 i2|1"),
	PRODUCT("aten._grouped_mm", "t^ k+, e^ k+ n, e^ -> t n | e m k+, e k+ n, ?e -> e m n | m t^, t^ n, e^ -> e m n",
		"0 1", "i0|1 i1|0 i2"),
	PRODUCT("aten._scaled_mm", "m k+, k+ n, ?, ?, ?&n -> m n | m k+, k+ n, m 1, 1 n, ?&n -> m n", "", "",
		TRAIT_PRODUCT),
	/* which dims are summed is in its arguments */
	KERNEL("aten._trilinear", "b i!, w! x! y!, b j! -> b o! | b+ i!, b+ o!, b+ j! -> w! x! y!", "0 1 2", "i0 i1 i2"),
	PRODUCT("aten._cdist_forward", "... n k^, ... m k^ -> ... n m", "0 1", "i0 i1 o0"),
	PRODUCT("aten._cdist_backward", "... n^ m^, ... n^ k^, ... m^ k^, ... n^ m^ -> ... n k"),
	KERNEL("aten._pdist_forward", "n^ k^ -> m!", "0", "i0 o0"),
	KERNEL("aten._pdist_backward", "m^, n^ k^, m^ -> n k"),
	KERNEL("aten.dist", "x^.., x^.. -> ", "0 1", "i0 i1 o0"),
	/* the second: transposed */
	PRODUCT("aten.convolution", "b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y.. | b (g c+) y.., (g c+) o k.., "
		"?&(g o) -> b (g o) y~k..", "0 1 2", "i0|1 i1|0", TRAIT_CONVOLUTION),
	PRODUCT("aten.convolution_backward", "b+ (g o+) y+.., b+ (g c) y~k.., ?(g o+) c k.. -> ?b (g c) y~k.., ?(g o) c "
		"k.., ?(g o) | b+ (g o+) y~k.., b+ (g c) y^.., ?(g c) o+ k+.. -> ?b (g c) y.., ?(g c) o k.., ?(g o)"),

	/* attention in one kernel: queries, keys, values; the result and the log-sum-exp; groups of queries may share a
	 * head of keys, values may have a width of their own */
	ATTENTION("aten._scaled_dot_product_flash_attention", "b h q d^, b h t^ d^, b h t^ d^ -> b h q d, ?b h q, ?r!, ?, "
		"?z! | b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q, ?r!, ?, ?z! "
		"| b h q d^, b h t^ d^, b h t^ v^ -> b h q v, ?b h q, ?r!, ?, ?z!", "0 1 2", "i0 i1 i2 o0 o1"),
	ATTENTION_BACKWARD("aten._scaled_dot_product_flash_attention_backward", "b h q+ d^, b h q+ d^, b h t^ d^, b h t^ "
		"d^, b h q+ d^, ?b h q+, ?r!, ? -> b h q d, b h t d, b h t d "
		"| b (k g+) q+ d^, b (k g+) q+ d^, b k t^ d^, b k t^ d^, b (k g+) q+ d^, ?b (k g+) q+, ?r!, ? -> b (k g) q d, "
		"b k t d, b k t d | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, b h q+ v^, ?b h q+, ?r!, ? -> b h q d, b h t "
		"d, b h t v"),
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
	ATTENTION("aten._scaled_dot_product_efficient_attention",
		MASKED("b h q") " | b h q^ d^, b h t^ d^, b h t^ v^, ?b? h? q? t^ -> b h q v, ?b h l!, ?, ?", "0 1 2 3",
		"i0 i1 i2 i3 o0 o1"),
	ATTENTION_BACKWARD("aten._scaled_dot_product_efficient_attention_backward",
		MASKED_BACKWARD("b h q+", "?b? h? q? t^, ", "") " | b h q^ v^, b h q^ d^, b h t^ d^, b h t^ v^, ?b? h? q? "
		"t^, b h q^ v^, ?b h l!, ?, ? -> b h q d, b h t d, b h t v, ?b? h? q? t"),
	ATTENTION("aten._scaled_dot_product_cudnn_attention", MASKED("b h q 1"), "0 1 2", "i0 i1 i2 i3 o0 o1"),
	ATTENTION_BACKWARD("aten._scaled_dot_product_cudnn_attention_backward",
		MASKED_BACKWARD("b h q+ 1", "", ", ?b? h? q? t^")),
	ATTENTION("aten._scaled_dot_product_fused_attention_overrideable", MASKED("b h q"), "0 1 2 3", "i0 i1 i2 i3 o0 o1"),
	ATTENTION_BACKWARD("aten._scaled_dot_product_fused_attention_overrideable_backward",
		MASKED_BACKWARD("b h q+", "?b? h? q? t^, ", "")),

	/* on CPUs; the mask is added */
	ATTENTION("aten._scaled_dot_product_flash_attention_for_cpu", "b h q d^, b h t^ d^, b h t^ d^ -> b h q d, ?b h q "
		"| b (k g) q d^, b k t^ d^, b k t^ d^ -> b (k g) q d, ?b (k g) q "
		"| b h q d^, b h t^ d^, b h t^ v^, ?b? h? q? t^ -> b h q v, ?b h q "
		"| b (k g) q d^, b k t^ d^, b k t^ v^, b? 1 q? t^ -> b (k g) q v, ?b (k g) q", "0 1 2", "i0 i1 i2 o0 o1"),
	ATTENTION_BACKWARD("aten._scaled_dot_product_flash_attention_for_cpu_backward", "b h q+ d^, b h q+ d^, b h t^ d^, "
		"b h t^ d^, b h q+ d^, ?b h q+ -> b h q d, b h t d, b h t d "
		"| b (k g+) q+ d^, b (k g+) q+ d^, b k t^ d^, b k t^ d^, b (k g+) q+ d^, ?b (k g+) q+ -> b (k g) q d, b k t d, "
		"b k t d | b h q+ v^, b h q+ d^, b h t^ d^, b h t^ v^, b h q+ v^, b h q+, ?b? h? q? t^ -> b h q d, b h t d, b "
		"h t v | b (k g+) q+ v^, b (k g+) q+ d^, b k t^ d^, b k t^ v^, b (k g+) q+ v^, b (k g+) q+, b? 1 q? t^ -> b (k "
		"g) q d, b k t d, b k t v"),

	/* normalisation */
	KERNEL("aten.native_layer_norm", "... h^, ?h, ?h -> ... h, ... 1, ... 1", "0 1 2", "i0 i1 o1 o2", TRAIT_STATISTICS),
	KERNEL("aten.native_layer_norm_backward", "...+ h^, ...+ h^, ...+ 1, ...+ 1, ?h, ?h -> ?... h, ?h, ?h"),
	KERNEL("aten._fused_rms_norm", "... h^, ?h -> ... h, ... 1", "0 1", "i0 i1 o1", TRAIT_STATISTICS),
	KERNEL("aten._fused_rms_norm_backward", "...+ h^, ...+ h^, ...+ 1, ?h -> ?... h, ?h"),
/* in training; with statistics of its own the result is an affine function, and nothing is kept. cuDNN keeps bytes of
 * its own */
#define BATCH_NORM "b^ c x^.., c* -> b c x.., ?c, ?c, ?z! | b c x.., c* -> b c x.., ?z!, ?z!, ?z!"
#define BATCH_NORM_BACKWARD \
	"b^ c x^.., b^ c x^.., c* -> ?b c x.., ?c, ?c | b^ c x^.., b^ c x^.., c*, ?z!, ?z!, ?z! -> ?b c x.., ?c, ?c"
	KERNEL("aten.native_batch_norm miopen_batch_norm", BATCH_NORM, "0 1 2", "i0 i1 o1 o2",
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS),
	KERNEL("aten.native_batch_norm_backward batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward",
		BATCH_NORM_BACKWARD, "", "", TRAIT_SUMS_OF_CHANNELS),
	KERNEL("aten._native_batch_norm_legit", "b^ c x^.., c* -> b c x.., c*", "0 1 2", "i0 i1 o1 o2",
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS),
	KERNEL("aten._native_batch_norm_legit_functional", "b^ c x^.., c* -> b c x.., c*", "0 1 2", "i0 i1 o1 o2",
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS, "aten.native_batch_norm_backward"),
	KERNEL("aten._native_batch_norm_legit_no_training", BATCH_NORM, "0 1 2", "i0 i1", TRAIT_STATISTICS,
		"aten.native_batch_norm_backward"),
	KERNEL("aten._batch_norm_with_update", BATCH_NORM, "0 1 2", "i0 i1 o1 o2 o3",
		TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS, "aten.batch_norm_backward"),
	KERNEL("aten.cudnn_batch_norm", BATCH_NORM, "0 1 2", "i0 i1 o1 o2 o3", TRAIT_STATISTICS | TRAIT_SUMS_OF_CHANNELS),
	KERNEL("aten._weight_norm_interface", "o i^, o 1 -> o i, o 1 | o i^ x^, o 1 1 -> o i x, o 1 1 | o i^ x^ y^, o 1 1 "
		"1 -> o i x y, o 1 1 1", "0 1", "i0 i1 o1"),
	KERNEL("aten._weight_norm_interface_backward", "o i^, o i^, o 1, o 1 -> o i, o 1 | o i^ x^, o i^ x^, o 1 1, o 1 1 "
		"-> o i x, o 1 1 | o i^ x^ y^, o i^ x^ y^, o 1 1 1, o 1 1 1 -> o i x y, o 1 1 1"),
	KERNEL("aten.native_group_norm", "b (g c^) x^.., ?(g c), ?(g c) -> b (g c) x.., b g, b g", "0 1 2", "i0 i1 o1 o2",
		TRAIT_STATISTICS),
	KERNEL("aten.native_group_norm_backward", "b+ (g c^) x^.., b+ (g c^) x^.., b+ g, b+ g, ?(g c) -> ?b (g c) x.., ?(g "
		"c), ?(g c)"),
	KERNEL("aten._safe_softmax _softmax", "... v^ -> ... v", "0", "o0", TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS,
		"aten._softmax_backward_data"),
	KERNEL("aten._softmax_backward_data", "... v^, ... v^ -> ... v", "", "", TRAIT_SUMS_OF_ROWS),
	KERNEL("aten._log_softmax", "... v^ -> ... v", "0", "o0", TRAIT_WIDE | TRAIT_MAXIMA_OF_ROWS,
		"aten._log_softmax_backward_data"),
	KERNEL("aten._log_softmax_backward_data", "... v^, ... v^ -> ... v", "", "", TRAIT_WIDE | TRAIT_SUMS_OF_ROWS),
	KERNEL("aten.logsumexp", "@reduce^", "0", "i0 o0"),
	KERNEL("aten.glu", "... (g^ h) -> ... h", "0", "i0"),
	KERNEL("aten.glu_backward", "... h, ... (g^ h) -> ... (g h)"),

	/* losses */
	KERNEL("aten.nll_loss_forward", "n+ v+ x+.., n+ x+.., ?v -> , ", "0", "i0* i1 o1", TRAIT_CLASSES | TRAIT_WIDE,
		"aten.nll_loss_backward"),
	KERNEL("aten.nll_loss_backward nll_loss2d_backward", ", ?n v x.., n x.., ?v, -> n v x..", "", "", TRAIT_WIDE),
	KERNEL("aten.nll_loss2d_forward", "n+ v+ x+.., n+ x+.., ?v -> , ", "0", "i0* i1 o1", TRAIT_CLASSES | TRAIT_WIDE,
		"aten.nll_loss2d_backward"),
	KERNEL("aten.mse_loss smooth_l1_loss huber_loss soft_margin_loss", "x+.., x+.. ->  | x.., x.. -> x..", "0 1",
		"i0 i1", TRAIT_WIDE),
	KERNEL("aten.mse_loss_backward smooth_l1_loss_backward binary_cross_entropy_with_logits_backward "
		"huber_loss_backward soft_margin_loss_backward", ", x.., x.. -> x.. | x.., x.., x.. -> x..", "", "",
		TRAIT_WIDE),
	KERNEL("aten.binary_cross_entropy_with_logits", "x+.., x+.. ->  | x.., x.. -> x..", "0", "i0 i1", TRAIT_WIDE),
	KERNEL("aten.binary_cross_entropy", "x+.., x+.., ?x+.. ->  | x.., x.., ?x.. -> x..", "0 1", "i0 i1 i2", TRAIT_WIDE),
	KERNEL("aten.binary_cross_entropy_backward", ", x.., x.., ?x.. -> x.. | x.., x.., x.., ?x.. -> x..", "", "",
		TRAIT_WIDE),
	KERNEL("aten.multi_margin_loss", "n+ v^, n+, ?v ->  | n v^, n, ?v -> n", "0", "i0 i1 i2", TRAIT_WIDE),
	KERNEL("aten.multi_margin_loss_backward", ", n v^, n, ?v -> n v | n, n v^, n, ?v -> n v", "", "", TRAIT_WIDE),
	KERNEL("aten.multilabel_margin_loss_forward", "n+ v^, n+ v^ -> , n v | n v^, n v^ -> n, n v", "0", "i0 i1 o1",
		TRAIT_WIDE, "aten.multilabel_margin_loss_backward"),
	KERNEL("aten.multilabel_margin_loss_backward", ", n v^, n v^, n v^ -> n v | n, n v^, n v^, n v^ -> n v", "", "",
		TRAIT_WIDE),
	KERNEL("aten._ctc_loss", "t^ n c^, n s^ -> n, n t y! | t^ n c^, s^ -> n, n t y!", "0", "i0 i1 o0 o1", TRAIT_WIDE),
	KERNEL("aten._ctc_loss_backward", "n, t^ n c^, n s^, n, n t^ y^ -> t n c | n, t^ n c^, s^, n, n t^ y^ -> t n c", "",
		"", TRAIT_WIDE),
	KERNEL("aten.cross_entropy_loss", "n+ v^, n+ -> ", "0", "x:f32(n v) i1"),

	/* tables */
	KERNEL("aten.embedding", "v+ h, ... -> ... h", "0", "i1", TRAIT_ROWS | TRAIT_EMBEDDING,
		"aten.embedding_dense_backward"),
	KERNEL("aten.embedding_dense_backward", "...+ h, ...+ -> v h", "", "", TRAIT_SCATTER | TRAIT_ROWS),
	KERNEL("aten.gather", "... v^, ... k -> ... k", "0", "i0* i1"),
	KERNEL("aten.scatter scatter_add", "... v^, ... k^, ?... k^ -> ... v", "0 2", "i1"),
	KERNEL("aten.scatter_reduce", "... v^, ... k^, ?... k^ -> ... v", "0 2", "i0 i1 i2 o0"),
	KERNEL("aten.searchsorted", "... v^, ... k -> ... k"),
	KERNEL("aten.bucketize isin", "..., v^ -> ..."),
	KERNEL("aten._embedding_bag", "v^ h, n^, b^ -> b h, ?n, ?b, ?b | v^ h, n^, b^ -> b h, ?o!, ?p!, ?r!", "0",
		"i1 i2 o1 o2 o3", 0, "aten._embedding_bag_dense_backward"),
	KERNEL("aten._embedding_bag_backward", "b^ h, n^, o!, p!, r!, ?q!, ?s! -> v! h"),
	KERNEL("aten._embedding_bag_dense_backward", "b^ h, n^, n^, ?b^, ?b^ -> v! h | b^ h, n^, o!, p!, r! -> v! h"),
	KERNEL("aten.index_add", "&v x.., n+, n+ x.. -> v x.. "
		"| &b v^ x.., n+, b n+ x.. -> b v x.. "
		"| &b c v^ x.., n+, b c n+ x.. -> b c v x.. "
		"| &b c d v^ x.., n+, b c d n+ x.. -> b c d v x..", "0 2", "i1", TRAIT_SCATTER),
	KERNEL("aten.masked_scatter", "b^ n^.., b^ n^.., k^ e^ -> b n.. | b^ n^.., b^ n^.., k^ -> b n.. | b^ n^.., b^ "
		"n^.., k^ e^ f^ -> b n..", "0 2", "i1"),
	KERNEL("aten.slice_scatter", "b n^.., b m^.. -> b n.. | n^.., m^.. -> n..", "0 1"),
	KERNEL("aten.diagonal_scatter", "n! m!, k! -> n! m! | b n! m!, b k! -> b n! m! | b c n! m!, b c k! -> b c n! m!",
		"0 1"),
	KERNEL("aten.as_strided_scatter", "n^.., ...^ -> n..", "0 1"),
	KERNEL("aten.index_fill", "v^.., n^ -> v..", "0", "i1"),
	KERNEL("aten.index_copy", "v^.., n^, k^.. -> v..", "0 2", "i1"),
	KERNEL("aten.index_reduce", "v^.., n^, k^.. -> v..", "0 2", "i0 i1 i2 o0"),
	KERNEL("aten.take", "v^.., ... -> ...", "0", "i0* i1"), /* of the whole, as if it were flat */
	KERNEL("aten.put", "v^.., ...^, ...^ -> v..", "0 2", "i1"),
	KERNEL("aten.embedding_renorm", "v^ h^, ...^ -> v h"),
	KERNEL("aten._embedding_bag_per_sample_weights_backward", "b^ h+, v^ h+, n^, o!, p! -> n"),
	KERNEL("aten.segment_reduce", "n^ x.., s^ -> s x.. | n^ x.., o! -> s! x..", "0", "i0 i1 o0", 0,
		"aten._segment_reduce_backward"),
	KERNEL("aten._segment_reduce_backward", "s^ x.., s^ x.., n^ x.., ?o! -> n x.."),
	KERNEL("aten.masked_scatter_backward", "b^ n^.., b^ n^.. -> k! | b^ n^.., b^ n^.. -> k! e! | b^ n^.., b^ n^.. -> "
		"k! e! f!"),
	/* into which dim is in its arguments; where the first two dims are equal, shapes don't tell, and both stay whole */
	KERNEL("aten.select_scatter", "n^ n^ x^.., n^ x^.. -> n n x.. "
		"| b k^ x^.., b x^.. -> b k x.. | b c^ k^ x^.., b c^ x^.. -> b c k x.. "
		"| b c^ d^ k^ x^.., b c^ d^ x^.. -> b c d k x.. "
		"| k^ x.., x.. -> k x..", "0 1"),
	KERNEL("aten.index_select index _unsafe_index", "@gather", "0", "i1"),
	KERNEL("aten.index_put _unsafe_index_put _index_put_impl", "&v x.., n+, n+ x.. -> v x..", "0 2", "i1",
		TRAIT_SCATTER),
	/* the gradient of rows that are looked up, as PyTorch 2.15 writes it: the mask leaves padding out */
	KERNEL("aten._unsafe_masked_index_put_accumulate", "&v h, ...+ 1, ...+, ...+ h -> v h", "0 3", "i1 i2",
		TRAIT_SCATTER),

	/* pooling */
	PICKED("max_pool2d_with_indices", ""), POOLED("avg_pool2d"), POOLED("_adaptive_avg_pool2d"),
	RESIZED("upsample_nearest2d"), RESIZED("upsample_bilinear2d"), RESIZED("upsample_bicubic2d"),
	RESIZED("_upsample_nearest_exact2d"), RESIZED("_upsample_bilinear2d_aa"), RESIZED("upsample_nearest1d"),
	RESIZED("upsample_linear1d"), PICKED("max_pool3d_with_indices", ""), PICKED("adaptive_max_pool2d", ""),
	PICKED("adaptive_max_pool3d", ""), PICKED("fractional_max_pool2d", ", b c e!"),
	PICKED("fractional_max_pool3d", ", b c e!"), POOLED("avg_pool3d"), POOLED("_adaptive_avg_pool3d"),
	POOLED("reflection_pad1d"), POOLED("reflection_pad2d"), POOLED("reflection_pad3d"), POOLED("replication_pad1d"),
	POOLED("replication_pad2d"), POOLED("replication_pad3d"), RESIZED("_upsample_bicubic2d_aa"),
	RESIZED("_upsample_nearest_exact1d"), RESIZED("_upsample_nearest_exact3d"), RESIZED("upsample_nearest3d"),
	RESIZED("upsample_trilinear3d"),
	KERNEL("aten.max_unpool2d max_unpool3d", "b c y~.., b c y~.. -> b c y..", "0", "i1"),
	KERNEL("aten.im2col", "b c y~k 1 -> b (c k^) y | b c h^ w^ -> b (c k^) l!", "0", "", 0, "aten.col2im"),
	KERNEL("aten.col2im", "b (c k^) y -> b c y~k 1 | b (c k^) l^ -> b c h! w!", "0", "", 0, "aten.im2col"),
	KERNEL("aten.pixel_shuffle", "b (c k^) h^ w^ -> b c y! x!", "0", "", 0, "aten.pixel_unshuffle"),
	KERNEL("aten.pixel_unshuffle", "b c y^ x^ -> b (c k^) h! w!", "0", "", 0, "aten.pixel_shuffle"),
	KERNEL("aten.channel_shuffle", "b c^ x^.. -> b c x..", "0", "", 0, "aten.channel_shuffle"),
	KERNEL("aten.native_channel_shuffle", "b c^ x^.. -> b c x..", "0", "", 0, "aten.native_channel_shuffle"),
	KERNEL("aten.grid_sampler_2d", "b c h^ w^, b y x e^ -> b c y x", "0 1", "i0 i1"),
	KERNEL("aten.grid_sampler_2d_backward", "b c+ y+ x+, b c+ h^ w^, b y+ x+ e^ -> ?b c h w, b y x e"),
	KERNEL("aten.grid_sampler_3d", "b c u^ v^ w^, b z y x e^ -> b c z y x", "0 1", "i0 i1"),
	KERNEL("aten.grid_sampler_3d_backward", "b c+ z+ y+ x+, b c+ u^ v^ w^, b z+ y+ x+ e^ -> ?b c u v w, b z y x e"),
	KERNEL("aten.affine_grid_generator", "b e^ f^ -> b y! x! e! | b e^ f^ -> b z! y! x! e!", "0"),

	/* cells of recurrent networks */
	KERNEL("aten._thnn_fused_lstm_cell", "b (g^ h^), b (g^ h^), b h^, ?(g^ h^), ?(g^ h^) -> b h, b h, b (g h)",
		"0 1 2 3 4", "i2 o1 o2", 0, "aten._thnn_fused_lstm_cell_backward_impl"),
	KERNEL("aten._thnn_fused_lstm_cell_backward_impl", "?b+ h^, ?b+ h^, b+ h^, b+ h^, b+ (g^ h^) -> b (g h), b h, ?(g "
		"h)"),
	KERNEL("aten._thnn_fused_gru_cell", "b (g^ h^), b (g^ h^), b h^, ?(g^ h^), ?(g^ h^) -> b h, b (s! h)", "0 1 2 3 4",
		"o1"),
	KERNEL("aten._thnn_fused_gru_cell_backward", "b+ h^, b+ (s^ h^) -> b (g! h), b (g! h), b h, ?(g! h), ?(g! h)"),
/* a layer over all times, as CPUs run LSTMs; without biases there are zeros like the weights; a captured backward
 * kernel has the gradients last, one made by rule first */
#define LAYER(b, biases) "t! " b " i!, r! i!, r! h!, " biases ", " b " h!, ?" b " h!"
#define LAYER_MADE(biases) " -> t! b i!, r! i!, r! h!, " biases ", b h!, ?b h!"
#define LAYER_GRADIENTS "?t! b+ h!, ?b+ h!, ?b+ h!"
#define LAYER_RESULTS(b) "t! " b " h!, " b " h!, " b " h!"
#define BIASES "?r!, ?r!"
#define NO_BIASES "r! i!, r! h!"
	RULE("aten.mkldnn_rnn_layer", COST_RECURRENCE,
		LAYER("b", BIASES) " -> " LAYER_RESULTS("b") ", ?z! | " LAYER("b", NO_BIASES) " -> " LAYER_RESULTS("b") ", ?z!",
		"0 1 2 3 4 5 6", "i0 i1 i2 i3 i4 i5 i6 o0 o1 o2 o3"),
	RULE("aten.mkldnn_rnn_layer_backward", COST_RECURRENCE,
		LAYER("b+", BIASES) ", " LAYER_RESULTS("b+") ", " LAYER_GRADIENTS ", ?z!" LAYER_MADE(BIASES) " | "
		LAYER("b+", NO_BIASES) ", " LAYER_RESULTS("b+") ", " LAYER_GRADIENTS ", ?z!" LAYER_MADE(BIASES) " | "
		LAYER_GRADIENTS ", " LAYER("b+", BIASES) ", " LAYER_RESULTS("b+") ", ?z!" LAYER_MADE(BIASES) " | "
		LAYER_GRADIENTS ", " LAYER("b+", NO_BIASES) ", " LAYER_RESULTS("b+") ", ?z!" LAYER_MADE(NO_BIASES)),
/* the same on GPUs, for all layers and directions at once: the weights are many, and lie in one buffer, too */
#define NET(b) "t! " b " i!, _*, l! " b " h!, ?l! " b " h!"
	RULE("aten._cudnn_rnn", COST_RECURRENCE,
		NET("b") ", ?z! -> t! b o!, l! b h!, ?l! b h!, ?x!, ?y!, ?w! | b t! i!, _*, l! b h!, ?l! b h!, ?z! -> b t! "
		"o!, l! b h!, ?l! b h!, ?x!, ?y!, ?w!", "*", "i0 o0 o3"),
	RULE("aten._cudnn_rnn_backward", COST_RECURRENCE,
		NET("b+") ", t! b+ o!, ?t! b+ o!, ?l! b+ h!, ?l! b+ h!, ?z!, ?y! -> ?t! b i!, ?l! b h!, ?l! b h!, _* | b+ t! "
		"i!, _*, l! b+ h!, ?l! b+ h!, b+ t! o!, ?b+ t! o!, ?l! b+ h!, ?l! b+ h!, ?z!, ?y! -> ?b t! i!, ?l! b h!, ?l! "
		"b h!, _*"),
	/* all of one length: else how much there is depends on data */
	KERNEL("aten._pack_padded_sequence", "t^ b^ h, b^ -> (t b) h, t | b^ t^ h, b^ -> (t b) h, t", "0", "i0* o1"),

	/* reductions */
	KERNEL("aten.sum mean", "@reduce+", "0", "", TRAIT_LINEAR),
	KERNEL("aten.amax amin prod std", "@reduce^", "0", "i0 o0"),
	KERNEL("aten.max min median nanmedian mode", "@reduce^", "0", "o1"),
	KERNEL("aten.norm linalg_vector_norm", "@reduce^2", "0", "i0 o0"),
	KERNEL("aten.all any _is_all_true _is_any_true argmin count_nonzero argmax", "@reduce^"),
	KERNEL("aten.var nansum", "@reduce^", "0", "i0"),
	KERNEL("aten.var_mean", "@reduce^", "0", "i0 o1"),
	KERNEL("aten.std_mean aminmax", "@reduce^", "0", "i0 o0 o1"),
	KERNEL("aten.kthvalue", "@reduce^2", "0", "o1"),
	KERNEL("aten.topk", "... n^ -> ... k, ... k", "0", "o1", TRAIT_CHOICE),
	KERNEL("aten.multinomial", "... n^ -> ... k", "", "", TRAIT_RANDOM),
	KERNEL("aten.sort cummax cummin", "... n^ -> ... n, ... n", "0", "o1"),
	KERNEL("aten.cumsum", "... n^ -> ... n", "0"),
	KERNEL("aten.cumprod logcumsumexp", "... n^ -> ... n", "0", "i0 o0"),
	KERNEL("aten.trace", "n^ m^ -> ", "0", "i0*"),
	KERNEL("aten.bincount", "n^, ?n^ -> c!"),
	KERNEL("aten.renorm", "x^.. -> x..", "0", "i0"), /* of slices along a dim that is in its arguments */
	KERNEL("aten.linalg_cross", "e^.., e^.. -> e..", "0 1", "i0 i1", 0, "aten.linalg_cross"),

	/* matrices, each on its own */
	KERNEL("aten.linalg_inv_ex linalg_cholesky_ex", "... n^ n^ -> ... n n, ...", "0", "o0"),
	KERNEL("aten.linalg_matrix_exp", "... n^ n^ -> ... n n", "0", "i0"),
	KERNEL("aten.linalg_qr", "... n^ m^ -> ... n k!, ... k! m", "0", "o0 o1"),
	KERNEL("aten._linalg_svd", "... n^ m^ -> ... n k!, ... k!, ... k! m", "0", "o0 o1 o2"),
	KERNEL("aten._linalg_eigh linalg_eig", "... n^ n^ -> ... n, ... n n", "0", "o0 o1"),
	KERNEL("aten._linalg_det", "... n^ n^ -> ..., ... n n, ... n", "0", "i0 o0 o1 o2"),
	KERNEL("aten._linalg_slogdet", "... n^ n^ -> ..., ..., ... n n, ... n", "0", "i0 o0 o2 o3"),
	KERNEL("aten._linalg_solve_ex", "... n^ n^, ... n^ k^ -> ... n k, ... n n, ... n, ...", "0 1", "i0 o0 o1 o2"),
	KERNEL("aten.linalg_solve_triangular", "... n^ n^, ... n^ k^ -> ... n k | ... n^ n^, ... k^ n^ -> ... k n", "0 1",
		"i0 o0"),
	KERNEL("aten.triangular_solve", "... n^ k^, ... n^ n^ -> ... n k, ... n n", "0 1", "i1 o0"),
	KERNEL("aten.cholesky_solve", "... n^ k^, ... n^ n^ -> ... n k", "0 1", "i1 o0"),
	KERNEL("aten.cholesky_inverse", "... n^ n^ -> ... n n", "0", "i0 o0"),
	KERNEL("aten.linalg_lu_factor_ex", "... n^ m^ -> ... n m, ... k!, ...", "0", "o0 o1"),
	KERNEL("aten.linalg_lu", "... n^ m^ -> ?... n n, ... n k!, ... k! m", "0", "o0 o1 o2"),
	KERNEL("aten.linalg_lu_solve", "... n^ n^, ... n^, ... n^ k^ -> ... n k | ... n^ n^, ... n^, ... k^ n^ -> ... k n",
		"0 2", "i0 i1 o0"),
	KERNEL("aten.lu_unpack", "... n^ m^, ... k^ -> ... n n, ... n k, ... k m | ... n^ m^, ... k^ -> z!, ... n k, ... k "
		"m | ... n^ m^, ... k^ -> ... n n, z!, y!", "0"),
	KERNEL("aten.linalg_ldl_factor_ex", "... n^ n^ -> ... n n, ... n, ..."),
	KERNEL("aten.linalg_ldl_solve", "... n^ n^, ... n^, ... n^ k^ -> ... n k"),
	KERNEL("aten.linalg_pinv", "... n^ m^, ?, ? -> ... m n", "0", "i0 o0"),
	KERNEL("aten.linalg_householder_product", "... m^ n^, ... k^ -> ... m n", "0 1", "i0 i1 o0"),
	KERNEL("aten.geqrf", "... n^ m^ -> ... n m, ... k!"),
	KERNEL("aten.ormqr", "... m^ k^, ... k^, ... m^ n^ -> ... m n", "0 1 2", "i0 i1 i2 o0"),

	/* pretended quantization: of a tensor, of each of its channels, and with scales that are learnt or observed */
	KERNEL("aten.fake_quantize_per_tensor_affine_cachemask", ANY, "0", "o1", 0, ""
		"aten.fake_quantize_per_tensor_affine_cachemask_backward"),
	KERNEL("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "x.., s!, z!, e! -> x.., x.. | x.., ?, ?, "
		"e! -> x.., x..", "0", "o1", 0, "aten.fake_quantize_per_tensor_affine_cachemask_backward"),
	KERNEL("aten.fake_quantize_per_tensor_affine_cachemask_backward "
		"fake_quantize_per_channel_affine_cachemask_backward", ANY),
	KERNEL("aten.fake_quantize_per_channel_affine_cachemask", "c x.., c, c -> c x.., c x.. | b c x.., c, c -> b c x.., "
		"b c x..", "0", "o1", 0, "aten.fake_quantize_per_channel_affine_cachemask_backward"),
	KERNEL("aten._fake_quantize_learnable_per_tensor_affine", "x.., s!, z! -> x..", "0 1 2", "i0 i1 i2"),
	KERNEL("aten._fake_quantize_learnable_per_tensor_affine_backward", "x^.., x^.., s!, z! -> x.., s!, z!"),
	KERNEL("aten._fake_quantize_learnable_per_channel_affine", "c x.., c, c -> c x.. | b c x.., c, c -> b c x..",
		"0 1 2", "i0 i1 i2"),
	KERNEL("aten._fake_quantize_learnable_per_channel_affine_backward", "c x^.., c x^.., c, c -> c x.., c, c | b^ c^ "
		"x^.., b^ c^ x^.., c, c -> b c x.., c, c"),
	KERNEL("aten._fused_moving_avg_obs_fq_helper", "x^.., p!, q!, ?, ?, s!, z! -> x.., x.. | x^.., p!, q!, l!, h!, s!, "
		"z! -> x.., x..", "0", "o1", 0, "aten.fake_quantize_per_tensor_affine_cachemask_backward"),

	/* spectra: of any dims but the first */
	KERNEL("aten._fft_r2c", "b n^.. l^ -> b n.. m! | l^ -> m!", "0"),
	KERNEL("aten._fft_c2r", "b n^.. m^ -> b n.. l! | m^ -> l!", "0"),
	KERNEL("aten._fft_c2c", "b n^.. -> b n..", "0"),

	/* views */
#define DIAGONAL \
	"n! n! -> n | b n! n! -> b n | b c n! n! -> b c n | n! m! -> k! | b n! m! -> b k! | b c n! m! -> b c k!"
	RULE("tidemark.release", COST_NONE, ANY), /* no work: a framework lets go of a storage here */
	VIEW("aten.view _unsafe_view reshape", "@reshape", TRAIT_VERBATIM),
	VIEW("aten._reshape_alias flatten squeeze unsqueeze", "@reshape", 0),
	VIEW("aten.as_strided", "@reshape", 0), /* where it keeps all elements; else it doesn't fit */
	VIEW("aten.t", "m n -> n m | m -> m", TRAIT_VERBATIM),
	VIEW("aten.transpose permute", "@permute", TRAIT_VERBATIM),
	VIEW("aten.expand", "@expand", 0),
	VIEW("aten.slice narrow", "@slice", 0),
	VIEW("aten.select", "@select", 0),
	VIEW("aten.split split_with_sizes chunk unsafe_split", "@split", 0),
	VIEW("aten.unbind", "@unbind", 0),
	VIEW("aten.detach", "... -> ...", TRAIT_VERBATIM),
	VIEW("aten.alias lift_fresh _conj", "... -> ...", 0),
	VIEW("aten.view_as_complex", "... e! -> ...", 0),
	VIEW("aten.view_as_real", "... -> ... e!", 0),
	VIEW("aten.diagonal", DIAGONAL, 0),
	VIEW("aten.unfold", "... n^ -> ... l! k! | b n^ x.. -> b l! x.. k! | b c n^ x.. -> b c l! x.. k! | b c d n^ x.. -> "
		"b c d l! x.. k!", 0),

	/* movers: a new buffer, nothing saved */
	MOVE("aten.clone", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY),
	MOVE("aten.contiguous tril triu", "... -> ...", TRAIT_LINEAR),
	MOVE("aten._to_copy", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY | TRAIT_CAST),
	KERNEL("aten.copy", ANY, "*"),
	MOVE("aten.cat", "@cat", TRAIT_JOINTLY_LINEAR),
	MOVE("aten.stack", "@stack", TRAIT_JOINTLY_LINEAR),
	MOVE("aten.constant_pad_nd slice_backward", "@pad", TRAIT_LINEAR),
	MOVE("aten.repeat", "@expand", TRAIT_LINEAR),
	MOVE("aten.diag_embed", "n! -> m! m! | b n! -> b m! m! | b c n! -> b c m! m!", 0),
	MOVE("aten.diagonal_backward", "n! -> n! n! | b n! -> b n! n! | b c n! -> b c n! n! | k! -> n! m! | b k! -> b n! "
		"m! | b c k! -> b c n! m!", 0),
	MOVE("aten.unfold_backward", "... l^ k^ -> ... n! | b l^ x.. k^ -> b n! x.. | b c l^ x.. k^ -> b c n! x.. | b c d "
		"l^ x.. k^ -> b c d n! x..", 0),
	MOVE("aten.select_backward", "@place", TRAIT_LINEAR),
	MOVE("aten.roll", "@move2", TRAIT_LINEAR),
	MOVE("aten.flip", "@move", TRAIT_LINEAR),
	/* views that copy, as programs without side effects have them */
	MOVE("aten.view_copy squeeze_copy unsqueeze_copy", "@reshape", TRAIT_LINEAR),
	MOVE("aten.as_strided_copy", "@reshape", 0),
	MOVE("aten.t_copy", "m n -> n m | m -> m", TRAIT_LINEAR),
	MOVE("aten.transpose_copy permute_copy", "@permute", TRAIT_LINEAR),
	MOVE("aten.expand_copy", "@expand", TRAIT_LINEAR),
	MOVE("aten.slice_copy narrow_copy", "@slice", TRAIT_LINEAR),
	MOVE("aten.select_copy", "@select", TRAIT_LINEAR),
	MOVE("aten.split_copy split_with_sizes_copy", "@split", TRAIT_LINEAR),
	MOVE("aten.unbind_copy", "@unbind", TRAIT_LINEAR),
	MOVE("aten.alias_copy detach_copy", "... -> ...", TRAIT_LINEAR),
	MOVE("aten.diagonal_copy", DIAGONAL, 0),
	MOVE("aten.rot90", "n^.. -> n.. | n^ m^ x.. -> m n x.. | b n^ m^ x.. -> b m n x.. | b c n^ m^ -> b c m n", 0),

	/* elementwise, by what they save */
	KERNEL("aten.add", ANY, "*", "", TRAIT_ADDITION | TRAIT_JOINTLY_LINEAR),
	KERNEL("aten.sub", ANY, "*", "", TRAIT_JOINTLY_LINEAR),
	KERNEL("aten.rsub lerp", ANY, "*"),
	KERNEL("aten.neg", ANY, "*", "", TRAIT_LINEAR),
	KERNEL("aten.mul", ANY, "0 1", "i0|1 i1|0", TRAIT_LINEAR),
	KERNEL("aten.div", ANY, "0 1", "i0|1 i1", TRAIT_LINEAR),
	KERNEL("aten.where", ANY, "1 2", "i0", TRAIT_LINEAR | TRAIT_JOINTLY_LINEAR),
	KERNEL("aten.masked_fill", ANY, "0", "i1"),
	KERNEL("aten.maximum minimum atan2 xlogy fmax fmin complex polar _prelu_kernel special_xlog1py", ANY, "0 1",
		"i0 i1"),
	KERNEL("aten.addcmul", ANY, "*", "i1|2 i2|1"),
	KERNEL("aten.addcdiv", ANY, "*", "i1|2 i2", TRAIT_DIVIDES),
	KERNEL("aten.relu", ANY, "0", "o0", 0, "aten.threshold_backward"),
	KERNEL("aten.sigmoid", ANY, "0", "o0", 0, "aten.sigmoid_backward"),
	KERNEL("aten.tanh", ANY, "0", "o0", 0, "aten.tanh_backward"),
	KERNEL("aten.exp sqrt rsqrt reciprocal expm1 erfinv tan exp2 special_ndtri", ANY, "0", "o0"),
	KERNEL("aten.gelu silu mish hardtanh hardswish hardsigmoid elu leaky_relu softplus clamp clamp_min log abs erf "
		"square log1p sin cos pow sinh cosh asin acos atan asinh acosh atanh erfc log2 log10 logit celu softshrink "
		"hardshrink threshold nan_to_num clamp_max lgamma digamma sinc angle special_entr special_i0e special_i1e "
		"polygamma mvlgamma i0", ANY, "0", "i0"),
	KERNEL("aten.log_sigmoid_forward", ANY, "0", "i0 o1"),
	KERNEL("aten.hypot logaddexp logaddexp2", ANY, "0 1", "i0 i1 o0"),
	KERNEL("aten.native_dropout _fused_dropout", ANY, "0", "o1", TRAIT_RANDOM | TRAIT_MASKED),
	KERNEL("aten.dropout", ANY, "0", "x:bool(...)", TRAIT_RANDOM),
	KERNEL("aten.native_dropout_backward threshold_backward sigmoid_backward tanh_backward gelu_backward silu_backward "
		"mish_backward hardtanh_backward hardswish_backward hardsigmoid_backward elu_backward leaky_relu_backward "
		"softplus_backward log_sigmoid_backward isnan isinf sgn floor ceil round trunc remainder fmod floor_divide "
		"bitwise_xor logical_xor bitwise_not logical_not bitwise_and bitwise_or logical_and logical_or eq ne lt le gt "
		"ge sign fill zero zeros_like empty_like full_like gcd lcm equal allclose _linalg_check_errors resize "
		"resize_as _prelu_kernel_backward _standard_gamma_grad _dirichlet_grad special_bessel_j0 special_bessel_j1 "
		"special_bessel_y0 special_bessel_y1 special_modified_bessel_i0 special_modified_bessel_i1 "
		"special_modified_bessel_k0 special_modified_bessel_k1 rrelu_with_noise_backward logit_backward "
		"softshrink_backward hardshrink_backward isneginf isposinf signbit heaviside bitwise_left_shift "
		"bitwise_right_shift nextafter _masked_scale", ANY),
	KERNEL("aten.bernoulli uniform normal exponential geometric cauchy log_normal random randn_like randint_like", ANY,
		"", "", TRAIT_RANDOM | TRAIT_NOISE),
	/* of one gradient; devices that share it combine the flag, one number a step */
	KERNEL("aten._amp_foreach_non_finite_check_and_unscale", ANY, "", "", TRAIT_UNSCALES),
	KERNEL("aten.ones_like", ANY, "", "", TRAIT_WIDE),
	KERNEL("aten.rand_like poisson", ANY, "", "", TRAIT_RANDOM),
	KERNEL("aten.frac conj_physical deg2rad rad2deg _conj_physical", ANY, "0"),
	KERNEL("aten.special_i1 special_erfcx special_log_ndtr", ANY, "0", "i0 o0"),
	KERNEL("aten.igamma igammac special_zeta", ANY, "1", "i0 i1"),
	KERNEL("aten.ldexp", ANY, "0 1", "i1 o0"),
	KERNEL("aten.frexp", ANY, "0", "o1"),
	KERNEL("aten.copysign", ANY, "0 1", "i0 o0"),
	KERNEL("aten.rrelu_with_noise", ANY, "0", "i0 i1", TRAIT_RANDOM),
	KERNEL("aten._standard_gamma", ANY, "0", "i0 o0", TRAIT_RANDOM),
	KERNEL("aten._sample_dirichlet", "... v^ -> ... v", "0", "i0 o0", TRAIT_RANDOM),

	/* from nothing */
	KERNEL("aten.arange empty zeros ones full scalar_tensor empty_strided new_empty_strided eye linspace new_zeros "
		"new_ones new_empty new_full empty_permuted logspace range tril_indices triu_indices hann_window "
		"hamming_window blackman_window _efficientzerotensor kaiser_window bartlett_window", "@source"),
	KERNEL("aten.randint randperm rand randn", "@source", "", "", TRAIT_RANDOM | TRAIT_NOISE),

	/* mixture of experts: one op per layer routes tokens to experts' slots and back */
	KERNEL("tidemark.swiglu", ANY, "0 1", "i0 i1"), /* silu(gate) * up in one kernel */
	KERNEL("tidemark.swiglu_backward geglu_backward fetch", ANY),
	KERNEL("tidemark.geglu", ANY, "0 1", "i0 i1"), /* gelu(gate) * up */
	/* of logits, in one kernel */
	KERNEL("tidemark.cross_entropy", "n+ v+^, n+ -> ", "0", "i0 i1", TRAIT_CLASSES | TRAIT_MAXIMA_OF_ROWS),
	KERNEL("tidemark.cross_entropy_backward", ", n v^, n -> n v", "", "", TRAIT_MAXIMA_OF_ROWS),
	KERNEL("tidemark.offload", ANY), /* every device moves its own piece */
	RULE("tidemark.offload_wait", COST_NONE, ANY),
	MOVE("prims.convert_element_type", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY | TRAIT_CAST),
	MOVE("prims.device_put", "... -> ...", TRAIT_LINEAR | TRAIT_VERBATIM | TRAIT_COPY),
	KERNEL("prims.fma", ANY, "0 1 2", "i0|1 i1|0"),
	KERNEL("prims.iota", "@source"),
	RULE("prims.inductor_seeds", COST_NONE, "@source", "", "", TRAIT_RANDOM | TRAIT_NOISE),
	KERNEL("prims.inductor_lookup_seed", "n^ -> "),
	KERNEL("prims.inductor_random", "@source", "", "", TRAIT_RANDOM | TRAIT_NOISE),
	KERNEL("aten.histc", "n^.. -> c!"),
	/* they make no tensors: a number for the program, a size, a check */
	KERNEL("aten._local_scalar_dense _assert_scalar _assert_async sym_size sym_numel _assert_tensor_metadata", ANY),
	RULE("torch.sym_sum", COST_NONE, ANY),
	RULE("tidemark.fetch_buffer", COST_NONE, "@source"),
	/* what a captured step keeps of it, for a checkpoint */
	RULE("tidemark.generator_state", COST_NONE, "@source", "", "", TRAIT_RANDOM),
	/* the generator's seed and offset, for an op that runs again */
	RULE("tidemark.random_state", COST_NONE, "@source"),
	RULE("tidemark.grouped_mm", COST_GROUPED, "b m k+, b k+ n -> b m n", "0 1", "i0|1 i1|0", TRAIT_PRODUCT),
	KERNEL("tidemark.dispatch", "t^ h, t^ e^ -> e c h", "0 1", "i1", TRAIT_DISPATCH | TRAIT_ROUTES),
	KERNEL("tidemark.combine", "e+ c+ h, t e+ -> t h", "0 1", "i0 i1", TRAIT_ROUTES),
	KERNEL("tidemark.dispatch_backward", "e^ c^ h+, t^ e^ -> t h, t e", "", "", TRAIT_ROUTES),
	KERNEL("tidemark.combine_backward", "t^ h+, e^ c^ h+, t^ e^ -> e c h, t e", "", "", TRAIT_ROUTES),
	/* the same with scores that weigh the experts' inner activations instead of tokens: they travel with the tokens */
	KERNEL("tidemark.dispatch_scored", "t^ h, t^ e^ -> e c h, e c 1", "0 1", "i1", TRAIT_DISPATCH | TRAIT_ROUTES),
	KERNEL("tidemark.dispatch_scored_backward", "e^ c^ h, e^ c^ 1, t^ e^ -> t h, t e", "", "", TRAIT_ROUTES),
	KERNEL("tidemark.combine_plain", "e+ c+ h, t e+ -> t h", "0", "i1", TRAIT_ROUTES),
	KERNEL("tidemark.combine_plain_backward", "t^ h, t^ e^ -> e c h", "", "", TRAIT_ROUTES),
	KERNEL("tidemark.swiglu_scaled", "e c f, e c f, e c 1 -> e c f", "0 1 2", "i0 i1 i2"),
	KERNEL("tidemark.swiglu_scaled_backward", "e c f+, e c f+, e c f+, e c 1 -> e c f, e c f, e c 1"),
	/* frozen weights of fewer bits, unpacked for a product */
	KERNEL("tidemark.unpack_blocks unpack_nf4", "@opaque"),
	KERNEL("tidemark.unpack_rows", "o i, o 1 -> o i"),
	KERNEL("bitsandbytes.optimizer_update_8bit_blockwise", "n x.., n x.., n x.., n x.., n _, n _, _, _ -> n x.. | ..., "
		"..., ..., ..., _, _, _, _ -> ..."),
	KERNEL("bitsandbytes.optimizer_update_32bit", ANY),
	/* recurrences along the sequence, each one kernel that keeps what goes into it */
	KERNEL("tidemark.causal_conv", "b+ s! c!, c 1 w!, ?c -> b s c", "0 1 2", "i0 i1"),
	KERNEL("tidemark.causal_conv_backward", "b+ s! c!, b s c, c 1 w! -> b s c, c 1 w, ?c"),
	PRODUCT("tidemark.linear_attention", "b+ s! h! k!, b s h k, b s h v!, ?b s h, ?b s h -> b s h v | b+ s! h! k!, b s "
		"h k, b s h v!, b s h k, b s h -> b s h v", "0 1 2 3 4", "i0 i1 i2 i3 i4"),
	PRODUCT("tidemark.linear_attention_backward", "b+ s! h! v!, b s h k!, b s h k, b s h v, ?b s h, ?b s h -> b s h k, "
		"b s h k, b s h v, ?b s h, ?b s h "
		"| b+ s! h! v!, b s h k!, b s h k, b s h v, b s h k, b s h -> b s h k, b s h k, b s h v, b s h k, b s h"),
	KERNEL("tidemark.state_space", "b+ s! h! d!, b s h, b s m!, b s m, h, h, h -> b s h d", "0 1 2 3 4 5 6",
		"i0 i1 i2 i3 i4 i5 i6"),
	KERNEL("tidemark.state_space_backward", "b+ s! h! d!, b s h d, b s h, b s m!, b s m, h, h, h -> b s h d, b s h, b "
		"s m, b s m, h, h, h"),
	PRODUCT("tidemark.selective_scan", "b+ s! c!, b s c, c n!, b s n, b s n, c -> b s c", "0 1 2 3 4 5",
		"i0 i1 i2 i3 i4 i5"),
	PRODUCT("tidemark.selective_scan_backward", "b+ s! c!, b s c, b s c, c n!, b s n, b s n, c -> b s c, b s c, c n, b "
		"s n, b s n, c"),
	KERNEL("tidemark.index_topk", "b _, b _, b _ -> b _"), /* tokens that attention sees */
	{ .type = NULL }
};
