class GraphModule(torch.nn.Module):
    def forward(
        self,
        primals_2: "f32[2, 4][4, 1]cpu",  # PlainAOTInput(idx=1)
        relu: "f32[2, 8][8, 1]cpu",
        tangents_1: "f32[2, 8][8, 1]cpu",  # TangentAOTInput(output=PlainAOTOutput(idx=0))
    ):
        # File: model.py:6 in forward, code: y = (x @ w.T).relu()
        le: "b8[2, 8][8, 1]cpu" = torch.ops.aten.le.Scalar(relu, 0);  relu = None
        full: "f32[][]cpu" = torch.ops.aten.full.default([], 0.0, dtype = torch.float32);
        le: "f32[2, 8][8, 1]cpu" = torch.ops.aten.where.self(le, full, tangents_1);  le = full = tangents_1 = None
        permute: "f32[8, 2][1, 8]cpu" = torch.ops.aten.permute.default(where, [1, 0]);  where = None
        mm: "f32[8, 4][4, 1]cpu" = torch.ops.aten.mm.default(permute, primals_2);  permute = primals_2 = None
        return (
            mm,  # GradAOTOutput(grad_of=ParamAOTInput(target='w'))
            None,
        )
