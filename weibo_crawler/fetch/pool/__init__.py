"""Who may go, and when: egresses, pace, leases, sessions, lists."""
