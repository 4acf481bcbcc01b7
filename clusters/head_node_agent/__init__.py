"""What runs on a head node whose scheduler we cannot reach: one file of the standard library, never imported by the portal."""
