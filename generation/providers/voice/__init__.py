"""Voices: they speak lines."""
