"""Only a name that is taken is said to be taken; another rule that breaks is another mistake."""

import pytest
from django.db import IntegrityError
from django.utils import timezone

from clusters.actions.clusters import _new_cluster
from clusters.architectures.configuration import read_configuration
from clusters.models import Cluster
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests import examples


def test_another_broken_rule_is_not_a_taken_name(world, monkeypatch):
    with acting_for(world.hoshi, staff=True):
        made = examples.make(world, world.hoshi, 1)
        wish = read_configuration(made["revisions"].body)
        values = (world.participations["hoshi"], made["accounts"])
        with pytest.raises(Refused) as refused:
            _new_cluster(*values, made["clusters"].name, wish, "engine")
        assert refused.value.code == "name_taken"
        monkeypatch.setattr(Cluster._meta.get_field("state"), "default", "floating")
        monkeypatch.setattr(Cluster._meta.get_field("state"), "_get_default", lambda: "floating", raising=False)
        with pytest.raises(IntegrityError):
            _new_cluster(*values, f"other-{timezone.now():%S}", wish, "engine")
