"""Workers on a ledger's operation, between the store below and the drivers above."""
