"""From numbers to summaries and disparities, and how sure they are (SAGED, sections 3.3 and 4)."""
