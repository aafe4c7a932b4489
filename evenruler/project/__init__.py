"""Commands that work on the whole of `params.yaml`: check, new, profile, ask, repro, release."""
