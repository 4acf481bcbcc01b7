"""CloudFormation: templates are read and checked, and stacks come and go resource by resource, in time."""

from clusters.sandbox.cloudformation import api, looks  # noqa: F401 - they register their calls
from clusters.sandbox.cloudformation.engine import catch_up

__all__ = ["catch_up"]
