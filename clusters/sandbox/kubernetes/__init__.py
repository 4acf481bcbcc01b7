"""A stand-in for the Kubernetes API of the sandbox's EKS clusters, with what plays its controllers.

It speaks the paths, verbs, conflicts and errors of the real API server to the unmodified official client, and checks
objects against the published schemas of their kinds. No container runs: pods come, write and end by a clock.
"""

from clusters.sandbox.kubernetes.play import catch_up

__all__ = ["catch_up"]
