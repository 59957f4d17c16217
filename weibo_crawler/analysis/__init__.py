"""The analysts' side: scan, export, completeness, report, status. Reads the stores, never writes
to them; whatever is as long as the crawl streams, only counts are kept.
"""
