/* plain.c: the rules of operators in plain words, which lessons and graphs written by hand use: conv, matmul, relu ...
 */
#include "rules.h"

#define ANY "...* -> ...*" /* elementwise, any number of operands */
#define ELEMENTWISE(name, gradients, saved, backward) { name, ANY, COST_ELEMENT, gradients, saved, backward, 0 }
#define PLAIN(name, factors) { name, factors, COST_ELEMENT, "", "", NULL, 0 }
#define WINDOW(name, saved) { name, "b c y~.. -> b c y..", COST_ELEMENT, "0", saved, NULL, 0 }
/* The second form: a sketch that leaves weights out. */
#define CONVOLUTION(name) \
	{ name, "b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y.. | b c+ y~.. -> b o y..", COST_CONTRACTION, "0 1 2", \
		"i0|1 i1|0", NULL, TRAIT_CONVOLUTION }

const struct rule rules_plain[] = { { "matmul", "... m k+, ... k+ n -> ... m n", COST_CONTRACTION, "0 1", "i0|1 i1|0",
										NULL, TRAIT_PRODUCT },
	{ "linear", "... k+, n k+, ?&n -> ... n", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, 0 }, CONVOLUTION("conv"),
	CONVOLUTION("conv2d"), WINDOW("pool", "i0*"), WINDOW("avg_pool", "i0*"), WINDOW("max_pool", "i0"),
	WINDOW("max_pool2d", "i0"), WINDOW("upsample", ""), WINDOW("interpolate", ""), ELEMENTWISE("relu", "0", "o0", NULL),
	ELEMENTWISE("sigmoid", "0", "o0", NULL), ELEMENTWISE("tanh", "0", "o0", NULL), ELEMENTWISE("gelu", "0", "i0", NULL),
	ELEMENTWISE("add", "*", "", NULL), ELEMENTWISE("sub", "*", "", NULL), ELEMENTWISE("mul", "0 1", "i0|1 i1|0", NULL),
	ELEMENTWISE("div", "0 1", "i0|1 i1", NULL),
	{ "softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", NULL, TRAIT_SOFTMAX | TRAIT_MAXIMA_OF_ROWS },
	{ "mse_loss", "x+.., x+.. -> ", COST_ELEMENT, "0", "i0 i1", NULL, TRAIT_WIDE },
	{ "loss", "b+ x^.. -> | b+ x^.., b+ y^.. -> ", COST_ELEMENT, "*", "", NULL, TRAIT_WIDE },
	{ "cat", "@cat", COST_ELEMENT, "*", "", NULL, 0 }, { "concat", "@cat", COST_ELEMENT, "*", "", NULL, 0 },
	/* what backward passes and updates are called in lessons */
	{ "conv_backward_input", "b (g o+) y.., b (g c) y~k.., (g o+) c k.. -> b (g c) y~k..", COST_CONTRACTION, "", "",
		NULL, 0 },
	{ "conv_backward_weight", "b+ (g o) y+.., b+ (g c) y~k.. -> (g o) c k!..", COST_CONTRACTION, "", "", NULL, 0 },
	{ "matmul_backward_input", "... m n+, ... k n+ -> ... m k", COST_CONTRACTION, "", "", NULL, 0 },
	{ "matmul_backward_weight", "m+ k, m+ n -> k n", COST_CONTRACTION, "", "", NULL, 0 },
	/* as train=eager writes them: of both operands, of the right one, of the left one */
	{ "matmul_backward",
		"...+ m+ n+, ...+ m+ k, k n+ -> ... m k, k n | ... m+ n+, ... m+ k, ... k n+ -> ... m k, ... k n | m+ n, m+ k "
		"-> k n | m n+, k n+ -> m k",
		COST_CONTRACTION, "", "", NULL, 0 },
	PLAIN("pool_backward", "b c y.. -> b c y~.."), PLAIN("upsample_backward", "b c y.. -> b c y~.."),
	PLAIN("interpolate_backward", "b c y.. -> b c y~.."), PLAIN("relu_backward", ANY), PLAIN("gelu_backward", ANY),
	PLAIN("loss_gradient", ANY), PLAIN("mse_loss_backward", ANY), PLAIN("sgd", ANY),
	{ NULL, NULL, COST_NONE, NULL, NULL, NULL, 0 } };
