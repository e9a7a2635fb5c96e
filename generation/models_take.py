"""What a dialogue sounded like before it was spoken again."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from eqstudio.models import AppendOnly


class Take(AppendOnly):
    """A rendition that was given up for another try: its words and its clip stay, beside the findings of their check."""

    dialogue = models.ForeignKey("generation.Dialogue", on_delete=models.CASCADE, related_name="earlier_takes")
    variant = models.ForeignKey(
        "generation.Variant", null=True, on_delete=models.SET_NULL, related_name="earlier_takes"
    )
    number = models.PositiveSmallIntegerField(help_text="which take of the dialogue it was, from 0")
    run = models.PositiveIntegerField(default=0, help_text="the quality check it was part of; 0 for none")
    position = models.PositiveSmallIntegerField()
    label = models.CharField(max_length=20)
    text = models.TextField()
    clip = models.ForeignKey("generation.Clip", on_delete=models.PROTECT, related_name="earlier_takes")
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "generation"
        ordering: ClassVar = ["dialogue", "number", "position", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["dialogue", "number", "position", "label"], name="take_once"),
        ]

    def __str__(self) -> str:
        return f"{self.dialogue_id}#{self.position}/{self.label}.{self.number}"
