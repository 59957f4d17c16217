"""Processes beside a test, which have nothing of it but what they are given.

To start Python and to import the program takes longer than most of them live. So a server without
threads, files or connections imports it once, and forks for each: `forkserver` in place of `spawn`.
"""

import multiprocessing

CLEAN = multiprocessing.get_context("forkserver")
CLEAN.set_forkserver_preload(["tests.store.test_sqlite_users", "tests.store.test_sqlite_tables"])
