"""Pages, the scripts that make some of them, and a family to copy (`example_family`)."""
