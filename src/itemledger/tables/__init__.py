"""Query and Scan of DynamoDB tables: pages, cursors, capacity and projections."""
