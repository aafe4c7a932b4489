"""From pages to sentences about concepts (SAGED, sections 2.1 and A.1)."""
