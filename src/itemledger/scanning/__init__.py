"""Scans that outlive their process: to a file or to the caller's own function, checkpointed page by page."""
