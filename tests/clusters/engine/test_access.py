"""An account from its adding to the first answer: what the page gives to be pasted really lets us in."""

import json
import shlex

from clusters import accounts
from clusters.models import CloudAccount
from clusters.providers import aws
from tenants.models import Due
from tenants.wall.acting import acting_for
from tests.clusters.sandbox.driver import REGION, Account


def test_what_is_pasted_lets_us_in_and_a_new_id_shuts_the_door(bench):
    owner = Account(bench.cloud)

    def now():
        with acting_for(bench.tenant):
            return CloudAccount.objects.get(account_id=owner.id)

    def tried():
        with acting_for(bench.tenant):
            accounts.check_access(account=now(), by="engine")
        bench.step("account")
        return now()

    Due.objects.filter(kind="account").update(due_at=None)  # the bench's own account has no turn here
    with acting_for(bench.tenant):
        added = accounts.add_account(tenant=bench.tenant, account_id=owner.id, name="", regions=[REGION], by="engine")
    closed = tried()
    assert closed.access == "no", closed.lost_reason
    assert closed.denied_reason and closed.access_since is not None
    iam, role = owner.owner("iam"), added.role_arn.rpartition("/")[2]
    iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(accounts.trust_policy(added)))
    iam.put_role_policy(RoleName=role, PolicyName="cohort", PolicyDocument=json.dumps(accounts.permissions()))
    opened = tried()
    assert (opened.access, opened.denied_reason, opened.lost_reason) == (
        "yes",
        "",
        "",
    ) and opened.access_since > closed.access_since
    assert not accounts.being_checked(opened)
    bench.cloud.fault("timeout_after_success", account=owner.id, times=400)
    lost = tried()
    assert lost.access == "unknown" and lost.lost_reason and lost.last_contact_at == opened.last_contact_at
    bench.cloud.ask("DELETE", "faults")
    assert tried().access == "yes"
    with acting_for(bench.tenant):
        accounts.renew_external_id(account=now(), by="engine")
    aws._start_again()  # credentials that were given out stay good for their hour
    assert tried().access == "no"
    assert [kind for kind in bench.kinds("account.") if kind == "account.denied"] == ["account.denied"] * 2


def test_the_line_of_the_page_lets_us_in_and_an_open_role_is_told_of_until_it_asks_for_the_id(bench):
    owner = Account(bench.cloud)
    Due.objects.filter(kind="account").update(due_at=None)
    with acting_for(bench.tenant):
        added = accounts.add_account(
            tenant=bench.tenant, account_id=owner.id, name="", regions=[REGION], by="engine",
            role_arn=f"arn:aws:iam::{owner.id}:role/teams/ml/Cohort",
        )  # fmt: skip

    def tried():
        with acting_for(bench.tenant):
            accounts.check_access(account=CloudAccount.objects.get(pk=added.pk), by="engine")
        bench.step("account")
        with acting_for(bench.tenant):
            return CloudAccount.objects.get(pk=added.pk)

    line = shlex.split(accounts.opening(added)["line"])
    told = [word.removeprefix("ParameterKey=").split(",ParameterValue=") for word in line if word.startswith("Param")]
    wanted = [{"ParameterKey": name, "ParameterValue": value} for name, value in told]
    stacks, body = owner.owner("cloudformation"), line[line.index("--template-body") + 1]
    stacks.create_stack(
        StackName="cohort-access", TemplateBody=body, Parameters=wanted, Capabilities=["CAPABILITY_NAMED_IAM"]
    )
    bench.cloud.advance(600)
    events = stacks.describe_stack_events(StackName="cohort-access")["StackEvents"]
    assert events[0]["ResourceStatus"] == "CREATE_COMPLETE", [one.get("ResourceStatusReason") for one in events]
    opened = tried()
    assert (opened.access, opened.guarded) == ("yes", "yes"), opened.denied_reason
    iam, open_to_all = owner.owner("iam"), accounts.trust_policy(added)
    del open_to_all["Statement"][0]["Condition"]
    iam.update_assume_role_policy(RoleName="Cohort", PolicyDocument=json.dumps(open_to_all))
    assert tried().guarded == tried().guarded == "no"
    iam.update_assume_role_policy(RoleName="Cohort", PolicyDocument=json.dumps(accounts.trust_policy(added)))
    assert tried().guarded == "yes"
    kinds = bench.kinds("account.")
    assert (kinds.count("account.unguarded"), kinds.count("account.guarded")) == (1, 1)
