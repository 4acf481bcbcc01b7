"""Capacity that is bought or set aside, volumes and registries: the calls that people make by hand, answered as modelled.

The product does not make these calls, so that the rows of `test_coverage` do not hold them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from clusters.providers import request_check
from tests.clusters.sandbox.driver import NETWORK, Account, group, network

SPARE = "Number of ml.p5.48xlarge instances in reserved capacity across training plans per Region"
ON_DEMAND = "Running On-Demand P instances"
OPENZFS = {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 128}
CHILDREN = ["DELETE_CHILD_VOLUMES_AND_SNAPSHOTS"]


def said(client: Any, method: str, **wish: Any) -> dict[str, Any]:
    """The answer, which is what the service's own model says."""
    answer = getattr(client, method)(**wish)
    answer.pop("ResponseMetadata")
    operation = client.meta.method_to_api_mapping[method]
    shape = client.meta.service_model.operation_model(operation).output_shape
    report = ParamValidator().validate(answer, shape)
    assert not report.has_errors(), report.generate_report()
    assert list(request_check.misfits(shape, answer, operation)) == []
    return dict(answer)


@contextmanager
def refused(code: str, text: str = "") -> Iterator[None]:
    with pytest.raises(ClientError) as error:
        yield
    assert error.value.response["Error"]["Code"] == code and text in str(error.value), error.value


@pytest.fixture(scope="module")
def openzfs(shared: Account) -> dict[str, str]:
    """A file system that is there, and the id of its root volume."""
    shared.stack("net", NETWORK)
    shared.cloud.advance(60)
    made = shared("fsx").create_file_system(
        FileSystemType="OPENZFS", StorageCapacity=512, SubnetIds=[shared.outputs("net")["Subnet"]],
        OpenZFSConfiguration=OPENZFS,
    )["FileSystem"]  # fmt: skip
    root = made["OpenZFSConfiguration"]["RootVolumeId"]
    with refused("BadRequest", "not available yet"):
        shared("fsx").create_volume(VolumeType="OPENZFS", Name="early", OpenZFSConfiguration={"ParentVolumeId": root})
    shared.cloud.advance(1000)
    return {"id": made["FileSystemId"], "root": root}


def test_a_volume_lies_below_another_and_goes_before_it_or_with_it(shared: Account, openzfs: dict[str, str]) -> None:
    fsx = shared("fsx")
    wish = {
        "ClientRequestToken": "home", "VolumeType": "OPENZFS", "Name": "home",
        "OpenZFSConfiguration": {"ParentVolumeId": openzfs["root"], "StorageCapacityQuotaGiB": 100},
    }  # fmt: skip
    home = said(fsx, "create_volume", **wish)["Volume"]
    assert (home["Lifecycle"], home["OpenZFSConfiguration"]["VolumePath"]) == ("CREATING", "/fsx/home")
    assert fsx.create_volume(**wish)["Volume"]["VolumeId"] == home["VolumeId"]  # the token is known
    with refused("IncompatibleParameterError"):
        fsx.create_volume(**wish | {"Name": "other"})
    below = {"ParentVolumeId": home["VolumeId"]}
    ana = said(fsx, "create_volume", VolumeType="OPENZFS", Name="ana", OpenZFSConfiguration=below)["Volume"]
    shared.cloud.advance(60)
    where = [{"Name": "file-system-id", "Values": [openzfs["id"]]}]
    volumes = {one["Name"]: one for one in said(fsx, "describe_volumes", Filters=where)["Volumes"]}
    assert {name: one["Lifecycle"] for name, one in volumes.items()} == {
        "fsx": "CREATED",
        "home": "AVAILABLE",
        "ana": "AVAILABLE",
    }
    assert volumes["ana"]["OpenZFSConfiguration"]["VolumePath"] == "/fsx/home/ana"
    more = {"StorageCapacityQuotaGiB": 200, "DataCompressionType": "ZSTD"}
    told = said(fsx, "update_volume", VolumeId=home["VolumeId"], OpenZFSConfiguration=more)["Volume"]
    assert told["OpenZFSConfiguration"].items() >= more.items()
    with refused("BadRequest", "1 child"):
        fsx.delete_volume(VolumeId=home["VolumeId"])
    with refused("BadRequest", "below its root"):
        fsx.delete_file_system(FileSystemId=openzfs["id"])
    options = {"Options": CHILDREN}
    gone = said(fsx, "delete_volume", VolumeId=home["VolumeId"], OpenZFSConfiguration=options)
    assert gone["Lifecycle"] == "DELETING"
    shared.cloud.advance(60)
    assert [one["Name"] for one in fsx.describe_volumes(Filters=where)["Volumes"]] == ["fsx"]
    with refused("VolumeNotFound"):
        fsx.describe_volumes(VolumeIds=[ana["VolumeId"]])


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"RecordSizeKiB": 100}, "BadRequest"),
        ({"StorageCapacityReservationGiB": 200, "StorageCapacityQuotaGiB": 100}, "BadRequest"),
        ({"StorageCapacityReservationGiB": 513}, "BadRequest"),
        ({"ParentVolumeId": "fsvol-" + "0" * 17}, "VolumeNotFound"),
        ({"DataCompressionType": "RAR"}, "ValidationException"),
        (None, "MissingVolumeConfiguration"),
    ],
)
def test_a_volume_that_cannot_be_is_refused(
    shared: Account, openzfs: dict[str, str], settings: dict[str, Any] | None, code: str
) -> None:
    wish = {} if settings is None else {"OpenZFSConfiguration": {"ParentVolumeId": openzfs["root"], **settings}}
    with refused(code):
        shared("fsx").create_volume(VolumeType="OPENZFS", Name="odd", **wish)
    with refused("BadRequest"):
        shared("fsx").delete_volume(VolumeId=openzfs["root"])


def test_a_reservation_is_made_used_counted_and_cancelled(account: Account) -> None:
    ec2, wish = account("ec2"), {"InstanceType": "p5.48xlarge", "InstancePlatform": "Linux/UNIX", "InstanceCount": 4,
                                 "AvailabilityZoneId": "apne1-az4", "ClientToken": "one"}  # fmt: skip
    made = said(ec2, "create_capacity_reservation", **wish)["CapacityReservation"]
    assert (made["State"], made["EndDateType"], made["AvailableInstanceCount"]) == ("active", "unlimited", 4)
    name = made["CapacityReservationId"]
    assert ec2.create_capacity_reservation(**wish)["CapacityReservation"]["CapacityReservationId"] == name
    with refused("IdempotentParameterMismatch"):
        ec2.create_capacity_reservation(**wish | {"InstanceCount": 2})
    # 1,536 vCPUs are 8 of them: 4 are set aside, used or not.
    with refused("VcpuLimitExceeded"):
        ec2.create_capacity_reservation(**wish | {"InstanceCount": 5, "ClientToken": "two"})
    subnet, image = network(account)["Subnet"], ec2.describe_images()["Images"][0]["ImageId"]
    launch = {"ImageId": image, "InstanceType": "p5.48xlarge", "SubnetId": subnet, "MinCount": 4, "MaxCount": 4}
    target = {"CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": name}}}
    ec2.run_instances(**launch, **target)
    with refused("ReservationCapacityExceeded"):
        ec2.run_instances(**launch | {"MinCount": 1, "MaxCount": 1}, **target)
    [seen] = said(ec2, "describe_capacity_reservations")["CapacityReservations"]
    assert seen["AvailableInstanceCount"] == 0
    said(ec2, "cancel_capacity_reservation", CapacityReservationId=name)
    assert ec2.describe_capacity_reservations()["CapacityReservations"][0]["State"] == "cancelled"
    with refused("InvalidCapacityReservationState"):
        ec2.cancel_capacity_reservation(CapacityReservationId=name)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"InstanceType": "p99.large"}, "InvalidParameterValue"),
        ({"InstanceType": "trn1.32xlarge"}, "Unsupported"),
        ({"InstanceCount": 0}, "InvalidParameterValue"),
        ({"AvailabilityZoneId": "apne1-az9"}, "InvalidParameterValue"),
        ({"AvailabilityZoneId": None}, "MissingParameter"),
        ({"EndDateType": "limited"}, "InvalidParameterCombination"),
        ({"EndDate": datetime(2020, 1, 1, tzinfo=UTC)}, "InvalidParameterValue"),
        (
            {"PlacementGroupArn": "arn:aws:ec2:ap-northeast-1:000000000001:placement-group/none"},
            "InvalidPlacementGroup.Unknown",
        ),
        ({"DryRun": True}, "DryRunOperation"),
    ],
)
def test_a_reservation_that_cannot_be_is_refused(shared: Account, change: dict[str, Any], code: str) -> None:
    wish = {"InstanceType": "p5.48xlarge", "InstancePlatform": "Linux/UNIX", "InstanceCount": 1,
            "AvailabilityZoneId": "apne1-az4", **change}  # fmt: skip
    with refused(code):
        shared("ec2").create_capacity_reservation(**{key: value for key, value in wish.items() if value is not None})
    assert shared("ec2").describe_capacity_reservations()["CapacityReservations"] == []


def test_a_reservation_for_which_there_is_no_capacity(account: Account) -> None:
    account.cloud.fault("no_capacity", account=account.id, operation="CreateCapacityReservation")
    with refused("InsufficientInstanceCapacity"):
        account("ec2").create_capacity_reservation(
            InstanceType="p5.48xlarge", InstancePlatform="Linux/UNIX", InstanceCount=1, AvailabilityZoneId="apne1-az4"
        )


def test_a_capacity_block_is_offered_bought_and_paid(account: Account) -> None:
    ec2 = account("ec2")
    offers = said(
        ec2, "describe_capacity_block_offerings", InstanceType="p5.48xlarge", InstanceCount=4, CapacityDurationHours=48
    )["CapacityBlockOfferings"]
    assert len({one["AvailabilityZone"] for one in offers}) == len(offers) == 2
    assert all(f"{one['EndDate']:%H:%M}" == "11:30" and float(one["UpfrontFee"]) > 0 for one in offers)
    wish = {"CapacityBlockOfferingId": offers[0]["CapacityBlockOfferingId"], "InstancePlatform": "Linux/UNIX"}
    bought = said(ec2, "purchase_capacity_block", **wish)
    block = bought["CapacityReservation"]
    assert (block["ReservationType"], block["State"], block["TotalInstanceCount"]) == (
        "capacity-block",
        "payment-pending",
        4,
    )
    with refused("InvalidCapacityBlockOfferingId.NotFound"):
        ec2.purchase_capacity_block(**wish)  # sold
    account.cloud.advance(120)
    [seen] = ec2.describe_capacity_reservations()["CapacityReservations"]
    assert (seen["State"], seen["EndDate"] - seen["StartDate"]) == ("scheduled", timedelta(hours=48))
    assert len(ec2.describe_capacity_block_status()["CapacityBlockStatuses"]) == 1
    with refused("InvalidCapacityReservationState"):
        ec2.cancel_capacity_reservation(CapacityReservationId=block["CapacityReservationId"])
    account.cloud.change(account.id, quotas={"ec2": {"Concurrent P5 Capacity Blocks per account": 1}})
    with refused("CapacityBlockLimitExceeded", "limit of 1"):
        ec2.purchase_capacity_block(**wish | {"CapacityBlockOfferingId": offers[1]["CapacityBlockOfferingId"]})
    account.cloud.fault("no_capacity", account=account.id, operation="DescribeCapacityBlockOfferings")
    none = ec2.describe_capacity_block_offerings(InstanceType="p5.48xlarge", InstanceCount=1, CapacityDurationHours=24)
    assert none["CapacityBlockOfferings"] == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"InstanceType": "m5.large"}, "InvalidParameterValue"),
        ({"InstanceType": None}, "MissingParameter"),
        ({"InstanceCount": 3}, "InvalidParameterValue"),
        ({"InstanceCount": 128}, "InvalidParameterValue"),
        ({"CapacityDurationHours": 25}, "InvalidParameterValue"),
        ({"CapacityDurationHours": 15 * 24}, "InvalidParameterValue"),
        ({"CapacityDurationHours": 189 * 24}, "InvalidParameterValue"),
        ({"StartDateRange": datetime.now(UTC) + timedelta(weeks=9)}, "InvalidParameterValue"),
        ({"EndDateRange": datetime(2020, 1, 1, tzinfo=UTC)}, "InvalidParameterValue"),
    ],
)
def test_what_no_capacity_block_can_be_is_refused(shared: Account, change: dict[str, Any], code: str) -> None:
    wish = {"InstanceType": "p5.48xlarge", "InstanceCount": 4, "CapacityDurationHours": 48, **change}
    with refused(code):
        shared("ec2").describe_capacity_block_offerings(
            **{key: value for key, value in wish.items() if value is not None}
        )


def test_a_training_plan_is_offered_bought_and_used(account: Account) -> None:
    sagemaker = account("sagemaker")
    account.cloud.change(account.id, quotas={"sagemaker": {SPARE: 4}})
    wish = {
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 4,
        "DurationHours": 48,
        "TargetResources": ["hyperpod-cluster"],
    }
    offers = said(sagemaker, "search_training_plan_offerings", **wish)["TrainingPlanOfferings"]
    buy = {"TrainingPlanName": "spring", "TrainingPlanOfferingId": offers[0]["TrainingPlanOfferingId"]}
    arn = said(sagemaker, "create_training_plan", **buy)["TrainingPlanArn"]
    plan = said(sagemaker, "describe_training_plan", TrainingPlanName="spring")
    assert (plan["TrainingPlanArn"], plan["Status"], plan["TotalInstanceCount"]) == (arn, "Scheduled", 4)
    with refused("ResourceInUse"):
        sagemaker.create_training_plan(**buy)
    with refused("ResourceNotFound"):  # sold
        sagemaker.create_training_plan(**buy | {"TrainingPlanName": "summer"})
    with refused("ResourceLimitExceeded", "is 4; the request would make it 8"):
        another = {"TrainingPlanName": "summer", "TrainingPlanOfferingId": offers[1]["TrainingPlanOfferingId"]}
        sagemaker.create_training_plan(**another)
    made = network(account, Zone="apne1-az1")
    place = {"VpcConfig": {"SecurityGroupIds": [made["Group"]], "Subnets": [made["Subnet"]]}}
    many, one = ([group(made, "work", "ml.p5.48xlarge", count, TrainingPlanArn=arn)] for count in (5, 1))
    with pytest.raises(ClientError, match="has 4 instances available; 5 were requested"):
        sagemaker.create_cluster(ClusterName="hoshi", InstanceGroups=many, **place)
    sagemaker.create_cluster(ClusterName="hoshi", InstanceGroups=one, **place)  # which waits for the plan's time


def test_what_no_training_plan_can_be_is_refused(shared: Account) -> None:
    sagemaker, wish = shared("sagemaker"), {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 4, "DurationHours": 48}
    for change in ({"InstanceType": None}, {"DurationHours": None}, {"InstanceType": "ml.p99.large"}, {"InstanceCount": 257},
                   {"EndTimeBefore": datetime(2020, 1, 1, tzinfo=UTC)}):  # fmt: skip
        with refused("ValidationException"):
            asked = {key: value for key, value in {**wish, **change}.items() if value is not None}
            sagemaker.search_training_plan_offerings(**asked)
    with refused("ResourceNotFound"):
        sagemaker.create_training_plan(TrainingPlanName="spring", TrainingPlanOfferingId="tpo-none")
    offers = sagemaker.search_training_plan_offerings(**wish)["TrainingPlanOfferings"]
    with refused("ResourceLimitExceeded"):  # nobody has asked for the quota yet
        sagemaker.create_training_plan(
            TrainingPlanName="spring", TrainingPlanOfferingId=offers[0]["TrainingPlanOfferingId"]
        )


def test_a_registry_holds_images_by_digest_and_tag(account: Account) -> None:
    properties = {"RepositoryName": "train", "ImageTagMutability": "IMMUTABLE"}
    account.stack("registry", {"Resources": {"Images": {"Type": "AWS::ECR::Repository", "Properties": properties}}})
    account.cloud.advance(60)
    ecr = account("ecr")
    assert [one["repositoryName"] for one in said(ecr, "describe_repositories")["repositories"]] == ["train"]
    pushed = said(ecr, "put_image", repositoryName="train", imageManifest="{}", imageTag="v1")["image"]["imageId"]
    assert said(ecr, "list_images", repositoryName="train")["imageIds"] == [pushed]
    with refused("ImageTagAlreadyExistsException"):
        ecr.put_image(repositoryName="train", imageManifest="{ }", imageTag="v1")
    with refused("RepositoryNotFoundException"):
        ecr.list_images(repositoryName="none")
    with refused("RepositoryNotEmptyException"):
        ecr.delete_repository(repositoryName="train")
    said(ecr, "delete_repository", repositoryName="train", force=True)
    assert ecr.describe_repositories()["repositories"] == []
