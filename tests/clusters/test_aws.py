"""One door to AWS: whose credentials are used, when they are renewed, and what an answer means for the next step."""

import os

import pytest

from clusters.providers import Account, Part, ProviderError, aws
from clusters.providers.hyperpod import HyperPod
from clusters.providers.stacks import PHASES, Stacks
from tests.clusters.scripted_aws import CLOSE, assumed, json_answer, json_error, query_error, scripted

ACCOUNT = Account("000000000001", "ap-northeast-1", "arn:aws:iam::000000000001:role/CohortProvisioner", "x-1", "req-7")
OTHER = Account("000000000002", "us-east-2", "arn:aws:iam::000000000002:role/CohortProvisioner", "x-2", "req-8")
TAGS = {"cohort:tenant": "hoshi", "cohort:incarnation": "1"}
EMPTY_LIST = json_answer({"ClusterSummaries": []})


@pytest.fixture
def cloud(monkeypatch):
    with scripted() as script:
        monkeypatch.setenv("AWS_ENDPOINT_URL", script.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAHUB")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hub")
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        aws._start_again()
        script.answer("AssumeRole", assumed())
        script.answer("ListClusters", EMPTY_LIST)
        yield script
    aws._start_again()


def look(account=ACCOUNT):
    return aws.call(account, "sagemaker", "ListClusters")


def test_the_role_is_assumed_with_our_id_and_a_name_for_the_audit_trail(cloud):
    look()
    asked = dict(cloud.calls)["AssumeRole"]
    assert asked["RoleArn"] == ACCOUNT.role_arn
    assert (asked["ExternalId"], asked["RoleSessionName"], asked["DurationSeconds"]) == ("x-1", "req-7", "3600")
    assert cloud.keys == ["AKIAHUB", "ASIA1"]


def test_credentials_are_kept_for_each_account(cloud):
    look(), look(), look(OTHER), look()
    assert cloud.count("AssumeRole") == 2
    assert cloud.count("ListClusters") == 4


def test_credentials_are_renewed_five_minutes_before_they_end(cloud):
    cloud.answer("AssumeRole", assumed("ASIA1", minutes=4.9), assumed("ASIA2", minutes=60))
    look(), look(), look()
    assert [key for key in cloud.keys if key != "AKIAHUB"] == ["ASIA1", "ASIA2", "ASIA2"]


@pytest.mark.parametrize("code", ["ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException"])
def test_expired_credentials_are_renewed_once(cloud, code):
    cloud.answer("AssumeRole", assumed("ASIA1"), assumed("ASIA2"))
    cloud.answer("ListClusters", json_error(400, code), EMPTY_LIST)
    assert look()["ClusterSummaries"] == []
    assert cloud.count("AssumeRole") == 2


def test_credentials_that_stay_expired_are_told(cloud):
    cloud.answer("ListClusters", json_error(400, "ExpiredTokenException"))
    with pytest.raises(ProviderError) as told:
        look()
    assert told.value.kind == "expired"
    assert cloud.count("ListClusters") == 2


def test_a_role_that_lets_us_not_in_is_denied(cloud):
    cloud.answer("AssumeRole", query_error(403, "AccessDenied", "not authorized to perform: sts:AssumeRole"))
    with pytest.raises(ProviderError) as told:
        look()
    assert told.value.kind == "denied" and told.value.message.endswith("not authorized to perform: sts:AssumeRole")
    assert told.value.message.startswith("Account 000000000001 does not let Cohort in. Its owner has to")


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "ThrottlingException", "throttled"),
        (503, "SlowDown", "throttled"),
        (429, "SomethingNew", "throttled"),
        (400, "AccessDeniedException", "denied"),
        (403, "SomethingNew", "denied"),
        (400, "ValidationException", "refused"),
        (400, "ResourceLimitExceeded", "refused"),
        (400, "LimitExceededException", "refused"),
        (500, "InternalFailure", "unclear"),
        (503, "ServiceUnavailable", "unclear"),
    ],
)
def test_an_error_becomes_one_of_five_kinds(cloud, status, code, kind):
    cloud.answer("ListClusters", json_error(status, code, "As it is."))
    with pytest.raises(ProviderError) as told:
        look()
    assert (told.value.kind, told.value.code, told.value.message) == (kind, code, "As it is.")


def test_a_connection_that_closes_without_an_answer_is_unclear(cloud):
    cloud.answer("DeleteCluster", CLOSE)
    with pytest.raises(ProviderError) as told:
        aws.call(ACCOUNT, "sagemaker", "DeleteCluster", ClusterName="c1")
    assert told.value.kind == "unclear"
    assert "may have been carried out" in told.value.message


def test_an_answer_that_is_no_answer_is_unclear(cloud):
    cloud.answer("DescribeStacks", (200, "<html>nonsense"))
    with pytest.raises(ProviderError) as told:
        aws.call(ACCOUNT, "cloudformation", "DescribeStacks")
    assert told.value.kind == "unclear"


def test_nobody_at_the_other_end_is_unclear(monkeypatch, cloud):
    look()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    aws._start_again()
    with pytest.raises(ProviderError) as told:
        look()
    assert told.value.kind == "unclear"


def test_a_request_that_cannot_be_right_is_refused_before_it_is_sent(cloud):
    with pytest.raises(ProviderError) as told:
        aws.call(ACCOUNT, "sagemaker", "DescribeCluster", Nonsense=1)
    assert told.value.kind == "refused"
    assert cloud.count("DescribeCluster") == 0


def test_a_try_is_repeated_at_most_once(cloud):
    cloud.answer("ListClusters", json_error(500, "InternalFailure"))
    with pytest.raises(ProviderError):
        look()
    assert cloud.count("ListClusters") == 2


def test_clients_are_kept_and_the_oldest_let_go(cloud, monkeypatch):
    monkeypatch.setattr(aws, "CLIENTS", 2)
    first = aws._cloud.client("sagemaker", "us-east-1")
    assert aws._cloud.client("sagemaker", "us-east-1") is first
    aws._cloud.client("sagemaker", "us-east-2"), aws._cloud.client("sagemaker", "us-west-2")
    assert aws._cloud.client("sagemaker", "us-east-1") is not first


def test_a_child_process_starts_without_its_parents_connections(cloud):
    look()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"%d" % len(aws._cloud._clients))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 9) == b"0"
    assert len(aws._cloud._clients) == 2


def test_every_page_of_a_list_is_read(cloud):
    cloud.answer(
        "ListTags",
        json_answer({"Tags": [{"Key": "a", "Value": "1"}], "NextToken": "n"}),
        json_answer({"Tags": [{"Key": "b", "Value": "2"}]}),
    )
    arn = "arn:aws:sagemaker:ap-northeast-1:000000000001:cluster/abcdefghijkl"
    assert [tag["Key"] for tag in aws.pages(ACCOUNT, "sagemaker", "ListTags", "Tags", ResourceArn=arn)] == ["a", "b"]


def test_every_status_of_a_stack_has_its_phase():
    known = aws.model("cloudformation").shape_for("StackStatus").enum
    assert set(PHASES) == set(known)
    assert len(known) == 23
    assert all(PHASES[status] != "busy" for status in known if status.endswith(("_COMPLETE", "_FAILED")))
    assert all(PHASES[status] in ("busy", "deleting") for status in known if status.endswith("IN_PROGRESS")
               and status != "REVIEW_IN_PROGRESS")  # fmt: skip


def stack(status, events=(), tags=TAGS, token="token-1"):
    held = "".join(f"<member><Key>{key}</Key><Value>{value}</Value></member>" for key, value in tags.items())
    described = (
        "<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>c-base</StackName>"
        f"<StackId>arn:stack</StackId><StackStatus>{status}</StackStatus><StackStatusReason>It says so.</StackStatusReason>"
        "<CreationTime>2026-11-30T00:00:00Z</CreationTime>"
        "<Outputs><member><OutputKey>VpcId</OutputKey><OutputValue>vpc-1</OutputValue></member></Outputs>"
        f"<Tags>{held}</Tags></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"
    )
    told = "".join(
        f"<member><EventId>{key}</EventId><StackName>c-base</StackName><StackId>arn:stack</StackId>"
        f"<LogicalResourceId>{resource}</LogicalResourceId><ResourceType>AWS::X</ResourceType>"
        f"<ResourceStatus>{state}</ResourceStatus><ResourceStatusReason>{reason}</ResourceStatusReason>"
        f"<PhysicalResourceId>{'arn:stack' if resource == 'c-base' else 'x'}</PhysicalResourceId>"
        f"<ClientRequestToken>{token}</ClientRequestToken>"
        "<Timestamp>2026-11-30T00:00:01Z</Timestamp></member>"
        for key, resource, state, reason in events
    )
    return (200, described), (
        200,
        "<DescribeStackEventsResponse><DescribeStackEventsResult><StackEvents>"
        f"{told}</StackEvents></DescribeStackEventsResult></DescribeStackEventsResponse>",
    )


def part(kind="stack", name="c-base", tags=TAGS, body=None):
    return Part(kind, name, "token-1", tags, body or {})


FAILED = (
    ("e4", "c-base", "ROLLBACK_IN_PROGRESS", "The following resource(s) failed to create: [Lustre, NatGateway]."),
    ("e3", "NatGateway", "CREATE_FAILED", "Resource creation cancelled"),
    ("e2", "Lustre", "CREATE_FAILED", "No capacity for file systems in apne1-az4"),
    ("e1", "Vpc", "CREATE_COMPLETE", ""),
)


def test_a_failed_stack_tells_what_failed_first_and_not_the_consequence(cloud):
    described, events = stack("ROLLBACK_COMPLETE", FAILED)
    cloud.answer("DescribeStacks", described)
    cloud.answer("DescribeStackEvents", events)
    seen = Stacks().look(ACCOUNT, part())
    assert (seen.phase, seen.status) == ("failed", "ROLLBACK_COMPLETE")
    assert seen.reason == "Lustre: No capacity for file systems in apne1-az4"
    assert [event.key for event in seen.events] == ["e1", "e2", "e3", "e4"]
    assert seen.outputs == {"VpcId": "vpc-1"}


PUT_BACK = (
    ("u5", "c-base", "UPDATE_ROLLBACK_COMPLETE", ""),
    ("u4", "c-base", "UPDATE_ROLLBACK_IN_PROGRESS", "The following resource(s) failed to update: [Lustre]."),
    ("u3", "Lustre", "UPDATE_FAILED", "Storage capacity can only be increased"),
    ("u2", "Lustre", "UPDATE_IN_PROGRESS", ""),
    ("u1", "c-base", "UPDATE_IN_PROGRESS", "User Initiated"),
    *FAILED,
)


@pytest.mark.parametrize(("token", "put_back"), [("token-1", True), ("somebody-else", False)])
def test_an_update_that_was_undone_is_told_with_its_reason_also_when_its_events_are_known(cloud, token, put_back):
    described, events = stack("UPDATE_ROLLBACK_COMPLETE", PUT_BACK, token=token)
    cloud.answer("DescribeStacks", described)
    cloud.answer("DescribeStackEvents", events)
    seen = Stacks().look(ACCOUNT, part(body={"seen": "u5"}))
    assert (seen.phase, seen.put_back, seen.events) == ("ready", put_back, ())
    assert seen.reason == ("Lustre: Storage capacity can only be increased" if put_back else "It says so.")


def test_events_are_read_up_to_the_one_that_is_known(cloud):
    described, events = stack("CREATE_IN_PROGRESS", FAILED)
    cloud.answer("DescribeStacks", described)
    cloud.answer("DescribeStackEvents", events)
    seen = Stacks().look(ACCOUNT, part(body={"seen": "e2"}))
    assert [event.key for event in seen.events] == ["e3", "e4"]


@pytest.mark.parametrize(
    ("held", "wanted", "ours"),
    [
        (TAGS, TAGS, True),
        (TAGS | {"team": "x"}, TAGS, True),
        ({}, TAGS, False),
        (TAGS | {"cohort:incarnation": "2"}, TAGS, False),
        (TAGS, {}, False),
    ],
)
def test_a_stack_is_ours_by_all_its_tags(cloud, held, wanted, ours):
    described, events = stack("CREATE_COMPLETE", tags=held)
    cloud.answer("DescribeStacks", described)
    cloud.answer("DescribeStackEvents", events)
    assert Stacks().look(ACCOUNT, part(tags=wanted)).ours is ours


def test_a_stack_that_does_not_exist_is_absent_and_another_error_is_not(cloud):
    cloud.answer(
        "DescribeStacks",
        query_error(400, "ValidationError", "Stack with id c-base does not exist"),
        query_error(400, "ValidationError", "Something else is wrong"),
    )
    assert Stacks().look(ACCOUNT, part()).phase == "absent"
    with pytest.raises(ProviderError):
        Stacks().look(ACCOUNT, part())


TEMPLATE = {"TemplateBody": "{}", "Parameters": {"A": "1"}, "Capabilities": ["CAPABILITY_IAM"]}


def test_a_stack_is_created_with_its_token_tags_and_parameters(cloud):
    cloud.answer(
        "CreateStack",
        (
            200,
            "<CreateStackResponse><CreateStackResult><StackId>arn:s</StackId></CreateStackResult></CreateStackResponse>",
        ),
    )
    assert Stacks().create(ACCOUNT, part(body=TEMPLATE)) == "arn:s"
    asked = dict(cloud.calls)["CreateStack"]
    assert asked["ClientRequestToken"] == "token-1"
    assert asked["EnableTerminationProtection"] == "false"
    assert (asked["Parameters.member.1.ParameterKey"], asked["Capabilities.member.1"]) == ("A", "CAPABILITY_IAM")
    assert {asked["Tags.member.1.Key"], asked["Tags.member.2.Key"]} == set(TAGS)


@pytest.mark.parametrize(
    ("operation", "act", "code", "message", "kind"),
    [
        ("CreateStack", Stacks().create, "AlreadyExistsException", "Stack [c-base] already exists", "unclear"),
        ("CreateStack", Stacks().create, "LimitExceededException", "Limit for stack has been exceeded", "refused"),
        ("CreateStack", Stacks().create, "Throttling", "Rate exceeded", "throttled"),
        ("UpdateStack", Stacks().update, "ValidationError", "Stack:x is in CREATE_IN_PROGRESS state and can not be updated.", "throttled"),
        ("UpdateStack", Stacks().update, "ValidationError", "Template error", "refused"),
    ],
)  # fmt: skip
def test_what_a_stack_call_means(cloud, operation, act, code, message, kind):
    cloud.answer(operation, query_error(400, code, message))
    with pytest.raises(ProviderError) as told:
        act(ACCOUNT, part(body=TEMPLATE))
    assert (told.value.kind, told.value.message) == (kind, message)


def test_an_update_without_a_difference_is_done(cloud):
    cloud.answer("UpdateStack", query_error(400, "ValidationError", "No updates are to be performed."))
    Stacks().update(ACCOUNT, part(body=TEMPLATE))


ARN = "arn:aws:sagemaker:ap-northeast-1:000000000001:cluster/abcdefghijkl"


def hyperpod(cloud, status="InService", current=2, mode=None, reason=None, tags=TAGS):
    group = {"InstanceGroupName": "workers", "CurrentCount": current, "TargetCount": 2, "Status": "InService"}
    group["InstanceType"] = "ml.p5.48xlarge"
    told = {"ClusterArn": ARN, "ClusterStatus": status, "InstanceGroups": [group], "NodeRecovery": "Automatic"}
    told |= {"NodeProvisioningMode": mode} if mode else {}
    told |= {"FailureMessage": reason} if reason else {}
    cloud.answer("DescribeCluster", json_answer(told))
    cloud.answer("ListTags", json_answer({"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}))
    node = {
        "InstanceGroupName": "workers",
        "InstanceType": "ml.p5.48xlarge",
        "LaunchTime": 1764460800,
        "InstanceStatus": {"Status": "Running"},
    }
    cloud.answer(
        "ListClusterNodes",
        json_answer({"ClusterNodeSummaries": [node | {"InstanceId": "i-1"}], "NextToken": "n"}),
        json_answer({"ClusterNodeSummaries": [
            node | {"InstanceId": "i-2", "InstanceStatus": {"Status": "Failure", "Message": "Xid 79"},
                    "PrivateDnsHostname": "ip-10-0-128-7.ap-northeast-1.compute.internal"}]}),
    )  # fmt: skip
    event = {
        "EventId": "v2",
        "ClusterArn": ARN,
        "ClusterName": "c1",
        "ResourceType": "Instance",
        "InstanceGroupName": "workers",
        "InstanceId": "i-2",
        "EventTime": 1764460900,
        "EventLevel": "Error",
        "Description": "Xid 79",
    }
    cloud.answer("ListClusterEvents", json_answer({"Events": [event, event | {"EventId": "v1"}]}))
    return HyperPod().look(ACCOUNT, part("hyperpod", "c1"))


@pytest.mark.parametrize(
    ("status", "current", "mode", "phase"),
    [
        ("Creating", 0, None, "busy"),
        ("InService", 2, None, "ready"),
        ("InService", 1, None, "ready"),
        ("InService", 1, "Continuous", "busy"),
        ("InService", 2, "Continuous", "ready"),
        ("Updating", 2, None, "busy"),
        ("RollingBack", 2, None, "busy"),
        ("SystemUpdating", 2, None, "busy"),
        ("Failed", 0, None, "failed"),
        ("Failed", 0, "Continuous", "failed"),
        ("Deleting", 0, None, "deleting"),
    ],
)
def test_a_cluster_has_the_phase_of_its_status_and_counts(cloud, status, current, mode, phase):
    seen = hyperpod(cloud, status, current, mode)
    assert (seen.phase, seen.status) == (phase, status)
    assert seen.body["groups"]["workers"] == {
        "current": current,
        "target": 2,
        "status": "InService",
        "instance_type": "p5.48xlarge",
        "software": "",
    }


def test_every_status_of_a_cluster_has_its_phase():
    from clusters.providers import hyperpod as module

    assert set(module.PHASES) == set(aws.model("sagemaker").shape_for("ClusterStatus").enum)


def test_nodes_come_page_by_page_in_the_engines_words(cloud):
    nodes = hyperpod(cloud).nodes
    assert [(node.instance_id, node.instance_type, node.status, node.message) for node in nodes] == [
        ("i-1", "p5.48xlarge", "Running", ""),
        ("i-2", "p5.48xlarge", "Failure", "Xid 79"),
    ]
    assert [node.private_ip for node in nodes] == ["", "10.0.128.7"]


def test_the_failure_message_is_kept_word_by_word(cloud):
    told = "We currently do not have sufficient capacity to launch new ml.p5.48xlarge instances."
    assert hyperpod(cloud, "Failed", reason=told).reason == told


def test_only_continuous_clusters_are_asked_for_events(cloud):
    assert hyperpod(cloud).events == ()
    assert cloud.count("ListClusterEvents") == 0
    events = hyperpod(cloud, mode="Continuous").events
    assert [(event.key, event.resource) for event in events] == [
        ("v1", "Instance workers i-2"),
        ("v2", "Instance workers i-2"),
    ]


def test_a_cluster_with_the_tags_of_another_is_not_ours(cloud):
    assert hyperpod(cloud).ours
    assert not hyperpod(cloud, tags={"cohort:tenant": "umi"}).ours


@pytest.mark.parametrize(
    ("code", "message"),
    [("ResourceNotFound", "Cluster c1 not found"), ("ValidationException", "Cluster with name c1 not found")],
)
def test_a_cluster_that_does_not_exist_is_absent_and_may_be_deleted_again(cloud, code, message):
    cloud.answer("DescribeCluster", json_error(400, code, message))
    cloud.answer("DeleteCluster", json_error(400, code, message))
    assert HyperPod().look(ACCOUNT, part("hyperpod", "c1")).phase == "absent"
    HyperPod().delete(ACCOUNT, part("hyperpod", "c1"))


REQUEST = {
    "request": {
        "InstanceGroups": [
            {
                "InstanceGroupName": "workers",
                "InstanceType": "ml.p5.48xlarge",
                "InstanceCount": 2,
                "ExecutionRole": "arn:aws:iam::000000000001:role/Nodes",
            }
        ]
    },
    "objects": [{"bucket": "sagemaker-b", "key": "lifecycle/abc/on_create.sh", "text": "#!/bin/bash\n"}],
}


def test_scripts_are_there_before_the_cluster_is_asked_for(cloud):
    cloud.answer("PutObject", (200, ""))
    cloud.answer("CreateCluster", json_answer({"ClusterArn": ARN}))
    assert HyperPod().create(ACCOUNT, part("hyperpod", "c1", body=REQUEST)) == ARN
    assert [name for name, _ in cloud.calls] == ["AssumeRole", "PutObject", "CreateCluster"]
    assert cloud.calls[1][1]["path"].endswith("/lifecycle/abc/on_create.sh")
    asked = cloud.calls[2][1]
    assert asked["ClusterName"] == "c1"
    assert {tag["Key"] for tag in asked["Tags"]} == set(TAGS)


@pytest.mark.parametrize(
    ("operation", "act", "code", "message", "kind"),
    [
        ("CreateCluster", HyperPod().create, "ResourceInUse", "c1 already exists", "unclear"),
        ("CreateCluster", HyperPod().create, "ResourceLimitExceeded", "limit is 20", "refused"),
        ("UpdateCluster", HyperPod().update, "ConflictException", "busy", "throttled"),
        ("UpdateCluster", HyperPod().update, "ValidationException", "Cluster c1 is in Creating state", "throttled"),
        ("UpdateCluster", HyperPod().update, "ValidationException", "wrong type", "refused"),
        ("DeleteCluster", HyperPod().delete, "ConflictException", "busy", "throttled"),
    ],
)
def test_what_a_cluster_call_means(cloud, operation, act, code, message, kind):
    cloud.answer("PutObject", (200, ""))
    cloud.answer(operation, json_error(400, code, message))
    with pytest.raises(ProviderError) as told:
        act(ACCOUNT, part("hyperpod", "c1", body=REQUEST))
    assert (told.value.kind, told.value.message) == (kind, message)


def test_a_request_that_hyperpod_would_refuse_leaves_no_trace(cloud):
    wrong = {**REQUEST, "request": {**REQUEST["request"], "NodeRecovery": "Auto"}}
    with pytest.raises(ProviderError) as told:
        HyperPod().create(ACCOUNT, part("hyperpod", "c1", body=wrong))
    assert told.value.kind == "refused" and "'Auto'" in told.value.message
    assert cloud.calls == []
