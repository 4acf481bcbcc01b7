export JAX_COORDINATOR_ADDRESS="$HEAD:$PORT" JAX_NUM_PROCESSES=$((NODES * PROCESSES)) XLA_PYTHON_CLIENT_MEM_FRACTION=0.92
@start@ python3 "$PROGRAM" \
  --data "$DATA" --checkpoint_dir "$CHECKPOINTS" --checkpoint_period "$SAVE_EVERY" --steps "$STEPS" \
  --fsdp_parallelism "$SHARD_PARALLEL" --tensor_parallelism "$TENSOR_PARALLEL" \
  "${ARGUMENTS[@]}"
