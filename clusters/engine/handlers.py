"""What the workers do for clusters, jobs and accounts."""
