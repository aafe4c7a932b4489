"""The families of instruments, one folder each."""
