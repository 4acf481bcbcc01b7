"""Where jobs go and by which way is part of a configuration: the way to the scheduler, and on Kubernetes namespace and queue."""

from typing import Any

import pytest

from clusters import architectures
from clusters.architectures.configuration import KubernetesPlace, read_configuration
from clusters.change_forms import ChangeForm
from clusters.findings import Refusals
from clusters.launchers import manifests
from clusters.models import CloudAccount
from clusters.request_forms import RequestForm, first_of
from tenants.wall.acting import acting_for

PLACE = {"namespace": "hyperpod-ns-hoshi", "queue": "hoshi-localqueue", "priority": "training-priority"}


def document(architecture: str, **more: Any) -> dict[str, Any]:
    head = {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"}
    workers = {"name": "workers", "instance_type": "p5.48xlarge", "count": 2}
    groups = [workers] if architecture == "hyperpod-eks" else [head, workers]
    place = {"region": "ap-northeast-1", "az_id": "apne1-az4", "subnet_cidr": "/22"}
    return {"architecture": architecture, **place, "instance_groups": groups, **more}


@pytest.mark.parametrize(
    ("architecture", "more", "code", "field"),
    [
        ("hyperpod-slurm", {"reach": "pigeon"}, "not_a_choice", "reach"),
        ("hyperpod-eks", {"reach": "agent"}, "not_here", "reach"),
        ("hyperpod-slurm", {"kubernetes": PLACE}, "not_here", "kubernetes"),
        ("hyperpod-eks", {"kubernetes": "hoshi"}, "not_fields", "kubernetes"),
        ("hyperpod-eks", {"kubernetes": {"node": "x"}}, "unknown_field", "kubernetes.node"),
        ("hyperpod-eks", {"kubernetes": PLACE | {"namespace": "Hoshi"}}, "bad_kubernetes_name", "kubernetes.namespace"),
        ("hyperpod-eks", {"kubernetes": PLACE | {"queue": "a" * 64}}, "bad_kubernetes_name", "kubernetes.queue"),
        ("hyperpod-eks", {"kubernetes": PLACE | {"queue": "a_b"}}, "bad_kubernetes_name", "kubernetes.queue"),
        ("hyperpod-eks", {"kubernetes": {"namespace": "kube-system"}}, "namespace_of_kubernetes", "kubernetes.namespace"),
        ("hyperpod-eks", {"kubernetes": {"priority": "high"}}, "priority_without_queue", "kubernetes.priority"),
        ("hyperpod-eks", {"kubernetes": {"priority": 7}}, "not_text", "kubernetes.priority"),
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused_in_a_sentence_that_names_it(architecture, more, code, field):
    with pytest.raises(Refusals) as told:
        read_configuration(document(architecture, **more))
    [finding] = told.value.findings
    assert (finding.code, finding.field) == (code, field)
    assert field in finding.sentence() and (finding.advice() or code in ("not_fields", "not_text"))


def test_what_is_left_out_is_direct_and_the_default_namespace_and_what_is_kept_reads_the_same():
    slurm, eks = read_configuration(document("hyperpod-slurm")), read_configuration(document("hyperpod-eks"))
    assert (slurm.reach, slurm.kubernetes) == ("direct", None)
    assert eks.kubernetes == KubernetesPlace("default", "", "")
    for more in ({"kubernetes": PLACE}, {"kubernetes": {"queue": "q"}}):
        wish = read_configuration(document("hyperpod-eks", **more))
        assert read_configuration(wish.document()) == wish and wish.kubernetes.queue == more["kubernetes"]["queue"]
    asked = read_configuration(document("hyperpod-slurm", reach="agent"))
    assert read_configuration(asked.document()).reach == "agent"
    before = {key: value for key, value in eks.document().items() if key not in ("kubernetes", "reach")}
    assert read_configuration(before) == eks  # kept before one could say


def test_the_form_asks_for_them_and_a_change_leaves_what_cannot_be_changed(world):
    with acting_for(world.hoshi):
        _through_the_forms()


def _through_the_forms() -> None:
    for slug, more in (("hyperpod-slurm", {"reach": "agent"}), ("hyperpod-eks", {"kubernetes": PLACE})):
        wish = read_configuration(document(slug, **more))
        kept = first_of(wish.document())
        form = RequestForm(accounts=CloudAccount.objects.none(), architecture=wish.made_of(), initial=kept)
        form.cleaned_data = {name: kept.get(name, "") for name in form.fields}
        assert {name: form.carried()[name] for name in more} == more
        change = ChangeForm(architecture=wish.made_of())
        assert not {"reach", "kubernetes_namespace"} & set(change.fields)
        told = ChangeForm.first(wish)
        change.cleaned_data = {"node_recovery": "Automatic", "lustre_gib": 1200, "lustre_mbs": "250"} | told
        again = read_configuration(change.changed(wish, wish.document()["instance_groups"]))
        assert (again.reach, again.kubernetes) == (wish.reach, wish.kubernetes)
    old = architectures.architecture("hyperpod-slurm", "2026.11")
    assert "reach" not in RequestForm(accounts=CloudAccount.objects.none(), architecture=old).fields


def test_somebodys_own_object_gets_the_clusters_queue_unless_it_names_one():
    theirs = {"kind": "TrainJob", "metadata": {"name": "x"}, "spec": {}}
    made = manifests.queued(dict(theirs, metadata={"name": "x"}, spec={}), "team", "high")
    assert (
        made["metadata"]["labels"] == {manifests.QUEUE: "team", manifests.PRIORITY: "high"} and made["spec"]["suspend"]
    )
    own = {"kind": "TrainJob", "metadata": {"name": "x", "labels": {manifests.QUEUE: "theirs"}}, "spec": {}}
    assert manifests.queued(own, "team", "high")["metadata"]["labels"] == {manifests.QUEUE: "theirs"}
    assert manifests.queued(theirs, "", "") == theirs
