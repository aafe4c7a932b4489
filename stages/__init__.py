"""What `dvc repro` runs: one module a stage; files in, functions, files out."""
