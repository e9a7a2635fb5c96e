"""The release of a comparison: what it holds, and that its own script works out every figure again."""

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from django.urls import reverse

from evaluation.domain import baselines
from evaluation.models import Response
from evaluation.services import comparison_build, release_build, respondent_drive, study_run
from evaluation.services.judging import judge_advance, judge_create
from tests.eqstudio.factories import annotator, researcher
from tests.evaluation.compared import mixed, sat
from tests.evaluation.factories import (
    echomind_study,
    emosbench_study,
    model_respondent,
    right_answer,
    sit_through,
    speecheq_study,
    uneven_study,
    wrong_answer,
)
from tests.evaluation.test_judging import judge_all, replied

pytestmark = pytest.mark.django_db


def recomputed(folder):
    """The script of an unpacked release, run with nothing but Python."""
    command = [
        sys.executable,
        "-I",
        "-c",
        (
            f"import sys; sys.path.insert(0, {str(folder)!r}); import runpy; "
            f"sys.argv = ['recompute.py', {str(folder)!r}]; runpy.run_path({str(folder / 'recompute.py')!r}, run_name='__main__')"
        ),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("make", [speecheq_study, emosbench_study, uneven_study])
def test_the_release_recomputes_every_number_with_the_standard_library(make, tmp_path):
    study = sat(make(items=5))
    sit_through(study, user=researcher(), choose=wrong_answer)
    respondent_drive(respondent=study_run(study=study, backend="random"))
    votes = model_respondent(study, name="votes")
    for run, choose in enumerate((right_answer, wrong_answer, mixed)):
        sit_through(study, respondent=votes, choose=choose, run=run)
    data = release_build(study=study)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
    done = recomputed(tmp_path)
    assert (done.returncode, "0 differ" in done.stdout) == (0, True), done.stdout + done.stderr
    assert int(done.stdout.split(" figures agree")[0].split()[-1]) > 50
    spoilt = json.loads((tmp_path / "comparison.json").read_text())
    spoilt["respondents"][0]["estimates"][next(iter(spoilt["respondents"][0]["estimates"]))]["value"] = 0.123
    (tmp_path / "comparison.json").write_text(json.dumps(spoilt))
    assert recomputed(tmp_path).returncode == 1


def test_the_release_recomputes_what_was_judged(tmp_path):
    study = judged_study()
    with zipfile.ZipFile(io.BytesIO(release_build(study=study))) as archive:
        archive.extractall(tmp_path)
    told = json.loads((tmp_path / "comparison.json").read_text())["replies"]
    assert {pair["by"] for pair in told["pairs"]} == {"", told["judges"][0]["name"]}
    done = recomputed(tmp_path)
    assert (done.returncode, "0 differ" in done.stdout) == (0, True), done.stdout + done.stderr
    judgements = (tmp_path / "judgements.csv").read_text()
    assert "Judge 1," in judgements
    assert "listener0" not in judgements
    (tmp_path / "judgements.csv").write_text(judgements.replace("context_fit,5", "context_fit,1"))
    spoilt = recomputed(tmp_path)
    assert spoilt.returncode == 1
    assert "context_fit by people" in spoilt.stdout


def judged_study():
    """Replies of two persons and two systems, judged by three people, one who can read the key, and a model."""
    study = echomind_study(items=4)
    for number in range(2):
        replied(study, "", f"I hear you, number {number}.", user=annotator(username=f"replier{number}"))
    for name, words in (("warm", "That sounds rough. Do you need anything?"), ("cold", "Noted."), ("blank", "Well.")):
        replied(study, name, words)
    first = Response.objects.filter(trial__sitting__respondent__study=study).earliest("pk").pk
    for number, user in enumerate([*(annotator(username=f"listener{n}") for n in range(2)), researcher()]):
        judge_all(study, user, lambda response, n=number: 1 + (response.pk - first + len(response.raw) + n) % 5)
    for judge in judge_create(study=study, backend="random"):
        judge_advance(judge=judge)
    return study


def test_the_best_of_people_who_are_below_chance_is_the_nearest_to_it(tmp_path):
    study = echomind_study(items=4)
    first = study.split.items.order_by("pk").first().dialogue_id
    for name, choose in (
        ("worst", wrong_answer),
        ("best", lambda record: (right_answer if record.dialogue_id == first else wrong_answer)(record)),
    ):
        replied(study, "", choose=choose, user=annotator(username=name))
    with zipfile.ZipFile(io.BytesIO(release_build(study=study))) as archive:
        archive.extractall(tmp_path)
    done = recomputed(tmp_path)
    assert (done.returncode, "0 differ" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_release_tells_which_systems_its_norm_rests_on(tmp_path):
    study = sat(speecheq_study(items=4))
    for evaluator in ("mcq", "silence"):
        respondent_drive(respondent=study_run(study=study, backend="fake", evaluator=evaluator))
    sit_through(study, respondent=model_respondent(study, name="mute"), choose=lambda _record: "both")
    with zipfile.ZipFile(io.BytesIO(release_build(study=study))) as archive:
        archive.extractall(tmp_path)
    told = json.loads((tmp_path / "comparison.json").read_text())
    assert told["norm"]["population"] == ["chance", "fair", "fake", "poor"]
    assert told["norm_left_out"] == {"control": ["fake (silence)"], "unfit": ["mute"], "unfinished": []}
    done = recomputed(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    told["norm"]["population"].insert(3, "mute")
    (tmp_path / "comparison.json").write_text(json.dumps(told))
    assert "systems of the norm" in recomputed(tmp_path).stdout


def test_the_page_says_which_systems_the_norm_leaves_out(client):
    study = sat(speecheq_study(items=4))
    sit_through(study, respondent=model_respondent(study, name="mute"), choose=lambda _record: "both")
    respondent_drive(respondent=study_run(study=study, backend="fake", evaluator="silence"))
    client.force_login(researcher())
    page = client.get(reverse("comparison", args=[study.uid])).content.decode()
    said = "fake (silence) (not asked the plain exam). mute (over 5 % of the answers unread).</p>"
    assert ("SEQ is relative to 3 systems: those that" in page, f"does not rest on: {said}" in page) == (True, True)


def test_the_release_is_the_same_bytes_whatever_the_last_bits_of_its_figures(monkeypatch):
    study = sat(emosbench_study(items=5))
    drawn = baselines.person_means

    def with_another_last_bit(matrix):
        found = drawn(matrix)
        return np.where((found > 0) & (found < 1), np.nextafter(found, 2), found)

    figures, release = comparison_build(study=study), release_build(study=study)
    monkeypatch.setattr(baselines, "person_means", with_another_last_bit)

    assert comparison_build(study=study) != figures
    assert release_build(study=study) == release


def test_the_release_names_nobody(tmp_path):
    study = speecheq_study(items=2)
    person = annotator(username="zoe-secret")
    person.display_name, person.email = "Zoe Secret", "zoe@example.org"
    person.save(update_fields=["display_name", "email"])
    sit_through(study, user=person)
    with zipfile.ZipFile(io.BytesIO(release_build(study=study))) as archive:
        everything = "".join(archive.read(name).decode() for name in archive.namelist())
    assert not any(word in everything for word in ("zoe-secret", "Zoe Secret", "zoe@example.org", person.uid))
    assert "Person 1" in everything
