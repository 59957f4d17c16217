"""Small wrong changes, made one at a time: each must let a test fail."""
