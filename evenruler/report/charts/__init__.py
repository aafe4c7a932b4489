"""What charts of several families share."""
