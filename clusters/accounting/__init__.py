"""What reserved and used accelerator-hours were: counted, classed and shown."""
