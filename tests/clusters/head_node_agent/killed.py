"""Runs the agent and ends it by SIGKILL at the nth of its steps: before and after each write, program and question."""

import os
import runpy
import signal
import subprocess
import sys
import urllib.request

agent, configuration, nth = sys.argv[1], sys.argv[2], int(os.environ["KILLED_AT"])
steps = 0


def step(what):
    global steps
    steps += 1
    if steps == nth:
        os.kill(os.getpid(), signal.SIGKILL)


def around(owner, name):
    real = getattr(owner, name)

    def both(*args, **kwargs):
        step(f"before {name}")
        try:
            return real(*args, **kwargs)
        finally:
            step(f"after {name}")

    setattr(owner, name, both)


around(os, "replace")
around(os, "fsync")
around(subprocess.Popen, "__init__")
around(subprocess.Popen, "wait")
around(urllib.request.OpenerDirector, "open")
sys.argv = [agent, configuration]
runpy.run_path(agent, run_name="__main__")
