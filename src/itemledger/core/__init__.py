"""Decisions without IO: no client, clock, randomness, thread or file in here."""
