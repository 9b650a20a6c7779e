/* unit_soundness.c: the operator rules against arithmetic. Every rule's operator is executed on small random
 * tensors, whole and split in two along each factor of its rule: the parts must give the whole.
 *
 * Results that carry the factor are put together; results that lack it are sums of the parts if the rule calls the
 * factor reduced (+), else every part must give the whole result. Factors that are needed in full (^), never sharded
 * (!) or windows (~) and what they move over are not split. */
#include <stdio.h>

#include "tests/common/kernels.h"
#include "tests/common/support.h"

/* ---- cases ----------------------------------------------------------------------------------- */

/* The shapes of a case: digits are extents, blanks separate tensors, "-" is a scalar; operands before '>'. Extents are
 * even where their factor can be split. */
struct soundness_case { const char *types, *shapes; void (*execute)(const struct call *call); };

static const struct soundness_case cases[] = {
	{ "aten.mm", "46 62 > 42", mm },
	{ "aten.bmm aten.matmul onnx.MatMul matmul tidemark.grouped_mm", "246 268 > 248", mm },
	{ "aten.matmul onnx.MatMul", "246 68 > 248", mm },
	{ "aten.addmm", "2 46 62 > 42", mm },
	{ "aten.addmm", "42 46 62 > 42", mm },
	{ "aten.baddbmm", "248 246 268 > 248", mm },
	{ "aten.linear linear", "246 86 8 > 248", linear },
	{ "aten.linear", "246 86 > 248", linear },
	{ "onnx.Gemm", "46 86 8 > 48", linear },
	{ "aten.mv", "46 6 > 4", vector_product },
	{ "aten.dot", "6 6 > -", vector_product },
	{ "aten.convolution onnx.Conv", "2444 6422 6 > 2633", convolution },
	{ "aten.convolution onnx.Conv", "2444 8222 8 > 2833", convolution },
	{ "aten.convolution onnx.Conv", "2443 4122 4 > 2432", convolution },
	{ "aten.convolution_backward", "2633 2444 6422 > 2444 6422 6", convolution_backward },
	{ "aten.convolution_backward", "2833 2444 8222 > 2444 8222 8", convolution_backward },
	{ "aten.convolution onnx.ConvTranspose", "2422 4622 6 > 2633", transposed_convolution },
	{ "aten.convolution_backward", "2633 2422 4622 > 2422 4622 6", transposed_convolution_backward },
	{ "onnx.LSTM onnx.GRU", "345 285 286 > 3246", recurrence },
	{ "tidemark.dispatch", "68 64 > 428", dispatch },
	{ "tidemark.combine", "428 64 > 68", combine },
	{ "tidemark.dispatch_backward", "428 64 > 68 64", dispatch_backward },
	{ "tidemark.combine_backward", "68 428 64 > 428 64", combine_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2486 2486 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2446 2446 2486 2486 2446 244 > 2446 2486 2486",
		attention_backward },
	{ "tidemark.dispatch_scored", "68 64 > 428 421", dispatch_scored },
	{ "tidemark.combine_plain", "428 64 > 68", combine_plain },
	{ "tidemark.dispatch_scored_backward", "428 421 64 > 68 64", dispatch_scored_backward },
	{ "tidemark.combine_plain_backward", "68 64 > 428", combine_plain_backward },
	{ "tidemark.swiglu_scaled", "428 428 421 > 428", swiglu_scaled },
	{ "tidemark.swiglu_scaled_backward", "428 428 428 421 > 428 428 421", swiglu_scaled_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2486 2482 > 2442 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2442 2446 2486 2482 2442 244 > 2446 2486 2482",
		attention_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2286 2286 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2446 2446 2286 2286 2446 244 > 2446 2286 2286",
		attention_backward },
	{ "tidemark.unpack_rows", "46 41 > 46", elementwise },
	{ "bitsandbytes.optimizer_update_8bit_blockwise", "46 46 46 46 42 42 3 3 > 46", by_element },
	{ "bitsandbytes.optimizer_update_32bit", "46 46 46 46 > 46", elementwise },
	{ "aten.native_group_norm_backward", "2644 2644 22 22 6 > 2644 6 6", group_norm_backward },
	{ "aten.native_layer_norm", "246 6 6 > 246 241 241", by_row },
	{ "onnx.LayerNormalization", "246 6 6 > 246", by_row },
	{ "aten.native_layer_norm_backward", "246 246 241 241 6 6 > 246 6 6", by_row },
	{ "aten._fused_rms_norm", "246 6 > 246 241", by_row },
	{ "onnx.RMSNormalization", "246 6 > 246", by_row },
	{ "aten._fused_rms_norm_backward", "246 246 241 6 > 246 6", by_row },
	{ "aten._scaled_dot_product_flash_attention_for_cpu", "2446 2486 2486 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_for_cpu", "2446 2286 2286 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_for_cpu", "2446 2486 2482 > 2442 244", attention },
	{ "aten._scaled_dot_product_flash_attention_for_cpu", "2446 2286 2286 2148 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_for_cpu", "2446 2186 2186 2148 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_for_cpu_backward", "2446 2446 2486 2486 2446 244 > 2446 2486 2486",
		attention_backward },
	{ "aten._scaled_dot_product_flash_attention_for_cpu_backward", "2446 2446 2286 2286 2446 244 > 2446 2286 2286",
		attention_backward },
	{ "aten._scaled_dot_product_flash_attention_for_cpu_backward", "2442 2446 2486 2482 2442 244 > 2446 2486 2482",
		attention_backward },
	{ "aten._safe_softmax aten._fft_c2c aten._sample_dirichlet", "246 > 246", by_row },
	{ "aten._fft_r2c", "246 > 243", by_row },
	{ "aten._fft_c2r", "243 > 246", by_row },
	{ "aten._softmax aten._log_softmax aten.cumsum onnx.Softmax onnx.LogSoftmax onnx.CumSum softmax", "246 > 246",
		by_row },
	{ "aten._softmax_backward_data aten._log_softmax_backward_data", "246 246 > 246", by_row },
	{ "aten.glu", "246 > 243", by_row },
	{ "aten.glu_backward", "243 246 > 246", by_row },
	{ "aten.topk", "246 > 243 243", by_row },
	{ "onnx.TopK", "246 > 243 243", by_row },
	{ "aten.sort", "246 > 246 246", by_row },
	{ "aten.scatter", "246 243 243 > 246", by_row },
	{ "aten.gather", "46 43 > 43", by_row },
	{ "aten.native_batch_norm aten._native_batch_norm_legit", "2444 4 4 4 4 > 2444 4 4", batch_norm },
	{ "onnx.BatchNormalization", "2444 4 4 4 4 > 2444", batch_norm },
	{ "aten.native_batch_norm_backward", "2444 2444 4 4 4 4 4 > 2444 4 4", batch_norm },
	{ "aten.native_group_norm", "2644 6 6 > 2644 22 22", group_norm },
	{ "aten.nll_loss_forward", "46 4 > - -", nll_loss },
	{ "aten.cross_entropy_loss onnx.NegativeLogLikelihoodLoss onnx.SoftmaxCrossEntropyLoss", "46 4 > -", nll_loss },
	{ "aten.nll_loss_backward", "- 46 4 - > 46", nll_loss_backward },
	{ "aten.nll_loss2d_forward aten.nll_loss_forward", "4622 422 > - -", nll_loss },
	{ "aten.nll_loss2d_backward aten.nll_loss_backward", "- 4622 422 - > 4622", nll_loss_backward },
	{ "tidemark.cross_entropy", "46 4 > -", cross_entropy },
	{ "tidemark.causal_conv", "246 613 6 > 246", by_first },
	{ "tidemark.causal_conv", "246 613 > 246", by_first },
	{ "tidemark.causal_conv_backward", "246 246 613 > 246 613 6", by_first },
	{ "tidemark.linear_attention", "2468 2468 2463 246 246 > 2463", by_first },
	{ "tidemark.linear_attention", "2468 2468 2463 2468 246 > 2463", by_first },
	{ "tidemark.linear_attention", "2468 2468 2463 > 2463", by_first },
	{ "tidemark.linear_attention_backward", "2463 2468 2468 2463 > 2468 2468 2463", by_first },
	{ "tidemark.linear_attention_backward", "2463 2468 2468 2463 2468 246 > 2468 2468 2463 2468 246", by_first },
	{ "tidemark.linear_attention_backward", "2463 2468 2468 2463 246 246 > 2468 2468 2463 246 246", by_first },
	{ "tidemark.state_space", "2468 246 243 243 6 6 6 > 2468", by_first },
	{ "tidemark.state_space_backward", "2468 2468 246 243 243 6 6 6 > 2468 246 243 243 6 6 6", by_first },
	{ "tidemark.selective_scan", "246 246 63 243 243 6 > 246", by_first },
	{ "tidemark.selective_scan_backward", "246 246 246 63 243 243 6 > 246 246 63 243 243 6", by_first },
	{ "tidemark.index_topk", "2468 248 246 > 243", by_first },
	{ "tidemark.cross_entropy_backward", "- 46 4 > 46", cross_entropy_backward },
	{ "aten.mse_loss mse_loss aten.smooth_l1_loss aten.binary_cross_entropy_with_logits", "46 46 > -", mean_loss },
	{ "aten.mse_loss_backward aten.smooth_l1_loss_backward aten.binary_cross_entropy_with_logits_backward",
		"- 46 46 > 46", mean_loss_backward },
	{ "aten.embedding", "86 24 > 246", embedding },
	{ "aten.embedding_dense_backward", "246 24 > 86", scatter_rows },
	{ "aten.index_put aten._index_put_impl", "86 4 46 > 86", scatter_rows },
	{ "aten.index aten.index_select onnx.Gather", "86 24 > 246", gather_rows },
	{ "conv_backward_input", "2633 2444 6422 > 2444", convolution_to_input },
	{ "conv_backward_weight", "2633 2444 > 6422", convolution_to_weight },
	{ "matmul_backward_input", "46 86 > 48", product_to_left },
	{ "matmul_backward_input", "246 86 > 248", product_to_left },
	{ "matmul_backward_weight", "46 48 > 68", product_to_right },
	{ "pool_backward upsample_backward interpolate_backward", "2444 > 2422", by_plane },
	{ "matmul_backward", "248 246 68 > 246 68", product_backward },
	{ "matmul_backward", "48 46 68 > 46 68", product_backward },
	{ "matmul_backward", "248 246 268 > 246 268", product_backward },
	{ "matmul_backward", "48 46 > 68", product_to_weight },
	{ "matmul_backward", "48 68 > 46", product_to_left },
	{ "loss", "46 46 > -", mean_loss },
	{ "conv conv2d", "2444 6422 6 > 2633", convolution },
	{ "pool avg_pool max_pool max_pool2d upsample interpolate", "2444 > 2422", by_plane },
	{ "aten.max_pool2d_with_indices", "2444 > 2422 2422", by_plane },
	{ "onnx.MaxPool onnx.AveragePool aten.avg_pool2d aten._adaptive_avg_pool2d", "2444 > 2422", by_plane },
	{ "aten.max_pool2d_with_indices_backward", "2422 2444 2422 > 2444", by_plane },
	{ "aten.avg_pool2d_backward aten._adaptive_avg_pool2d_backward", "2422 2444 > 2444", by_plane },
	{ "aten.upsample_nearest2d aten.upsample_bilinear2d aten.upsample_bicubic2d aten._upsample_nearest_exact2d "
	  "aten._upsample_bilinear2d_aa onnx.Resize",
		"2422 > 2444", by_plane },
	{ "aten.upsample_nearest2d_backward aten.upsample_bilinear2d_backward aten.upsample_bicubic2d_backward "
	  "aten._upsample_nearest_exact2d_backward "
	  "aten._upsample_bilinear2d_aa_backward",
		"2444 > 2422", by_plane },
	{ "aten.upsample_nearest1d aten.upsample_linear1d", "242 > 244", by_row },
	{ "aten.upsample_nearest1d_backward aten.upsample_linear1d_backward", "244 > 242", by_row },
	{ "onnx.InstanceNormalization", "2644 6 6 > 2644", instance_norm },
	{ "onnx.GroupNormalization", "2644 6 6 > 2644", by_sample },
	{ "aten.vdot", "6 6 > -", vector_product },
	{ "aten.addmv", "4 46 6 > 4", vector_product },
	{ "aten._scaled_mm", "46 62 > 42", mm },
	{ "aten._grouped_mm", "46 262 2 > 42", grouped_product },
	{ "aten._grouped_mm", "246 268 > 248", mm },
	{ "aten._cdist_forward", "246 286 > 248", distances },
	{ "aten._cdist_backward", "248 246 286 248 > 246", by_first },
	{ "aten._scaled_dot_product_efficient_attention aten._scaled_dot_product_fused_attention_overrideable",
		"2446 2486 2486 > 2446 244", attention },
	{ "aten._scaled_dot_product_efficient_attention aten._scaled_dot_product_fused_attention_overrideable",
		"2446 2286 2286 > 2446 244", attention },
	{ "aten._scaled_dot_product_efficient_attention", "2446 2486 2482 > 2442 245", attention },
	{ "aten._scaled_dot_product_cudnn_attention", "2446 2486 2482 > 2442 2441", attention },
	{ "aten._scaled_dot_product_efficient_attention_backward "
	  "aten._scaled_dot_product_fused_attention_overrideable_backward",
		"2446 2446 2486 2486 2446 244 > 2446 2486 2486", attention_backward },
	{ "aten._scaled_dot_product_efficient_attention_backward", "2442 2446 2486 2482 2442 245 > 2446 2486 2482",
		attention_backward },
	{ "aten._scaled_dot_product_cudnn_attention_backward", "2446 2446 2486 2486 2446 2441 > 2446 2486 2486",
		attention_backward },
	{ "aten.cudnn_batch_norm aten._batch_norm_with_update aten.miopen_batch_norm "
	  "aten._native_batch_norm_legit_functional",
		"2444 4 4 4 4 > 2444 4 4", batch_norm },
	{ "aten._native_batch_norm_legit_no_training", "2444 4 4 4 4 > 2444 0 0", by_affine },
	{ "aten.native_batch_norm", "2444 4 4 4 4 > 2444 0 0", by_affine },
	{ "aten.cudnn_batch_norm_backward aten.batch_norm_backward aten.miopen_batch_norm_backward",
		"2444 2444 4 4 4 4 4 > 2444 4 4", batch_norm },
	{ "aten._weight_norm_interface", "246 211 > 246 211", by_first },
	{ "aten._weight_norm_interface_backward", "24 24 21 21 > 24 21", by_first },
	{ "aten.huber_loss aten.soft_margin_loss aten.binary_cross_entropy", "46 46 > -", mean_loss },
	{ "aten.huber_loss_backward aten.soft_margin_loss_backward aten.binary_cross_entropy_backward", "- 46 46 > 46",
		mean_loss_backward },
	{ "aten._ctc_loss", "426 23 > 2 247", by_second },
	{ "aten._ctc_loss_backward", "2 426 23 2 247 > 426", by_second },
	{ "aten.scatter_add aten.scatter_reduce", "246 243 243 > 246", by_row },
	{ "aten.searchsorted", "46 43 > 43", by_row },
	{ "..., v^ -> ...", "246 3 > 246", by_blocks },
	{ "aten._embedding_bag", "86 4 2 > 26 4 2 2", by_column },
	{ "aten._embedding_bag_dense_backward", "26 4 4 2 2 > 86", by_column },
	{ "aten.index_add", "86 4 46 > 86", scatter_rows },
	{ "aten.index_add", "243 5 253 > 243", by_first },
	{ "aten.index_add", "2358 7 2357 > 2358", by_first },
	{ "aten.masked_scatter", "246 246 36 > 246", by_first },
	{ "aten.slice_scatter", "246 242 > 246", by_first },
	{ "aten.select_scatter", "246 26 > 246", select_scatter },
	{ "aten.select_scatter", "246 24 > 246", select_scatter },
	{ "aten.select_scatter", "2468 246 > 2468", select_scatter },
	{ "aten.select_scatter", "446 46 > 446", select_scatter },
	{ "aten.select_scatter", "246 46 > 246", select_scatter },
	{ "aten.masked_scatter_backward", "246 246 > 8", by_first },
	{ "aten.index_fill", "246 3 > 246", by_first },
	{ "aten.index_copy", "246 3 243 > 246", by_first },
	{ "aten.linalg_matrix_exp", "244 > 244", by_first },
	{ "aten.masked_scatter_backward", "246 246 > 83", by_first },
	{ "aten._embedding_bag_backward", "26 4 2 4 2 2 > 86", by_column },
	{ "aten.histc", "46 > 8", by_first },
	{ "prims.inductor_lookup_seed", "4 > -", by_first },
	{ "aten._unsafe_masked_index_put_accumulate", "86 241 24 246 > 86", scatter_rows },
	{ "aten._unsafe_index_put", "86 4 46 > 86", scatter_rows },
	{ "aten._unsafe_index", "86 24 > 246", gather_rows },
	{ "b c y~.. -> b c y..", "2422 > 2444", by_plane },
	{ "b c y.. -> b c y~..", "2422 > 2444", by_plane },
	{ "b c y~.. -> b c y.., b c y..", "2444 > 2422 2422", by_plane },
	{ "b c y.., b c y~.. -> b c y~..", "2422 2444 > 2444", by_plane },
	{ "b c y.., b c y~.., b c y.. -> b c y~..", "2422 2444 2422 > 2444", by_plane },
	{ "aten.max_unpool2d aten.max_unpool3d", "2422 2422 > 2444", by_plane },
	{ "aten.im2col", "2246 > 283", by_channel_of_fewer },
	{ "aten.im2col", "2251 > 244", by_channel_of_fewer },
	{ "aten.col2im", "283 > 2246", by_channel_of_fewer },
	{ "aten.pixel_shuffle", "2822 > 2244", by_channel_of_fewer },
	{ "b c^ x^.. -> b c x..", "2444 > 2444", by_first },
	{ "aten.pixel_unshuffle", "2244 > 2822", by_channel_of_fewer },
	{ "aten.grid_sampler_2d", "2444 2222 > 2422", grid_sample },
	{ "aten.grid_sampler_2d_backward", "2422 2444 2222 > 2444 2222", grid_sample_backward },
	{ "aten._thnn_fused_lstm_cell", "48 48 42 8 8 > 42 42 48", by_first },
	{ "aten._thnn_fused_lstm_cell_backward_impl", "42 42 42 42 48 > 48 42 8", by_first },
	{ "aten._thnn_fused_gru_cell", "43 43 41 3 3 > 41 45", by_first },
	{ "aten._thnn_fused_gru_cell_backward", "41 45 > 43 43 41 3 3", by_first },
	{ "aten.mkldnn_rnn_layer", "326 86 84 8 8 24 24 > 324 24 24", by_sample_in_time },
	{ "aten.mkldnn_rnn_layer", "326 86 84 86 84 24 24 > 324 24 24", by_sample_in_time },
	{ "aten.mkldnn_rnn_layer_backward", "326 86 84 86 84 24 24 324 24 24 324 > 326 86 84 8 24 24", by_sample_in_time },
	{ "aten._trilinear", "46 826 42 > 48", by_first },
	{ "aten._trilinear", "46 48 42 > 862", by_first },
	{ "aten.mkldnn_rnn_layer_backward", "326 86 84 8 8 24 24 324 24 24 324 24 24 > 326 86 84 8 24 24",
		by_sample_in_time },
	{ "aten.mkldnn_rnn_layer_backward", "324 24 24 326 86 84 8 8 24 24 324 24 24 > 326 86 84 8 8 24 24",
		by_sample_in_time },
	{ "aten._cudnn_rnn", "326 86 84 8 8 124 124 > 324 124 124", by_sample_in_time },
	{ "aten._cudnn_rnn", "326 86 84 124 > 324 124", by_sample_in_time },
	{ "aten._cudnn_rnn_backward", "326 86 84 8 8 124 124 324 324 124 124 5 > 326 124 124 86 84 8 8",
		by_sample_in_time },
	{ "aten._pack_padded_sequence", "323 2 > 63 3", by_features },
	{ "aten._pack_padded_sequence", "233 2 > 63 3", by_features },
	{ "aten.addbmm", "42 246 262 > 42", summed_products },
	{ "aten.addr", "46 4 6 > 46", outer_product },
	{ "aten._pdist_forward", "46 > 6", by_first },
	{ "aten._pdist_backward", "6 46 6 > 46", by_first },
	{ "aten.dist", "46 46 > -", by_first },
	{ "aten.multi_margin_loss", "46 4 > -", nll_loss },
	{ "aten.multi_margin_loss_backward", "- 46 4 > 46", cross_entropy_backward },
	{ "aten.multi_margin_loss_backward", "4 46 4 > 46", by_first },
	{ "aten.multilabel_margin_loss_forward", "46 46 > - 46", by_first },
	{ "aten.multilabel_margin_loss_backward", "4 46 46 46 > 46", by_first },
	{ "aten.index_reduce", "246 3 243 > 246", by_first },
	{ "aten.take", "46 24 > 24", gather_flat },
	{ "aten.put", "46 3 3 > 46", by_first },
	{ "aten.embedding_renorm", "86 24 > 86", by_first },
	{ "aten._embedding_bag_per_sample_weights_backward", "26 86 4 2 2 > 4", by_columns },
	{ "aten.segment_reduce", "46 3 > 36", by_columns },
	{ "aten.segment_reduce", "46 5 > 36", by_columns },
	{ "aten._segment_reduce_backward", "36 36 46 3 > 46", by_columns },
	{ "aten.diagonal_scatter", "244 24 > 244", by_first },
	{ "aten.diagonal_scatter", "245 24 > 245", by_first },
	{ "aten.as_strided_scatter", "246 24 > 246", by_first },
	{ "aten.fractional_max_pool2d aten.fractional_max_pool3d", "2444 242 > 2422 2422", by_plane },
	{ "aten.grid_sampler_3d", "22444 22223 > 22222", grid_sample },
	{ "aten.grid_sampler_3d_backward", "22222 22444 22223 > 22444 22223", grid_sample_backward },
	{ "aten.affine_grid_generator", "223 > 2442", by_first },
	{ "aten.affine_grid_generator", "234 > 22443", by_first },
	{ "aten.trace", "46 > -", by_first },
	{ "aten.bincount", "4 > 8", by_first },
	{ "aten.renorm", "246 > 246", by_first },
	{ "aten.linalg_cross", "243 243 > 243", by_first },
	{ "aten.triangular_solve", "246 244 > 246 244", by_first },
	{ "aten.cholesky_solve", "246 244 > 246", by_first },
	{ "aten.cholesky_inverse", "244 > 244", by_first },
	{ "aten.linalg_lu_factor_ex", "246 > 246 24 2", by_first },
	{ "aten.linalg_lu", "246 > 244 244 246", by_first },
	{ "aten.lu_unpack", "246 24 > 244 244 246", by_first },
	{ "aten.linalg_lu_solve", "244 24 246 > 246", by_first },
	{ "aten.linalg_ldl_factor_ex", "244 > 244 24 2", by_first },
	{ "aten.linalg_ldl_solve", "244 24 246 > 246", by_first },
	{ "aten.linalg_pinv", "246 - - > 264", by_first },
	{ "aten.linalg_eig", "244 > 24 244", by_first },
	{ "aten.linalg_householder_product", "264 24 > 264", by_first },
	{ "aten.geqrf", "246 > 246 24", by_first },
	{ "aten.ormqr", "264 24 263 > 263", by_first },
	{ "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams", "46 1 1 1 > 46 46", elementwise },
	{ "aten.fake_quantize_per_channel_affine_cachemask", "46 4 4 > 46 46", by_scales },
	{ "aten.fake_quantize_per_channel_affine_cachemask", "246 4 4 > 246 246", by_scales },
	{ "aten._fake_quantize_learnable_per_channel_affine", "46 4 4 > 46", by_scales },
	{ "aten._fake_quantize_learnable_per_channel_affine", "246 4 4 > 246", by_scales },
	{ "aten._fake_quantize_learnable_per_channel_affine_backward", "46 46 4 4 > 46 4 4", by_first },
	{ "aten._fake_quantize_learnable_per_tensor_affine", "46 1 1 > 46", elementwise },
	{ "aten._fake_quantize_learnable_per_tensor_affine_backward", "46 46 1 1 > 46 1 1", by_first },
	{ "aten._fused_moving_avg_obs_fq_helper", "46 1 1 - - 1 1 > 46 46", by_first },
	{ "aten.diag_embed", "24 > 244", by_first },
	{ "aten.diagonal_copy", "244 > 24", by_first },
	{ "aten.diagonal aten.diagonal_copy", "246 > 24", by_first },
	{ "aten.rot90", "264 > 246", by_first },
	{ "aten.rot90", "246 > 246", by_first },
	{ "aten.rot90", "46 > 64", by_first },
	{ "aten.multinomial", "246 > 243", by_row },
	{ "aten.cumprod aten.logcumsumexp", "246 > 246", by_row },
	{ "aten.cummax aten.cummin", "246 > 246 246", by_row },
	{ "aten.linalg_inv_ex aten.linalg_cholesky_ex", "244 > 244 2", by_first },
	{ "aten.linalg_qr", "264 > 264 244", by_first },
	{ "aten._linalg_svd", "264 > 264 24 244", by_first },
	{ "aten._linalg_eigh", "244 > 24 244", by_first },
	{ "aten._linalg_det", "244 > 2 244 24", by_first },
	{ "aten._linalg_slogdet", "244 > 2 2 244 24", by_first },
	{ "aten._linalg_solve_ex", "244 246 > 246 244 24 2", by_first },
	{ "aten.linalg_solve_triangular", "244 246 > 246", by_first },
	{ "b n^.. -> b n..", "246 > 246", by_first },
	{ "aten._fft_r2c", "246 > 243", by_first },
	{ "aten._fft_c2r", "243 > 246", by_first },
	{ "... e! -> ...", "462 > 46", by_blocks },
	{ "... -> ... e!", "46 > 462", by_blocks },
	{ "aten.diagonal", "244 > 24", by_first },
	{ "aten.diagonal_backward", "24 > 244", by_first },
	{ "aten.diagonal_backward", "23 > 245", by_first },
	{ "aten.unfold", "2463 > 24332", by_windows },
	{ "aten.unfold_backward", "24332 > 2463", by_windows },
	{ "aten.unfold", "246 > 2432", by_lead },
	{ "aten.unfold_backward", "2432 > 246", by_lead },
	{ "@reduce+", "246 > 146", reduce },
	{ "@reduce+", "246 > 6", reduce },
	{ "@reduce+", "246 > 241", reduce },
	{ "@reduce^", "246 > 146", reduce },
	{ "@reduce^", "246 > 6", reduce },
	{ "@reduce^2", "246 > 146", reduce },
	{ "@move", "246 > 246", by_first },
	{ "@move2", "246 > 246", by_first },
	{ "...* -> ...*", "246 246 > 246", elementwise },
	{ "...* -> ...*", "246 46 6 > 246 246", elementwise },
	{ "...* -> ...*", "216 46 - > 246", elementwise },
	{ "... -> ...", "246 > 246", copy },
	{ "..., ?, ? -> ..., ?...", "246 - > 246", elementwise },
	{ "..., ? -> ...", "246 > 246", copy },
	{ "@reshape", "246 > 86", copy },
	{ "@reshape", "86 > 246", copy },
	{ "@reshape", "246 > 2146", copy },
	{ "m n -> n m | m -> m", "46 > 64", permute },
	{ "@permute", "246 > 264", permute },
	{ "@permute", "2468 > 8246", permute },
	{ "@expand", "216 > 246", expand },
	{ "@expand", "46 > 246", expand },
	{ "@slice", "286 > 246", cut },
	{ "@select", "286 > 26", cut },
	{ "@split", "286 > 246 226 226", cut },
	{ "@unbind", "236 > 26 26 26", cut },
	{ "@pad", "246 > 286", join },
	{ "@pad", "286 > 246", cut },
	{ "@place", "26 > 286", join },
	{ "@cat", "246 226 > 266", join },
	{ "@stack", "26 26 26 > 236", join },
};

/* Ops whose arguments name dims, which the kernels read here, too. */
struct told_case { struct soundness_case at; int item; const char *dims; };

static const char *told_dims;

static bool is_told(int dim)
{
	return strchr(told_dims, '0' + dim) != NULL;
}

/* Elements in the opposite order along the dims. */
static void turn(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(x); i++) {
		int64_t left = i, place = 0, step = 1;
		for (int d = x->dims; d-- > 0; left /= x->shape[d]) {
			int64_t at = left % x->shape[d];
			place += (is_told(d) ? x->shape[d] - 1 - at : at) * step;
			step *= x->shape[d];
		}
		y->value[place] = x->value[i];
	}
}

static void add_up(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(x); i++) {
		int64_t left = i, place = 0, step = 1;
		for (int d = x->dims; d-- > 0; left /= x->shape[d])
			if (!is_told(d)) {
				place += left % x->shape[d] * step;
				step *= x->shape[d];
			}
		y->value[place] += x->value[i];
	}
}

static const struct told_case told_cases[] = {
	{ { "aten.flip", "246 > 246", turn }, 1, "0" },
	{ { "aten.flip", "246 > 246", turn }, 1, "1" },
	{ { "aten.flip", "246 > 246", turn }, 1, "02" },
	{ { "aten.roll", "246 > 246", turn }, 2, "0" },
	{ { "aten.roll", "246 > 246", turn }, 2, "12" },
	{ { "aten.sum aten.amax", "44 > 4", add_up }, 1, "0" },
	{ { "aten.sum aten.amax", "44 > 4", add_up }, 1, "1" },
	{ { "aten.sum", "2444 > 244", add_up }, 1, "2" },
	{ { "aten.sum", "244 > 141", add_up }, 1, "02" },
	{ { "aten.linalg_vector_norm aten.norm", "444 > 44", add_up }, 2, "0" },
	{ { "aten.norm", "444 > 4", add_up }, 2, "02" },
};

/* ---- the machinery --------------------------------------------------------------------------- */

static struct array whole[TENSORS], part[TENSORS], joined[TENSORS];

static void read_shapes(const char *text, int *operands, int *tensors)
{
	*operands = *tensors = 0;
	for (; *text; text++) {
		if (*text == ' ')
			continue;
		if (*text == '>') {
			*operands = *tensors;
			continue;
		}
		struct array *array = &whole[(*tensors)++];
		*array = (struct array) { 0 };
		for (; *text && *text != ' '; text++)
			if (*text != '-')
				array->shape[array->dims++] = *text - '0';
		text -= *text == '\0';
	}
}

static int64_t part_size(const struct binding *binding, uint32_t factor, uint32_t split)
{
	int64_t size = binding->factor[factor].size;
	return factor == split ? size / 2 : size;
}

/* Where an element of one half lies in the whole tensor. */
static int64_t place_in_whole(const struct binding *binding, uint32_t tensor, uint32_t split, int half, int64_t index)
{
	int64_t place = 0, step = 1;
	for (uint32_t dim = binding->dim_start[tensor + 1]; dim-- > binding->dim_start[tensor];)
		for (uint32_t i = binding->dim[dim].count; i-- > 0;) {
			uint32_t factor = binding->part[binding->dim[dim].first + i];
			int64_t size = part_size(binding, factor, split), at = index % size;
			index /= size;
			place += (at + (factor == split ? half * size : 0)) * step;
			step *= binding->factor[factor].size;
		}
	return place;
}

static bool carries(const struct binding *binding, uint32_t tensor, uint32_t factor)
{
	for (uint32_t dim = binding->dim_start[tensor]; dim < binding->dim_start[tensor + 1]; dim++)
		for (uint32_t i = 0; i < binding->dim[dim].count; i++)
			if (binding->part[binding->dim[dim].first + i] == factor)
				return true;
	return false;
}

/* Shapes of all tensors and values of the operands for one half. */
static void take_half(const struct binding *binding, uint32_t split, int half)
{
	for (uint32_t t = 0; t < binding->tensors; t++) {
		part[t] = (struct array) { .dims = whole[t].dims };
		for (int d = 0; d < whole[t].dims; d++) {
			const struct binding_dim *dim = &binding->dim[binding->dim_start[t] + (uint32_t)d];
			part[t].shape[d] = whole[t].shape[d];
			for (uint32_t i = 0; i < dim->count; i++)
				if (binding->part[dim->first + i] == split)
					part[t].shape[d] /= 2;
		}
		bool added_elsewhere = half == 1 && binding->addends >> t & 1 && !carries(binding, t, split)
			&& binding->factor[split].marks & FACTOR_REDUCED;
		for (int64_t i = 0; t < binding->operands && !added_elsewhere && i < count(&part[t]); i++)
			part[t].value[i] = whole[t].value[place_in_whole(binding, t, split, half, i)];
	}
}

static void check_split(
	const struct rule *rule, const struct soundness_case *at, const struct binding *binding, uint32_t split)
{
	struct call call = { (int)binding->operands, (int)(binding->tensors - binding->operands), 0, part, whole };
	memset(joined, 0, sizeof joined);
	for (int half = 0; half < 2; half++) {
		take_half(binding, split, half);
		call.half = half;
		at->execute(&call);
		for (uint32_t t = binding->operands; t < binding->tensors; t++)
			for (int64_t i = 0; i < count(&part[t]); i++) {
				bool shard = carries(binding, t, split), sum = binding->factor[split].marks & FACTOR_REDUCED;
				if (!shard && !sum)
					cr_assert_float_eq(part[t].value[i], whole[t].value[i], 1e-9,
						"%s \"%s\" [%s]: result %u differs without factor %u", rule->type, rule->factors, at->shapes,
						t - binding->operands, split);
				joined[t].value[shard ? place_in_whole(binding, t, split, half, i) : i] += part[t].value[i] /
					(shard || sum ? 1 : 2);
			}
	}
	for (uint32_t t = binding->operands; t < binding->tensors; t++)
		for (int64_t i = 0; i < count(&whole[t]); i++)
			cr_assert_float_eq(joined[t].value[i], whole[t].value[i], 1e-9,
				"%s \"%s\" [%s]: result %u split along factor %u isn't the whole", rule->type, rule->factors,
				at->shapes, t - binding->operands, split);
}

static bool can_split(const struct binding *binding, uint32_t factor)
{
	const struct binding_factor *at = &binding->factor[factor];
	bool fine = at->size % 2 == 0 && at->size > 0 &&
		!(at->marks & (FACTOR_WHOLE | FACTOR_FORBIDDEN | FACTOR_WINDOW | FACTOR_UNIT));
	for (uint32_t i = 0; i < binding->links; i++)
		fine &= binding->link[i].kind != LINK_WINDOW || binding->link[i].to != factor;
	return fine;
}

/* Kernels' widths: y~k has the factor k, which is no window itself; splitting it isn't sharding. */
static bool is_kernel(const struct rule *rule, const struct binding *binding, uint32_t factor)
{
	bool convolution_rule = strstr(rule->factors, "~k");
	uint32_t weight = strstr(rule->type, "backward") ? 2 : 1;
	return convolution_rule && carries(binding, weight, factor) && !carries(binding, 0, factor)
		&& !(carries(binding, binding->tensors - 1, factor));
}

static uint32_t check_case(
	const struct rule *rule, const struct soundness_case *at, const struct arguments *arguments, uint64_t *state)
{
	int operands, tensors;
	read_shapes(at->shapes, &operands, &tensors);
	struct rule_tensor tensor[TENSORS];
	for (int t = 0; t < tensors; t++) {
		tensor[t] = (struct rule_tensor) { whole[t].shape, whole[t].dims };
		for (int64_t i = 0; t < operands && i < count(&whole[t]); i++)
			whole[t].value[i] = (double)(random_next(state) % 1000) / 100;
	}
	struct binding binding = { .arguments = arguments };
	struct error error = { 0 };
	enum status status = rule_bind(
		rule, tensor, (uint32_t)operands, (uint32_t)(tensors - operands), false, &binding, &error);
	cr_assert_eq(status, OK, "%s [%s]: %s", rule->type, at->shapes, error.text);
	struct call call = { operands, tensors - operands, 0, whole, whole };
	at->execute(&call);
	uint32_t checked = 0;
	for (uint32_t factor = 0; factor < binding.factors; factor++)
		if (can_split(&binding, factor) && !is_kernel(rule, &binding, factor)) {
			check_split(rule, at, &binding, factor);
			checked++;
		}
	binding_free(&binding);
	return checked;
}

static bool is_case_of(const struct soundness_case *at, const struct rule *rule)
{
	if (!at->execute)
		return false;
	if (strstr(at->types, "->") || at->types[0] == '@')
		return strcmp(at->types, rule->factors) == 0;
	size_t length = strlen(rule->type);
	for (const char *found = strstr(at->types, rule->type); found; found = strstr(found + 1, rule->type))
		if ((found == at->types || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0'))
			return true;
	return false;
}

Test(soundness, sharded_ops_give_what_the_whole_op_gives)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed(), state = seed;
	uint32_t splits = 0, ops = 0, bare = 0;
	const struct rule *rule;
	for (uint32_t r = 0; (rule = rules_at(rules, r)); r++) {
		uint32_t found = 0;
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
			if (is_case_of(&cases[i], rule)) {
				splits += check_case(rule, &cases[i], NULL, &state);
				found++;
			}
		bool nothing = strcmp(rule->factors, "@opaque") == 0 || strcmp(rule->factors, "@source") == 0;
		if (found == 0 && !nothing) {
			fprintf(stderr, "%s has no case\n", rule->type);
			bare++;
		}
		ops += found > 0;
	}
	cr_assert_gt(splits, 200, "seed %lu: only %u splits were checked", seed, splits);
	cr_assert_leq(bare, 0, "%u rules of %u were never executed", bare, ops + bare);
}

/* Nothing but dims that a rule calls whole may hold an op back: every other one is split. */
Test(soundness, ops_whose_arguments_name_dims_are_split_along_the_others)
{
	struct rules *rules = test_rules();
	uint64_t state = test_seed();
	for (size_t i = 0; i < sizeof told_cases / sizeof *told_cases; i++) {
		const struct told_case *told = &told_cases[i];
		struct argument value[8] = { { .key = "args", .kind = ARGUMENT_LIST }, { .kind = ARGUMENT_TENSOR, .text = "x" },
			{ .kind = ARGUMENT_NUMBER, .text = "1" } };
		struct argument *list = value + 1 + told->item;
		char digit[8][2];
		uint32_t dims = (uint32_t)strlen(told->dims), splits = 0;
		*list = (struct argument){ .kind = ARGUMENT_LIST, .within = dims };
		for (uint32_t d = 0; d < dims; d++) {
			snprintf(digit[d], 2, "%c", told->dims[d]);
			list[1 + d] = (struct argument){ .kind = ARGUMENT_NUMBER, .text = digit[d] };
		}
		value[0].within = (uint32_t)told->item + 1 + dims;
		struct arguments arguments = { value, value[0].within + 1 };
		told_dims = told->dims;
		const struct rule *rule;
		for (uint32_t r = 0; (rule = rules_at(rules, r)); r++)
			if (is_case_of(&told->at, rule))
				splits += check_case(rule, &told->at, &arguments, &state);
		cr_assert_gt(splits, 0, "%s [%s] along %s", told->at.types, told->at.shapes, told->dims);
	}
}

/* As many channels on both sides: the argument behind dilation says that it is transposed. */
Test(soundness, transposed_convolutions_are_told_by_their_argument)
{
	static const struct soundness_case told[] = { { "aten.convolution", "2422 4222 4 > 2433", transposed_convolution },
		{ "aten.convolution", "2422 4422 4 > 2433", transposed_convolution },
		{ "aten.convolution_backward", "2433 2422 4222 > 2422 4222 4", transposed_convolution_backward } };
	struct rules *rules = test_rules();
	uint64_t state = test_seed();
	for (int i = 0; i < 3; i++) {
		uint32_t items = i < 2 ? 7 : 8;
		struct argument value[9] = { { .key = "args", .kind = ARGUMENT_LIST, .within = items } };
		value[items].kind = ARGUMENT_TRUE;
		const struct arguments arguments = { value, items + 1 };
		cr_assert_gt(check_case(rules_find(rules, told[i].types), &told[i], &arguments, &state), 0);
	}
}
