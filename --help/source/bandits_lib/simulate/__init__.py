"""Rules played against drawn rewards, many times: runs, verdicts, intervals, checkpoints."""
