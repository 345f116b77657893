"""A person or a laboratory in the place of the simulator."""
