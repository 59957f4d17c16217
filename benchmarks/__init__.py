"""What is measured, and how: the `bench` targets of `make help`. Figures: docs/benchmarks.md."""
