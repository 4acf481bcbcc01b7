"""The engine: look at what is there, plan one step, write the intent, make the call, write the result."""
