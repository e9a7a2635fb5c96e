"""Pages of the generation app."""
