class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "f32[8, 4]", primals_2: "f32[2, 4]"):
        # File: model.py:6 in forward, code: return cond(x @ self.w.T)
        permute: "f32[4, 8]" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None
        mm: "f32[2, 8]" = torch.ops.aten.mm.default(primals_2, permute);  permute = None
        true_graph_0 = self.true_graph_0
        relu: "f32[2, 8]" = torch.ops.aten.relu.default(mm);  mm = None
        return (relu, primals_2, relu)

    class true_graph_0(torch.nn.Module):
        def forward(self, arg0_1: "f32[2, 8]"):
            sin: "f32[2, 8]" = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
            return (sin,)
