@start@ torchrun "${TORCHRUN[@]}" "$PROGRAM" \
  "--dataset=$DATA" "--checkpoint_dir=$CHECKPOINTS" "--resume_from_checkpoint=$CHECKPOINTS" \
  "--checkpoint_freq=$SAVE_EVERY" "--max_steps=$STEPS" "--sharding_strategy=$SHARDING" \
  "--num_layers=$LAYERS" "--hidden_width=$HIDDEN" "--num_heads=$HEADS" \
  "--max_context_width=$SEQUENCE" "--train_batch_size=$MICRO_BATCH" \
  "${ARGUMENTS[@]}"
