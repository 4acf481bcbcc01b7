cd "$CODE"
@start@ torchrun "${TORCHRUN[@]}" -m torchtitan.train \
  --job.config_file "$CONFIGURATION" --job.dump_folder "$CHECKPOINTS" \
  --parallelism.data_parallel_shard_degree "$SHARD_PARALLEL" \
  --parallelism.tensor_parallel_degree "$TENSOR_PARALLEL" \
  --parallelism.pipeline_parallel_degree "$PIPELINE_PARALLEL" \
  --parallelism.context_parallel_degree "$CONTEXT_PARALLEL" \
  --training.seq_len "$SEQUENCE" --training.local_batch_size "$MICRO_BATCH" --training.steps "$STEPS" \
  --checkpoint.enable --checkpoint.folder "$CHECKPOINTS" --checkpoint.interval "$SAVE_EVERY" \
  "${ARGUMENTS[@]}"
