/* unit_hugging_face.c: config.json files: parameters to the last one, and what is refused. */
#include <stdio.h>
#include <string.h>

#include "src/models/hugging_face.h"
#include "tests/common/support.h"

#define FOLDER "tests/corpus/hugging_face/"

static int64_t parameters_of(const char *name, const struct model_config *config)
{
	struct error error = { 0 };
	OWN(graph) *graph = model_build(name, config, &error);
	int64_t bytes = 0;
	cr_assert_not_null(graph, "%s: %s", name, error.text);
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes += graph->storage[s].kind == KIND_PARAMETER ? graph->storage[s].bytes : 0;
	return bytes / 4;
}

/* What transformers 5.23 builds from these files: sum(p.numel() for p in model.parameters()). */
Test(hugging_face, small_files_have_the_parameters_of_the_library)
{
	static const struct { const char *file; int64_t parameters; } known[] = {
		{ "gpt2", 72960 },
		{ "llama", 153408 },
		{ "mistral", 104256 },
		{ "qwen2", 100352 },
		{ "deepseek_v2", 172104 },
		{ "deepseek_v3", 144322 },
		{ "bert", 57956 },
		{ "vit", 51371 },
		{ "t5", 99712 },
		{ "mixtral_tied", 145296 },
		{ "qwen2_moe_dense_layers", 123360 },
		{ "qwen3_head", 82152 },
		{ "qwen3_moe_dense_layers", 143808 },
		{ "gemma_untied", 82656 },
		{ "gemma2", 76032 },
		{ "gemma3_text", 76152 },
		{ "phi_norms", 57827 },
		{ "phi3", 68208 },
		{ "gpt_neox", 98736 },
		{ "gpt_neox_one_after_the_other", 89584 },
		{ "gpt_oss", 246414 },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char path[200];
		struct hugging_face model;
		struct error error = { 0 };
		snprintf(path, sizeof path, FOLDER "%s.json", known[i].file);
		cr_assert(hugging_face_is(path));
		cr_assert_eq(hugging_face_open(path, &model, &error), OK, "%s: %s", path, error.text);
		cr_assert_eq(strncmp(known[i].file, model.name, strlen(model.name)), 0);
		cr_assert_eq(parameters_of(model.name, &model.config), known[i].parameters, "%s", path);
	}
}

/* Modules that predict further tokens: a layer as the last one, a projection from two widths, three norms. */
Test(hugging_face, modules_that_predict_further_tokens_are_read)
{
	static const char *const small =
		"{\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 3, \"hidden_size\": 64, \"num_attention_heads\": 4, "
		"\"intermediate_size\": 90, "
		"\"vocab_size\": 320, \"q_lora_rank\": 30, \"kv_lora_rank\": 24, \"qk_nope_head_dim\": 12, "
		"\"qk_rope_head_dim\": 8, \"v_head_dim\": 10, \"first_k_dense_replace\": 2, "
		"\"n_routed_experts\": 8, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 20, "
		"\"num_nextn_predict_layers\": %s}";
	static const struct {
		const char *value;
		int64_t modules;
	} asked[] = { { "null", 0 }, { "0", 0 }, { "1", 1 }, { "2", 2 } };
	int64_t attention = 30 * (64 + 1 + 4 * 20) + 64 * 32 + 24 * (1 + 4 * 22) + 40 * 64,
			module = attention + 2 * 64 + 8 * 64 + 3 * 64 * 20 * 9 + 2 * 64 * 64 + 3 * 64;
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		char text[700];
		struct hugging_face model;
		struct error error = { 0 };
		int length = snprintf(text, sizeof text, small, asked[i].value);
		cr_assert_eq(hugging_face_read(text, (size_t)length, &model, &error), OK, "%s", error.text);
		cr_expect_eq(model.config.mtp_layers, asked[i].modules);
		cr_expect_eq(parameters_of(model.name, &model.config), 144322 + asked[i].modules * module);
	}
}

/* Keys that a file lacks: the defaults of the library's configuration classes, with its counts again. */
Test(hugging_face, missing_keys_have_the_library_s_defaults)
{
	static const struct { const char *text; int64_t parameters; } known[] = {
		{ "{\"model_type\": \"gpt2\"}", 124439808 },
		{ "{\"model_type\": \"llama\"}", INT64_C(6738415616) },
		{ "{\"model_type\": \"mistral\"}", INT64_C(7241732096) },
		{ "{\"model_type\": \"qwen2\"}", INT64_C(12049846272) },
		{ "{\"model_type\": \"deepseek_v2\", \"num_experts_per_tok\": 6}", INT64_C(38612307968) },
		{ "{\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 5}", INT64_C(26618387456) },
		{ "{\"model_type\": \"mixtral\"}", INT64_C(46702792704) },
		{ "{\"model_type\": \"qwen2_moe\"}", INT64_C(14315784192) },
		{ "{\"model_type\": \"qwen3\"}", INT64_C(12049461248) },
		{ "{\"model_type\": \"qwen3_moe\"}", INT64_C(15350731776) },
		{ "{\"model_type\": \"gemma\"}", INT64_C(8537680896) },
		{ "{\"model_type\": \"gemma2\"}", INT64_C(2614341888) },
		{ "{\"model_type\": \"gemma3_text\"}", INT64_C(2628658432) },
		{ "{\"model_type\": \"gemma3\", \"text_config\": {}}", INT64_C(2628658432) },
		{ "{\"model_type\": \"phi\"}", INT64_C(1418270720) },
		{ "{\"model_type\": \"phi3\"}", INT64_C(3821079552) },
		{ "{\"model_type\": \"gpt_neox\"}", INT64_C(20554567680) },
		{ "{\"model_type\": \"olmo\"}", INT64_C(6888095744) },
		{ "{\"model_type\": \"olmo2\"}", INT64_C(6888624128) },
		{ "{\"model_type\": \"olmoe\"}", INT64_C(13361612800) },
		{ "{\"model_type\": \"granite\"}", INT64_C(6738415616) },
		{ "{\"model_type\": \"granitemoe\"}", INT64_C(37039116288) },
		{ "{\"model_type\": \"cohere\"}", INT64_C(34980831232) },
		{ "{\"model_type\": \"cohere2\"}", INT64_C(34980831232) },
		{ "{\"model_type\": \"starcoder2\"}", INT64_C(3030371328) },
		{ "{\"model_type\": \"stablelm\"}", INT64_C(2795443200) },
		{ "{\"model_type\": \"glm\"}", INT64_C(9399951360) },
		{ "{\"model_type\": \"smollm3\"}", INT64_C(3075098624) },
		{ "{\"model_type\": \"ministral3\"}", INT64_C(8489553920) },
		{ "{\"model_type\": \"seed_oss\"}", INT64_C(28921040896) },
		{ "{\"model_type\": \"helium\"}", INT64_C(2172643840) },
		{ "{\"model_type\": \"phimoe\"}", INT64_C(41872793600) },
		{ "{\"model_type\": \"ernie4_5\"}", 360748032 },
		{ "{\"model_type\": \"exaone4\"}", INT64_C(9429069824) },
		{ "{\"model_type\": \"gpt_oss\", \"num_hidden_layers\": 4}", INT64_C(14010590528) },
		{ "{\"model_type\": \"roberta\"}", 124696665 },
		{ "{\"model_type\": \"arcee\", \"num_hidden_layers\": 6}", 887390720 },
		{ "{\"model_type\": \"gptj\", \"n_layer\": 6}", 1621066976 },
		{ "{\"model_type\": \"llama4_text\", \"num_hidden_layers\": 6}", INT64_C(15281587200) },
		{ "{\"model_type\": \"flex_olmo\", \"num_hidden_layers\": 6}", INT64_C(6906195968) },
		{ "{\"model_type\": \"opt\", \"num_hidden_layers\": 6}", 82712064 },
		{ "{\"model_type\": \"ernie4_5_moe\", \"num_hidden_layers\": 6}", INT64_C(4347200320) },
		{ "{\"model_type\": \"distilbert\"}", 66985530 },
		{ "{\"model_type\": \"ernie4_5_moe\", \"num_hidden_layers\": 6, \"use_bias\": true}", INT64_C(4347411264) },
		{ "{\"model_type\": \"jais2\", \"num_hidden_layers\": 6}", INT64_C(2329626624) },
		{ "{\"model_type\": \"bert\"}", 109514298 },
		{ "{\"model_type\": \"vit\"}", 85800194 },
		{ "{\"model_type\": \"t5\"}", 60506624 },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct hugging_face model;
		struct error error = { 0 };
		cr_assert_eq(hugging_face_read(known[i].text, strlen(known[i].text), &model, &error), OK, "%s: %s",
			known[i].text, error.text);
		cr_assert_eq(parameters_of(model.name, &model.config), known[i].parameters, "%s", known[i].text);
	}
}

/* Of a model for images and text, the text model; its embedding is tied where the whole model says so. */
Test(hugging_face, the_text_part_of_a_model_of_several)
{
#define PART(type) "\"text_config\": {\"model_type\": \"" type "\", \"hidden_size\": 48, \"num_hidden_layers\": 3, " \
	"\"num_attention_heads\": 6, " \
	"\"num_key_value_heads\": 2, \"intermediate_size\": 112, \"vocab_size\": 311, \"tie_word_embeddings\": false}"
	static const struct { const char *text; int64_t parameters; } known[] = {
		{ "{\"model_type\": \"llava\", \"architectures\": [\"LlavaForConditionalGeneration\"], " PART("llama") "}",
			97008 },
		{ "{\"model_type\": \"internvl\", \"tie_word_embeddings\": true, " PART("qwen2") "}", 82320 },
		{ "{\"model_type\": \"qwen2_5_vl\", " PART("qwen2_5_vl_text") "}", 97248 },
		{ "{\"model_type\": \"qwen2_vl\", \"architectures\": [\"Qwen2VLForConditionalGeneration\"], \"vision_config\": "
		  "{}, \"hidden_size\": 48, \"num_hidden_layers\": 3, "
		  "\"num_attention_heads\": 6, \"num_key_value_heads\": 2, \"intermediate_size\": 112, \"vocab_size\": 311}",
			97248 },
		{ "{\"model_type\": \"llava\", \"transformers_version\": \"5.23.0\", \"tie_word_embeddings\": true, " PART(
			  "llama") "}",
			82080 },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct hugging_face model;
		struct error error = { 0 };
		cr_assert_eq(hugging_face_read(known[i].text, strlen(known[i].text), &model, &error), OK, "%s: %s",
			known[i].text, error.text);
		cr_assert_eq(parameters_of(model.name, &model.config), known[i].parameters, "%s", known[i].text);
		cr_assert(strstr(model.notes, "the text model alone"));
	}
}

/* Every refusal names the key. */
Test(hugging_face, what_is_not_covered_is_refused_by_its_key)
{
	static const struct { const char *text, *key; } bad[] = {
		{ "", "not JSON" },
		{ "[1]", "expected an object" },
		{ "{}", "model_type is missing" },
		{ "{\"model_type\": \"mixtrel\"}", "model_type is \"mixtrel\": not built in; python3 -m tidemark_torch FILE" },
		{ "{\"model_type\": 3}", "model_type is 3" },
		{ "{\"model_type\": \"jamba\", \"mamba_d_state\": 16}", "not built in, with state-space layers (Mamba)" },
		{ "{\"model_type\": \"deepseek_v32\", \"index_topk\": 2048}", "with sparse attention" },
		{ "{\"model_type\": \"qwen3_next\", \"layer_types\": [\"linear_attention\"]}",
			"with layers of linear attention" },
		{ "{\"model_type\": \"opt\", \"word_embed_proj_dim\": 512}", "word_embed_proj_dim is 512" },
		{ "{\"model_type\": \"helium\", \"num_key_value_heads\": 2, \"num_attention_heads\": 10}",
			"head_dim is 128: only hidden_size / num_attention_heads, 256" },
		{ "{\"model_type\": \"glm4_moe\", \"mlp_layer_types\": [\"dense\"]}", "mlp_layer_types has 1 layers, not 46" },
		{ "{\"model_type\": \"llama\", \"model_type\": \"gpt2\"}", "twice" },
		{ "{\"model_type\": \"mistral\", \"attention_bias\": true}", "attention_bias is true" },
		{ "{\"model_type\": \"gemma3\"}", "text_config is missing" },
		{ "{\"model_type\": \"mixtral\", \"hidden_act\": \"gelu\"}", "hidden_act" },
		{ "{\"model_type\": \"phi\", \"partial_rotary_factor\": 2}", "partial_rotary_factor is 2" },
		{ "{\"model_type\": \"phi\", \"partial_rotary_factor\": 0.01}", "less than two" },
		{ "{\"model_type\": \"qwen3_moe\", \"mlp_only_layers\": [-1]}", "mlp_only_layers" },
		{ "{\"model_type\": \"qwen3_moe\", \"mlp_only_layers\": 7}", "mlp_only_layers" },
		{ "{\"model_type\": \"gemma2\", \"final_logit_softcapping\": \"x\"}", "final_logit_softcapping" },
		{ "{\"model_type\": \"llama\", \"attention_bias\": \"false\"}", "attention_bias is \"false\"" },
		{ "{\"model_type\": \"llama\", \"hidden_act\": \"gelu_new\"}", "hidden_act" },
		{ "{\"model_type\": \"llama\", \"rope_parameters\": {\"partial_rotary_factor\": 0.5}}",
			"rope_parameters.partial_rotary_factor is 0.5" },
		{ "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForSequenceClassification\"]}", "architectures" },
		{ "{\"model_type\": \"llama\", \"architectures\": [7]}", "architectures" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 9223372036854775807}", "hidden_size" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": 64.0}", "hidden_size is 64" },
		{ "{\"model_type\": \"llama\", \"hidden_size\": null}", "hidden_size is null" },
		{ "{\"model_type\": \"llama\", \"num_hidden_layers\": 4097}", "num_hidden_layers" },
		{ "{\"model_type\": \"llama\", \"tie_word_embeddings\": 1}", "tie_word" },
		{ "{\"model_type\": \"deepseek_v2\"}", "num_experts_per_tok is missing" },
		{ "{\"model_type\": \"bert\", \"type_vocab_size\": 0}", "type_vocab_size" },
		{ "{\"model_type\": \"bert\", \"hidden_dropout_prob\": 0}", "attention_probs_dropout_prob" },
		{ "{\"model_type\": \"bert\", \"hidden_act\": \"swish\"}", "hidden_act" },
		{ "{\"model_type\": \"bert\", \"hidden_act\": null}", "hidden_act is null" },
		{ "{\"model_type\": \"gpt2\", \"n_positions\": 1}", "n_positions" },
		{ "{\"model_type\": \"gpt2\", \"attn_pdrop\": 2}", "attn_pdrop" },
		{ "{\"model_type\": \"vit\", \"id2label\": {}}", "id2label" },
		{ "{\"model_type\": \"vit\", \"image_size\": [224, 224]}", "image_size is a list" },
		{ "{\"model_type\": \"t5\", \"num_decoder_layers\": 5000}", "num_decoder_layers" },
		{ "{\"model_type\": \"t5\", \"feed_forward_proj\": \"gated-silu\"}", "feed_forward_proj" },
		{ "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 1, \"layer_types\": [\"chunked_attention\"]}",
			"layer_types" },
		{ "{\"model_type\": \"qwen2\", \"layer_types\": [\"full_attention\"]}", "layer_types has 1 layers, not 32" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hugging_face model;
		struct error error = { 0 };
		cr_assert_eq(hugging_face_read(bad[i].text, strlen(bad[i].text), &model, &error), BAD_INPUT, "%s", bad[i].text);
		cr_assert_not_null(strstr(error.text, bad[i].key), "%s: %s", bad[i].text, error.text);
	}
}

Test(hugging_face, every_family_trains_and_says_what_it_assumes)
{
	static const char *const files[] = { "mixtral_tied", "qwen2_moe_dense_layers", "qwen3_head", "gemma2",
		"gemma3_text", "phi_norms", "gpt_neox" };
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		for (int kernels = 0; kernels < 2; kernels++) {
			char path[200];
			struct hugging_face model;
			struct error error = { 0 };
			struct model_training training = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_BF16 };
			snprintf(path, sizeof path, FOLDER "%s.json", files[i]);
			cr_assert_eq(hugging_face_open(path, &model, &error), OK, "%s: %s", path, error.text);
			struct model_config config = hugging_face_config(&model);
			config.fused = config.flash = kernels;
			OWN(graph) *step = model_step(model.name, &config, &training, &error);
			cr_assert_not_null(step, "%s: %s", path, error.text);
			cr_assert_eq(step->about.opaques, 0, "%s: %s", path, step->about.opaques ? step->about.opaque[0] : "");
			cr_assert_eq(step->repaired, 0);
			cr_assert_str_eq(step->about.intake.format, "Hugging Face config.json");
		}
}

/* What the file says and nobody understood is named; what is known to change nothing is not. */
Test(hugging_face, keys_that_are_not_understood_are_named)
{
	static const char text[] = "{\"model_type\": \"llama\", \"rope_theta\": 5, \"sinks\": 4, \"bos_token_id\": 1, "
							   "\"layer_norm_eps\": 1, \"quantization_config\": {}, \"x\": null}";
	static const char gemma[] = "{\"model_type\": \"gemma2\", \"sliding_window\": 512, \"num_hidden_layers\": 2, "
								"\"layer_types\": [\"full_attention\", \"sliding_attention\"]}";
	struct hugging_face model;
	cr_assert_eq(hugging_face_read(text, sizeof text - 1, &model, NULL), OK);
	cr_assert_str_eq(model.notes,
		"weights are counted as --precision has them, not as quantization_config stores them\nkeys that are not "
		"understood, and may change the model: sinks");
	cr_assert_eq(hugging_face_read(gemma, sizeof gemma - 1, &model, NULL), OK);
	cr_assert_not_null(strstr(model.notes, "windows of 512 tokens"), "%s", model.notes);
	cr_assert(model.config.seq == HUGGING_FACE_SEQ && hugging_face_fits(&model, 9000, NULL) == OK);
}

Test(hugging_face, sequences_end_with_learned_positions)
{
	struct hugging_face model;
	struct error error = { 0 };
	cr_assert_eq(hugging_face_open(FOLDER "gpt2.json", &model, &error), OK);
	cr_assert(model.config.seq == 40 && hugging_face_fits(&model, 40, &error) == OK &&
		hugging_face_fits(&model, 41, &error) == BAD_INPUT);
	cr_assert_not_null(strstr(error.text, "n_positions, which is 40"), "%s", error.text);
	cr_assert_eq(hugging_face_open(FOLDER "mistral.json", &model, &error), OK);
	cr_assert(hugging_face_fits(&model, 65, &error) == OK && strstr(model.notes, "windows of 64 tokens"));
	cr_assert_eq(hugging_face_open(FOLDER "llama.json", &model, &error), OK);
	cr_assert(model.config.seq == 128 && hugging_face_fits(&model, 4096, &error) == OK);
	cr_assert(hugging_face_is("tests/corpus") && !hugging_face_is("tests/nothing") && !hugging_face_is("README.md"));
	cr_assert_eq(hugging_face_open("tests/corpus", &model, &error), BAD_INPUT);
	cr_assert_not_null(strstr(error.text, "config.json"), "%s", error.text);
}
