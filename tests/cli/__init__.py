"""The command line as processes of their own, against real engines."""
