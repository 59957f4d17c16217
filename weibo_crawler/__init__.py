"""A login-free crawler of the Sina Weibo microblog, for a laptop and for a Hadoop cluster."""

__version__ = "0.1.0"
