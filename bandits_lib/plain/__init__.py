"""Every rule once more in plain numpy, in the order of the paper's algorithm and with its line numbers.

No options and no checks beyond what the paper states; the fast rules of this package pull the same arms.
"""
