"""Runs on the controller: ships what Slurm jobs print to CloudWatch Logs, one stream for each job.

A job whose output file is called JOBID.out goes to the stream JOBID. How far each file was shipped is kept beside it,
so that a restart neither loses nor repeats more than one batch.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH_BYTES, BATCH_LINES = 200_000, 10_000  # what one call may carry
PAUSE = 5.0


def aws(region: str, *words: str) -> bool:
    """Whether it went well, or what was to be made is there already."""
    done = subprocess.run(["aws", "logs", *words, "--region", region], capture_output=True, text=True, check=False)
    if done.returncode and "ResourceAlreadyExists" not in done.stderr:
        print(done.stderr.strip(), file=sys.stderr)
        return False
    return True


def unshipped(file: Path, start: int) -> tuple[list[str], int]:
    """Whole lines only: the last one may still be growing."""
    with file.open("rb") as output:
        output.seek(start)
        chunk = output.read(BATCH_BYTES)
    end = chunk.rfind(b"\n") + 1 or (len(chunk) if len(chunk) == BATCH_BYTES else 0)
    lines = chunk[:end].splitlines(keepends=True)[:BATCH_LINES]
    return [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines], start + sum(map(len, lines))


def ship(file: Path, group: str, region: str) -> None:
    mark = file.with_name(f".{file.name}.shipped")
    start = int(mark.read_text() or 0) if mark.exists() else 0
    if file.stat().st_size < start:
        start = 0  # begun anew by a job that was sent back to the queue
    lines, end = unshipped(file, start)
    if end == start:
        return
    now = int(time.time() * 1000)
    events = [{"timestamp": now, "message": line or " "} for line in lines]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as batch:
        json.dump(events, batch)
        batch.flush()
        stream = ("--log-group-name", group, "--log-stream-name", file.stem)
        if not aws(region, "create-log-stream", *stream):
            return
        if aws(region, "put-log-events", *stream, "--log-events", f"file://{batch.name}"):
            mark.write_text(str(end))


def main(folder: str, group: str, region: str) -> None:
    aws(region, "create-log-group", "--log-group-name", group)
    while True:
        for file in sorted(Path(folder).glob("*.out")):
            ship(file, group, region)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(*sys.argv[1:])
