# Each target prepares .venv when the lock files changed, and then runs one command.
PYTHON ?= python3
PREPARE = @$(PYTHON) program/devstack/prepare.py
# A shell that forbids it would have each of a run's hundreds of processes compile the whole checkout anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: up test lint lock shots bench
up: ; $(PREPARE) run && exec .venv/bin/python manage.py up
test: ; $(PREPARE) tests && exec .venv/bin/pytest $(or $(TESTS),-n 3 --dist loadfile --no-loadscope-reorder)
lint: ; $(PREPARE) tests && .venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && .venv/bin/lint-imports
lock: ; $(PREPARE) lock
shots: ; $(PREPARE) tests && exec .venv/bin/python -m tests.shots
bench: ; $(PREPARE) tests && exec .venv/bin/python -m tests.bench.launch
