"""The sandbox cloud: one process that answers like a cloud provider, from stored facts and a clock. Never imported by the product."""
