"""Commands that work on the whole of `params.yaml`: check, new, scale, ask, repro, release."""
