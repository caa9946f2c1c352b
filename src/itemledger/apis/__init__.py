"""Partial-success APIs, one small file each: what a response names, and what its silence means."""
