"""A family as somebody would add one: minimal pairs, told apart by likelihood. Copy `pairs`."""
