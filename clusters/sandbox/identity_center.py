"""IAM Identity Center: whether an account has it. The programme file names those that do not."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation.watching import identity_center
from clusters.sandbox.services import Call, operation


@operation("sso-admin", "ListInstances")
def list_instances(cloud: Cloud, call: Call) -> dict[str, Any]:
    if not identity_center(cloud, call.account):
        return {"Instances": []}
    mark = f"{int(call.account):016x}"
    return {
        "Instances": [
            {
                "InstanceArn": f"arn:aws:sso:::instance/ssoins-{mark}",
                "IdentityStoreId": f"d-{mark[-10:]}",
                "OwnerAccountId": call.account,
                "Status": "ACTIVE",
            }
        ]
    }
