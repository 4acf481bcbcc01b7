"""The EC2 resources of a template: networks, gateways, routes, security groups."""

from typing import Any

from clusters.sandbox import quotas
from clusters.sandbox.cloudformation.resources import Made, Place, kind, truth, whole
from clusters.sandbox.errors import AwsError


def _tagged(place: Place, properties: dict[str, Any], what: str) -> list[dict[str, Any]]:
    return [{"ResourceType": what, "Tags": place.tags(properties.get("Tags"))}]


def _vpc(place: Place, p: dict[str, Any]) -> Made:
    present = len(place.ask("ec2", "DescribeVpcs")["Vpcs"])
    allowed = quotas.value(place.cloud, place.account, place.region, "vpc", "VPCs per Region")
    if present >= allowed:
        raise AwsError("VpcLimitExceeded", "The maximum number of VPCs has been reached.", 400)
    made = place.ask(
        "ec2", "CreateVpc", CidrBlock=p["CidrBlock"], InstanceTenancy=p.get("InstanceTenancy"),
        TagSpecifications=_tagged(place, p, "vpc"),
    )["Vpc"]  # fmt: skip
    for name in ("EnableDnsSupport", "EnableDnsHostnames"):
        if name in p:
            place.ask("ec2", "ModifyVpcAttribute", VpcId=made["VpcId"], **{name: {"Value": truth(p[name])}})
    groups = place.ask("ec2", "DescribeSecurityGroups", Filters=[{"Name": "vpc-id", "Values": [made["VpcId"]]}])
    default = next((g["GroupId"] for g in groups["SecurityGroups"] if g["GroupName"] == "default"), "")
    attributes = {"VpcId": made["VpcId"], "CidrBlock": p["CidrBlock"], "DefaultSecurityGroup": default}
    return made["VpcId"], attributes


def _delete_vpc(place: Place, vpc: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteVpc", VpcId=vpc)


def _subnet(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask(
        "ec2", "CreateSubnet", VpcId=p["VpcId"], CidrBlock=p["CidrBlock"], AvailabilityZone=p.get("AvailabilityZone"),
        AvailabilityZoneId=p.get("AvailabilityZoneId"), TagSpecifications=_tagged(place, p, "subnet"),
    )["Subnet"]  # fmt: skip
    if truth(p.get("MapPublicIpOnLaunch", False)):
        place.ask("ec2", "ModifySubnetAttribute", SubnetId=made["SubnetId"], MapPublicIpOnLaunch={"Value": True})
    names = ("SubnetId", "AvailabilityZone", "AvailabilityZoneId", "VpcId", "CidrBlock")
    return made["SubnetId"], {name: made[name] for name in names if name in made}


def _delete_subnet(place: Place, subnet: str, _: dict[str, Any]) -> None:
    if place.cloud.addresses_taken(place.account, place.region, subnet):
        message = f"The subnet '{subnet}' has dependencies and cannot be deleted."
        raise AwsError("DependencyViolation", message, 400)
    place.ask("ec2", "DeleteSubnet", SubnetId=subnet)


def _gateway(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask("ec2", "CreateInternetGateway", TagSpecifications=_tagged(place, p, "internet-gateway"))
    identity = made["InternetGateway"]["InternetGatewayId"]
    return identity, {"InternetGatewayId": identity}


def _delete_gateway(place: Place, gateway: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteInternetGateway", InternetGatewayId=gateway)


def _attachment(place: Place, p: dict[str, Any]) -> Made:
    place.ask("ec2", "AttachInternetGateway", VpcId=p["VpcId"], InternetGatewayId=p.get("InternetGatewayId", ""))
    return f"IGW|{p['VpcId']}", {}


def _detach(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("ec2", "DetachInternetGateway", VpcId=p["VpcId"], InternetGatewayId=p["InternetGatewayId"])


def _route_table(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask("ec2", "CreateRouteTable", VpcId=p["VpcId"], TagSpecifications=_tagged(place, p, "route-table"))
    identity = made["RouteTable"]["RouteTableId"]
    return identity, {"RouteTableId": identity}


def _delete_route_table(place: Place, table: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteRouteTable", RouteTableId=table)


def _route(place: Place, p: dict[str, Any]) -> Made:
    place.ask("ec2", "CreateRoute", **p)
    destination = p.get("DestinationCidrBlock", "")
    return f"{p['RouteTableId']}|{destination}", {"CidrBlock": destination}


def _delete_route(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteRoute", RouteTableId=p["RouteTableId"], DestinationCidrBlock=p.get("DestinationCidrBlock"))


def _association(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask("ec2", "AssociateRouteTable", RouteTableId=p["RouteTableId"], SubnetId=p["SubnetId"])
    return made["AssociationId"], {"Id": made["AssociationId"]}


def _disassociate(place: Place, association: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DisassociateRouteTable", AssociationId=association)


def _rule(p: dict[str, Any]) -> dict[str, Any]:
    """One rule of a security group as the API wants it."""
    rule: dict[str, Any] = {"IpProtocol": str(p["IpProtocol"])}
    for name in ("FromPort", "ToPort"):
        if name in p and rule["IpProtocol"] != "-1":
            rule[name] = whole(p[name])
    described = {"Description": p["Description"]} if p.get("Description") else {}
    group = p.get("SourceSecurityGroupId") or p.get("DestinationSecurityGroupId")
    prefixes = p.get("SourcePrefixListId") or p.get("DestinationPrefixListId")
    if p.get("CidrIp"):
        rule["IpRanges"] = [{"CidrIp": p["CidrIp"], **described}]
    elif p.get("CidrIpv6"):
        rule["Ipv6Ranges"] = [{"CidrIpv6": p["CidrIpv6"], **described}]
    elif group:
        rule["UserIdGroupPairs"] = [{"GroupId": group, **described}]
    elif prefixes:
        rule["PrefixListIds"] = [{"PrefixListId": prefixes, **described}]
    else:
        raise AwsError("InvalidParameterValue", "A rule of a security group names a source or a destination.", 400)
    return rule


def _group(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask(
        "ec2", "CreateSecurityGroup", GroupName=p.get("GroupName") or place.name(255), VpcId=p.get("VpcId"),
        Description=p["GroupDescription"], TagSpecifications=_tagged(place, p, "security-group"),
    )["GroupId"]  # fmt: skip
    if p.get("SecurityGroupIngress"):
        rules = [_rule(rule) for rule in p["SecurityGroupIngress"]]
        place.ask("ec2", "AuthorizeSecurityGroupIngress", GroupId=made, IpPermissions=rules)
    if p.get("SecurityGroupEgress"):
        everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
        place.ask("ec2", "RevokeSecurityGroupEgress", GroupId=made, IpPermissions=everything)
        rules = [_rule(rule) for rule in p["SecurityGroupEgress"]]
        place.ask("ec2", "AuthorizeSecurityGroupEgress", GroupId=made, IpPermissions=rules)
    return made, {"GroupId": made, "VpcId": p.get("VpcId", ""), "Id": made}


def _delete_group(place: Place, group: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteSecurityGroup", GroupId=group)


def _ingress(place: Place, p: dict[str, Any]) -> Made:
    place.ask("ec2", "AuthorizeSecurityGroupIngress", GroupId=p["GroupId"], IpPermissions=[_rule(p)])
    return place.name(), {"Id": place.logical}


def _revoke_ingress(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("ec2", "RevokeSecurityGroupIngress", GroupId=p["GroupId"], IpPermissions=[_rule(p)])


def _egress(place: Place, p: dict[str, Any]) -> Made:
    try:
        place.ask("ec2", "AuthorizeSecurityGroupEgress", GroupId=p["GroupId"], IpPermissions=[_rule(p)])
    except AwsError as error:
        # A group's own rule, everything to everywhere, gives way to the same one written by a template.
        if error.code != "InvalidPermission.Duplicate" or (p.get("CidrIp"), str(p["IpProtocol"])) != (
            "0.0.0.0/0",
            "-1",
        ):
            raise
    return place.name(), {"Id": place.logical}


def _revoke_egress(place: Place, _: str, p: dict[str, Any]) -> None:
    place.ask("ec2", "RevokeSecurityGroupEgress", GroupId=p["GroupId"], IpPermissions=[_rule(p)])


def _endpoint(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask(
        "ec2", "CreateVpcEndpoint", VpcId=p["VpcId"], ServiceName=p["ServiceName"], RouteTableIds=p.get("RouteTableIds"),
        VpcEndpointType=p.get("VpcEndpointType") or "Gateway", SubnetIds=p.get("SubnetIds"),
        SecurityGroupIds=p.get("SecurityGroupIds"), TagSpecifications=_tagged(place, p, "vpc-endpoint"),
    )["VpcEndpoint"]  # fmt: skip
    return made["VpcEndpointId"], {"Id": made["VpcEndpointId"]}


def _delete_endpoint(place: Place, endpoint: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteVpcEndpoints", VpcEndpointIds=[endpoint])


def _address(place: Place, p: dict[str, Any]) -> Made:
    present = len(place.ask("ec2", "DescribeAddresses")["Addresses"])
    if present >= quotas.value(place.cloud, place.account, place.region, "ec2", "EC2-VPC Elastic IPs"):
        raise AwsError("AddressLimitExceeded", "The maximum number of addresses has been reached.", 400)
    made = place.ask("ec2", "AllocateAddress", Domain="vpc", TagSpecifications=_tagged(place, p, "elastic-ip"))
    return made["PublicIp"], {"AllocationId": made["AllocationId"], "PublicIp": made["PublicIp"]}


def _release(place: Place, address: str, _: dict[str, Any]) -> None:
    found = place.ask("ec2", "DescribeAddresses", PublicIps=[address])["Addresses"]
    place.ask("ec2", "ReleaseAddress", AllocationId=found[0]["AllocationId"])


def _nat(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask(
        "ec2", "CreateNatGateway", SubnetId=p["SubnetId"], AllocationId=p.get("AllocationId"),
        ConnectivityType=p.get("ConnectivityType"), TagSpecifications=_tagged(place, p, "natgateway"),
    )["NatGateway"]  # fmt: skip
    return made["NatGatewayId"], {"NatGatewayId": made["NatGatewayId"]}


def _delete_nat(place: Place, nat: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DeleteNatGateway", NatGatewayId=nat)


def _second_block(place: Place, p: dict[str, Any]) -> Made:
    made = place.ask("ec2", "AssociateVpcCidrBlock", VpcId=p["VpcId"], CidrBlock=p["CidrBlock"])
    return made["CidrBlockAssociation"]["AssociationId"], {"Id": made["CidrBlockAssociation"]["AssociationId"]}


def _delete_second_block(place: Place, association: str, _: dict[str, Any]) -> None:
    place.ask("ec2", "DisassociateVpcCidrBlock", AssociationId=association)


RULE = "IpProtocol FromPort ToPort CidrIp CidrIpv6 Description"
kind("AWS::EC2::VPC", create=_vpc, delete=_delete_vpc, required="CidrBlock", comes=12.0,
     optional="EnableDnsSupport EnableDnsHostnames InstanceTenancy Tags",
     attributes="VpcId CidrBlock DefaultSecurityGroup")  # fmt: skip
kind("AWS::EC2::Subnet", create=_subnet, delete=_delete_subnet, required="VpcId CidrBlock", comes=4.0,
     optional="AvailabilityZone AvailabilityZoneId MapPublicIpOnLaunch Tags",
     attributes="SubnetId AvailabilityZone AvailabilityZoneId VpcId CidrBlock")  # fmt: skip
kind("AWS::EC2::InternetGateway", create=_gateway, delete=_delete_gateway, optional="Tags", comes=16.0,
     attributes="InternetGatewayId")  # fmt: skip
kind(
    "AWS::EC2::VPCGatewayAttachment", create=_attachment, delete=_detach, required="VpcId InternetGatewayId", comes=16.0
)
kind("AWS::EC2::RouteTable", create=_route_table, delete=_delete_route_table, required="VpcId", optional="Tags",
     attributes="RouteTableId", comes=12.0)  # fmt: skip
kind("AWS::EC2::Route", create=_route, delete=_delete_route, required="RouteTableId",
     optional="DestinationCidrBlock GatewayId NatGatewayId", attributes="CidrBlock", comes=3.0)  # fmt: skip
kind("AWS::EC2::SubnetRouteTableAssociation", create=_association, delete=_disassociate,
     required="SubnetId RouteTableId", attributes="Id", comes=3.0)  # fmt: skip
kind("AWS::EC2::SecurityGroup", create=_group, delete=_delete_group, required="GroupDescription", comes=7.0,
     optional="GroupName VpcId SecurityGroupIngress SecurityGroupEgress Tags", attributes="GroupId VpcId Id")  # fmt: skip
kind("AWS::EC2::SecurityGroupIngress", create=_ingress, delete=_revoke_ingress, required="GroupId IpProtocol",
     optional=f"{RULE} SourceSecurityGroupId SourcePrefixListId", attributes="Id", comes=2.0)  # fmt: skip
kind("AWS::EC2::SecurityGroupEgress", create=_egress, delete=_revoke_egress, required="GroupId IpProtocol",
     optional=f"{RULE} DestinationSecurityGroupId DestinationPrefixListId", attributes="Id", comes=2.0)  # fmt: skip
kind("AWS::EC2::VPCEndpoint", create=_endpoint, delete=_delete_endpoint, required="VpcId ServiceName", comes=18.0,
     optional="VpcEndpointType RouteTableIds SubnetIds SecurityGroupIds PolicyDocument PrivateDnsEnabled Tags",
     attributes="Id", goes=10.0)  # fmt: skip
kind("AWS::EC2::EIP", create=_address, delete=_release, optional="Domain Tags", attributes="AllocationId PublicIp",
     comes=15.0)  # fmt: skip
kind("AWS::EC2::NatGateway", create=_nat, delete=_delete_nat, required="SubnetId", comes=105.0, goes=60.0,
     optional="AllocationId ConnectivityType Tags", attributes="NatGatewayId")  # fmt: skip
kind("AWS::EC2::VPCCidrBlock", create=_second_block, delete=_delete_second_block, required="VpcId CidrBlock",
     attributes="Id")  # fmt: skip
