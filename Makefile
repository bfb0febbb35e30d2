# One command per job; each sets up what it needs. A fresh machine needs make and Python 3.11 or newer.
PYTHON ?= python3
# Companies whose proxies sign with their own authority install it in the system.
export UV_SYSTEM_CERTS ?= 1
RUN := .venv/bin/python
.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench models lock clean

help: ## what can be typed here
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "setup: '$(PYTHON)' is not a Python 3.11 or newer"; \
	  echo "  fix: install one, or name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) requirements/install.py

demo: setup ## from an MLflow model to answers of a real engine (KEEP=1 leaves it running)
	@$(RUN) -m examples.demo

test: setup ## every test; the last lines say what was skipped and why
	@$(RUN) -m pytest $(ARGS)

check: setup ## style, types, generated pages, lock files
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -m model_packaging.deployment.reference --check
	$(RUN) -m model_packaging.hosts.role_files --check
	@# The linter has no inventory, which is an error for everybody else (ansible.cfg).
	ANSIBLE_INVENTORY_UNPARSED_FAILED=false ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=false \
	  .venv/bin/ansible-lint -q --offline --profile production ansible
	$(RUN) requirements/lock.py --check

bench: setup ## measurements (tests/bench)
	@$(RUN) -m pytest tests/bench -o python_files='bench_*.py' $(ARGS)

models: setup ## train the example models again and measure them (an hour)
	@$(RUN) -m examples.analyst_model.retrain $(ARGS)

lock: setup ## write the lock files again (UPGRADE=1 moves the pins)
	@$(RUN) requirements/lock.py $(if $(UPGRADE),--upgrade)

clean: ## remove .venv, .perimeter and caches of this checkout
	rm -rf .venv .perimeter node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "shared with other checkouts, and kept: $${PERIMETER_CACHE:-~/.cache/perimeter}"
