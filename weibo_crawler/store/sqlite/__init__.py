"""Both stores in files of SQLite."""
