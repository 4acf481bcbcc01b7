"""Ships a real cluster's job output to the sandbox's CloudWatch Logs, by the very script that runs on a head node."""

from __future__ import annotations

import importlib.util
import json
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import botocore.session

SCRIPT = Path(__file__).parents[2] / "clusters/architectures/hyperpod-slurm/lifecycle/ship_job_logs.py"


class Shipper:
    """The script itself; only the command `aws`, which a head node has and a test machine has not, is played."""

    def __init__(self, folder: Path, group: str, cloud: str, account: str, region: str) -> None:
        self.folder, self.group, self.region = folder, group, region
        self.client = botocore.session.Session().create_client(
            "logs",
            region_name=region,
            endpoint_url=cloud,
            aws_access_key_id=f"AKIAOWNER{account}",
            aws_secret_access_key="owner",
        )
        self.script = self._loaded()
        self.over = threading.Event()
        self.script.aws(region, "create-log-group", "--log-group-name", group)

    def once(self) -> None:
        for file in sorted(self.folder.glob("*.out")):
            self.script.ship(file, self.group, self.region)

    def always(self, pause: float = 1.0) -> Shipper:
        def run() -> None:
            while not self.over.wait(pause):
                self.once()

        threading.Thread(target=run, daemon=True).start()
        return self

    def stop(self) -> None:
        self.over.set()

    def _loaded(self) -> ModuleType:
        spec = importlib.util.spec_from_file_location("ship_job_logs", SCRIPT)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.aws = self._aws  # type: ignore[attr-defined]
        return module

    def _aws(self, _region: str, verb: str, *words: str) -> bool:
        options = dict(zip(words[::2], words[1::2], strict=True))
        told: dict[str, Any] = {"logGroupName": options["--log-group-name"]}
        if stream := options.get("--log-stream-name"):
            told["logStreamName"] = stream
        if file := options.get("--log-events"):
            told["logEvents"] = json.loads(Path(file.removeprefix("file://")).read_text())
        try:
            getattr(self.client, verb.replace("-", "_"))(**told)
        except self.client.exceptions.ResourceAlreadyExistsException:
            pass
        return True
