"""The benchmarks the studio knows. Pure Python: one file tells one benchmark whole."""

from eqstudio.benchmarks.base import Benchmark
from eqstudio.registry import Registry

benchmarks: Registry[Benchmark] = Registry(
    "benchmark",
    {
        "speecheq": "eqstudio.benchmarks.speecheq:SpeechEQ",
        "emosbench": "eqstudio.benchmarks.emosbench:EmoSBench",
        "echomind": "eqstudio.benchmarks.echomind:EchoMind",
    },
)


def benchmark_get(alias: str) -> Benchmark:
    """Return the benchmark behind ``alias`` (UnknownAlias names those that exist)."""
    return benchmarks.get(alias)()


__all__ = ["Benchmark", "benchmark_get", "benchmarks"]
