"""Methods: what the loop drives, one file per method."""
