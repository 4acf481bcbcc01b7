"""`python -m clusters.sandbox --port N --state DIR --speed F [--programme FILE]`: start the sandbox cloud on loopback."""

import argparse
import ipaddress
import sys
from pathlib import Path


def loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m clusters.sandbox", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state", type=Path, required=True, help="folder that keeps the cloud's state")
    parser.add_argument("--speed", type=float, default=1.0, help="how many sandbox seconds pass in one second")
    parser.add_argument("--programme", type=Path, help="programme file with quotas and reservations")
    parser.add_argument("--host", default="127.0.0.1")
    wish = parser.parse_args()
    if not loopback(wish.host):
        print(f"The sandbox cloud listens on loopback only, not on {wish.host}.", file=sys.stderr)
        return 2
    if wish.speed <= 0:
        print("The speed is a positive number.", file=sys.stderr)
        return 2
    # Only now, since it takes seconds; the first line for what its modules register: the calls that they answer.
    from clusters.sandbox import (  # noqa: F401
        capacity,
        capacity_blocks,
        cloudformation,
        databases,
        eks,
        fsx,
        fsx_backups,
        fsx_volumes,
        hyperpod,
        identity_center,
        instances,
        listings,
        logs,
        quotas,
        registries,
        slurm,
        sts,
        training_plans,
    )
    from clusters.sandbox.cloud import Cloud
    from clusters.sandbox.server import Server

    try:
        server = Server((wish.host, wish.port), Cloud(wish.state, wish.speed, wish.programme))
        server.cloud.address = f"http://{wish.host}:{server.server_address[1]}"
    except OSError as trouble:
        print(f"The sandbox cloud cannot start on port {wish.port}: {trouble}", file=sys.stderr)
        return 2
    print(f"The sandbox cloud listens on http://{wish.host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    return 0


sys.exit(main())
