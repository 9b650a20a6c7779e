"""Inductor's memory graphs of torchvision and transformers models, on a CPU: inductor_graphs.py FOLDER [NAME...].

NAME_0.json is the forward graph, NAME_1.json the backward graph, as reorder_for_peak_memory_debug writes them; beside each .truth has the peaks that PyTorch
itself estimates for its orders, and the orders. Kernels are neither compiled nor run, which takes most of the time and changes no graph.
"""
import json, os, sys

VISION = ["resnet18", "alexnet", "mobilenet_v2", "vit_b_16"]
small = dict(num_hidden_layers=3, hidden_size=192, num_attention_heads=4, intermediate_size=512, vocab_size=2000)
TEXT = {"gpt2": ("GPT2", "GPT2LMHeadModel", dict(n_layer=4, n_embd=256, n_head=4)), "bert": ("Bert", "BertForMaskedLM", small), "llama": ("Llama", "LlamaForCausalLM", small),
        "qwen3": ("Qwen3", "Qwen3ForCausalLM", dict(small, num_key_value_heads=2, head_dim=48)), "t5": ("T5", "T5ForConditionalGeneration", dict(num_layers=2))}
MORE_VISION = ["squeezenet1_1", "shufflenet_v2_x0_5", "regnet_y_400mf", "convnext_tiny", "efficientnet_b0", "swin_t"]
MORE_TEXT = {"opt": ("OPT", "OPTForCausalLM", dict(small, ffn_dim=512, word_embed_proj_dim=192)), "gpt_neox": ("GPTNeoX", "GPTNeoXForCausalLM", small), "phi": ("Phi", "PhiForCausalLM", small),
             "gemma2": ("Gemma2", "Gemma2ForCausalLM", dict(small, num_key_value_heads=2, head_dim=48)), "olmo2": ("Olmo2", "Olmo2ForCausalLM", small),
             "electra": ("Electra", "ElectraForMaskedLM", dict(small, embedding_size=96)), "distilbert": ("DistilBert", "DistilBertForMaskedLM", dict(n_layers=3, dim=192, n_heads=4, hidden_dim=512, vocab_size=2000)),
             "mixtral": ("Mixtral", "MixtralForCausalLM", dict(small, num_key_value_heads=2, num_local_experts=4)), "starcoder2": ("Starcoder2", "Starcoder2ForCausalLM", dict(small, num_key_value_heads=2)),
             "modernbert": ("ModernBert", "ModernBertForMaskedLM", dict(small, pad_token_id=0))}


def step(name):
    import torch
    if name in TEXT or name in MORE_TEXT:
        import transformers
        config, head, options = {**TEXT, **MORE_TEXT}[name]
        model = getattr(transformers, head)(getattr(transformers, config + "Config")(**options)).train()
        ids = torch.randint(0, 100, (2, 64))
        given = dict(input_ids=ids, decoder_input_ids=ids) if name == "t5" else dict(input_ids=ids)
        return lambda: torch.compile(model)(**given).logits.sum().backward()
    import torchvision
    model = getattr(torchvision.models, name)().train()
    return lambda: torch.compile(model)(torch.randn(2, 3, 224, 224)).sum().backward()


def watch(folder):
    """Writes every graph that Inductor reorders, under the name in watch.name."""
    import torch, torch._inductor.config as config, torch._inductor.memory as memory, torch._inductor.scheduler
    config.reorder_for_peak_memory = config.reorder_for_peak_memory_debug = True
    config.fx_graph_cache = False
    trace, reorder, seen = torch._logging.trace_structured, memory.reorder_for_peak_memory, {}

    def traced(kind, metadata_fn=dict, payload_fn=lambda: None, **more):
        if kind == "artifact" and str(metadata_fn().get("name", "")).endswith("_fused"):
            seen["graph"] = payload_fn()
        return trace(kind, metadata_fn=metadata_fn, payload_fn=payload_fn, **more)

    def reordered(nodes, buffers, fused, inputs, outputs, *more):
        result = reorder(nodes, buffers, fused, inputs, outputs, *more)
        peak, freeable = memory.prepare_planning_info(nodes, buffers, fused, inputs, outputs)
        truth = {"baseline": peak, "orders": {}}
        for word in "lpmf", "bfs", "dfs":
            sort = getattr(memory, "topological_sort_" + word)
            order = sort(nodes, freeable, buffers, outputs) if word == "lpmf" else sort(nodes)
            truth[word] = memory.estimate_peak_memory(order, freeable, outputs)[0]
            truth["orders"][word] = [node.get_name() for node in order]
        stem = f"{folder}/{watch.name}_{watch.count}"
        watch.count += 1
        open(stem + ".json", "w").write(seen["graph"])
        json.dump(truth, open(stem + ".truth", "w"))
        return result
    torch._logging.trace_structured, memory.reorder_for_peak_memory = traced, reordered


def idle():
    """Kernels that do nothing."""
    from torch._inductor.async_compile import AsyncCompile
    AsyncCompile.cpp = AsyncCompile.cpp_pybinding = lambda *given, **more: lambda *arguments: None


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    idle()
    watch(sys.argv[1])
    for watch.name in sys.argv[2:] or [*VISION, *TEXT, *MORE_VISION, *MORE_TEXT]:
        watch.count = 0
        try:
            step(watch.name)()
        except Exception as stopped:      # of one model; the others come all the same
            print(watch.name, "stopped:", stopped, flush=True)
        print(watch.name, watch.count, "graphs", flush=True)
