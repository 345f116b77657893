"""Draw figures: one look for every rule, plots of tables, and figures that are saved with their data."""
