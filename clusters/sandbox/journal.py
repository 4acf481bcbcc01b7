"""The journal of all calls: who called what, with which names, what came of it, and whether it created something."""

import json
from datetime import UTC, datetime
from typing import Any

from clusters.sandbox.store import Store

# Looking leaves no trace in a cloud, and pollers look all day: old lines of calls that changed nothing are dropped.
KEPT_LOOKS = 50_000

NAMES = (
    "StackName ClusterName ClusterArn RoleName RoleArn Bucket Key Name SecretId FileSystemId QuotaCode ServiceCode name"
    " clusterName principalArn addonName NodeId NodeIds logGroupName logStreamName TrainingPlanName ClientRequestToken"
    " Path job_id ParameterName PolicyName"
).split()


def named(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: parameters[name] for name in NAMES if parameters.get(name)}


class Journal:
    """Lines are kept in memory until the request's commit writes them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lines: list[tuple[Any, ...]] = []
        last = store.database.execute("select coalesce(max(id), 0) from journal").fetchone()[0]
        store.database.execute("delete from journal where effective = 0 and id < ?", (last - KEPT_LOOKS,))

    def note(self, at: float, account: str, region: str, service: str, operation: str, parameters: dict[str, Any],
             status: int, error: str, effective: bool) -> None:  # fmt: skip
        text = json.dumps(named(parameters), default=str)
        self.lines.append((at, account, region, service, operation, text, status, error, int(effective)))

    def listed(self, *, operation: str = "", service: str = "", account: str = "", effective: str = "",
               after: int = 0, limit: int = 10_000) -> list[dict[str, Any]]:  # fmt: skip
        """Oldest first; every filter may be left out."""
        wanted = {"operation": operation, "service": service, "account": account}
        terms = [f"{column} = ?" for column, value in wanted.items() if value]
        values: list[Any] = [value for value in wanted.values() if value]
        if effective:
            terms.append("effective = ?")
            values.append(int(effective not in ("0", "false", "no")))
        where = " and ".join(["id > ?", *terms])
        rows = self.store.database.execute(
            "select id, at, account, region, service, operation, parameters, status, error, effective"
            f" from journal where {where} order by id limit ?",
            [after, *values, limit],
        )
        return [
            {
                "id": row[0],
                "at": datetime.fromtimestamp(row[1], UTC).isoformat(),
                "account": row[2],
                "region": row[3],
                "service": row[4],
                "operation": row[5],
                "parameters": json.loads(row[6]),
                "status": row[7],
                "error": row[8],
                "effective": bool(row[9]),
            }
            for row in rows
        ]
