"""Rows as the tables hold them: keys, cells, what is packed into one. Pure."""
