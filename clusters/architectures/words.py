"""The sentences of the catalogue, once more where the translators' tools find them; a test holds the two together."""

from clusters.findings import gettext_noop

SHOWN = (
    gettext_noop("HyperPod with EKS"),
    gettext_noop(
        "Kubernetes on SageMaker HyperPod: an EKS cluster whose nodes HyperPod brings, checks and replaces, and Lustre."
    ),
    gettext_noop("How many instances the group has."),
    gettext_noop("AWS runs the Kubernetes API, so every group runs jobs."),
    gettext_noop("Automatic: HyperPod reboots or replaces a node that fails its health checks."),
    gettext_noop("Checks that run on a compute node before it joins. They take up to two hours."),
    gettext_noop("The version of Kubernetes."),
    gettext_noop("The file system for volume claims: 1,200 GiB or a multiple of 2,400. It outlives the cluster."),
    gettext_noop("Throughput for each TiB of its size."),
    gettext_noop(
        "One private subnet for nodes and two small ones for the API, a NAT gateway and an S3 endpoint; nodes "
        "accept connections from each other only."
    ),
    gettext_noop("On the sandbox cloud that comes with Cohort. Not yet proven in an account of a participant."),
    gettext_noop(
        "HyperPod's own Kubernetes operators (health monitoring, training operator) come from a Helm chart "
        "that this version does not install."
    ),
    gettext_noop(
        "A group of small instances for the system pods is advisable when all others are reserved for training."
    ),
    gettext_noop(
        "A retired site keeps its network, its file system and its buckets, because data is in them; a person "
        "deletes them."
    ),
    gettext_noop("First version."),
    gettext_noop("HyperPod with Slurm"),
    gettext_noop(
        "Slurm on SageMaker HyperPod, with Lustre at /fsx and, if wished, OpenZFS at /home. Nodes that fail "
        "are replaced."
    ),
    gettext_noop(
        "One group of one instance is the controller; compute groups run the jobs, each in a partition of its name."
    ),
    gettext_noop("The file system at /fsx: 1,200 GiB or a multiple of 2,400. It outlives the cluster."),
    gettext_noop("The file system at /home."),
    gettext_noop("Throughput of the file system at /home."),
    gettext_noop(
        "One private subnet with a NAT gateway and an S3 endpoint; nodes accept connections from each other only."
    ),
    gettext_noop(
        "The Slurm REST API listens on the controller's private address: whoever is to launch jobs from "
        "outside needs a route into the network."
    ),
    gettext_noop(
        "A retired site keeps its network, its file systems and its buckets, because data is in them; a "
        "person deletes them."
    ),
    gettext_noop("ParallelCluster with P5"),
    gettext_noop(
        "Slurm on EC2 by AWS ParallelCluster, for P5 instances from an on-demand reservation or a Capacity Block, with Lustre at /fsx and, if wished, OpenZFS at /home."
    ),
    gettext_noop("How many instances the group has; all of them run all the time."),
    gettext_noop("The controller is the head node; each compute group is a queue of its name."),
    gettext_noop("How EC2 gives the instances: on demand, also from a reservation, or from a Capacity Block."),
    gettext_noop("ParallelCluster's own daemon on the head node replaces instances that fail."),
    gettext_noop(
        "One private subnet with a NAT gateway and an S3 endpoint; the head node has no public address and is reached by Session Manager."
    ),
    gettext_noop(
        "With the real ParallelCluster on the sandbox cloud that comes with Cohort. Not yet proven in an account of a participant."
    ),
    gettext_noop(
        "The Slurm REST API listens on the head node's private address: whoever is to launch jobs from outside needs a route into the network."
    ),
    gettext_noop(
        "At the end of a Capacity Block AWS takes its instances away; those of an on-demand reservation stay, at the on-demand price."
    ),
    gettext_noop("ParallelCluster with Trn1"),
    gettext_noop(
        "Slurm on EC2 by AWS ParallelCluster, for Trn1 instances from an on-demand reservation or a Capacity Block, with Lustre at /fsx and, if wished, OpenZFS at /home."
    ),
)
