"""CloudFormation: what a template may say, and how stacks come, fail, change and go."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import NETWORK, Account, network

LOG = {"Type": "AWS::Logs::LogGroup"}


def with_resources(**resources: Any) -> dict[str, Any]:
    return {"Resources": resources}


def test_a_stack_comes_resource_by_resource_in_its_own_time(account: Account) -> None:
    account.stack("net", NETWORK)
    assert account.stack_status("net") == "CREATE_IN_PROGRESS"
    account.cloud.advance(13)
    statuses = {
        one["LogicalResourceId"]: one["ResourceStatus"]
        for one in account("cloudformation").list_stack_resources(StackName="net")["StackResourceSummaries"]
    }
    assert (statuses["Vpc"], statuses["Nodes"], statuses["Bucket"]) == (
        "CREATE_COMPLETE", "CREATE_IN_PROGRESS", "CREATE_IN_PROGRESS")  # fmt: skip
    account.cloud.advance(30)
    assert account.stack_status("net") == "CREATE_COMPLETE"
    made = account.outputs("net")
    subnet = account("ec2").describe_subnets(SubnetIds=[made["Subnet"]])["Subnets"][0]
    assert (subnet["VpcId"], subnet["AvailabilityZoneId"], subnet["AvailableIpAddressCount"]) == (
        made["Vpc"], "apne1-az4", 2043)  # fmt: skip
    assert account("iam").get_role(RoleName=made["Role"].rsplit("/", 1)[-1])["Role"]["Arn"] == made["Role"]
    account("s3").head_bucket(Bucket=made["Bucket"])


def test_each_resource_has_its_events_newest_first(account: Account) -> None:
    account.stack("one", with_resources(Log=LOG))
    account.cloud.advance(60)
    pages = account("cloudformation").get_paginator("describe_stack_events").paginate(StackName="one")
    events = [
        (e["LogicalResourceId"], e["ResourceStatus"], e.get("ResourceStatusReason", ""))
        for p in pages
        for e in p["StackEvents"]
    ]
    assert events == [
        ("one", "CREATE_COMPLETE", ""),
        ("Log", "CREATE_COMPLETE", ""),
        ("Log", "CREATE_IN_PROGRESS", "Resource creation Initiated"),
        ("Log", "CREATE_IN_PROGRESS", ""),
        ("one", "CREATE_IN_PROGRESS", "User Initiated"),
    ]


def lustre(gib: int = 4800, rate: int = 250, **more: Any) -> dict[str, Any]:
    properties = {
        "FileSystemType": "LUSTRE",
        "StorageCapacity": gib,
        "SubnetIds": [{"Ref": "Nodes"}],
        "SecurityGroupIds": [{"Ref": "Group"}],
        "LustreConfiguration": {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": rate},
        **more,
    }
    template = json.loads(json.dumps(NETWORK))
    template["Resources"]["Lustre"] = {"Type": "AWS::FSx::FileSystem", "Properties": properties}
    template["Outputs"]["Dns"] = {"Value": {"Fn::GetAtt": ["Lustre", "DNSName"]}}
    template["Outputs"]["Mount"] = {"Value": {"Fn::GetAtt": ["Lustre", "LustreMountName"]}}
    return template


def test_a_lustre_file_system_takes_ten_minutes_and_is_then_there(account: Account) -> None:
    account.stack("fs", lustre())
    account.cloud.advance(100)
    system = account("fsx").describe_file_systems()["FileSystems"][0]
    assert (system["Lifecycle"], account.stack_status("fs")) == ("CREATING", "CREATE_IN_PROGRESS")
    account.cloud.advance(600)
    system, made = account("fsx").describe_file_systems()["FileSystems"][0], account.outputs("fs")
    assert (system["Lifecycle"], account.stack_status("fs")) == ("AVAILABLE", "CREATE_COMPLETE")
    assert (system["DNSName"], system["LustreConfiguration"]["MountName"]) == (made["Dns"], made["Mount"])


@pytest.mark.parametrize(
    ("gib", "rate", "said"), [(1300, 250, "Storage capacity 1300"), (3600, 250, "3600"), (2400, 300, "300")]
)
def test_a_size_that_lustre_does_not_come_in_fails_and_rolls_back(
    account: Account, gib: int, rate: int, said: str
) -> None:
    account.stack("fs", lustre(gib, rate))
    account.cloud.advance(900)
    stack = account("cloudformation").describe_stacks(StackName="fs")["Stacks"][0]
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    events = account("cloudformation").describe_stack_events(StackName="fs")["StackEvents"]
    failed = [event for event in events if event["ResourceStatus"] == "CREATE_FAILED"]
    assert failed[-1]["LogicalResourceId"] == "Lustre"
    assert said in failed[-1]["ResourceStatusReason"]
    assert not [vpc for vpc in account("ec2").describe_vpcs()["Vpcs"] if vpc["CidrBlock"] == "10.1.0.0/16"]
    with pytest.raises(ClientError, match="already exists"):  # the name stays taken
        account.stack("fs", lustre())
    account("cloudformation").delete_stack(StackName="fs")
    account.cloud.advance(60)
    with pytest.raises(ClientError, match="does not exist"):
        account.stack_status("fs")
    account.stack("fs", lustre())


@pytest.mark.parametrize(
    ("template", "code", "said"),
    [
        ({"Resources": {}}, "ValidationError", "At least one Resources member"),
        (
            with_resources(X={"Type": "AWS::Made::Up"}),
            "ValidationError",
            "Unrecognized resource types: [AWS::Made::Up]",
        ),
        (with_resources(X={"Properties": {}}), "ValidationError", "Type"),
        (with_resources(X={"Type": "AWS::Logs::LogGroup", "DependsOn": "Y"}), "ValidationError", "[Y]"),
        (with_resources(X={**LOG, "Properties": {"LogGroupName": {"Ref": "Nope"}}}), "ValidationError", "[Nope]"),
        (
            with_resources(X={**LOG, "Properties": {"LogGroupName": {"Fn::GetAtt": ["X", "Nope"]}}}),
            "ValidationError",
            "Nope",
        ),
        (
            with_resources(A={**LOG, "DependsOn": "B"}, B={**LOG, "DependsOn": "A"}),
            "ValidationError",
            "Circular dependency",
        ),
        ("Resources: [", "ValidationError", "not well-formed"),
        ("Resources: !!python/object/apply:os.system ['touch /tmp/never']", "ValidationError", "not well-formed"),
        ("Resources: {X: {Type: !Nope x}}", "ValidationError", "not well-formed"),
        ("just text", "ValidationError", "unsupported structure"),
    ],
)
def test_a_template_that_makes_no_sense_is_refused_at_once(
    shared: Account, template: Any, code: str, said: str
) -> None:
    with pytest.raises(ClientError) as refused:
        shared.stack("bad", template)
    assert refused.value.response["Error"]["Code"] == code
    assert said in refused.value.response["Error"]["Message"]
    with pytest.raises(ClientError, match="does not exist"):
        shared.stack_status("bad")


PARAMETERS = {
    "Parameters": {
        "Size": {"Type": "Number", "MinValue": 1, "MaxValue": 9},
        "Kind": {"Type": "String", "AllowedValues": ["a", "b"], "Default": "a"},
        "Password": {"Type": "String", "NoEcho": True, "Default": "hidden"},
    },
    "Resources": {"Log": LOG},
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Parameters: [Size] must have values"),
        ({"Size": "12"}, "between MinValue and MaxValue"),
        ({"Size": "many"}, "must be a number"),
        ({"Size": "1", "Kind": "c"}, "must be one of AllowedValues"),
        ({"Size": "1", "Nope": "c"}, "Parameters: [Nope] do not exist in the template"),
    ],
)
def test_parameters_outside_their_limits_are_refused(shared: Account, given: dict[str, str], said: str) -> None:
    parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in given.items()]
    with pytest.raises(ClientError) as refused:
        shared.stack("bad", PARAMETERS, Parameters=parameters)
    assert said in refused.value.response["Error"]["Message"]


def test_a_parameter_without_echo_is_not_shown(account: Account) -> None:
    account.stack("quiet", PARAMETERS, Parameters=[{"ParameterKey": "Size", "ParameterValue": "3"}])
    shown = account("cloudformation").describe_stacks(StackName="quiet")["Stacks"][0]["Parameters"]
    assert {one["ParameterKey"]: one["ParameterValue"] for one in shown} == {
        "Size": "3",
        "Kind": "a",
        "Password": "****",
    }


def test_the_functions_of_a_template_are_resolved(account: Account) -> None:
    template = {
        "Mappings": {"Names": {"ap-northeast-1": {"short": "tokyo"}}},
        "Conditions": {
            "Tokyo": {"Fn::Equals": [{"Ref": "AWS::Region"}, "ap-northeast-1"]},
            "Never": {"Fn::Not": [{"Condition": "Tokyo"}]},
        },
        "Resources": {"Log": LOG, "Absent": {**LOG, "Condition": "Never"}},
        "Outputs": {
            "Sub": {"Value": {"Fn::Sub": ["${a}-${AWS::AccountId}-${!Raw}", {"a": "x"}]}},
            "Join": {"Value": {"Fn::Join": ["/", ["a", {"Ref": "AWS::Region"}]]}},
            "Select": {"Value": {"Fn::Select": [1, {"Fn::Split": [",", "a,b,c"]}]}},
            "Zones": {"Value": {"Fn::Select": [0, {"Fn::GetAZs": ""}]}},
            "Cidr": {"Value": {"Fn::Select": [1, {"Fn::Cidr": ["10.0.0.0/16", 2, 12]}]}},
            "Map": {"Value": {"Fn::FindInMap": ["Names", {"Ref": "AWS::Region"}, "short"]}},
            "If": {"Value": {"Fn::If": ["Tokyo", "yes", "no"]}},
            "Arn": {"Value": {"Fn::GetAtt": "Log.Arn"}},
            "Gone": {"Condition": "Never", "Value": "never"},
        },
    }
    account.stack("fns", template)
    account.cloud.advance(60)
    found = account.outputs("fns")
    arn = found.pop("Arn")
    assert arn.startswith(f"arn:aws:logs:ap-northeast-1:{account.id}:log-group:fns-Log-")
    assert found == {
        "Sub": f"x-{account.id}-${{Raw}}",
        "Join": "a/ap-northeast-1",
        "Select": "b",
        "Zones": "ap-northeast-1a",
        "Cidr": "10.0.16.0/20",
        "Map": "tokyo",
        "If": "yes",
    }
    resources = account("cloudformation").list_stack_resources(StackName="fns")["StackResourceSummaries"]
    assert [one["LogicalResourceId"] for one in resources] == ["Log"]


def test_the_same_token_is_the_same_stack_and_another_is_refused(account: Account) -> None:
    first = account.stack("one", with_resources(Log=LOG), ClientRequestToken="a-1")
    assert account.stack("one", with_resources(Log=LOG), ClientRequestToken="a-1") == first
    with pytest.raises(ClientError) as refused:
        account.stack("one", with_resources(Log=LOG), ClientRequestToken="a-2")
    assert refused.value.response["Error"]["Code"] == "AlreadyExistsException"
    effective = account.cloud.calls(operation="CreateStack", account=account.id, effective=1)
    assert len(effective) == 1


def test_roles_need_to_be_acknowledged_and_named_ones_by_name(account: Account) -> None:
    role = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
    for resource, capabilities, needed in (
        (role, [], "CAPABILITY_IAM"),
        ({**role, "Properties": {**role["Properties"], "RoleName": "x"}}, ["CAPABILITY_IAM"], "CAPABILITY_NAMED_IAM"),
    ):
        with pytest.raises(ClientError) as refused:
            account.stack("one", with_resources(Role=resource), Capabilities=capabilities)
        assert refused.value.response["Error"]["Code"] == "InsufficientCapabilitiesException"
        assert needed in refused.value.response["Error"]["Message"]


def test_a_template_over_the_limit_goes_by_the_bucket(account: Account) -> None:
    made = network(account)
    long = {"Resources": {"Log": LOG}, "Metadata": {"long": "x" * 52_000}}
    with pytest.raises(ClientError, match="51200"):
        account.stack("long", long)
    account("s3").put_object(Bucket=made["Bucket"], Key="long.json", Body=json.dumps(long).encode())
    url = f"https://{made['Bucket']}.s3.ap-northeast-1.amazonaws.com/long.json"
    account("cloudformation").create_stack(StackName="long", TemplateURL=url)
    account.cloud.advance(60)
    assert account.stack_status("long") == "CREATE_COMPLETE"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.2.0.0/24"}, "10.2.0.0/24"),
        ({"VpcId": "vpc-00000000000000000", "CidrBlock": "10.1.1.0/24"}, "vpc-00000000000000000"),
        (
            {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.1.0/24", "AvailabilityZone": "ap-northeast-1z"},
            "ap-northeast-1z",
        ),
        ({"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.1.0/24", "AvailabilityZoneId": "use1-az1"}, "use1-az1"),
        ({"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.1.0/24", "Colour": "red"}, "extraneous key [Colour]"),
        ({"VpcId": {"Ref": "Vpc"}}, "required key [CidrBlock]"),
    ],
)
def test_what_the_network_refuses_makes_the_stack_fail(account: Account, properties: dict[str, Any], said: str) -> None:
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.1.0.0/16"}}
    account.stack("net", with_resources(Vpc=vpc, Bad={"Type": "AWS::EC2::Subnet", "Properties": properties}))
    account.cloud.advance(120)
    assert account.stack_status("net") == "ROLLBACK_COMPLETE"
    events = account("cloudformation").describe_stack_events(StackName="net")["StackEvents"]
    assert [e for e in events if e["ResourceStatus"] == "CREATE_FAILED" and said in e["ResourceStatusReason"]], events


@pytest.mark.parametrize(("on_failure", "ends"), [("DO_NOTHING", "CREATE_FAILED"), ("DELETE", "DELETE_COMPLETE")])
def test_what_follows_a_failure_is_the_callers_choice(account: Account, on_failure: str, ends: str) -> None:
    account.cloud.fault("resource_fails", service="cloudformation", account=account.id, match="Log")
    stack = account.stack("one", with_resources(Log=LOG), OnFailure=on_failure)
    account.cloud.advance(60)
    assert account.stack_status(stack) == ends


def test_a_stack_goes_in_the_opposite_order_and_its_name_is_free_again(account: Account) -> None:
    made = network(account)
    stack = account("cloudformation").describe_stacks(StackName="net")["Stacks"][0]["StackId"]
    for item in account("s3").list_objects_v2(Bucket=made["Bucket"])["Contents"]:
        account("s3").delete_object(Bucket=made["Bucket"], Key=item["Key"])
    account("cloudformation").delete_stack(StackName="net")
    assert account.stack_status("net") == "DELETE_IN_PROGRESS"
    account.cloud.advance(120)
    assert account.stack_status(stack) == "DELETE_COMPLETE"
    with pytest.raises(ClientError):
        account("ec2").describe_subnets(SubnetIds=[made["Subnet"]])
    events = account("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    gone = [e["LogicalResourceId"] for e in events if e["ResourceStatus"] == "DELETE_COMPLETE"][::-1]
    assert gone.index("Nodes") < gone.index("Vpc")
    account("cloudformation").delete_stack(StackName="net")  # to delete what is not there succeeds
    account.stack("net", NETWORK)


def test_a_bucket_with_objects_keeps_its_stack_from_going(account: Account) -> None:
    made = network(account)
    account("cloudformation").delete_stack(StackName="net")
    account.cloud.advance(120)
    stack = account("cloudformation").describe_stacks(StackName="net")["Stacks"][0]
    assert stack["StackStatus"] == "DELETE_FAILED"
    assert "[Bucket]" in stack["StackStatusReason"]
    account("cloudformation").delete_stack(StackName="net", RetainResources=["Bucket"])
    account.cloud.advance(120)
    assert account.stack_status(stack["StackId"]) == "DELETE_COMPLETE"
    account("s3").head_bucket(Bucket=made["Bucket"])


@pytest.mark.parametrize(("policy", "stays"), [("Retain", True), ("RetainExceptOnCreate", True), ("Delete", False)])
def test_what_is_to_be_retained_outlives_its_stack(account: Account, policy: str, stays: bool) -> None:
    parameter = {"Type": "AWS::SSM::Parameter", "DeletionPolicy": policy,
                 "Properties": {"Name": "/kept", "Type": "String", "Value": "1"}}  # fmt: skip
    account.stack("one", with_resources(Kept=parameter))
    account.cloud.advance(30)
    account("cloudformation").delete_stack(StackName="one")
    account.cloud.advance(30)
    assert bool(account("ssm").get_parameters(Names=["/kept"])["Parameters"]) is stays


@pytest.mark.parametrize(("policy", "stays"), [("Retain", True), ("RetainExceptOnCreate", False)])
def test_what_a_failed_creation_leaves_depends_on_the_policy(account: Account, policy: str, stays: bool) -> None:
    parameter = {"Name": "/kept", "Type": "String", "Value": "1"}
    kept = {"Type": "AWS::SSM::Parameter", "DeletionPolicy": policy, "Properties": parameter}
    account.cloud.fault("resource_fails", service="cloudformation", account=account.id, match="Log")
    account.stack("one", with_resources(Kept=kept, Log={**LOG, "DependsOn": "Kept"}))
    account.cloud.advance(60)
    assert account.stack_status("one") == "ROLLBACK_COMPLETE"
    assert bool(account("ssm").get_parameters(Names=["/kept"])["Parameters"]) is stays


def test_a_changed_name_means_a_new_resource_and_the_old_one_goes(account: Account) -> None:
    def named(name: str) -> dict[str, Any]:
        return with_resources(Log={**LOG, "Properties": {"LogGroupName": name}})

    account.stack("one", named("/old"))
    account.cloud.advance(30)
    account("cloudformation").update_stack(StackName="one", TemplateBody=json.dumps(named("/new")))
    account.cloud.advance(60)
    assert account.stack_status("one") == "UPDATE_COMPLETE"
    assert [group["logGroupName"] for group in account("logs").describe_log_groups()["logGroups"]] == ["/new"]


def test_one_stack_uses_what_another_exports(account: Account) -> None:
    account.stack("giver", {**with_resources(Log=LOG), "Outputs": {"X": {"Value": "42", "Export": {"Name": "answer"}}}})
    account.cloud.advance(30)
    parameter = {"Name": "/answer", "Type": "String", "Value": {"Fn::ImportValue": "answer"}}
    account.stack("taker", with_resources(P={"Type": "AWS::SSM::Parameter", "Properties": parameter}))
    account.cloud.advance(30)
    assert account("ssm").get_parameter(Name="/answer")["Parameter"]["Value"] == "42"
    assert [one["Name"] for one in account("cloudformation").list_exports()["Exports"]] == ["answer"]


def test_a_protected_stack_is_not_deleted(account: Account) -> None:
    account.stack("one", with_resources(Log=LOG), EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="TerminationProtection"):
        account("cloudformation").delete_stack(StackName="one")


def parameters(**values: str) -> dict[str, Any]:
    return with_resources(
        **{name: {"Type": "AWS::SSM::Parameter", "Properties": {"Name": f"/{name}", "Type": "String", "Value": value}}
           for name, value in values.items()}
    )  # fmt: skip


def test_an_update_makes_changes_and_removes(account: Account) -> None:
    account.stack("one", parameters(A="1", B="1"))
    account.cloud.advance(30)
    wish = {"StackName": "one", "TemplateBody": json.dumps(parameters(B="2", C="2"))}
    account("cloudformation").update_stack(**wish)
    assert account.stack_status("one") == "UPDATE_IN_PROGRESS"
    account.cloud.advance(60)
    assert account.stack_status("one") == "UPDATE_COMPLETE"
    found = account("ssm").get_parameters(Names=["/A", "/B", "/C"])["Parameters"]
    assert {one["Name"]: one["Value"] for one in found} == {"/B": "2", "/C": "2"}
    with pytest.raises(ClientError, match="No updates are to be performed"):
        account("cloudformation").update_stack(**wish)


def test_an_update_that_fails_is_put_back(account: Account) -> None:
    account.stack("one", parameters(A="1"))
    account.cloud.advance(30)
    template = parameters(A="2", B="2")
    template["Resources"]["Z"] = {"Type": "AWS::EC2::Subnet", "DependsOn": ["A", "B"],
                                  "Properties": {"VpcId": "vpc-00000000000000000", "CidrBlock": "10.1.0.0/24"}}  # fmt: skip
    account("cloudformation").update_stack(StackName="one", TemplateBody=json.dumps(template))
    account.cloud.advance(120)
    assert account.stack_status("one") == "UPDATE_ROLLBACK_COMPLETE"
    found = account("ssm").get_parameters(Names=["/A", "/B"])["Parameters"]
    assert {one["Name"]: one["Value"] for one in found} == {"/A": "1"}


def changed_lustre(account: Account, template: dict[str, Any], **update: Any) -> tuple[str, str, dict[str, Any]]:
    """The file system before and after an update of its stack."""
    account.stack("fs", template)
    account.cloud.advance(1500)
    (before,) = account("fsx").describe_file_systems()["FileSystems"]
    account("cloudformation").update_stack(
        StackName="fs", TemplateBody=json.dumps(update["to"]), Capabilities=["CAPABILITY_IAM"]
    )
    account.cloud.advance(2500)
    living = [s for s in account("fsx").describe_file_systems()["FileSystems"] if s["Lifecycle"] == "AVAILABLE"]
    return account.stack_status("fs"), before["FileSystemId"], living[0]


def test_throughput_and_more_storage_change_a_file_system_in_its_place(account: Account) -> None:
    status, was, now = changed_lustre(account, lustre(gib=2400), to=lustre(gib=4800, rate=500))
    assert (status, now["FileSystemId"], now["StorageCapacity"]) == ("UPDATE_COMPLETE", was, 4800)
    assert now["LustreConfiguration"]["PerUnitStorageThroughput"] == 500


def test_storage_never_shrinks_and_the_update_is_put_back(account: Account) -> None:
    status, was, now = changed_lustre(account, lustre(gib=4800), to=lustre(gib=2400))
    assert (status, now["FileSystemId"], now["StorageCapacity"]) == ("UPDATE_ROLLBACK_COMPLETE", was, 4800)


def test_another_kind_of_storage_is_another_file_system(account: Account) -> None:
    other = lustre()
    other["Resources"]["Lustre"]["Properties"]["LustreConfiguration"] = {
        "DeploymentType": "PERSISTENT_1", "PerUnitStorageThroughput": 200}  # fmt: skip
    status, was, now = changed_lustre(account, lustre(), to=other)
    assert status == "UPDATE_COMPLETE" and now["FileSystemId"] != was


def test_the_events_of_an_update_carry_its_token(account: Account) -> None:
    account.stack("one", parameters(A="1"), ClientRequestToken="made")
    account.cloud.advance(30)
    wish = {"StackName": "one", "TemplateBody": json.dumps(parameters(A="2")), "ClientRequestToken": "changed"}
    account("cloudformation").update_stack(**wish)
    account.cloud.advance(60)
    events = account("cloudformation").describe_stack_events(StackName="one")["StackEvents"]
    tokens = {event["ResourceStatus"]: event["ClientRequestToken"] for event in events}
    assert (tokens["CREATE_COMPLETE"], tokens["UPDATE_COMPLETE"]) == ("made", "changed")


def test_an_account_has_room_for_five_networks(account: Account) -> None:
    vpc = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.1.0.0/16"}}
    account.stack("many", with_resources(**{f"Vpc{n}": vpc for n in range(5)}))  # one is there from the beginning
    account.cloud.advance(120)
    assert account.stack_status("many") == "ROLLBACK_COMPLETE"
    events = account("cloudformation").describe_stack_events(StackName="many")["StackEvents"]
    assert [e for e in events if "maximum number of VPCs" in e.get("ResourceStatusReason", "")]


def test_lists_of_stacks_come_in_pages(account: Account) -> None:
    for number in range(3):
        account.stack(f"s{number}", with_resources(Log=LOG))
    account.cloud.advance(60)
    found = account("cloudformation").list_stacks(StackStatusFilter=["CREATE_COMPLETE"])["StackSummaries"]
    assert [one["StackName"] for one in found] == ["s2", "s1", "s0"]
