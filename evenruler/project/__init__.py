"""`params.yaml` as a whole: check, new, scale, artifacts."""
