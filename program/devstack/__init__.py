"""Embedded servers and the process tree of `make up`; the web never imports it."""
