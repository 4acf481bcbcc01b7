"""EKS, file systems and their links, by template as the product makes them and by hand."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import NETWORK, Account
from tests.clusters.sandbox.test_stacks import lustre

EKS: dict[str, Any] = {
    "Resources": {
        **NETWORK["Resources"],
        "Second": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.2.0/24", "AvailabilityZone": "ap-northeast-1c"},
        },
        "Kube": {
            "Type": "AWS::EKS::Cluster",
            "Properties": {
                "Name": "kube",
                "Version": "1.32",
                "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                "ResourcesVpcConfig": {"SubnetIds": [{"Ref": "Nodes"}, {"Ref": "Second"}]},
                "AccessConfig": {"AuthenticationMode": "API"},
            },
        },
        "Access": {
            "Type": "AWS::EKS::AccessEntry",
            "Properties": {
                "ClusterName": {"Ref": "Kube"},
                "PrincipalArn": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:role/CohortProvisioner"},
                "AccessPolicies": [
                    {"PolicyArn": "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
                     "AccessScope": {"Type": "cluster"}}
                ],
            },
        },
        "Cni": {"Type": "AWS::EKS::Addon", "Properties": {"ClusterName": {"Ref": "Kube"}, "AddonName": "vpc-cni"}},
    },
    "Outputs": {
        "Arn": {"Value": {"Fn::GetAtt": ["Kube", "Arn"]}},
        "Endpoint": {"Value": {"Fn::GetAtt": ["Kube", "Endpoint"]}},
    },
}  # fmt: skip
EKS["Parameters"] = NETWORK["Parameters"]


def test_an_eks_cluster_takes_ten_minutes_with_its_access_and_addons(account: Account) -> None:
    account.stack("kube", EKS)
    account.cloud.advance(60)
    assert account("eks").describe_cluster(name="kube")["cluster"]["status"] == "CREATING"
    account.cloud.advance(900)
    assert account.stack_status("kube") == "CREATE_COMPLETE"
    seen, made = account("eks").describe_cluster(name="kube")["cluster"], account.outputs("kube")
    assert (seen["status"], seen["arn"], seen["endpoint"]) == ("ACTIVE", made["Arn"], made["Endpoint"])
    assert seen["accessConfig"]["authenticationMode"] == "API"
    assert account("eks").list_access_entries(clusterName="kube")["accessEntries"] == [account.role_arn]
    assert account("eks").describe_addon(clusterName="kube", addonName="vpc-cni")["addon"]["status"] == "ACTIVE"
    account("cloudformation").delete_stack(StackName="kube")
    account.cloud.advance(600)
    with pytest.raises(ClientError) as gone:
        account("eks").describe_cluster(name="kube")
    assert gone.value.response["Error"]["Code"] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Version": "9.99"}, "unsupported Kubernetes version"),
        ({"RoleArn": "arn:aws:iam::000000000001:role/nobody"}, "could not be assumed"),
        ({"ResourcesVpcConfig": {"SubnetIds": [{"Ref": "Nodes"}]}}, "two different AZs"),
    ],
)
def test_an_eks_cluster_that_cannot_be_fails_its_stack(account: Account, change: dict[str, Any], said: str) -> None:
    template = json.loads(json.dumps(EKS))
    template["Resources"]["Kube"]["Properties"] |= change
    account.stack("kube", template)
    account.cloud.advance(900)
    assert account.stack_status("kube") == "ROLLBACK_COMPLETE"
    events = account("cloudformation").describe_stack_events(StackName="kube")["StackEvents"]
    assert [event for event in events if said in event.get("ResourceStatusReason", "")]


def test_a_file_system_is_linked_to_a_bucket_that_exists(account: Account) -> None:
    template = lustre()
    template["Resources"]["Link"] = {
        "Type": "AWS::FSx::DataRepositoryAssociation",
        "Properties": {
            "FileSystemId": {"Ref": "Lustre"},
            "FileSystemPath": "/data",
            "DataRepositoryPath": {"Fn::Sub": "s3://${Bucket}/data"},
        },
    }
    account.stack("fs", template)
    account.cloud.advance(1500)
    assert account.stack_status("fs") == "CREATE_COMPLETE"
    links = account("fsx").describe_data_repository_associations()["Associations"]
    assert [link["Lifecycle"] for link in links] == ["AVAILABLE"]
    system = links[0]["FileSystemId"]
    with pytest.raises(ClientError, match="Bucket nowhere"):
        account("fsx").create_data_repository_association(
            FileSystemId=system, FileSystemPath="/x", DataRepositoryPath="s3://nowhere/x"
        )


def test_the_same_token_is_the_same_file_system_and_other_parameters_are_refused(account: Account) -> None:
    account.stack("net", NETWORK)
    account.cloud.advance(60)
    wish = {
        "ClientRequestToken": "once", "FileSystemType": "OPENZFS", "StorageCapacity": 512,
        "SubnetIds": [account.outputs("net")["Subnet"]],
        "OpenZFSConfiguration": {"DeploymentType": "SINGLE_AZ_1", "ThroughputCapacity": 128},
    }  # fmt: skip
    client = account("fsx")
    first = client.create_file_system(**wish)["FileSystem"]
    assert client.create_file_system(**wish)["FileSystem"]["FileSystemId"] == first["FileSystemId"]
    with pytest.raises(ClientError) as other:
        client.create_file_system(**{**wish, "StorageCapacity": 1024})
    assert other.value.response["Error"]["Code"] == "IncompatibleParameterError"
    assert first["Lifecycle"] == "CREATING"
    account.cloud.advance(1000)
    client.delete_file_system(FileSystemId=first["FileSystemId"])
    assert client.describe_file_systems()["FileSystems"][0]["Lifecycle"] == "DELETING"
    account.cloud.advance(200)
    with pytest.raises(ClientError) as gone:
        client.describe_file_systems(FileSystemIds=[first["FileSystemId"]])
    assert gone.value.response["Error"]["Code"] == "FileSystemNotFound"


@pytest.mark.parametrize(
    ("deployment", "rate"), [("SINGLE_AZ_1", 160), ("SINGLE_AZ_HA_1", 128), ("SINGLE_AZ_2", 64), ("ELSEWHERE", 64)]
)
def test_openzfs_has_its_own_throughputs_and_places(account: Account, deployment: str, rate: int) -> None:
    account.stack("net", NETWORK)
    account.cloud.advance(60)
    with pytest.raises(ClientError):
        account("fsx").create_file_system(
            FileSystemType="OPENZFS", StorageCapacity=512, SubnetIds=[account.outputs("net")["Subnet"]],
            OpenZFSConfiguration={"DeploymentType": deployment, "ThroughputCapacity": rate},
        )  # fmt: skip
    assert account("fsx").describe_file_systems()["FileSystems"] == []
