# dbsweep: build, test and install. No configure step: pkg-config finds the libraries.
#
#   make [all]      builds build/dbsweep            make demo     a first sweep, about a minute
#   make check      every test on real servers      make bench    measured figures
#   make WERROR=1   warnings are errors             make VARIANT=asan | tsan | plain
#   make deps       the packages that are missing   make install PREFIX=/usr/local DESTDIR=
#   make lint       deep analysis as well           make fuzz     each fuzz target for minutes
#   make V=1        shows each command
.DEFAULT_GOAL := all
SHELL := /bin/bash

VERSION := $(shell cat VERSION 2>/dev/null || echo 0.0.0)
PREFIX  ?= /usr/local
DESTDIR ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
VARIANT ?= plain
BUILD   ?= build$(if $(filter-out plain,$(VARIANT)),-$(VARIANT))
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)

PACKAGES := libconfig sqlite3 libpq libssh2 gsl libcrypto libmariadb odbc
PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PACKAGES) 2>/dev/null)

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wvla -Wformat=2 -Wcast-qual -Wwrite-strings -Wundef -Wnull-dereference
OPTIMISE := -O2 -g
SANITIZE :=
ifeq ($(VARIANT),asan)
OPTIMISE := -O1 -g -fno-omit-frame-pointer
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined
endif
ifeq ($(VARIANT),tsan)
OPTIMISE := -O1 -g -fno-omit-frame-pointer
SANITIZE := -fsanitize=thread
endif
ifeq ($(VARIANT),fuzz)
OPTIMISE := -O1 -g -fno-omit-frame-pointer
SANITIZE := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
endif
# Commands are shown in short, unless V=1.
say = $(if $(V),,@echo '  $(1) $(2)' &&) $(3)
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -pthread -I. -I$(BUILD) $(OPTIMISE) $(SANITIZE) $(WARNINGS) \
	$(if $(WERROR),-Werror) $(PKG_CFLAGS) -DDBSWEEP_VERSION='"$(VERSION)"' $(CFLAGS)
ALL_LDFLAGS = -pthread $(SANITIZE) $(LDFLAGS)
ALL_LIBS = $(PKG_LIBS) -lm

SOURCES := $(sort $(shell find sweeper knobs backends store -name '*.c'))
OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out sweeper/main.c,$(SOURCES)))
LIBRARY := $(BUILD)/libdbsweep.a
PROGRAM := $(BUILD)/dbsweep
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/unit/*.c tests/conform/*.c)))
BENCHES := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/bench/*.c)))
SEARCH_BENCH := $(BUILD)/tests/bench/search/search
FUZZERS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/*.c)))
TEST_OBJECTS := $(addsuffix .o,$(UNIT_TESTS) $(BENCHES) $(SEARCH_BENCH))
FUZZ_OBJECTS := $(addsuffix .o,$(FUZZERS))

# A make of its own, because the libraries may have come since this one asked for them.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: all
all: $(PROGRAM) $(BUILD)/dbsweep.1 $(BUILD)/dbsweep.completion

.PHONY: deps
deps:
	tests/support/install-deps.sh build

# ---- build ----

# Objects are made again when the compiler or its flags change.
.PHONY: FORCE
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(CC) $(ALL_CFLAGS))' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

.PHONY: libraries
libraries:
	@pkg-config --exists --print-errors $(PACKAGES) || \
		{ echo "libraries are missing; on Debian and Ubuntu: make deps" >&2; exit 1; }

$(BUILD)/%.o: %.c $(BUILD)/flags | libraries
	@mkdir -p $(@D)
	$(call say,CC,$@,$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@)

# The schema as bytes of one C string.
$(BUILD)/store/schema.h: store/schema.sql $(BUILD)/flags
	@mkdir -p $(@D)
	@{ echo 'static const char store_schema[] = {'; \
	   od -An -v -tu1 store/schema.sql | sed -e 's/[0-9][0-9]*/&,/g'; echo '0};'; } >$@.new
	@mv $@.new $@

$(BUILD)/store/store.o: $(BUILD)/store/schema.h

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	$(call say,AR,$@,ar rcs $@ $(OBJECTS))

$(PROGRAM): $(BUILD)/sweeper/main.o $(LIBRARY)
	$(call say,LD,$@,$(CC) $(ALL_LDFLAGS) $^ $(ALL_LIBS) -o $@)

$(BUILD)/dbsweep.1: $(PROGRAM)
	$(PROGRAM) help --man >$@.new
	@mv $@.new $@

$(BUILD)/dbsweep.completion: $(PROGRAM)
	$(PROGRAM) help --completion >$@.new
	@mv $@.new $@

# ---- tests ----

.SECONDARY: $(TEST_OBJECTS) $(FUZZ_OBJECTS)

$(UNIT_TESTS): %: %.o $(LIBRARY)
	$(call say,LD,$@,$(CC) $(ALL_LDFLAGS) $< $(LIBRARY) $(ALL_LIBS) -lcmocka -o $@)

$(BENCHES) $(SEARCH_BENCH): %: %.o $(LIBRARY)
	$(call say,LD,$@,$(CC) $(ALL_LDFLAGS) $< $(LIBRARY) $(ALL_LIBS) -o $@)

$(FUZZERS): %: %.o $(LIBRARY)
	$(call say,LD,$@,$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer $< $(LIBRARY) $(ALL_LIBS) -o $@)

.PHONY: tests-built load-tests-built fuzzers-built objects
tests-built: $(UNIT_TESTS)
load-tests-built: $(filter $(BUILD)/tests/conform/test_load%,$(UNIT_TESTS))
fuzzers-built: $(FUZZERS)
objects: $(OBJECTS) $(BUILD)/sweeper/main.o $(TEST_OBJECTS)

# All that the tests need: plain and sanitized, and clang's opinion of the same warnings.
.PHONY: check-built
check-built:
	+$(SUBMAKE) WERROR=1 VARIANT=plain BUILD=$(BUILD) all tests-built
	+$(SUBMAKE) WERROR=1 VARIANT=asan BUILD=$(BUILD)-asan all tests-built
	+$(SUBMAKE) WERROR=1 VARIANT=tsan BUILD=$(BUILD)-tsan all load-tests-built
	+$(SUBMAKE) WERROR=1 VARIANT=plain CC=clang BUILD=$(BUILD)-clang objects
	+$(SUBMAKE) WERROR=1 VARIANT=fuzz CC=clang BUILD=$(BUILD)-fuzz fuzzers-built

.PHONY: check
check:
	tests/support/install-deps.sh build test
	+@$(SUBMAKE) check-built
	BUILD=$(BUILD) tests/run.sh

.PHONY: check-faults
check-faults:
	tests/support/install-deps.sh build test
	+@$(SUBMAKE) check-built
	BUILD=$(BUILD) tests/run.sh tests/fault

.PHONY: fuzz
fuzz:
	tests/support/install-deps.sh build test
	+@$(SUBMAKE) WERROR=1 VARIANT=fuzz CC=clang BUILD=$(BUILD)-fuzz fuzzers-built
	BUILD=$(BUILD) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),300) tests/run.sh tests/fuzz

.PHONY: lint
lint:
	tests/support/install-deps.sh build test
	+@$(SUBMAKE) WERROR=1 VARIANT=plain BUILD=$(BUILD) objects
	BUILD=$(BUILD) DBSWEEP_CFLAGS='$(subst ','\'',$(ALL_CFLAGS))' \
		tests/run.sh tests/lint tests/lint/deep

.PHONY: bench bench-built
bench-built: all $(BENCHES)
bench:
	tests/support/install-deps.sh build test
	+@$(SUBMAKE) bench-built
	@set -e; for bench in $(BENCHES); do echo "== $${bench##*/}"; $$bench; done
	@set -e; for bench in $(sort $(wildcard tests/bench/*.sh)); do \
		echo "== $${bench##*/}"; DBSWEEP_BENCH=$(abspath $(PROGRAM)) bash $$bench; done

# Strategies against measured grids (REPLAY_DATA=FOLDER of CSV files) and made-up ones, and peers.
.PHONY: bench-search bench-search-built
bench-search-built: $(SEARCH_BENCH)
bench-search:
	tests/support/install-deps.sh build bench
	+@$(SUBMAKE) bench-search-built
	tests/bench/search/run.sh $(abspath $(SEARCH_BENCH))

# ---- use ----

.PHONY: demo
demo:
	tests/support/install-deps.sh build
	+@$(SUBMAKE) all
	@mkdir -p $(BUILD)/demo
	@rm -f $(BUILD)/demo/*
	cp examples/demo-sqlite.cfg $(BUILD)/demo/
	cd $(BUILD)/demo && $(abspath $(PROGRAM)) run demo-sqlite.cfg
	cd $(BUILD)/demo && $(abspath $(PROGRAM)) rank demo.db

BINDIR = $(DESTDIR)$(PREFIX)/bin
MANDIR = $(DESTDIR)$(PREFIX)/share/man/man1
COMPLETIONDIR = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
DOCDIR = $(DESTDIR)$(PREFIX)/share/doc/dbsweep

.PHONY: install
install: all
	install -d $(BINDIR) $(MANDIR) $(COMPLETIONDIR) $(DOCDIR)/examples
	install -m 0755 $(PROGRAM) $(BINDIR)/dbsweep
	install -m 0644 $(BUILD)/dbsweep.1 $(MANDIR)/dbsweep.1
	install -m 0644 $(BUILD)/dbsweep.completion $(COMPLETIONDIR)/dbsweep
	install -m 0644 README.md CHANGELOG.md LICENSE $(DOCDIR)
	install -m 0644 $(wildcard examples/*.cfg examples/*.csv examples/*.sql) $(DOCDIR)/examples

.PHONY: uninstall
uninstall:
	rm -f $(BINDIR)/dbsweep $(MANDIR)/dbsweep.1 $(COMPLETIONDIR)/dbsweep
	rm -rf $(DOCDIR)

.PHONY: clean
clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
