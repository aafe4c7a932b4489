"""Who answers: one module a backend; each implements some operations, and knows nothing of what is kept."""
