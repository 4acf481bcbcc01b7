"""What an account's owner is handed to let Cohort in, and which actions of which engine are missing."""

import json
import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from clusters import account_opening, accounts
from clusters.account_opening import engines, one_line, parameters, quick_create, statement, template
from clusters.providers.account_facts import NEEDED, NEEDED_BY_ENGINE

ARN, ID = "arn:aws:iam::000000000042:role/{}", "a1b2c3"


@pytest.mark.parametrize(
    ("role", "name", "path"), [("Cohort", "Cohort", "/"), ("teams/ml/Cohort", "Cohort", "/teams/ml/")]
)
def test_the_template_is_told_the_role_as_it_is_called(role, name, path):
    assert parameters(ARN.format(role), ID) == {"ExternalId": ID, "RoleName": name, "RolePath": path}


def test_the_link_and_the_line_make_a_role_that_trusts_only_with_the_id():
    body, told = template(accounts.permissions(), "arn:aws:iam::1:root"), parameters(ARN.format("Cohort"), ID)
    words = shlex.split(one_line(body, told, "ap-northeast-1"))
    assert json.loads(words[-1]) == body and f"ParameterKey=ExternalId,ParameterValue={ID}" in words
    role = body["Resources"]["Role"]["Properties"]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Condition"] == {"StringEquals": {"sts:ExternalId": {"Ref": "ExternalId"}}}
    assert role["Policies"][0]["PolicyDocument"] == accounts.permissions()
    assert len(json.dumps(accounts.permissions())) < 10_240  # what the inline policies of a role may have
    assert quick_create("", told, "ap-northeast-1") == ""
    link = quick_create("https://ours.s3.amazonaws.com/role template.json", told, "ap-northeast-1")
    assert link.startswith("https://ap-northeast-1.console.aws.amazon.com/cloudformation/home?region=ap-northeast-1#/")
    asked = parse_qs(urlsplit(link).fragment.partition("?")[2])
    assert asked["templateURL"] == ["https://ours.s3.amazonaws.com/role template.json"]
    assert (asked["param_ExternalId"], asked["param_RoleName"]) == ([ID], ["Cohort"])


def test_what_each_engine_lacks_is_one_statement_for_the_owner():
    assert [one.missing for one in engines([None])] == [None, None, None] and statement(engines([None])) == ""
    assert all(one.missing == () for one in engines([[], None])) and statement(engines([[]])) == ""
    denied = [NEEDED_BY_ENGINE["eks"][0], NEEDED_BY_ENGINE["parallelcluster"][0]]
    slurm, eks, parallel = engines([[denied[0]], [denied[1]]])  # of two Regions
    assert (slurm.missing, eks.missing, parallel.missing) == ((), (denied[0],), (denied[1],))
    assert eks.needed == len({*NEEDED, *NEEDED_BY_ENGINE["hyperpod"], *NEEDED_BY_ENGINE["eks"]})
    told = json.loads(statement(engines([denied])))
    assert told == {"Effect": "Allow", "Action": sorted(denied), "Resource": "*"}
    assert set(account_opening.ENGINES) == set(NEEDED_BY_ENGINE)
