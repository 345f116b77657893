"""What the notebooks are made with: claims and their ledger, errata, figures, and the files these are saved in."""
