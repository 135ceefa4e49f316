"""Helpers of the bench `fleet`."""
