export CHECKPOINTS
@start@ torchrun "${TORCHRUN[@]}" "$PROGRAM" "${ARGUMENTS[@]}"
