"""One thing that a change does to one part of a cluster, and the sentences that say so."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clusters.findings import untranslated
from clusters.wording import gettext_noop

# From harmless to final; `refused` says that the engine does not do it, `step` what comes before it.
Kind = Literal["created", "changed", "later", "step", "replaced", "removed", "lost", "kept", "unknown", "refused"]
KINDS: tuple[Kind, ...] = (
    "refused", "lost", "replaced", "removed", "step", "changed", "created", "kept", "later", "unknown",
)  # fmt: skip
WORDS: Mapping[str, str] = {
    "created": gettext_noop("created"),
    "changed": gettext_noop("changed in place"),
    "later": gettext_noop("for nodes to come"),
    "step": gettext_noop("first"),
    "replaced": gettext_noop("replaced"),
    "removed": gettext_noop("removed"),
    "lost": gettext_noop("lost"),
    "kept": gettext_noop("stays"),
    "unknown": gettext_noop("not known"),
    "refused": gettext_noop("not possible"),
}


@dataclass(frozen=True)
class Effect:
    """`rule` is the engine's own name of the rule that says so; `stops` names groups whose jobs it may stop."""

    kind: Kind
    code: str
    part: str
    rule: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    stops: tuple[str, ...] = ()
    holds_data: bool = False

    def sentence(self, translate: Callable[[str], str] = untranslated) -> str:
        return translate(SENTENCES[self.code]) % self.values


SENTENCES: Mapping[str, str] = {
    # Stacks
    "resource_created": gettext_noop("%(name)s (%(type)s)"),
    "resource_changed": gettext_noop("%(name)s (%(type)s): %(fields)s"),
    "resource_replaced": gettext_noop(
        "%(name)s (%(type)s): %(fields)s cannot be changed in place, so a new one is made and the old one is deleted."
    ),
    "resource_replaced_kept": gettext_noop(
        "%(name)s (%(type)s): %(fields)s cannot be changed in place, so a new, empty one is made; the old one stays in "
        "the account and goes on costing until a person deletes it."
    ),
    "resource_removed": gettext_noop("%(name)s (%(type)s)"),
    "resource_lost": gettext_noop("%(name)s (%(type)s), with everything that is on it."),
    "resource_kept": gettext_noop(
        "%(name)s (%(type)s) is no longer part of the cluster; it stays in the account and goes on costing until a "
        "person deletes it."
    ),
    "data_stays": gettext_noop(
        "%(name)s (%(type)s) stays with its data, and goes on costing until a person deletes it."
    ),
    "resource_stays": gettext_noop("%(name)s (%(type)s) stays, because what stays needs it."),
    "resource_unknown": gettext_noop("Whether %(name)s (%(type)s) is changed or replaced is not known here."),
    "storage_grows_only": gettext_noop(
        "A file system of FSx does not shrink: %(name)s has %(old)s GiB, you asked for %(new)s."
    ),
    "storage_by_the_way": gettext_noop(
        "FSx rearranges the data of %(name)s while it is used; it takes one such change in six hours."
    ),
    "part_removed": gettext_noop("%(name)s, with everything in it that its template does not keep on purpose"),
    "configuration_lost": gettext_noop(
        "The configuration of this cluster cannot be read any more (%(why)s). What is listed is what was asked for and "
        "seen since; what it leaves is looked for when it is gone."
    ),
    # HyperPod and ParallelCluster: groups
    "group_created": gettext_noop("Group %(group)s: %(count)s × %(type)s"),
    "nodes_added": gettext_noop("Group %(group)s grows by %(count)s to %(now)s. The others stay as they are."),
    "nodes_removed": gettext_noop(
        "Group %(group)s shrinks by %(count)s to %(now)s. The engine chooses which nodes go; what lies on their disks is lost."
    ),
    "group_removed": gettext_noop(
        "Group %(group)s goes with all its nodes (%(count)s); what lies on their disks is lost."
    ),
    "cluster_created": gettext_noop("The cluster with %(count)s nodes in %(groups)s groups"),
    "cluster_replaced": gettext_noop(
        "%(field)s of a cluster cannot be changed. Ask for a second cluster, move the work, and retire this one."
    ),
    "group_immutable": gettext_noop(
        "%(field)s of the group %(group)s cannot be changed. Add a group under another name, and leave this one out."
    ),
    "group_later": gettext_noop(
        "%(field)s of the group %(group)s holds for nodes that come from now on; those that run keep what they have "
        "until they are replaced."
    ),
    "cluster_changed": gettext_noop("%(field)s: %(new)s"),
    "software": gettext_noop(
        "Group %(group)s: %(count)s nodes get the newest machine image, %(batch)s at a time. Their root disks are "
        "wiped, /fsx and /home stay."
    ),
    # ParallelCluster: policies
    "field_live": gettext_noop("%(field)s"),
    "field_refused": gettext_noop(
        "ParallelCluster does not change %(field)s of a cluster that is there. Ask for a second cluster, move the "
        "work, and retire this one."
    ),
    "field_drained": gettext_noop(
        "%(field)s: nodes of %(group)s finish their jobs, then they are replaced (QueueUpdateStrategy DRAIN)."
    ),
    "fleet_stop": gettext_noop(
        "%(field)s can be changed only while the compute fleet is stopped; it is %(fleet)s. Stop it, then come back."
    ),
    "login_stop": gettext_noop("%(field)s can be changed only while the login nodes are stopped."),
    "head_stop": gettext_noop("%(field)s can be changed only while the head node is stopped."),
    "terminated": gettext_noop(
        "For this change QueueUpdateStrategy is TERMINATE: ParallelCluster takes the nodes away at once."
    ),
}  # fmt: skip
