# One command for everything: `make help` lists them.

LISTEN ?= 127.0.0.1:5433
DATA ?= ./data
# Settings for `make run`, `make bench`, …: passed on as they are.
ARGS ?=
CYCLES ?= 20
CRASH_SEEDS ?= 2000
binaries := $(or $(CARGO_TARGET_DIR),target)

.DEFAULT_GOAL := help
.PHONY: help run test lint format docs bench crash fuzz kill9 histories golden differential ddl-load set-up-build set-up-test \
	cluster cluster-stop

help: ## This list
	@echo 'make COMMAND, where COMMAND is'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

run: set-up-build ## Build a release and start the server (LISTEN=127.0.0.1:5433 DATA=./data ARGS='-c work_mem=64MB')
	cargo build --release --bin steppe
	@echo
	@echo 'Connect with:  psql -h $(firstword $(subst :, ,$(LISTEN))) -p $(lastword $(subst :, ,$(LISTEN))) -U postgres postgres'
	@echo
	@exec $(binaries)/release/steppe serve --listen $(LISTEN) --data-dir $(DATA) $(ARGS)

cluster: set-up-test ## Two PostgreSQL nodes and a coordinator on loopback, with tables; Ctrl-C stops them (ARGS="--port 5440 --prefix DIR")
	cargo build --release --bin steppe
	@exec tools/cluster.sh start --steppe $(binaries)/release/steppe $(ARGS)

cluster-stop: ## Stop what make cluster has started
	@tools/cluster.sh stop

test: set-up-test ## Every test: unit, crash simulation, golden SQL, kill -9
	@CRASH_SEEDS=$(CRASH_SEEDS) CYCLES=$(CYCLES) tools/test.sh

lint: set-up-build ## Formatting and lints; warnings are errors; references to the design, words of comments
	tools/lint/design.sh
	tools/lint/words.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

format: ## Format all code
	cargo fmt --all

docs: set-up-build ## Write the pages of docs/sql anew from the code and a server's answers
	STEPPE_REWRITE=1 cargo test -p steppe-server --test sql_pages

bench: set-up-test ## Steppe, PostgreSQL and a do-nothing server side by side (ARGS=--help)
	cargo build --release --bin steppe --bin bench --bin noop_server
	$(binaries)/release/bench $(ARGS)

crash: set-up-build ## Crash simulation without end; SEED=n replays one
ifdef SEED
	STEPPE_SEED=$(SEED) cargo test -p steppe-txn --test crash -- --nocapture
	STEPPE_SEED=$(SEED) cargo test -p steppe-ddl --test ddl_crash -- --nocapture
	STEPPE_CRASH_SEEDS=$(SEED)..$$(($(SEED) + 1)) cargo test -p steppe-storage --test crash -- --nocapture
else
	@seed=$$(date +%s); while :; do export STEPPE_FIRST_SEED=$$seed STEPPE_SEEDS=1000; \
	echo "seeds from $$seed on"; cargo test -q -p steppe-txn --test crash every_recovery || exit 1; \
	cargo test -q -p steppe-ddl --test ddl_crash || exit 1; seed=$$((seed + 1000)); done
endif

fuzz: set-up-build ## Decoders under random and changed bytes without end (SEED=n replays, ROUNDS=n, CASES=n)
	@SEED=$(SEED) ROUNDS=$(ROUNDS) CASES=$(CASES) tools/fuzz.sh

kill9: set-up-build ## kill -9 under load, CYCLES=n times or CYCLES=endless, against a ledger
	cargo build --bin steppe --bin kill9
	$(binaries)/debug/kill9 --server $(binaries)/debug/steppe --cycles $(CYCLES) $(ARGS)

histories: set-up-build ## Anomalies at each isolation level, across kill -9 (ARGS="--rounds N|endless --seed N")
	cargo build --bin steppe --bin histories
	$(binaries)/debug/histories --server $(binaries)/debug/steppe $(ARGS)

golden: set-up-test ## SQL files against their expected output (FILES="a b"); UPDATE=1 asks PostgreSQL anew
ifdef UPDATE
	cargo build --bin golden
	$(binaries)/debug/golden --update --postgres "$$(tools/pg18.sh)" $(FILES)
else
	cargo build --bin steppe --bin golden
	$(binaries)/debug/golden --server $(binaries)/debug/steppe $(FILES)
endif

differential: set-up-test ## Random statements against PostgreSQL 15 (ARGS="--of plans|constants|partitions|routines|triggers|keys|schedules --seed N --statements N|endless")
	cargo build --bin steppe --bin differential
	$(binaries)/debug/differential --server $(binaries)/debug/steppe --postgres /usr/lib/postgresql/15/bin $(ARGS)

ddl-load: set-up-test ## Leaves, or functions and keys, change while clients use them (ARGS="--of routines --seconds N")
	cargo build --bin steppe --bin ddl_load
	$(binaries)/debug/ddl_load --server $(binaries)/debug/steppe $(ARGS)

set-up-build:
	@tools/set-up.sh build

set-up-test:
	@tools/set-up.sh test
