"""Samplers, collators and the dataloader built of them."""
