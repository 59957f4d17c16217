"""The command line: parses, wires objects together, prints. No logic of crawling lives here."""
