"""The companion to the four papers: claims, verdicts, ledger, reports, and running of notebooks."""
