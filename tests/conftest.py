"""What all tests rely on.

Signals as a terminal gives them, however the tests were started: what is ignored here (by `nohup`,
or in the background of a shell) would be ignored by every program that a test starts.

Hypothesis without deadlines: no timing is asserted, and on a busy machine any example may be held
up for longer than 0.2 s. In CI it draws the same examples each time: what it finds by chance is for
whoever runs it by hand.
"""

import os
import signal

import hypothesis

hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "unhurried")

for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        default = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)
