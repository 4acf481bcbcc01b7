export CUDA_DEVICE_MAX_CONNECTIONS=1
@start@ torchrun "${TORCHRUN[@]}" "$PROGRAM" \
  "recipe=$RECIPE" "data.path=$DATA" \
  "trainer.num_nodes=$NODES" "trainer.devices=$PROCESSES" "trainer.max_steps=$STEPS" \
  "trainer.strategy.tensor_model_parallel_size=$TENSOR_PARALLEL" \
  "trainer.strategy.pipeline_model_parallel_size=$PIPELINE_PARALLEL" \
  "trainer.strategy.context_parallel_size=$CONTEXT_PARALLEL" \
  "data.micro_batch_size=$MICRO_BATCH" "data.global_batch_size=$GLOBAL_BATCH" \
  "log.log_dir=$CHECKPOINTS" "log.ckpt.every_n_train_steps=$SAVE_EVERY" "resume.resume_if_exists=true" \
  "${ARGUMENTS[@]}"
