"""Who signed a request: access keys of the hub, of account owners and of assumed roles, and whether the signature is theirs."""

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote

from moto.core.request import Request

from clusters.sandbox.errors import AwsError
from clusters.sandbox.store import Store

HUB_ACCOUNT = "999999999999"
HUB_KEY = "AKIACOHORTHUB000000A"
OWNER_KEY = re.compile(r"AKIAOWNER(\d{12})")
SHELF = "sessions"
AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<date>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request,"
    r"\s*SignedHeaders=(?P<headers>[^,]+),\s*Signature=(?P<signature>[0-9a-f]{64})"
)
QUERY_SERVICES = {"sts", "iam", "cloudformation"}


@dataclass(frozen=True)
class Principal:
    """Who is calling. `expires` is 0 for long-term keys."""

    account: str
    arn: str
    user_id: str
    secret: str
    token: str = ""
    expires: float = 0.0
    role_arn: str = ""


@dataclass(frozen=True)
class Signature:
    """What an Authorization header, or a presigned URL, says."""

    key: str
    date: str
    region: str
    service: str
    headers: str
    signature: str
    presigned: bool = False


def signature_of(request: Request) -> Signature | None:
    found = AUTHORIZATION.match(request.headers.get("Authorization", ""))
    if found:
        said = found.groupdict()
        return Signature(said["key"], said["date"], said["region"], said["service"], said["headers"], said["signature"])
    query = request.args
    if query.get("X-Amz-Algorithm") == "AWS4-HMAC-SHA256":
        parts = query.get("X-Amz-Credential", "").split("/")
        if len(parts) == 5:
            key, date, region, service, _ = parts
            signed, signature = query.get("X-Amz-SignedHeaders", ""), query.get("X-Amz-Signature", "")
            return Signature(key, date, region, service, signed, signature, presigned=True)
    return None


def principal(store: Store, key: str) -> Principal | None:
    if key == HUB_KEY:
        return Principal(HUB_ACCOUNT, f"arn:aws:iam::{HUB_ACCOUNT}:user/cohort", "AIDACOHORTHUB000000A", "cohort-hub")
    owner = OWNER_KEY.fullmatch(key)
    if owner:
        return Principal(owner[1], f"arn:aws:iam::{owner[1]}:root", owner[1], "owner")
    found: Principal | None = store.read(SHELF).get(key)
    return found


def new_session(store: Store, role_arn: str, role_id: str, session_name: str, expires: float) -> tuple[str, Principal]:
    """Credentials of an assumed role."""
    account, role = role_arn.split(":")[4], role_arn.rsplit("/", 1)[-1]
    key = "ASIA" + "".join(secrets.choice(string.ascii_uppercase + "234567") for _ in range(16))
    session = Principal(
        account=account,
        arn=f"arn:aws:sts::{account}:assumed-role/{role}/{session_name}",
        user_id=f"{role_id}:{session_name}",
        secret=secrets.token_urlsafe(30),
        token=secrets.token_urlsafe(150),
        expires=expires,
        role_arn=role_arn,
    )
    shelf = store.change(SHELF)
    # A session that ended a day ago can be forgotten: it is refused either way.
    for old in [old for old, ended in shelf.items() if ended.expires < expires - 2 * 86400]:
        del shelf[old]
    shelf[key] = session
    return key, session


def age_sessions(store: Store, seconds: float) -> None:
    """Make all sessions that exist older."""
    if seconds:
        aged = {key: replace(one, expires=one.expires - seconds) for key, one in store.read(SHELF).items()}
        store.put(SHELF, aged)


def check(store: Store, request: Request, signed: Signature, service: str, callers_now: float) -> Principal:
    """The principal behind a signature, or the refusal that this kind of service would send."""
    who = principal(store, signed.key)
    if who is None:
        raise unknown_key(service)
    token = request.headers.get("X-Amz-Security-Token", "") or request.args.get("X-Amz-Security-Token", "")
    if who.token and token != who.token:
        raise unknown_key(service)
    if not hmac.compare_digest(_signature(request, signed, who.secret), signed.signature):
        message = "The request signature we calculated does not match the signature you provided."
        raise AwsError("InvalidSignatureException" if service not in {*QUERY_SERVICES, "s3", "ec2"} else
                       "SignatureDoesNotMatch", message, 403)  # fmt: skip
    if who.expires and who.expires < callers_now:
        raise expired(service)
    if signed.presigned and _ended(request, callers_now):
        raise AwsError("AccessDenied", "Request has expired", 403)
    return who


def _ended(request: Request, callers_now: float) -> bool:
    """A presigned address is good for as many seconds as it says."""
    made = datetime.strptime(request.args.get("X-Amz-Date", ""), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    return made.timestamp() + int(request.args.get("X-Amz-Expires", "0")) < callers_now


def expired(service: str) -> AwsError:
    message = "The security token included in the request is expired"
    if service == "ec2":
        return AwsError("RequestExpired", "Request has expired.", 400)
    if service == "s3":
        return AwsError("ExpiredToken", "The provided token has expired.", 400)
    if service in QUERY_SERVICES:
        return AwsError("ExpiredToken", message, 403)
    return AwsError("ExpiredTokenException", message, 400)


def unknown_key(service: str) -> AwsError:
    if service == "ec2":
        return AwsError("AuthFailure", "AWS was not able to validate the provided access credentials", 401)
    if service == "s3":
        return AwsError("InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", 403)
    code = "InvalidClientTokenId" if service in QUERY_SERVICES else "UnrecognizedClientException"
    return AwsError(code, "The security token included in the request is invalid.", 403)


def _signature(request: Request, signed: Signature, secret: str) -> str:
    """The signature that the holder of the secret would have made (Signature Version 4)."""
    moment = request.headers.get("X-Amz-Date", "") or request.args.get("X-Amz-Date", "")
    scope = f"{signed.date}/{signed.region}/{signed.service}/aws4_request"
    digest = hashlib.sha256(_canonical(request, signed).encode()).hexdigest()
    key = f"AWS4{secret}".encode()
    for part in (signed.date, signed.region, signed.service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}".encode(), "sha256").hex()


def _canonical(request: Request, signed: Signature) -> str:
    path = request.raw_path if signed.service == "s3" else quote(request.raw_path, safe="/-_.~")
    pairs = parse_qsl(request.query_string.decode(), keep_blank_values=True)
    query = "&".join(
        f"{name}={value}"
        for name, value in sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in pairs)
        if name != "X-Amz-Signature"
    )
    headers = "".join(
        f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signed.headers.split(";")
    )
    if signed.presigned and signed.service == "s3":
        payload = "UNSIGNED-PAYLOAD"
    else:
        payload = request.headers.get("X-Amz-Content-SHA256") or hashlib.sha256(request.get_data()).hexdigest()
    return "\n".join((request.method, path, query, headers, signed.headers, payload))
