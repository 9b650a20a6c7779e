"""Sizes of ONNX models beside those that onnx itself infers: onnx_compare.py TIDEMARK FILE...

Of every result whose shape onnx.shape_inference says (with data_prop) the shape that TIDEMARK writes is compared; prints a line for each file and each difference.
"""
import json, subprocess, sys

import onnx

for path in sys.argv[2:]:
    run = subprocess.run([sys.argv[1], "plan", path, "--stage", "input", "--as", "native"], capture_output=True, text=True)
    if run.returncode:
        print(path, "refused:", run.stderr.strip())
        continue
    records = [json.loads(line) for line in run.stdout.splitlines()]
    ours = {record["id"]: record.get("shape") for record in records if record["k"] == "tensor"}
    model = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False), data_prop=True)
    compared = different = unsaid = 0
    for value in [*model.graph.value_info, *model.graph.output]:
        shape = value.type.tensor_type.shape.dim if value.type.tensor_type.HasField("shape") else None
        if shape is None or value.name not in ours or any(not dim.HasField("dim_value") for dim in shape):
            continue
        compared += 1
        unsaid += ours[value.name] is None
        if ours[value.name] is not None and ours[value.name] != [dim.dim_value for dim in shape]:
            different += 1
            print(f"  {value.name}: {ours[value.name]} here, {[dim.dim_value for dim in shape]} by onnx")
    card = next(record for record in records if record["k"] == "graph").get("read", {})
    print(f"{path.split('/')[-1]}: {len(ours)} tensors, {compared} compared, {different} differ, {unsaid} not known here; {card.get('missing', 0)} missing")
