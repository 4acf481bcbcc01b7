"""The services that moto plays (S3, IAM, EC2, SSM parameters, Secrets Manager): run in process, corrected, and kept.

moto 5.2.5 is pinned exactly: this module is the only one that leans on its internals.
"""

import io
import os
import pickle
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Read by moto at import: no images or managed policies in memory that nobody uses, and accounts kept apart.
os.environ.setdefault("MOTO_EC2_LOAD_DEFAULT_AMIS", "false")
os.environ.setdefault("MOTO_AMIS_PATH", str(Path(__file__).parent / "images.json"))
os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")
os.environ.setdefault("MOTO_S3_ALLOW_CROSSACCOUNT_ACCESS", "false")

from moto.backends import get_backend
from moto.core.base_backend import BaseBackend
from moto.ec2.models.availability_zones_and_regions import RegionsAndZonesBackend
from moto.ec2.models.subnets import Subnet
from moto.iam.access_control import IAMPolicyStatement, PermissionResult
from moto.iam.models import AWSManagedPolicy, IAMBackend
from moto.moto_server.werkzeug_app import create_backend_app
from werkzeug.test import run_wsgi_app

from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call
from clusters.sandbox.wire import Answer

SERVICES = ("dynamodb", "ec2", "iam", "s3", "secretsmanager", "ssm")
GLOBAL = ("iam", "s3")
PLACES = ("region", "availability-zone", "availability-zone-id", "outpost")
BUCKET_OWNERS = "moto/s3/bucket-owners"


def backend(service: str, account: str, region: str) -> Any:
    return get_backend(service)[account]["aws" if service in GLOBAL else region]  # type: ignore[call-overload]


def zones(region: str) -> dict[str, str]:
    """Name -> id of the Region's Availability Zones."""
    return {zone.name: zone.zone_id for zone in RegionsAndZonesBackend.zones.get(region, [])}


def install(addresses_taken: Callable[[str, str, str], int]) -> None:
    """Mend what moto answers falsely."""
    moto_count = Subnet.available_ip_address_count.fget  # type: ignore[attr-defined]

    def free(subnet: Subnet) -> int:
        others = addresses_taken(subnet.ec2_backend.account_id, subnet.ec2_backend.region_name, subnet.id)
        return int(moto_count(subnet)) - others

    Subnet.available_ip_address_count = property(free)  # type: ignore[assignment,method-assign]
    moto_permits = IAMPolicyStatement.is_action_permitted

    def permits(self: Any, *args: Any, **kwargs: Any) -> PermissionResult:
        # moto denies everybody where a statement's condition does not hold; a cloud then ignores the statement. Every
        # request here counts as one over TLS, so "deny unless TLS" denies nothing.
        condition = self._statement.get("Condition") or {}
        if str(condition.get("Bool", {}).get("aws:SecureTransport", "")).lower() == "false":
            return PermissionResult.NEUTRAL
        # What a bucket's policy says of a service of the provider says nothing of those who call from outside.
        if set(_principals(self._statement)) == {"Service"} and self._statement.get("Resource"):
            return PermissionResult.NEUTRAL
        return moto_permits(self, *args, **kwargs)

    IAMPolicyStatement.is_action_permitted = permits  # type: ignore[method-assign]
    # The provider's own policies are the same thousand in every account: one copy for all.
    IAMBackend._init_aws_policies = lambda self: list(_policies(self).values())  # type: ignore[method-assign]


def _principals(statement: dict[str, Any]) -> dict[str, Any]:
    named = statement.get("Principal")
    return named if isinstance(named, dict) else {}


_make_policies = IAMBackend._init_aws_policies
_shared_policies: dict[str, Any] = {}


def _policies(iam: IAMBackend) -> dict[str, Any]:
    if not _shared_policies:
        _shared_policies.update({policy.arn: policy for policy in _make_policies(iam)})
    return _shared_policies


class MotoServices:
    """moto's WSGI applications, called one at a time."""

    def __init__(self) -> None:
        self.apps: dict[str, Any] = {}

    def answer(self, call: Call, environ: dict[str, Any]) -> Answer:
        service, operation = call.service, call.operation
        _check(call)
        # This header decides for moto; whoever sends one of his own is overruled.
        environ = {**environ, "HTTP_X_MOTO_ACCOUNT_ID": call.account}
        environ.pop("HTTP_USER_AGENT", None)  # moto would read a Region from it
        environ["wsgi.input"].seek(0)
        if service not in self.apps:
            self.apps[service] = create_backend_app(service)  # type: ignore[arg-type]
            self.apps[service].config["PROPAGATE_EXCEPTIONS"] = True
        try:
            body, status, headers = run_wsgi_app(self.apps[service], environ, buffered=True)
        except NotImplementedError:
            raise AwsError("NotImplemented", f"The sandbox cloud does not play {service}:{operation}.", 400) from None
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            # What moto trips over is a bug of the double, not of the caller; the trace goes to the log.
            traceback.print_exc(file=sys.stderr)
            raise AwsError("InternalFailure", f"The sandbox cloud failed in {service}:{operation}.", 500) from None
        kept = {name: value for name, value in headers.items() if name.lower() not in ("content-length", "date")}
        return Answer(int(status.split()[0]), b"".join(body), kept)


def _check(call: Call) -> None:
    """What moto lets pass or words otherwise."""
    wish = call.parameters
    if (call.service, call.operation) == ("s3", "CreateBucket"):
        owner = get_backend("s3").bucket_accounts.get(wish.get("Bucket"))  # type: ignore[attr-defined]
        if owner is not None and owner[1] != call.account:
            raise AwsError("BucketAlreadyExists", "The requested bucket name is not available.", 409)
    if (call.service, call.operation) == ("ec2", "DescribeInstanceTypeOfferings"):
        place = wish.get("LocationType") or "region"
        if place not in PLACES:
            message = f"The value '{place}' is not valid for LocationType: one of {', '.join(PLACES)}."
            raise AwsError("InvalidParameterValue", message, 400)
    if (call.service, call.operation) == ("ec2", "CreateSubnet"):
        known = zones(call.region)
        name, identity = wish.get("AvailabilityZone"), wish.get("AvailabilityZoneId")
        if not any(name in (None, zone) and identity in (None, zone_id) for zone, zone_id in known.items()):
            message = (
                f"Value ({name or identity}) for parameter availabilityZone is invalid. Subnets can currently only be"
            )
            names = ", ".join(known)
            raise AwsError(
                "InvalidParameterValue", f"{message} created in the following availability zones: {names}.", 400
            )


class _Pickler(pickle.Pickler):
    """Backends, the root too, and the provider's policies are named, not copied."""

    def persistent_id(self, thing: Any) -> Any:
        if isinstance(thing, BaseBackend):
            return type(thing).__module__.split(".")[1], thing.account_id, thing.region_name
        return ("policy", thing.arn, "") if isinstance(thing, AWSManagedPolicy) else None

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, defaultdict):
            return NotImplemented
        # moto keeps factories of default values as local functions, which do not pickle; the values do.
        if thing.default_factory not in (None, dict, list, set, int, str):
            return _nested, (dict(thing),)
        if type(thing) is not defaultdict:  # made with other arguments than pickle would give
            return _bare, (type(thing), thing.default_factory), thing.__dict__, None, iter(thing.items())
        return NotImplemented


def _bare(kind: Any, factory: Any) -> Any:
    made = kind.__new__(kind)
    made.default_factory = factory
    return made


def _nested(values: dict[Any, Any]) -> Any:
    """SSM's tags: type -> name -> tags."""
    rebuilt: Any = defaultdict(lambda: defaultdict(dict))
    for name, inner in values.items():
        rebuilt[name] = defaultdict(dict, inner)
    return rebuilt


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, name: Any) -> Any:
        service, account, region = name
        if service == "policy":
            return _shared_policies[account]
        return get_backend(service)[account][region]


def packed(service: str, account: str, region: str) -> dict[str, bytes]:
    """One backend's state, under the name it is kept by."""
    region = "aws" if service in GLOBAL else region
    file, state = io.BytesIO(), dict(backend(service, account, region).__dict__)
    if service == "iam":  # a thousand policies of the provider, which are there at every start
        del state["aws_managed_policies"]
        state["managed_policies"] = {
            arn: policy for arn, policy in state["managed_policies"].items() if arn not in _shared_policies
        }
    _Pickler(file, protocol=5).dump(state)
    blobs = {f"moto/{service}/{account}/{region}": file.getvalue()}
    if service == "s3":
        blobs[BUCKET_OWNERS] = pickle.dumps(dict(get_backend("s3").bucket_accounts))  # type: ignore[attr-defined]
    return blobs


def restore(blobs: list[tuple[str, bytes]]) -> None:
    """Put all kept backends back, before the first request."""
    if any(name.startswith("moto/iam/") for name, _ in blobs):
        get_backend("iam")["000000000000"]["aws"]  # the provider's policies are there when they are named
    for name, body in blobs:
        if name == BUCKET_OWNERS:
            get_backend("s3").bucket_accounts.update(pickle.loads(body))  # type: ignore[attr-defined]
        else:
            _, service, account, region = name.split("/")
            state = _Unpickler(io.BytesIO(body)).load()
            if service == "iam":
                state["managed_policies"] = {**_shared_policies, **state["managed_policies"]}
            get_backend(service)[account][region].__dict__.update(state)  # type: ignore[call-overload]
