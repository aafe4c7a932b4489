"""A fifth family, as somebody would add one: minimal pairs, told apart by likelihood."""
