# make setup   install what is missing and build (quick when nothing changed)
# make demo    a real model on three emulated unlike devices
# make demo-train  the same for training: a small character model
# make test    lit, GoogleTest and pytest; test-all adds the wide ones
# make conformance  ONNX's own node suite through the product, compared with test/Backend/expected.json
# make bench   ratios of speed, all from one run
# make bench-hetero  share of what unlike devices could give, beside a peer
# make soak    training under faults at 50 moments, and many thousands of steps without growth
# make sanitize  the runtime's tests under sanitizers: address, thread
# make docs    generated pages of operations and passes
# make lint    formatting and static checks
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python

.PHONY: setup demo demo-train test test-all conformance bench bench-hetero soak sanitize docs lint

setup:
	@utils/setup/setup.sh $(JOBS)

demo: setup
	@.venv/bin/hethub demo

demo-train: setup
	@.venv/bin/hethub demo --train

test: setup
	@$(PYTHON) utils/run_tests.py --jobs $(JOBS)

test-all: setup
	@$(PYTHON) utils/run_tests.py --jobs $(JOBS) --wide

conformance: setup
	@$(PYTHON) test/Backend/node_suite.py --jobs $(JOBS)

bench: setup
	@$(PYTHON) -m bench

bench-hetero: setup
	@$(PYTHON) -m bench hetero

soak: setup
	@$(PYTHON) -m pytest -q --durations=5 test/Runtime/test_training_faults.py

sanitize: setup
	@utils/sanitize.sh $(JOBS)

docs: setup
	@utils/docs.sh

lint:
	@utils/lint.sh
