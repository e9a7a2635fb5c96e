"""Text models: they write scripts."""
