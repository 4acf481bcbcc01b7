"""The demo programme: made-up organisations in `programme.yaml`, and what plays their people so that the portal has work."""
