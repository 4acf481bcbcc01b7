"""Where a script or manifest would run: what is empty or None is not known, and is then not judged. Pure."""

from dataclasses import dataclass

from clusters import facts

# Families that are bought for their network; on others EFA is there, and no harm is done without it.
FAST = ("p", "trn")


@dataclass(frozen=True)
class Around:
    engine: str = ""  # parallelcluster, hyperpod-slurm or hyperpod-eks
    instance_type: str = ""  # of the nodes that it would run on
    nodes: int | None = None  # as the launch says, beside the script
    minutes: int | None = None
    partition: str = ""
    minutes_left: int | None = None  # until the reservation of its nodes ends
    accounts: tuple[str, ...] = ()  # what it may be charged to
    cloud_account: str = ""
    namespace: str = ""
    sends: frozenset[str] = (
        frozenset()
    )  # options that reach a scheduler whose server reads no script; empty: it is read
    environment: tuple[str, ...] = ()  # names of variables that the launch gives it

    @property
    def heals(self) -> bool | None:
        """Whether the engine brings a job back by itself; None when the engine is not known."""
        return self.engine.startswith("hyperpod") if self.engine else None


NOWHERE = Around()


def fast_network(instance_type: str) -> int:
    """EFA interfaces of a type that is bought for them; 0 for others and for those that are not known."""
    known = facts.load().instance(instance_type)
    return (known.efa or 0) if known and known.family.startswith(FAST) else 0
