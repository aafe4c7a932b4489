"""SAGED, building: text about concepts becomes prompts with baselines, branched into counterfactual ones."""
