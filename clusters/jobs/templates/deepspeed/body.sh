@start@ torchrun "${TORCHRUN[@]}" "$PROGRAM" \
  --deepspeed --deepspeed_config "$CONFIGURATION" --zero-stage "$ZERO_STAGE" \
  --tensor-model-parallel-size "$TENSOR_PARALLEL" --pipeline-model-parallel-size "$PIPELINE_PARALLEL" \
  --micro-batch-size "$MICRO_BATCH" --global-batch-size "$GLOBAL_BATCH" --train-iters "$STEPS" \
  --data-path "$DATA" --save "$CHECKPOINTS" --load "$CHECKPOINTS" --save-interval "$SAVE_EVERY" \
  "${ARGUMENTS[@]}"
