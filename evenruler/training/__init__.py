"""Small models of ours: heads and adapters fitted on labelled data, and encoders adapted to a domain."""
