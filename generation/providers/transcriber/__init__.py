"""Transcribers: they write down what a clip says."""
