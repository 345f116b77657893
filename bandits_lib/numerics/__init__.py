"""What everything else stands on: sums in one order, one rule for ties, one for the rank."""
