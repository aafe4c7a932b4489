"""The benchmarks that the field uses, as instruments: two texts of an item, and which of them is the likelier one."""
