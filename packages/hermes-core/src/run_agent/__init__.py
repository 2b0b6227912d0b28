"""Alias module."""
