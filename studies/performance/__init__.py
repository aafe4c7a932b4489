"""What engines give and how fast, on the machine at hand."""
