export NEURON_COMPILE_CACHE_URL="$COMPILE_CACHE" NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=3
export NEURON_FUSE_SOFTMAX=1 MALLOC_ARENA_MAX=64
START=(torchrun)
if [[ $PRECOMPILE == compile ]]; then START=(neuron_parallel_compile torchrun); fi
@start@ "${START[@]}" "${TORCHRUN[@]}" "$PROGRAM" \
  --tensor_parallel_size "$TENSOR_PARALLEL" --pipeline_parallel_size "$PIPELINE_PARALLEL" \
  --num_layers "$LAYERS" --num_attention_heads "$HEADS" --seq_len "$SEQUENCE" \
  --train_batch_size "$GLOBAL_BATCH" --micro_batch_size "$MICRO_BATCH" --max_steps "$STEPS" \
  --training_dir "$DATA" --checkpoint_dir "$CHECKPOINTS" --checkpoint_freq "$SAVE_EVERY" --loading_step latest_if_exists \
  "${ARGUMENTS[@]}"
