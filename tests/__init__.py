"""The test suite; README.md beside this file tells how it is laid out."""
