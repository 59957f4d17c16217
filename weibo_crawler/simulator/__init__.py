"""A Weibo for demos, tests and capacity planning, on loopback only.

A world (graph, people, timelines) is born from a seed number; pages show it in the shapes of the
mobile site; guests, then faults decide what a visitor really gets; the site puts it on the wire.
Truth tells what is in the world, the served log what was answered, so tests compare sets.
It shares no code with weibo_crawler.sites: a mistake there is not repeated here.

This module imports nothing, so that the options can be read without starting a server.
"""
