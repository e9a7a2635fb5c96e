"""The tools of the field open what the studio writes: mlcroissant always, Inspect and lm-eval where they are installed.

The last two pin packages below what ``datasets`` wants, so they live in an environment of their own; what they are given is
also checked here without them.
"""

import ast
import hashlib
import importlib.util
import json
import sys
from unittest.mock import MagicMock

import pytest
import yaml
from django.utils import timezone

from annotation.services import split_export, split_freeze
from generation.models import Clip, Variant
from tests.annotation.factories import split_of
from tests.generation.factories import CorpusFactory, echomind_dialogue, emosbench_dialogue, speecheq_dialogue

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite_enough]
APART = "it pins packages below what datasets wants, so it has an environment of its own"
MAKERS = {"echomind": echomind_dialogue, "emosbench": emosbench_dialogue, "speecheq": speecheq_dialogue}


def exported(tmp_path, name, make=speecheq_dialogue, items=3):
    split = split_of(items=items, make=make, name="arena")
    split_export(split=split, format=name, output=tmp_path / "out")
    return split, tmp_path / "out"


def sided(tmp_path, name, **shares):
    """An export of a split whose items lie on several sides."""
    split = split_of(items=12, make=emosbench_dialogue, name="arena", recipe={**shares, "seed": 5})
    split_export(split=split, format=name, output=tmp_path / "out")
    return tmp_path / "out"


def questions(folder):
    return [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_mlcroissant_validates_and_reads_every_row(tmp_path):
    import mlcroissant

    _split, folder = exported(tmp_path, "croissant")

    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    rows = list(dataset.records("recordings"))

    assert (list(dataset.metadata.issues.errors), len(rows)) == ([], 3 * 8)
    hashes = {row["recordings/sha256"].decode() for row in rows}
    assert hashes == set(Clip.objects.values_list("sha256", flat=True))
    sounds = [folder / row["recordings/audio"].decode() for row in rows]
    assert {hashlib.sha256(path.read_bytes()).hexdigest() for path in sounds} == hashes


@pytest.mark.parametrize("made", sorted(MAKERS))
@pytest.mark.parametrize("name", ["inspect", "lmeval"])
def test_questions_name_sounds_that_are_there_and_one_right_answer(tmp_path, name, made):
    _split, folder = exported(tmp_path, name, MAKERS[made])

    found = questions(folder)

    assert found
    assert len({question["id"] for question in found}) == len(found)
    for question in found:
        assert question["target"] in question["values"]
        heard = [part["audio"] for part in question["parts"] if "audio" in part]
        assert heard
        assert all((folder / path).is_file() for path in heard)


def test_the_target_is_what_the_key_says(tmp_path):
    corpus = CorpusFactory()
    for n in range(8):
        speecheq_dialogue(corpus=corpus, external_id=f"set-{n}")
    split = split_freeze(name="arena", corpus=corpus, now=timezone.now())

    split_export(split=split, format="inspect", output=tmp_path / "out")

    labels = {f"audio/{v.clip.sha256[:24]}.wav": v.label for v in Variant.objects.select_related("clip")}
    found = questions(tmp_path / "out")
    assert len(found) == 16
    for question in found:
        parts = question["parts"]
        place = parts.index({"text": f"{question['target']}:"})
        assert labels[parts[place + 1]["audio"]] == "high"
    assert {question["target"] for question in found} == {"A", "B"}


def test_a_later_question_follows_the_right_answer_to_the_earlier(tmp_path):
    _split, folder = exported(tmp_path, "lmeval", items=1)

    second = questions(folder)[1]

    labels = {f"audio/{v.clip.sha256[:24]}.wav": v.label for v in Variant.objects.select_related("clip")}
    heard = [labels[part["audio"]] for part in second["parts"] if "audio" in part]
    assert heard == ["only", "only", "only", "high", "only", *heard[5:]]
    assert sorted(heard[5:]) == ["high", "low"]


def test_the_task_file_of_lm_eval_names_functions_that_are_there(tmp_path):
    split, folder = exported(tmp_path, "lmeval", items=1)

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: node.value)
    task = yaml.load((folder / "task.yaml").read_text(encoding="utf-8"), Loader)

    there = {
        node.name for node in ast.parse((folder / "utils.py").read_text()).body if isinstance(node, ast.FunctionDef)
    }
    named = {value.removeprefix("utils.") for value in task.values() if str(value).startswith("utils.")}
    assert task["task"] == "arena_v1"
    assert task["metadata"]["manifest"] == split.manifest_hash
    assert (len(named), named - there) == (4, set())


def loaded(folder, name):
    """A program of the folder as a module."""
    spec = importlib.util.spec_from_file_location(f"exported_{name}", folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lm_eval_is_given_every_side_under_its_own_name_and_asks_the_test_side(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = sided(tmp_path, "lmeval", dev=0.3, train=0.3)
    utils = loaded(folder, "utils")

    found = utils.dataset()

    asked = questions(folder)
    assert {side: list(rows["id"]) for side, rows in found.items()} == {
        side: [question["id"] for question in asked if question["side"] == side] for side in ("dev", "test", "train")
    }
    assert "\ntest_split: test\n" in (folder / "task.yaml").read_text(encoding="utf-8")


def test_inspect_asks_the_test_side_unless_told_otherwise(tmp_path, monkeypatch):
    for name in ("", ".dataset", ".model", ".scorer", ".solver"):
        monkeypatch.setitem(sys.modules, f"inspect_ai{name}", MagicMock())
    folder = sided(tmp_path, "inspect", dev=0.3, train=0.3)
    task = loaded(folder, "task")

    asked = questions(folder)
    sides = [{question["side"] for question in task.of_side(asked, side)} for side in ("", "dev", "all")]

    assert sides == [{"test"}, {"dev"}, {"dev", "test", "train"}]
    trained = [question for question in asked if question["side"] == "train"]
    assert task.of_side(trained, "") == trained


def test_a_split_without_a_test_side_is_asked_all_the_same(tmp_path):
    folder = sided(tmp_path, "lmeval", train=1.0)

    assert "\ntest_split: train\n" in (folder / "task.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "value"),
    [("B", "B"), ("B.", "B"), ("The answer is (A)", "A"), ("A or B", ""), ("", ""), ("Both", ""), ("选A。", "A")],
)
def test_answers_are_read_and_never_guessed(tmp_path, said, value):
    _split, folder = exported(tmp_path, "lmeval", items=1)
    utils = loaded(folder, "utils")

    assert utils.answered(said, ["A", "B"]) == value
    assert utils.process_results({"values": ["A", "B"], "target": "A"}, [said]) == {"acc": float(value == "A")}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_inspect_runs_the_task(tmp_path, monkeypatch):
    pytest.importorskip("inspect_ai", reason=APART)
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    _split, folder = exported(tmp_path, "inspect")
    right = [ModelOutput.from_content("mockllm", question["target"]) for question in questions(folder)]
    for output in right:  # else it would fetch a tokenizer to count
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)

    monkeypatch.chdir(folder)
    (log,) = inspect_eval(
        "task.py",
        model=get_model("mockllm/model", custom_outputs=right),
        log_dir=str(tmp_path / "logs"),
        display="none",
        max_connections=1,
    )

    assert (log.status, len(log.samples or [])) == ("success", 6), log.error
    assert log.results.scores[0].metrics["accuracy"].value == 1.0


def test_lm_eval_runs_the_task(tmp_path):
    lm_eval = pytest.importorskip("lm_eval", reason=APART)
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    _split, folder = exported(tmp_path, "lmeval")

    class First(LM):
        MULTIMODAL = True

        def generate_until(self, requests):
            assert all(len(request.args[2]["audio"]) >= 5 for request in requests)
            return ["A" for _ in requests]

        def loglikelihood(self, requests):
            raise NotImplementedError

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

    told = lm_eval.simple_evaluate(
        model=First(), tasks=["arena_v1"], task_manager=TaskManager(include_path=str(folder)), bootstrap_iters=0
    )

    share = sum(question["target"] == "A" for question in questions(folder)) / 6
    assert told["results"]["arena_v1"]["acc,none"] == pytest.approx(share)
