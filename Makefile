# Tidemark. `make help` lists the targets.
#
#   make run      set up, build and open the explorer on the GPT-2 sample
#   make test     set up, build with sanitizers and run every test
#   V=1 shows commands; BUILD=dir, CC, CFLAGS, CPPFLAGS, LDFLAGS, PREFIX, DESTDIR are yours; DEV=1 makes warnings errors.

BUILD   ?= build
PREFIX  ?= /usr/local
CC      ?= cc
CFLAGS  ?= -O2 -g1
VERSION := $(shell cat VERSION)
quote    = '$(subst ','\'',$(1))'

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wvla -Wformat=2 -Wundef -Wcast-qual -Wwrite-strings -Wdouble-promotion
OURS     := -std=c11 -D_XOPEN_SOURCE=700 -D_DEFAULT_SOURCE -DTIDEMARK_VERSION='"$(VERSION)"' -I. -include tests/banned.h \
            -MMD -MP $(WARNINGS) $(SANITIZE)
# What doesn't change an object, and so rebuilds none: a copy of a checkout needn't be built again.
# Without fused multiplication and addition the last bits of a plan are the same on every processor (gcc has them off under -std=c11).
SAME     := -ffile-prefix-map=$(call quote,$(CURDIR)=.) -ffp-contract=off $(if $(DEV),-Werror)
# Some systems have curses' terminal descriptions in a library of their own.
CURSES   := $(shell pkg-config --libs ncursesw 2>/dev/null || echo -lncursesw -ltinfo)
LIBS     := $(CURSES) -lglpk -ljansson -lyaml -lunistring -lz -lpthread -lm
DOT_LIBS := -lpangocairo-1.0 -lpango-1.0 -lgobject-2.0 -lcairo -lgvc -lcgraph -lcdt -ljansson -lunistring -lz -lm

sources = $(sort $(shell find $(1) -name '$(2)'))
SOLVER := $(call sources,solver,*.c)
SRC    := $(filter-out src/dot/%,$(call sources,src,*.c))
DOT    := $(call sources,src/dot,*.c)
UI     := $(filter-out ui/app/main.c,$(call sources,ui,*.c))
READERS := $(patsubst src/read/python/%,$(BUILD)/readers/%,$(wildcard src/read/python/*.py))
UNIT   := $(call sources,tests,unit_*.c)
FUZZ   := $(call sources,tests/fuzz,fuzz_*.c)
STRESS := $(call sources,tests,stress_*.c)

# PLAIN=dir takes the objects of BORROWED from the build that is there.
objects = $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(BORROWED),$(1))) $(patsubst %.c,$(PLAIN)/%.o,$(filter $(BORROWED),$(1)))
LIB    := $(BUILD)/libtidemark.a
programs = $(patsubst %.c,$(BUILD)/%,$(1))
UNITS    := $(call programs,$(UNIT))
FUZZES   := $(call programs,$(FUZZ))
# Tests that plan whole steps take three times as long under sanitizers: the quick tests run them as they are built, the long ones watched.
# So do those that compare answers of solvers a thousand times: other tests of their folders watch the same code.
PLANNING := $(if $(LONG),,$(filter $(addprefix tests/src/,decide/% plan/% configs/% stages/% check/unit_forged%) \
            $(addprefix %/,unit_oracle.c unit_device_models.c unit_sharding.c unit_models.c),$(UNIT)))
STRESSES := $(call programs,$(STRESS))
BENCHES  := $(call programs,$(filter-out tests/bench/alloc_hook.c,$(wildcard tests/bench/*.c)))

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)')

.PHONY: all build site run test test-long lessons pictures test-programs units man check-layers asan tsan benches bench lint \
        help install uninstall clean setup fuzz check dist distcheck wheel deb
.DELETE_ON_ERROR:
.SECONDARY:

all: setup ## build both programs (installing what is missing)
	$(Q)$(MAKE) --no-print-directory $(JOBS) build

setup: ## install missing Debian packages
	$(Q)./.ci/setup build

build: $(BUILD)/tidemark $(if $(DOT),$(BUILD)/tidemark-dot) $(READERS) $(BUILD)/readers/compiled

run: all ## open the explorer on the GPT-2 sample (a report when standard output is no terminal)
	$(Q)$(BUILD)/tidemark samples/gpt2.jsonl.gz

# Readers in Python are beside the program.
$(BUILD)/readers/%.py: src/read/python/%.py
	$(Q)mkdir -p $(@D) && cp $< $@

# Children don't write what Python compiles: without this each compiles its modules anew, for a third of its time or half of it.
$(BUILD)/readers/compiled: $(READERS)
	$(Q)python3 -m compileall -q $(@D) >/dev/null 2>&1; touch $@

# ---- compiling ----------------------------------------------------------------
# Changed flags rebuild: every object depends on a stamp that holds them.
FLAGS := $(CC) $(CPPFLAGS) $(CFLAGS) $(strip $(OURS)) $(LDFLAGS)
$(BUILD)/flags: force
	$(Q)mkdir -p $(BUILD)
	$(Q)printf '%s\n' $(call quote,$(FLAGS)) | cmp -s - $@ || printf '%s\n' $(call quote,$(FLAGS)) > $@
.PHONY: force

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(OURS) $(SAME) $(EXTRA) -c -o $@ $<

# The page's lines as strings of C.
$(BUILD)/src/write/page.inc: src/write/page.html
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n",/' $< > $@
$(BUILD)/src/write/html.o: $(BUILD)/src/write/page.inc
$(BUILD)/src/write/html.o: EXTRA := -I$(BUILD)/src/write

# Nearly all time of message passing is one loop over tables of costs, which runs twice as fast as vectors.
$(BUILD)/solver/problems/dual.o: EXTRA := -O3

# A stream with our own functions behind it is the C library's own invention.
$(BUILD)/src/base/streams.o: EXTRA := -D_GNU_SOURCE

# What a test does itself is watched under LONG=1 alone: its macros cost more to watch than all of the library.
$(call objects,$(UNIT)): EXTRA := $(if $(LONG),,-fno-sanitize=all)

# Pango's headers, as a system's: their warnings aren't ours.
$(BUILD)/src/dot/figure.o: EXTRA = $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I pangocairo))

# Files of different folders may share a name: the archive is appended to (q), not updated by name (r).
$(LIB): $(call objects,$(SOLVER) $(SRC) $(UI))
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar qcs $@ $^

$(BUILD)/tidemark: $(BUILD)/ui/app/main.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tidemark-dot: $(call objects,$(DOT)) $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(DOT_LIBS)

# Programs and tests are built by as many compilers as there are processors, unless make was told a number.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc 2>/dev/null || echo 2))

# ---- tests ----------------------------------------------------------------------
# Criterion's workers break on pointers in parameters under PIE: tests are linked without it.
$(UNITS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/common/support.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -no-pie -o $@ $^ -lcriterion $(LIBS)

$(FUZZES): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/replay_corpus.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $(filter-out $(LIB),$^) $(LIB) $(LIBS)

# What makes calls fail, for tests/faults/faults_test.
$(BUILD)/tests/faults/%.o: EXTRA := -D_GNU_SOURCE -fPIC
$(BUILD)/tests/faults/refuse.so: $(BUILD)/tests/faults/refuse.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -o $@ $^

$(BUILD)/tests/faults/inject: $(BUILD)/tests/faults/inject.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(STRESSES) $(BENCHES): $(BUILD)/%: $(BUILD)/%.o $(LIB)
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(SANITIZE) $(LDFLAGS) -o $@ $^ $(LIBS)

units: $(UNITS) $(FUZZES)

# -Og and line numbers alone: these builds are there to find mistakes, not to be fast. Of the undefined behaviour of pointers the quick tests leave to the
# address sanitizer what it sees anyway, once memory is touched: half the time of all tests. The rest of it ends in a trap, whose place the address
# sanitizer prints (handle_sigill): less code to compile and to run than a message at each place.
POINTERS := $(if $(LONG),,-fno-sanitize=null,alignment,object-size,pointer-overflow -fsanitize-undefined-trap-on-error)
ASAN := BUILD=build/asan CFLAGS='-Og -g1 -fno-omit-frame-pointer' DEV=1 LDFLAGS=$(if $(shell command -v ld.gold),-fuse-ld=gold) \
        SANITIZE='-fsanitize=address,undefined $(POINTERS) -fno-sanitize-recover=all'
TSAN := BUILD=build/tsan CFLAGS='-Og -g1' DEV=1 SANITIZE=-fsanitize=thread
# What threads share is in src, ui and the solver's two lowest folders. The quick tests don't watch the rest of the solver, readers, writers, drawings, models,
# checks and commands: they have no state that the explorer's threads share.
UNSHARED := $(if $(LONG),,PLAIN=$(BUILD) BORROWED='$(filter-out solver/base/% solver/graph/%,$(SOLVER)) \
            $(filter $(addprefix src/,read/% write/% draw/% models/% check/% cli/%),$(SRC))')

test: test-programs ## set up, build and run every test
	$(Q)tests/run

test-long: ## the same with all rounds of the random tests, and all that sanitizers can watch: an hour or so
	$(Q)$(MAKE) --no-print-directory test-programs LONG=1
	$(Q)LONG=1 tests/run

test-programs:
	$(Q)./.ci/setup test
	$(Q)$(MAKE) --no-print-directory $(JOBS) build $(BUILD)/tests/faults/inject $(BUILD)/tests/faults/refuse.so \
		$(call programs,$(PLANNING)) DEV=1
	$(Q)$(MAKE) --no-print-directory $(JOBS) build units $(ASAN) UNIT='$(filter-out $(PLANNING),$(UNIT))'
	$(Q)$(MAKE) --no-print-directory $(JOBS) build/tsan/tests/src/session/stress_session build/tsan/tests/ui/app/stress_app $(TSAN) $(UNSHARED)

asan: ## both programs and the tests with address and undefined behaviour sanitizers, in build/asan
	$(Q)$(MAKE) --no-print-directory $(JOBS) build units $(ASAN)

tsan: ## both programs with the thread sanitizer, in build/tsan
	$(Q)$(MAKE) --no-print-directory $(JOBS) build build/tsan/tests/src/session/stress_session build/tsan/tests/ui/app/stress_app $(TSAN)

check-layers: ## dependencies run down only
	$(Q)tests/check_layers

man: build ## write the manual's pages from their templates and the program's tables
	$(Q)man/generate

benches: $(BENCHES)

bench: all $(BENCHES) ## tables of peaks, bounds, arenas and times (BENCH=name runs one)
	$(Q)tests/bench/run $(BENCH)

fuzz: ## coverage-guided fuzzing of every reader with clang, SECONDS=60 each
	$(Q)./.ci/setup fuzz
	$(Q)tests/fuzz/fuzz_run $(or $(SECONDS),60)

# What runs PyTorch is in a virtual environment of its own, made at the first call. TORCH=2.13.0 asks for another version.
torch-test: build ## test samples/torch against PyTorch (pip, in build/torch)
	$(Q)./.ci/setup torch
	$(Q)test -x $(BUILD)/torch$(TORCH)/bin/python || python3 -m venv $(BUILD)/torch$(TORCH)
	$(Q)$(BUILD)/torch$(TORCH)/bin/pip install -q "torch$(if $(TORCH),==$(TORCH))" numpy ./samples/torch
	$(Q)TORCH_PYTHON=$(BUILD)/torch$(TORCH)/bin/python tests/samples/torch_test

pictures: build ## draw README's pictures from the program, in docs
	$(Q)BUILD=$(BUILD) docs/screens

lessons: build ## draw all rows of the lessons, in build/lessons: a page for a browser and a PDF
	$(Q)BUILD=$(BUILD) docs/handout $(BUILD)/lessons
	$(Q)echo "lessons.html and lessons.pdf are in $(BUILD)/lessons"

lint: ## static analysis and the man pages
	$(Q)./.ci/setup lint
	$(Q)tests/lint

# Where things go: people's folders have blanks.
BINARIES = $(call quote,$(DESTDIR)$(PREFIX)/bin)
DATA     = $(DESTDIR)$(PREFIX)/share
MANUALS  = $(call quote,$(DATA)/man)
SHARED   = $(call quote,$(DATA)/tidemark)
DOCS     = $(call quote,$(DATA)/doc/tidemark)
COMPLETIONS := bash-completion/completions/tidemark zsh/site-functions/_tidemark fish/vendor_completions.d/tidemark.fish
# Where programs are built for another machine: one that runs here.
HOST_TIDEMARK ?= $(BUILD)/tidemark

# Compiles nothing: what was built is installed, whatever flags it was built with, and root makes no objects.
install: ## install into DESTDIR/PREFIX what was built
	@test -x $(BUILD)/tidemark || { echo "tidemark: nothing is built in $(BUILD); first: make build" >&2; exit 1; }
	install -d $(BINARIES) $(MANUALS)/man1 $(MANUALS)/man5 $(MANUALS)/man7 $(DOCS) $(SHARED)/samples/lessons $(SHARED)/samples/cluster \
		$(SHARED)/samples/torch/tidemark_torch $(SHARED)/readers
	install -m 755 $(wildcard $(BUILD)/tidemark $(BUILD)/tidemark-dot) src/check/tidemark-check $(BINARIES)
	install -m 644 man/*.1 $(MANUALS)/man1
	install -m 644 man/*.5 $(MANUALS)/man5
	install -m 644 man/*.7 $(MANUALS)/man7
	install -m 644 README.md CHANGELOG.md LICENSE $(wildcard docs/*.md docs/*.svg docs/*.json) $(DOCS)
	install -m 644 $(wildcard samples/*.gz samples/*.jsonl samples/*.csv) $(SHARED)/samples
	install -m 644 $(wildcard src/read/python/*.py) $(SHARED)/readers
	install -m 644 samples/lessons/* $(SHARED)/samples/lessons
	install -m 644 samples/cluster/sweep.sbatch $(SHARED)/samples/cluster
	install -m 644 samples/torch/pyproject.toml samples/torch/README.md $(SHARED)/samples/torch
	install -m 644 $(wildcard samples/torch/tidemark_torch/*.py samples/torch/tidemark_torch/*.c) \
		$(SHARED)/samples/torch/tidemark_torch
	for file in $(COMPLETIONS); do to=$(call quote,$(DATA))/$$file; install -d "$${to%/*}" && \
		TIDEMARK=$(HOST_TIDEMARK) man/completions $${file%%[-/]*} >"$$to" && chmod 644 "$$to" || exit 1; done

uninstall: ## remove what install put there
	rm -f $(BINARIES)/tidemark $(BINARIES)/tidemark-dot $(BINARIES)/tidemark-check
	for page in $(notdir $(wildcard man/*.[157])); do rm -f $(MANUALS)/man$${page##*.}/$$page; done
	for file in $(COMPLETIONS); do rm -f $(call quote,$(DATA))/$$file; done
	rm -rf $(SHARED) $(DOCS)

# ---- releases -------------------------------------------------------------------
# The programs as built, without sanitizers: installs nothing, needs neither network nor terminal nor root.
CHECKS ?= walks_test screens_test export_test schema_test cli_test determinism_test merge_test resume_test forge_test \
          dot_test output_test lessons_test hostile_test surroundings_test
check: build ## test the programs as built: what a packager runs
	$(Q)BUILD=$(BUILD) tests/check $(CHECKS)

DIST  := tidemark-$(VERSION)
EPOCH  = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))
dist: ## a source tarball of the last commit, the same bytes at every call
	$(Q)git diff --quiet HEAD -- || { echo "dist: commit what has changed first" >&2; exit 1; }
	$(Q)mkdir -p $(BUILD)
	$(Q)git ls-files -z | LC_ALL=C sort -z | tar --create --no-recursion --null --files-from=- --format=gnu \
		--mtime=@$(EPOCH) --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w --transform='s,^,$(DIST)/,' \
		--file=$(BUILD)/$(DIST).tar && gzip -9nf $(BUILD)/$(DIST).tar
	$(Q)cd $(BUILD) && sha256sum $(DIST).tar.gz | tee $(DIST).tar.gz.sha256

# In a folder that can't be written: built beside it, tested, installed, removed.
distcheck: dist ## build, test, install and remove the tarball
	$(Q)tests/distcheck $(BUILD)/$(DIST).tar.gz $(JOBS)

# One program for every Linux of this machine's kind: nothing is linked at run time.
STATIC_LIBS := -lncursesw -ltinfo -lglpk -lcolamd -lamd -lsuitesparseconfig -lgmp -lltdl -ljansson -lyaml -lunistring -lz -lpthread -lm
$(BUILD)/static/tidemark: $(BUILD)/ui/app/main.o $(LIB)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -static -s -o $@ $^ $(STATIC_LIBS) 2>$@.said || { cat $@.said >&2; exit 1; }

wheel: build ## the wheel tidemark-torch with the program in it, in build/dist
	$(Q)./.ci/setup wheel
	$(Q)$(MAKE) --no-print-directory $(BUILD)/static/tidemark
	$(Q)SOURCE_DATE_EPOCH=$(EPOCH) .ci/packages/wheel $(BUILD)/static/tidemark $(BUILD)/tidemark $(BUILD)/dist

deb: dist ## Debian packages of the last commit, in build/deb
	$(Q)./.ci/setup deb
	$(Q).ci/packages/deb $(BUILD)/$(DIST).tar.gz $(VERSION) $(BUILD)/deb

site: ## the documents and the manual as pages for a browser, in build/site
	$(Q)./.ci/setup site
	$(Q).ci/packages/site $(BUILD)/site

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' Makefile | sort | expand -t 16

clean: ## remove build/
	rm -rf build

-include $(shell find $(BUILD) -path $(BUILD)/deb -prune -o -type f -name '*.d' -print 2>/dev/null)
