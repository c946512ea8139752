"""Measurements, as ratios between contenders run beside each other: `make bench`, or `python -m benchmarks NAME`."""
