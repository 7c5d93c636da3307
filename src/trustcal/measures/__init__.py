"""Measures: a predictor to a number, each with its witness."""
