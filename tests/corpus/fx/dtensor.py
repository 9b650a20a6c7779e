class GraphModule(torch.nn.Module):
    def forward(self, primals_1: "DTensor(f32[8, 4][4, 1]cuda:0, RS(0))", primals_2: "DTensor(f32[6, 4][4, 1]cuda:0, S(0)R)"):
        # File: model.py:6 in forward, code: return (x @ self.w.T).relu()
        t: "DTensor(f32[4, 8][1, 4]cuda:0, RS(1))" = torch.ops.aten.t.default(primals_1);  primals_1 = None
        mm: "DTensor(f32[6, 8][8, 1]cuda:0, S(0)[0]S(1))" = torch.ops.aten.mm.default(primals_2, t);  primals_2 = t = None
        sum_1: "DTensor(f32[][]cuda:0, PP(sum))" = torch.ops.aten.sum.default(mm);  mm = None
        return (sum_1,)
