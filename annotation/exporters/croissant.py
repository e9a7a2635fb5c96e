"""The CSV export with Croissant metadata (mlcommons.org/croissant/1.0), from which dataset search engines and loaders read."""

from __future__ import annotations

import json
from typing import Any

from annotation.exporters.base import Work
from annotation.exporters.folders import AUDIO
from annotation.exporters.rows import EXTENSIONS
from annotation.exporters.table import COLUMNS, TABLE, CsvExporter
from annotation.models import Split
from annotation.selectors.rights import split_licences
from eqstudio.benchmarks import benchmark_get

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_NUMBERS = {"duration": "sc:Float", "loudness": "sc:Float", "pitch": "sc:Float", "median_grade": "sc:Float"}
_TOLD = {
    "dialogue_id": "id of the dialogue",
    "side": "side of the split",
    "position": "place of the line in the dialogue",
    "label": "which rendition of the line; for pairs the key",
    "intended_grade": "grade that the reply was written for, 1 to 4",
    "audio": "file in this folder",
    "sha256": "of the audio file",
    "loudness": "integrated, LUFS",
    "pitch": "median F0, Hz",
    "grades": "what people gave, as pseudonym:grade",
    "verdicts": "what people decided about the dialogue, as pseudonym:verdict",
}


class CroissantExporter(CsvExporter):
    alias = "croissant"
    opening = f"""\
```python
import mlcroissant

dataset = mlcroissant.Dataset(jsonld="path/to/this/folder/croissant.json")
rows = dataset.records("recordings")
```

{CsvExporter.opening}"""

    def write(self, work: Work) -> None:
        super().write(work)
        table = dict(work.sink.files())[TABLE]
        document = _document(work.split, table.sha256, table.size)
        work.sink.put("croissant.json", (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())


def _document(split: Split, sha256: str, size: int) -> dict[str, Any]:
    benchmark = benchmark_get(split.benchmark)
    licences = split_licences(split=split) or ["not stated"]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": str(split),
        "description": f"{split.item_count} spoken dialogues for {benchmark.title}, chosen, judged and frozen. See README.md.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": f"{split.version}.0.0",
        "datePublished": f"{split.frozen_at:%Y-%m-%d}",
        "license": licences if len(licences) > 1 else licences[0],
        "creator": {"@type": "sc:Organization", "name": "not stated"},
        "url": f"urn:sha256:{split.manifest_hash}",
        "citeAs": f"{split}, manifest {split.manifest_hash}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "table",
                "name": TABLE,
                "contentUrl": TABLE,
                "contentSize": f"{size} B",
                "encodingFormat": "text/csv",
                "sha256": sha256,
            },
            {
                "@type": "cr:FileSet",
                "@id": "audio-files",
                "name": "audio-files",
                "encodingFormat": "audio/*",
                "includes": [f"{AUDIO}/*.{ending}" for ending in sorted(set(EXTENSIONS.values()))],
            },
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "recordings",
                "name": "recordings",
                "description": "One row a recording; the rows of a dialogue follow each other.",
                "key": {"@id": "recordings/variant_id"},
                "field": [_field(name) for name in COLUMNS],
            }
        ],
    }


def _field(name: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"recordings/{name}",
        "name": name,
        "description": _TOLD.get(name, name.replace("_", " ")),
        "dataType": _NUMBERS.get(name, "sc:Text"),
        "source": {"fileObject": {"@id": "table"}, "extract": {"column": name}},
    }
