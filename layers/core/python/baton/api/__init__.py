"""HTTP: the contract, what comes in, what goes out. Decides nothing."""
