# What CI does after all is installed: as many steps at a time as `make -j` says, the longest first, so that no
# processor waits. What a step prints comes when it ends.
STEPS := test test-stack test-tools lint test-foreign $(OTHERS) test-laws demo-twice bench-smoke

all: $(STEPS:%=step-%)
.PHONY: all the-cluster $(STEPS:%=step-%)

step-test-stack: | the-cluster
step-bench-smoke: | step-test-stack # they want the cluster for themselves
step-test: export WORKERS := 3
$(OTHERS:%=step-%): export WORKERS := 1
step-test-laws: export SEEDS := 20

$(filter-out step-demo-twice,$(STEPS:%=step-%)): step-%:
	@began=$$(date +%s); code=0; $(MAKE) --no-print-directory $* || code=$$?; \
	echo "== $* ended with $$code after $$(($$(date +%s) - began)) s"; exit $$code

step-demo-twice: # the second one finds nothing new
	@$(MAKE) --no-print-directory demo; $(MAKE) --no-print-directory demo >$(AWAY)/second.log; \
	cat $(AWAY)/second.log; grep -q "nothing new was stored" $(AWAY)/second.log

the-cluster: # is starting since the beginning
	@for _ in $$(seq 900); do [ -s $(AWAY)/up ] || sleep 1; done; \
	[ "$$(cat $(AWAY)/up)" = 0 ] || { cat $(AWAY)/up.log; exit 1; }
