"""The companion to the four papers: claims, verdicts, ledger, reports, running of notebooks, and simulated users."""
