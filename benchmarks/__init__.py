"""What itemledger costs beside a plain boto3 loop: CPU, instructions, memory. ``python -m benchmarks`` prints it."""
