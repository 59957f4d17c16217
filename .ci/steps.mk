# What CI does: as many steps at a time as `make -j` says, those that wait for nothing and the longest first, so that
# no processor waits. What a step prints comes when it ends.
STEPS := lint test test-stack bench-on_cluster test-tools test-foreign $(OTHERS) test-laws bench-alone wheel demo-twice
BENCHES := $(filter bench-%,$(STEPS))
OF_MAKE := $(filter-out wheel demo-twice $(BENCHES),$(STEPS))

all: $(STEPS:%=step-%)
.PHONY: all installed the-jars the-cluster $(STEPS:%=step-%)

$(filter-out step-lint,$(STEPS:%=step-%)): | installed
step-test step-demo-twice $(OTHERS:%=step-%): | the-jars
step-test-stack: | the-cluster
step-bench-on_cluster: | step-test-stack # they want the cluster for themselves
step-test: export WORKERS := 3
$(OTHERS:%=step-%): export WORKERS := 1
step-test-laws: export SEEDS := 20

$(BENCHES:%=step-%): DOES = bench-smoke ARGS=$(@:step-bench-%=%)
$(OF_MAKE:%=step-%): DOES = $(@:step-%=%)
$(OF_MAKE:%=step-%) $(BENCHES:%=step-%): step-%:
	@began=$$(date +%s); code=0; $(MAKE) --no-print-directory $(DOES) || code=$$?; \
	echo "== $* ended with $$code after $$(($$(date +%s) - began)) s"; exit $$code

step-demo-twice: # the second one finds nothing new
	@$(MAKE) --no-print-directory demo; $(MAKE) --no-print-directory demo >$(AWAY)/second.log; \
	cat $(AWAY)/second.log; grep -q "nothing new was stored" $(AWAY)/second.log

step-wheel: # it works without the checkout, with variables alone; building writes into the sources
	@mkdir $(AWAY)/src; git archive HEAD | tar -x -C $(AWAY)/src; \
	.venv/bin/python -m pip wheel -q --no-deps -w $(AWAY)/dist $(AWAY)/src
	@$(or $(PYTHON),python3) -m venv $(AWAY)/venv; \
	$(AWAY)/venv/bin/pip install -q --no-compile -c constraints.txt $(AWAY)/dist/*.whl
	@cd $(AWAY); venv/bin/weibo-crawler demo >demo.log; code=$$?; tail -n 8 demo.log; exit $$code
	@cd $(AWAY); WEIBO_STORE__USERS=sqlite:///u.db WEIBO_STORE__TABLES=sqlite:///t.db \
	venv/bin/weibo-crawler seed 1234567890

# one after the other, and before the tests: installing writes into the checkout. And all tests are compiled once: of
# the workers that start together each would do it for itself; what is wrong the step says.
installed:
	@$(MAKE) --no-print-directory .venv-bench/.ready-bench
	@$(MAKE) --no-print-directory $(OTHERS) INSTALL=only
	@$(MAKE) --no-print-directory test WORKERS=1 ARGS="--collect-only -qq" >/dev/null 2>&1 || true

the-jars: # are fetched by the start of the cluster, MariaDB's among them, which other tests use
	@for _ in $$(seq 900); do [ -s $(AWAY)/up ] || grep -q "logs are in" $(AWAY)/up.log || sleep 1; done

the-cluster: # is starting since the beginning
	@for _ in $$(seq 900); do [ -s $(AWAY)/up ] || sleep 1; done; \
	[ "$$(cat $(AWAY)/up)" = 0 ] || { cat $(AWAY)/up.log; exit 1; }
