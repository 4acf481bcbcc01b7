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
# The same between two pods, by torch alone: an image for training has it, and seldom NCCL's own tests.
IN_PODS = """#!/bin/bash
# Cohort's pair test: an all-reduce over the accelerators of two pods. Ends with {not_here} where it cannot be made.
set -uo pipefail
export COHORT_PAIR_PROGRAM='{program}'
{exports}
if ! COHORT_PAIR_LOOK=1 python3 -c "$COHORT_PAIR_PROGRAM"; then
  echo "pair test: this image has no torch for the accelerators of this node"
  exit {not_here}
fi
timeout {seconds} "${{COHORT_PAIR_TEST:-torchrun}}" --no-python python3 -c "$COHORT_PAIR_PROGRAM"
code=$?
echo "pair test: ended with $code"
exit $code
"""
PROGRAM = """
import os, sys
try:
    import torch, torch.distributed as group
    neuron = os.path.exists("/dev/neuron0")
    if neuron:
        import torch_xla.core.xla_model as xla, torch_xla.distributed.xla_backend
except ImportError:
    sys.exit(1)
if "COHORT_PAIR_LOOK" in os.environ:
    sys.exit(0 if neuron or torch.cuda.is_available() else 1)
if not neuron:
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
group.init_process_group("xla" if neuron else "nccl")
for size in (2**21, 2**26):
    for _ in range(10):
        mine = torch.ones(size, device=xla.xla_device() if neuron else "cuda")
        group.all_reduce(mine)
    if abs(float(mine.mean()) - group.get_world_size()) > 0.001:
        sys.exit("pair test: the sum is wrong")
group.destroy_process_group()
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


def in_pods(instance_type: str) -> str:
    """The script of both pods on nodes of this type. How many processes each has, its job's object says."""
    family = instance_type.removeprefix("ml.")
    exports = (NEURON if family.startswith(("trn", "inf")) else AMD if family.startswith(("g4ad", "mi")) else NVIDIA)[3]
    unset = "unset COHORT_PAIR_LOOK"
    return IN_PODS.format(program=PROGRAM, exports=f"{exports}\n{unset}", seconds=SECONDS, not_here=NOT_HERE)


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
