"""The report: one page with figures, tables and pictures of what is built."""
