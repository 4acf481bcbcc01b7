"""The script of a pair test: one all-reduce over two nodes, small enough for a minute, that ends as the nodes are."""

NOT_HERE = 77  # the exit code that says that the test could not be made, which says nothing of the nodes
SECONDS = 240
MINUTES = 10

TEMPLATE = """#!/bin/bash
#SBATCH --ntasks-per-node={processes}
# Cohort's pair test: an all-reduce over the accelerators of two nodes. Ends with {not_here} where it cannot be made.
set -uo pipefail
test=${{COHORT_PAIR_TEST:-{program}}}
if ! command -v "$test" >/dev/null; then
  echo "pair test: $test is not on this node"
  exit {not_here}
fi
{exports}
timeout {seconds} srun --nodes=2 --ntasks-per-node={processes} --kill-on-bad-exit=1 "$test" {arguments}
code=$?
echo "pair test: ended with $code"
exit $code
"""
# By what the instance type begins with: program, processes on a node (None: one for each accelerator), arguments, variables.
NVIDIA = (
    "/opt/nccl-tests/build/all_reduce_perf",
    None,
    "-b 8M -e 256M -f 4 -g 1 -c 1 -n 10",
    "export FI_PROVIDER=efa NCCL_DEBUG=WARN",
)
AMD = ("/opt/rccl-tests/build/all_reduce_perf", None, "-b 8M -e 256M -f 4 -g 1 -c 1 -n 10", "export NCCL_DEBUG=WARN")
NEURON = (
    "/opt/aws/neuron/bin/nccom-test",
    1,
    "--nworkers 64 --minbytes 8MB --maxbytes 64MB --check allr",
    "export FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1",
)


def script(instance_type: str, accelerators: int) -> str:
    """The script for two nodes of this type."""
    family = instance_type.removeprefix("ml.")
    program, processes, arguments, exports = (
        NEURON if family.startswith(("trn", "inf")) else AMD if family.startswith(("g4ad", "mi")) else NVIDIA
    )
    return TEMPLATE.format(
        program=program,
        processes=processes or max(accelerators, 1),
        arguments=arguments,
        exports=exports,
        not_here=NOT_HERE,
        seconds=SECONDS,
    )
