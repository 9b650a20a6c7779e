TP=${TP:-4}
ARGS=( --tensor-model-parallel-size $TP --num-layers 24 --num-layers-per-virtual-pipeline-stage=3 "--micro-batch-size 2"
  --recompute-modules mlp layernorm --recompute-activations )
torchrun --nproc_per_node 8 train.py ${ARGS[@]}
