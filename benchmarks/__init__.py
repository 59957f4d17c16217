"""What is measured, and how: `make bench-polite`. Figures go to docs/benchmarks.md."""
