"""ECR: the registries of an account, which templates make, and the images that somebody pushed into them."""

import hashlib
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page


def _there(cloud: Cloud, call: Call) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = cloud.store.read(f"records/{call.account}/{call.region}").get("registry", {})
    return found


def _registry(cloud: Cloud, call: Call, name: str) -> dict[str, Any]:
    found = _there(cloud, call).get(name)
    if found is None:
        message = f"The repository with name '{name}' does not exist in the registry with id '{call.account}'"
        raise AwsError("RepositoryNotFoundException", message, 400)
    return found


def _images(cloud: Cloud, call: Call, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cloud.store.read(call.shelf("ecr")).get(name, [])
    return found


@operation("ecr", "DescribeRepositories")
def describe_registries(cloud: Cloud, call: Call) -> dict[str, Any]:
    wanted = call.parameters.get("repositoryNames") or sorted(_there(cloud, call))
    found = [_shown(call, name, _registry(cloud, call, name)) for name in wanted]
    items, more = page(found, call.parameters, size="maxResults", token="nextToken", most=1000)
    return {"repositories": items, **more}


@operation("ecr", "PutImage")
def put_image(cloud: Cloud, call: Call) -> dict[str, Any]:
    """A manifest only: nobody pulls from the sandbox."""
    name, text, tag = (
        call.parameters["repositoryName"],
        call.parameters["imageManifest"],
        call.parameters.get("imageTag"),
    )
    registry = _registry(cloud, call, name)
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    if call.parameters.get("imageDigest") not in (None, digest):
        raise AwsError("ImageDigestDoesNotMatchException", "The digest is not that of the manifest.", 400)
    held = _images(cloud, call, name)
    twin = {"imageDigest": digest, **({"imageTag": tag} if tag else {})}
    if twin in held:
        message = f"Image with digest '{digest}' and tag '{tag}' already exists in the repository."
        raise AwsError("ImageAlreadyExistsException", message, 400)
    if tag and any(one.get("imageTag") == tag for one in held):
        if registry.get("ImageTagMutability") == "IMMUTABLE":
            message = f"The image tag '{tag}' already exists in the '{name}' repository and cannot be overwritten."
            raise AwsError("ImageTagAlreadyExistsException", message, 400)
        held = [{"imageDigest": one["imageDigest"]} if one.get("imageTag") == tag else one for one in held]
    cloud.store.change(call.shelf())[name] = [*held, twin]
    call.effective = True
    return {"image": {"registryId": call.account, "repositoryName": name, "imageId": twin, "imageManifest": text}}


@operation("ecr", "ListImages")
def list_images(cloud: Cloud, call: Call) -> dict[str, Any]:
    name, rule = call.parameters["repositoryName"], call.parameters.get("filter") or {}
    _registry(cloud, call, name)
    tagged = {"TAGGED": (True,), "UNTAGGED": (False,)}.get(rule.get("tagStatus") or "", (True, False))
    found = [one for one in _images(cloud, call, name) if ("imageTag" in one) in tagged]
    items, more = page(found, call.parameters, size="maxResults", token="nextToken", most=1000)
    return {"imageIds": items, **more}


@operation("ecr", "DeleteRepository")
def delete_registry(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["repositoryName"]
    registry = _registry(cloud, call, name)
    if _images(cloud, call, name) and not call.parameters.get("force"):
        message = f"The repository with name '{name}' in registry with id '{call.account}' cannot be deleted"
        raise AwsError("RepositoryNotEmptyException", f"{message} because it still contains images", 400)
    del cloud.store.change(f"records/{call.account}/{call.region}")["registry"][name]
    cloud.store.change(call.shelf()).pop(name, None)
    return {"repository": _shown(call, name, registry)}


def _shown(call: Call, name: str, made: dict[str, Any]) -> dict[str, Any]:
    return {
        "repositoryName": name,
        "registryId": call.account,
        "repositoryArn": call.arn("ecr", f"repository/{name}"),
        "repositoryUri": f"{call.account}.dkr.ecr.{call.region}.amazonaws.com/{name}",
        "imageTagMutability": made.get("ImageTagMutability", "MUTABLE"),
    }
