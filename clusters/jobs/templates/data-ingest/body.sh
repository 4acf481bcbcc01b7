mkdir -p "$TARGET"
export SOURCE TARGET HEAD SPARK_HOME
if [[ $HOW == copy ]]; then
  # Every node takes its share of the objects: the n-th object belongs to node n modulo the number of nodes.
  @start@ bash -c '
    set -euo pipefail
    bucket=${SOURCE#s3://}; bucket=s3://${bucket%%/*}
    aws s3 ls --recursive "$SOURCE" | awk -v n="$SLURM_NNODES" -v r="$SLURM_NODEID" "(NR - 1) % n == r" |
      while read -r _day _time _size key; do
        mkdir -p "$TARGET/$(dirname "$key")"
        aws s3 cp --only-show-errors "$bucket/$key" "$TARGET/$key"
        echo "copied $key"
      done
  '
else
  @start@ bash -c '
    if [ "$SLURM_NODEID" = 0 ]; then "$SPARK_HOME/sbin/start-master.sh" -h "$HEAD"; fi
    "$SPARK_HOME/sbin/start-worker.sh" "spark://$HEAD:7077"
    if [ "$SLURM_NODEID" = 0 ]; then
      "$SPARK_HOME/bin/spark-submit" --master "spark://$HEAD:7077" "$@"; touch "$TARGET/.prepared"
    fi
    until [ -e "$TARGET/.prepared" ]; do sleep 5; done
  ' spark "$PROGRAM" "$SOURCE" "$TARGET" "${ARGUMENTS[@]}"
fi
