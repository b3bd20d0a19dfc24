# dbsweep: build, test and install. No configure step: pkg-config finds the libraries.
#
#   make [all]      builds build/dbsweep            make demo     a first sweep, about a minute
#   make check      every test on real servers      make bench    measured figures
#   make WERROR=1   warnings are errors             make VARIANT=asan | tsan | plain
.DEFAULT_GOAL := all
SHELL := /bin/bash

VERSION := $(shell cat VERSION 2>/dev/null || echo 0.0.0)
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= gcc
VARIANT ?= plain
BUILD   ?= build$(if $(filter-out plain,$(VARIANT)),-$(VARIANT))

PACKAGES := libconfig sqlite3 libpq libssh2 gsl libcrypto libmariadb
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

.PHONY: all
all: $(PROGRAM)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(LIBRARY): $(OBJECTS)
	@rm -f $@
	ar rcs $@ $(OBJECTS)

$(PROGRAM): $(BUILD)/sweeper/main.o $(LIBRARY)
	$(CC) $(ALL_LDFLAGS) $^ $(ALL_LIBS) -o $@

$(BUILD)/tests/%: tests/%.c $(LIBRARY)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP $< $(LIBRARY) $(ALL_LDFLAGS) $(ALL_LIBS) -lcmocka -o $@

.PHONY: tests-built
tests-built: $(UNIT_TESTS)

.PHONY: clean
clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
