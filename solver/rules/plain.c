/* plain.c: the rules of operators in plain words, which lessons and graphs written by hand use: conv, matmul, relu ...
 */
#include "rows.h"

const struct rule rules_plain[] = {
	PRODUCT("matmul", "... m k+, ... k+ n -> ... m n", "0 1", "i0|1 i1|0", TRAIT_PRODUCT),
	PRODUCT("linear", "... k+, n k+, ?&n -> ... n", "0 1 2", "i0|1 i1|0"),
	/* the second form: a sketch that leaves weights out */
	PRODUCT("conv conv2d", "b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y.. | b c+ y~.. -> b o y..", "0 1 2",
		"i0|1 i1|0", TRAIT_CONVOLUTION),
	KERNEL("pool avg_pool", "b c y~.. -> b c y..", "0", "i0*"),
	KERNEL("max_pool max_pool2d", "b c y~.. -> b c y..", "0", "i0"),
	KERNEL("upsample interpolate", "b c y~.. -> b c y..", "0"),
	KERNEL("relu sigmoid tanh", ANY, "0", "o0"),
	KERNEL("gelu", ANY, "0", "i0"),
	KERNEL("add sub", ANY, "*"),
	KERNEL("mul", ANY, "0 1", "i0|1 i1|0"),
	KERNEL("div", ANY, "0 1", "i0|1 i1"),
	KERNEL("softmax", "... v^ -> ... v", "0", "o0", TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS),
	KERNEL("mse_loss", "x+.., x+.. -> ", "0", "i0 i1", TRAIT_WIDE),
	MOVE("loss", "b+ x^.. -> | b+ x^.., b+ y^.. -> ", TRAIT_WIDE),
	MOVE("cat concat", "@cat", 0),
	/* what backward passes and updates are called in lessons */
	PRODUCT("conv_backward_input", "b (g o+) y.., b (g c) y~k.., (g o+) c k.. -> b (g c) y~k.."),
	PRODUCT("conv_backward_weight", "b+ (g o) y+.., b+ (g c) y~k.. -> (g o) c k!.."),
	PRODUCT("matmul_backward_input", "... m n+, ... k n+ -> ... m k"),
	PRODUCT("matmul_backward_weight", "m+ k, m+ n -> k n"),
	/* as train=eager writes them: of both operands, of the right one, of the left one */
	PRODUCT("matmul_backward", "...+ m+ n+, ...+ m+ k, k n+ -> ... m k, k n | ... m+ n+, ... m+ k, ... k n+ -> ... m "
		"k, ... k n | m+ n, m+ k -> k n | m n+, k n+ -> m k"),
	KERNEL("pool_backward upsample_backward interpolate_backward", "b c y.. -> b c y~.."),
	KERNEL("relu_backward gelu_backward loss_gradient mse_loss_backward sgd", ANY),
	{ .type = NULL }
};
