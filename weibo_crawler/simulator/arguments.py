"""The command line of the simulator. Importing this starts nothing."""

import argparse
from dataclasses import fields
from typing import Any

from weibo_crawler.simulator.options import Option, SimulatorOptions, flag

USUAL_PORT = 8800


def add_arguments(parser: argparse.ArgumentParser) -> None:
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in fields(SimulatorOptions):
        option: Option = field.metadata["option"]
        default = USUAL_PORT if field.name == "port" else field.default
        group = groups.get(option.heading)
        if group is None:
            group = groups[option.heading] = parser.add_argument_group(option.heading)
        how: dict[str, Any] = {"action": "store_true"}
        if option.read is not bool:
            how = {"type": option.read, "choices": option.choices, "metavar": option.metavar}
        usual = "no" if default is False else "none" if default in (None, "", ()) else default
        text = f"{option.help} (default {usual})"
        group.add_argument(flag(field.name), default=default, help=text, **how)


def from_arguments(namespace: argparse.Namespace) -> SimulatorOptions:
    """The options of a parsed command line; BadUsage if one is wrong."""
    given = {field.name: getattr(namespace, field.name) for field in fields(SimulatorOptions)}
    return SimulatorOptions(**given)


def to_arguments(options: SimulatorOptions) -> list[str]:
    """The command line that gives these options."""
    arguments = []
    for field in fields(SimulatorOptions):
        value = getattr(options, field.name)
        if value is True:
            arguments.append(flag(field.name))
        elif isinstance(value, tuple):
            arguments.append(f"{flag(field.name)}={','.join(map(str, value))}")
        elif value is not None and value is not False:
            arguments.append(f"{flag(field.name)}={value}")
    return arguments
