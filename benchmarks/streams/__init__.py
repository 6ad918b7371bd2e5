"""What the benchmarks of running counts share: known counters, and what is measured of ours."""
