"""What Baton costs: units, round trips, processor time, imports and throughput, held against their limits."""
