"""People judge; agreement decides; the curated split leaves."""
