"""What a change would do, said before it is done: differences, effects by the engine's own rules, jobs, time and cost. Pure."""
