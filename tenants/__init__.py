"""Who takes part, what happened to them, and the foundation that every other layer stands on."""
