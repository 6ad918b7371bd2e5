"""An exact sampler of partitions near the data (Blocki, Datta and Bonneau 2016)."""
