"""What a training job says of itself in its output: read line by line, without Django, without a cloud."""
