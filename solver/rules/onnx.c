/* onnx.c: the rules of ONNX operators.
 *
 * Extra tensors that PyTorch returns and ONNX doesn't (masks, statistics, indices) are saved as "x:". Operands
 * that hold attributes (shapes, axes, pads) take no part: structural rules look at the data operand only.
 */
#include "rules.h"

#define ANY "...* -> ...*"
#define ELEMENTWISE(name, gradients, saved) { "onnx." name, ANY, COST_ELEMENT, gradients, saved, NULL, 0 }
#define VIEW(name, factors) { "onnx." name, factors, COST_NONE, "0", "", NULL, 0 }
#define MOVE(name, factors) { "onnx." name, factors, COST_ELEMENT, "0", "", NULL, 0 }
#define REDUCE(name, factors, saved) { "onnx." name, factors, COST_ELEMENT, "0", saved, NULL, 0 }

const struct rule rules_onnx[] = {
	{ "onnx.MatMul", "... m k+, ... k+ n -> ... m n | ... k+, k+ n -> ... n", COST_CONTRACTION, "0 1", "i0|1 i1|0", NULL, TRAIT_PRODUCT },
	{ "onnx.Gemm", "m k+, n k+, ?&m? n? -> m n | m k+, k+ n, ?&m? n? -> m n | k+ m, k+ n, ?&m? n? -> m n | k+ m, n k+, ?&m? n? -> m n",
		COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, 0 },
	{ "onnx.Conv", "b (g c+) y~k.., (g o) c+ k.., ?&(g o) -> b (g o) y..", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, TRAIT_CONVOLUTION },
	{ "onnx.ConvTranspose", "b (g c+) y.., (g c+) o k.., ?&(g o) -> b (g o) y~k..", COST_CONTRACTION, "0 1 2", "i0|1 i1|0", NULL, 0 },
	{ "onnx.BatchNormalization", "b^ c x^.., c* -> b c x.., c*", COST_ELEMENT, "0 1 2", "i0 i1 x:f32(c) x:f32(c)", NULL, 0 },
	{ "onnx.LayerNormalization", "... h^, h^, ?h^ -> ... h, ?... 1, ?... 1", COST_ELEMENT, "0 1 2", "i0 i1 x:f32(...) x:f32(...)", NULL, 0 },
	{ "onnx.InstanceNormalization", "b c x^.., c, c -> b c x..", COST_ELEMENT, "0 1 2", "i0 i1 x:f32(b c) x:f32(b c)", NULL, 0 },
	{ "onnx.GroupNormalization", "b c^ x^.., c, c -> b c x..", COST_ELEMENT, "0 1 2", "i0 i1", NULL, 0 },
	{ "onnx.RMSNormalization", "... h^, h^ -> ... h", COST_ELEMENT, "0 1", "i0 i1 x:f32(...)", NULL, 0 },
	{ "onnx.Softmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", NULL, 0 },
	{ "onnx.LogSoftmax", "... v^ -> ... v", COST_ELEMENT, "0", "o0", NULL, 0 },
	{ "onnx.SoftmaxCrossEntropyLoss", "n+ v^ x+.., n+ x+.., ?v -> , ?n v x..", COST_ELEMENT, "0", "x:f32(n v) i1", NULL, 0 },
	{ "onnx.NegativeLogLikelihoodLoss", "n+ v^ x+.., n+ x+.., ?v -> ", COST_ELEMENT, "0", "i0* i1", NULL, 0 },
	{ "onnx.LSTM", "t! b i^, d p^ i^, d p^ h^, ?d q^, ?b, ?d b h, ?d b h, ?d r^ -> ?t d b h, ?d b h, ?d b h", COST_CONTRACTION, "0 1 2 3",
		"i0 i1 i2 o0 x:f32(t d b p)", NULL, 0 },
	{ "onnx.GRU", "t! b i^, d p^ i^, d p^ h^, ?d q^, ?b, ?d b h -> ?t d b h, ?d b h", COST_CONTRACTION, "0 1 2 3",
		"i0 i1 i2 o0 x:f32(t d b p)", NULL, 0 },
	{ "onnx.Dropout", "..., ?, ? -> ..., ?...", COST_ELEMENT, "0", "x:bool(...)", NULL, TRAIT_RANDOM },
	{ "onnx.MaxPool", "b c y~.. -> b c y.., ?b c y..", COST_ELEMENT, "0", "i0 x:i64(b c y)", NULL, 0 },
	{ "onnx.AveragePool", "b c y~.. -> b c y..", COST_ELEMENT, "0", "i0*", NULL, 0 },
	{ "onnx.GlobalAveragePool", "@reduce+", COST_ELEMENT, "0", "i0*", NULL, 0 },
	{ "onnx.Resize", "b c y~.., ?p, ?q, ?r -> b c y..", COST_ELEMENT, "0", "", NULL, 0 },
	{ "onnx.Gather", "@gather", COST_ELEMENT, "0", "i1", NULL, 0 },
	{ "onnx.GatherElements", "@opaque", COST_ELEMENT, "0", "i0* i1", NULL, 0 },
	{ "onnx.ScatterElements", "@opaque", COST_ELEMENT, "0 2", "i1", NULL, 0 },
	{ "onnx.TopK", "... n^, ?k -> ... m, ... m", COST_ELEMENT, "0", "o1", NULL, 0 },
	{ "onnx.CumSum", "... n^, ? -> ... n", COST_ELEMENT, "0", "", NULL, 0 },
	REDUCE("ReduceMean", "@reduce+", "i0*"), REDUCE("ReduceSum", "@reduce+", ""), REDUCE("ReduceMax", "@reduce^", "i0 o0"),
	REDUCE("ReduceMin", "@reduce^", "i0 o0"), REDUCE("ReduceProd", "@reduce^", "i0 o0"), REDUCE("ReduceL2", "@reduce^", "i0 o0"),
	REDUCE("ReduceLogSumExp", "@reduce^", "i0 o0"),
	{ "onnx.ArgMax", "@reduce^", COST_ELEMENT, "", "", NULL, 0 },
	VIEW("Reshape", "@reshape"), VIEW("Flatten", "@reshape"), VIEW("Squeeze", "@reshape"), VIEW("Unsqueeze", "@reshape"),
	VIEW("Transpose", "@permute"), VIEW("Expand", "@expand"), VIEW("Slice", "@slice"), VIEW("Split", "@split"),
	VIEW("Identity", "... -> ..."),
	MOVE("Concat", "@cat"), MOVE("Pad", "@pad"), MOVE("Tile", "@expand"), MOVE("Trilu", "..., ? -> ..."), MOVE("Cast", "... -> ..."),
	{ "onnx.Shape", "@source", COST_ELEMENT, "", "", NULL, 0 }, { "onnx.Constant", "@source", COST_ELEMENT, "", "", NULL, 0 },
	{ "onnx.ConstantOfShape", "@source", COST_ELEMENT, "", "", NULL, 0 }, { "onnx.Range", "@source", COST_ELEMENT, "", "", NULL, 0 },
	ELEMENTWISE("Add", "*", ""), ELEMENTWISE("Sub", "*", ""), ELEMENTWISE("Neg", "*", ""), ELEMENTWISE("Sum", "*", ""),
	ELEMENTWISE("Mul", "0 1", "i0|1 i1|0"), ELEMENTWISE("Div", "0 1", "i0|1 i1"), ELEMENTWISE("Where", "1 2", "i0"),
	ELEMENTWISE("Max", "0 1", "i0 i1"), ELEMENTWISE("Min", "0 1", "i0 i1"), ELEMENTWISE("PRelu", "0 1", "i0 i1"),
	ELEMENTWISE("Relu", "0", "o0"), ELEMENTWISE("Sigmoid", "0", "o0"), ELEMENTWISE("Tanh", "0", "o0"), ELEMENTWISE("Exp", "0", "o0"),
	ELEMENTWISE("Sqrt", "0", "o0"), ELEMENTWISE("Reciprocal", "0", "o0"), ELEMENTWISE("Pow", "0", "i0"), ELEMENTWISE("Erf", "0", "i0"),
	ELEMENTWISE("Gelu", "0", "i0"), ELEMENTWISE("Mish", "0", "i0"), ELEMENTWISE("HardSwish", "0", "i0"), ELEMENTWISE("HardSigmoid", "0", "i0"),
	ELEMENTWISE("Elu", "0", "i0"), ELEMENTWISE("LeakyRelu", "0", "i0"), ELEMENTWISE("Softplus", "0", "i0"), ELEMENTWISE("Clip", "0", "i0"),
	ELEMENTWISE("Log", "0", "i0"), ELEMENTWISE("Abs", "0", "i0"), ELEMENTWISE("Sin", "0", "i0"), ELEMENTWISE("Cos", "0", "i0"),
	ELEMENTWISE("Not", "", ""), ELEMENTWISE("And", "", ""), ELEMENTWISE("Or", "", ""), ELEMENTWISE("Equal", "", ""),
	ELEMENTWISE("Greater", "", ""), ELEMENTWISE("GreaterOrEqual", "", ""), ELEMENTWISE("Less", "", ""), ELEMENTWISE("LessOrEqual", "", ""),
	ELEMENTWISE("Sign", "", ""), ELEMENTWISE("Floor", "", ""), ELEMENTWISE("Ceil", "", ""),
	{ NULL, NULL, COST_NONE, NULL, NULL, NULL, 0 }
};
