"""The demo programme: one file of made-up organisations, and what plays their people so that the portal has work."""
