@start:--mpi="$MPI" --cpu-bind=none@ "$FOLDER/$TEST" -b 8 -e "$LARGEST" -f 2 -g 1 -c 1 -n "$ROUNDS"
