"""Jobs: what is launched, how it is watched and read, and what people may ask of it."""
