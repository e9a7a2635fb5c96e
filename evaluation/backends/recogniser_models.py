"""Speech-emotion models in torch. Imported only where one is asked for."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoFeatureExtractor, AutoModelForAudioClassification, Wav2Vec2Model, Wav2Vec2PreTrainedModel

from evaluation.backends.sounds import MODEL_RATE


class _Head(nn.Module):  # type: ignore[misc]
    """Two layers over the mean of all frames; the names are those of the published weights."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.out_proj = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, features: Any) -> Any:
        return self.out_proj(torch.tanh(self.dense(features)))


class _Regression(Wav2Vec2PreTrainedModel):  # type: ignore[misc]
    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.wav2vec2 = Wav2Vec2Model(config)
        self.classifier = _Head(config)
        self.post_init()

    def forward(self, input_values: Any) -> Any:
        return self.classifier(self.wav2vec2(input_values)[0].mean(dim=1))


class _Heard:
    """A feature extractor and a model on the device there is."""

    def __init__(self, name: str, model: Any) -> None:
        self.extract = AutoFeatureExtractor.from_pretrained(name)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device).eval()
        self.labels = {int(place): str(label).lower() for place, label in model.config.id2label.items()}

    def inputs(self, samples: Any) -> Any:
        return self.extract(samples, sampling_rate=MODEL_RATE, return_tensors="pt").to(self.device)


class DimensionsModel(_Heard):
    def __init__(self, name: str) -> None:
        super().__init__(name, _Regression.from_pretrained(name))

    def measure(self, samples: Any) -> dict[str, float]:
        """By the labels of the weights: arousal, dominance and valence."""
        with torch.inference_mode():
            found = self.model(self.inputs(samples)["input_values"])[0].float().cpu()
        return {label: float(found[place]) for place, label in self.labels.items()}


class LabelsModel(_Heard):
    def __init__(self, name: str) -> None:
        super().__init__(name, AutoModelForAudioClassification.from_pretrained(name))

    def measure(self, samples: Any) -> dict[str, float]:
        """The share of every label."""
        with torch.inference_mode():
            found = self.model(**self.inputs(samples)).logits[0].float().softmax(-1).cpu()
        return {label: float(found[place]) for place, label in self.labels.items()}
