"""What the bench of fleets needs."""
