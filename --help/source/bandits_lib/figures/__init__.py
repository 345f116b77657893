"""Figures: one look for every rule, plots of tables, and the saving of pictures with the data behind them."""
