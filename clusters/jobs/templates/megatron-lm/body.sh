export CUDA_DEVICE_MAX_CONNECTIONS=1
cd "$CODE"
@start@ torchrun "${TORCHRUN[@]}" pretrain_gpt.py \
  --use-mcore-models --bf16 --transformer-impl transformer_engine --use-flash-attn \
  --tensor-model-parallel-size "$TENSOR_PARALLEL" \
  --pipeline-model-parallel-size "$PIPELINE_PARALLEL" \
  --context-parallel-size "$CONTEXT_PARALLEL" \
  --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce \
  --num-layers "$LAYERS" --hidden-size "$HIDDEN" --num-attention-heads "$HEADS" \
  --seq-length "$SEQUENCE" --max-position-embeddings "$SEQUENCE" \
  --micro-batch-size "$MICRO_BATCH" --global-batch-size "$GLOBAL_BATCH" \
  --train-iters "$STEPS" --lr "$LEARNING_RATE" --lr-decay-style cosine \
  --tokenizer-type SentencePieceTokenizer --tokenizer-model "$TOKENIZER" --data-path "$DATA" \
  --save "$CHECKPOINTS" --load "$CHECKPOINTS" --save-interval "$SAVE_EVERY" \
  --log-interval 1 --log-throughput --distributed-timeout-minutes 10 \
  "${ARGUMENTS[@]}"
