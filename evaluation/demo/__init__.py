"""The demo: the studio's own dialogues, spoken, judged and sat through the ordinary services, all marked as demo data.

Every step looks at the rows first, so any of it can be run again, or go on after a kill.
"""

from evaluation.demo.advance import demo_advance
from evaluation.demo.corpora import demo_corpora_ensure
from evaluation.demo.people import demo_people_ensure

__all__ = ["demo_advance", "demo_corpora_ensure", "demo_people_ensure"]
