export CUDA_DEVICE_MAX_CONNECTIONS=1
# Nanotron reads its degrees and its folder from its file; these say what the file has to hold.
export TENSOR_PARALLEL PIPELINE_PARALLEL CHECKPOINTS
cd "$CODE"
@start@ torchrun "${TORCHRUN[@]}" run_train.py --config-file "$CONFIGURATION" "${ARGUMENTS[@]}"
