"""One door to AWS: assume a participant's role, make a call there, and say in our words what came back."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import botocore.config
import botocore.credentials
import botocore.exceptions
import botocore.loaders
import botocore.parsers
import botocore.session
import botocore.signers
import urllib3.exceptions

from clusters.providers import Account, ErrorKind, ProviderError

EARLY = timedelta(minutes=5)  # credentials are renewed this long before they end
SESSION_SECONDS = 3600  # more is refused when a role is assumed from a role
CLIENTS = 50
MODELS = botocore.loaders.create_loader()  # read once: a forked child takes over what its parent has read

# The engine does the long retries; a second try here only bridges a broken connection.
CONFIG = botocore.config.Config(
    retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=3, read_timeout=15, max_pool_connections=4
)

# Not LimitExceededException: CloudFormation and IAM say this of quotas.
THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionInProgressException",
    }
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
UNKNOWN_KEY = frozenset({"InvalidAccessKeyId", "InvalidClientTokenId", "UnrecognizedClientException"})
DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "NotAuthorized",
        "OptInRequired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
    }
)
FAILURES = (
    botocore.exceptions.BotoCoreError,
    botocore.exceptions.ClientError,
    botocore.parsers.ResponseParserError,
    urllib3.exceptions.HTTPError,
)
MORE = ("NextToken", "nextToken", "Marker")  # what a service calls the place where the next page begins
READING = ("Describe", "List", "Get", "Head", "Search")


@dataclass(frozen=True)
class Credentials:
    key: str
    secret: str
    session_token: str
    ends: datetime


class Cloud:
    """What one process keeps between calls: a session, credentials and clients. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._session: botocore.session.Session | None = None
        self._credentials: dict[tuple[str, str], Credentials] = {}
        self._clients: OrderedDict[tuple[str, str, str], Any] = OrderedDict()

    def session(self) -> botocore.session.Session:
        with self._lock:
            if self._session is None:
                self._session = botocore.session.Session()
                self._session.register_component("data_loader", MODELS)
            return self._session

    def client(self, service: str, region: str, credentials: Credentials | None = None) -> Any:
        """A client with a participant's credentials, or with our own."""
        key = (service, region, credentials.key if credentials else "")
        with self._lock:
            if key not in self._clients:
                mine = credentials and {
                    "aws_access_key_id": credentials.key,
                    "aws_secret_access_key": credentials.secret,
                    "aws_session_token": credentials.session_token,
                }
                session = self.session()
                self._clients[key] = session.create_client(service, region_name=region, config=CONFIG, **(mine or {}))
            self._clients.move_to_end(key)
            while len(self._clients) > CLIENTS:
                self._clients.popitem(last=False)
            return self._clients[key]

    def credentials(self, account: Account) -> Credentials:
        """The participant's role, assumed; kept until shortly before it ends."""
        key = (account.role_arn, account.external_id)
        held = self._credentials.get(key)
        if held and held.ends - EARLY > datetime.now(UTC):
            return held
        # Our own name for the service is the regional one: the global endpoint is another Region's fate.
        answer = self.client("sts", account.region).assume_role(
            RoleArn=account.role_arn,
            RoleSessionName=account.session_name,
            ExternalId=account.external_id,
            DurationSeconds=SESSION_SECONDS,
        )["Credentials"]
        fresh = Credentials(
            answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"], answer["Expiration"]
        )
        with self._lock:
            self._credentials[key] = fresh
        return fresh

    def forget(self, account: Account) -> None:
        with self._lock:
            self._credentials.pop((account.role_arn, account.external_id), None)


_cloud = Cloud()


def _start_again() -> None:
    """A child process must not share its parent's open connections."""
    global _cloud
    _cloud = Cloud()


os.register_at_fork(after_in_child=_start_again)


def call(account: Account, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
    """One call in the participant's account. `operation` is the API's own name, e.g. `DescribeStacks`.

    Expired credentials are renewed once: such a call was refused before anything was done.
    """
    try:
        return _call(account, service, operation, parameters)
    except ProviderError as error:
        if error.code not in EXPIRED | UNKNOWN_KEY:
            raise
    _cloud.forget(account)
    return _call(account, service, operation, parameters)


def pages(account: Account, service: str, operation: str, result: str, **parameters: Any) -> Iterator[dict[str, Any]]:
    """The entries of a list call, page after page."""
    while True:
        answer = call(account, service, operation, **parameters)
        yield from answer.get(result, [])
        more = {name: answer[name] for name in MORE if answer.get(name)}
        if not more:
            return
        parameters |= more


def let_in(account: Account) -> None:
    """Whether the participant's role lets us in at all. Raises ProviderError."""
    _let_in(account)


def lets_in_without_id(account: Account) -> bool:
    """Whether the role takes us also when we do not say the external id, as it must not. Raises ProviderError."""
    client = _cloud.client("sts", account.region)
    try:
        client.assume_role(RoleArn=account.role_arn, RoleSessionName=account.session_name, DurationSeconds=900)
    except FAILURES as error:
        told = translated(error, changes=False)
        if told.kind == "denied":
            return False
        raise told from error
    return True


def forget(account: Account) -> None:
    """The credentials that we hold were said to be over."""
    _cloud.forget(account)


def environment(account: Account) -> dict[str, str]:
    """What a program needs in its environment to act as the participant's role."""
    credentials = _let_in(account)
    ours = ("AWS_ENDPOINT_URL", "AWS_CA_BUNDLE", "HTTPS_PROXY", "NO_PROXY")
    return {name: os.environ[name] for name in ours if os.environ.get(name)} | {
        "AWS_ACCESS_KEY_ID": credentials.key,
        "AWS_SECRET_ACCESS_KEY": credentials.secret,
        "AWS_SESSION_TOKEN": credentials.session_token,
        "AWS_DEFAULT_REGION": account.region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def identity_question(account: Account, headers: Mapping[str, str], seconds: int = 60) -> str:
    """A signed address at which STS tells who we are in that account: who is shown it can ask, and learns nothing else.

    EKS takes it, with the name of the cluster among its headers, for proof of the role.
    """
    credentials = _let_in(account)
    client = _cloud.client("sts", account.region, credentials)
    signer = botocore.signers.RequestSigner(
        client.meta.service_model.service_id,
        account.region,
        "sts",
        "v4",
        botocore.credentials.Credentials(credentials.key, credentials.secret, credentials.session_token),
        _cloud.session().get_component("event_emitter"),
    )
    request = {
        "method": "GET",
        "url": f"{client.meta.endpoint_url}/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {},
        "headers": dict(headers),
        "context": {},
    }
    return str(
        signer.generate_presigned_url(request, region_name=account.region, expires_in=seconds, operation_name="")
    )


def model(service: str) -> Any:
    """The service's own description of its requests, as it ships with botocore."""
    return _cloud.session().get_service_model(service)


def _let_in(account: Account) -> Credentials:
    """The role's credentials. Who is not let in is told who can change that; AWS only says what was not allowed."""
    try:
        return _cloud.credentials(account)
    except FAILURES as error:
        told = translated(error, changes=False)
        if told.kind != "denied":
            raise told from error
        sentence = (
            f"Account {account.account_id} does not let Cohort in. Its owner has to create the role {account.role_arn}, "
            f"or to let Cohort assume it with the external id that was made for this account. AWS says: {told.message}"
        )
        raise ProviderError("denied", sentence, code=told.code) from error


def _call(account: Account, service: str, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    credentials = _let_in(account)
    client = _cloud.client(service, account.region, credentials)
    method = getattr(client, botocore.xform_name(operation))
    try:
        answer: dict[str, Any] = method(**parameters)
    except FAILURES as error:
        raise translated(error, changes=not operation.startswith(READING)) from error
    return answer


def translated(error: Exception, *, changes: bool) -> ProviderError:
    """What a botocore error means for the next step; `changes` says that the call was to change something."""
    if isinstance(error, botocore.exceptions.ClientError):
        told = error.response.get("Error", {})
        code, message = str(told.get("Code", "")), str(told.get("Message", "") or error)
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return ProviderError(_kind(code, status), message, code=code)
    code = type(error).__name__
    if isinstance(error, botocore.exceptions.ParamValidationError):
        return ProviderError("refused", str(error), code=code)
    if isinstance(error, botocore.exceptions.NoCredentialsError | botocore.exceptions.PartialCredentialsError):
        return ProviderError("denied", str(error), code=code)
    # Whatever else botocore raises it raised on the way: nobody knows whether the call arrived. Also a failed connect
    # is no proof, since it may have been the second attempt.
    sentence = f"{error} The call may have been carried out." if changes else str(error)
    return ProviderError("unclear", sentence, code=code)


def _kind(code: str, status: int) -> ErrorKind:
    if code in THROTTLED or status == 429:
        return "throttled"
    if code in EXPIRED:
        return "expired"
    if code in DENIED | UNKNOWN_KEY or status == 401:
        return "denied"
    if status >= 500:
        return "unclear"
    return "denied" if status == 403 else "refused"


def put_objects(account: Account, objects: Iterable[Mapping[str, str]]) -> None:
    """Put files into buckets; their keys depend on their content, so putting one twice is putting it once."""
    for each in objects:
        call(account, "s3", "PutObject", Bucket=each["bucket"], Key=each["key"], Body=each["text"].encode())
