"""A configuration in a newer version of its architecture: the same cluster, in the words of that version. Pure."""

from typing import Any

from clusters import architectures
from clusters.architectures.configuration import Configuration

FIRST_OPENZFS = "SINGLE_AZ_1"  # what every version made before one could choose


def moved(now: Configuration, version: str) -> dict[str, Any]:
    """The document of the same cluster in another version. What that version would choose anew stays what it is: a file
    system of another kind would be another, empty one."""
    document = now.document() | {"version": version}
    to = architectures.architecture(now.architecture, version)
    openzfs = document["storage"].get("openzfs")
    if openzfs and not openzfs.get("deployment") and "storage.openzfs.deployment" in to.parameters:
        document["storage"] = {**document["storage"], "openzfs": {**openzfs, "deployment": FIRST_OPENZFS}}
    return document
