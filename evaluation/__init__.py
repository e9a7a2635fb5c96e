"""The exam: human sittings, model runs, scores, comparison."""
