"""The pages of studies, runs and the comparison: who may open them and what they say."""

import pytest
from django.urls import reverse

from evaluation.models import Respondent, Sitting, Study
from evaluation.services import study_close, study_run
from tests.eqstudio.factories import UserFactory, annotator, researcher
from tests.evaluation.factories import (
    emosbench_study,
    model_respondent,
    sit_through,
    speecheq_study,
    split_of,
    wrong_answer,
)
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db


def addresses(study, sitting):
    """Every page for researchers only, by name."""
    return {
        "study_new": reverse("study_new"),
        "runs": reverse("runs"),
        "run_new": reverse("run_new", args=[study.uid]),
        "run": reverse("run", args=[sitting.uid]),
        "comparison": reverse("comparison", args=[study.uid]),
        "leaderboard": reverse("comparison_chart", args=[study.uid, "leaderboard"]),
        "forest": reverse("comparison_chart", args=[study.uid, "forest"]),
        "csv": reverse("comparison_csv", args=[study.uid]),
        **{name: reverse("comparison_chart", args=[study.uid, name]) for name in ("items", "slots", "cost", "parts")},
        "latex": reverse("comparison_table", args=[study.uid, "leaderboard", "tex"]),
        "apart": reverse("comparison_items", args=[study.uid]),
        "item": reverse("comparison_item", args=[study.uid, study.split.items.first().dialogue.uid]),
        "report": reverse("study_report", args=[study.uid]),
        "power": reverse("study_power", args=[study.uid]),
        "release": reverse("study_release", args=[study.uid]),
    }


PAGES = ["study_new", "runs", "run_new", "run", "comparison", "leaderboard", "forest", "csv", "items", "slots", "cost"]
PAGES += ["parts", "latex", "apart", "item", "report", "power", "release"]


@pytest.fixture
def sat():
    """A study that a person and a model have sat."""
    study = speecheq_study(items=2)
    sit_through(study, user=annotator())
    sitting = sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    return study, sitting


@pytest.mark.every_case
@pytest.mark.parametrize("page", PAGES)
def test_a_page_works(client, sat, page):
    client.force_login(researcher())
    assert client.get(addresses(*sat)[page]).status_code == 200


def test_an_unknown_chart_is_not_found(client, sat):
    client.force_login(researcher())
    assert client.get(reverse("comparison_chart", args=[sat[0].uid, "pie"])).status_code == 404


@pytest.mark.parametrize("name", ["study_close", "run_stop", "run_resume"])
def test_what_changes_something_wants_post_and_a_curator(client, sat, name):
    study, sitting = sat
    address = reverse(name, args=[study.uid if name == "study_close" else sitting.uid])
    client.force_login(annotator())
    assert client.post(address).status_code == 403
    client.force_login(researcher())
    assert client.get(address).status_code == 405
    assert client.post(address).status_code == 302


def test_studies_show_an_annotator_what_may_be_sat(client):
    study, closed = speecheq_study(items=1), study_close(study=speecheq_study(items=1))
    client.force_login(annotator())
    page = client.get(reverse("studies")).content.decode()
    assert (study.name in page, closed.name in page, reverse("study_new") in page) == (True, False, False)
    assert reverse("sit_start", args=[study.uid]) in page


def test_studies_do_not_exist_for_an_outsider(client):
    client.force_login(UserFactory())
    assert client.get(reverse("studies")).status_code == 404


def test_studies_teach_when_there_are_none(client):
    client.force_login(researcher())
    assert "No study yet" in client.get(reverse("studies")).content.decode()
    client.force_login(annotator())
    assert "No exam is open" in client.get(reverse("studies")).content.decode()


def test_a_study_is_made_from_a_split(client):
    split = split_of([speecheq_dialogue()])
    client.force_login(researcher())
    response = client.post(reverse("study_new"), {"name": "first", "split": split.uid, "seed": 4, "gate_share": 80})
    made = Study.objects.get()
    assert (response.url, made.seed, made.gate_share) == (reverse("study", args=[made.uid]), 4, 0.8)


def test_a_study_form_keeps_what_was_typed(client):
    study = speecheq_study(items=1)
    client.force_login(researcher())
    page = client.post(
        reverse("study_new"), {"name": study.name, "split": study.split.uid, "seed": 77, "gate_share": 90}
    ).content.decode()
    assert ("already a study" in page, 'value="77"' in page) == (True, True)


def test_the_protocol_is_for_everybody_and_results_are_not(client, sat):
    study, sitting = sat
    client.force_login(annotator())
    page = client.get(reverse("study", args=[study.uid])).content.decode()
    assert (sitting.uid in page, study.split.manifest_hash in page, "Sit the exam" in page) == (False, False, True)
    client.force_login(researcher())
    page = client.get(reverse("study", args=[study.uid])).content.decode()
    assert (sitting.uid in page, study.split.manifest_hash in page) == (True, True)


def test_a_run_is_begun_from_the_page_and_finished_by_the_worker(client, django_capture_on_commit_callbacks):
    study = speecheq_study(items=2)
    client.force_login(researcher())
    with django_capture_on_commit_callbacks(execute=True):
        response = client.post(
            reverse("run_new", args=[study.uid]), {"backend": "random", "evaluator": "mcq", "runs": 2, "limit": ""}
        )
    respondent = Respondent.objects.get(study=study)
    first = respondent.sittings.get(run=0)
    assert response.url == reverse("run", args=[first.uid])
    assert set(respondent.sittings.values_list("state", flat=True)) == {Sitting.State.FINISHED}


def test_a_run_form_says_what_is_wrong(client, settings):
    settings.EXAM_KEY_ENV = "EQSTUDIO_TEST_NO_SUCH_KEY"
    study = speecheq_study(items=1)
    client.force_login(researcher())
    page = client.post(
        reverse("run_new", args=[study.uid]), {"backend": "openai", "evaluator": "mcq", "runs": 1}
    ).content.decode()
    assert ("EQSTUDIO_TEST_NO_SUCH_KEY" in page, Respondent.objects.exists()) == (True, False)


def test_a_run_shows_raw_answers_by_outcome(client, sat):
    sitting = sat[1]
    client.force_login(researcher())
    address = reverse("run", args=[sitting.uid])
    assert client.get(address).content.decode().count("<pre") == 4
    assert client.get(address, {"outcome": "refused"}).content.decode().count("<pre") == 0
    assert client.get(address, {"outcome": "rubbish"}).content.decode().count("<pre") == 4


def test_a_stopped_run_goes_on(client, django_capture_on_commit_callbacks):
    study = speecheq_study(items=1)
    sitting = study_run(study=study, backend="first", runs=1).sittings.get()
    Sitting.objects.filter(pk=sitting.pk).update(error="The provider cannot be reached.")
    client.force_login(researcher())
    page = client.get(reverse("run", args=[sitting.uid])).content.decode()
    assert "cannot be reached" in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("run_resume", args=[sitting.uid]))
    sitting.refresh_from_db()
    assert (sitting.state, sitting.error) == (Sitting.State.FINISHED, "")


def test_the_comparison_begins_with_a_sentence_and_ends_at_the_items(client, sat):
    study, _sitting = sat
    client.force_login(researcher())
    page = client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert "people (mean)" in page
    assert "it takes two people and two items to say more" in page
    for item in study.split.items.select_related("dialogue"):
        assert reverse("comparison_item", args=[study.uid, item.dialogue.uid]) in page


def test_the_comparison_of_nobody_teaches(client):
    study = speecheq_study(items=1)
    client.force_login(researcher())
    page = client.get(reverse("comparison", args=[study.uid])).content.decode()
    assert ("Nobody has answered yet" in page, "<img" in page) == (True, False)


def test_the_comparison_filters_by_address(client):
    study = speecheq_study_of("en", "zh")
    sit_through(study, respondent=model_respondent(study))
    client.force_login(researcher())
    address = reverse("comparison", args=[study.uid])
    assert client.get(address).context["result"]["items"] == 2
    assert client.get(address, {"language": "zh"}).context["result"]["items"] == 1
    assert client.get(address, {"language": "xx", "by": "rubbish"}).status_code == 200


def speecheq_study_of(*languages):
    from evaluation.services import study_create

    split = split_of([speecheq_dialogue(language=language) for language in languages])
    return study_create(name="mixed-languages", split=split)


def test_the_comparison_works_for_grades(client):
    study = emosbench_study(items=2)
    sit_through(study, user=annotator())
    sit_through(study, respondent=model_respondent(study), choose=wrong_answer)
    client.force_login(researcher())
    assert client.get(reverse("comparison", args=[study.uid])).status_code == 200
    assert client.get(reverse("comparison_chart", args=[study.uid, "forest"])).status_code == 200


def test_charts_are_svg_and_can_be_saved(client, sat):
    client.force_login(researcher())
    address = addresses(*sat)["leaderboard"]
    response = client.get(address, {"download": "1"})
    assert (response["Content-Type"], response.content[:4]) == ("image/svg+xml", b"<svg")
    assert response["Content-Disposition"].startswith("attachment")


def test_the_csv_has_every_figure(client, sat):
    client.force_login(researcher())
    lines = client.get(addresses(*sat)["csv"]).content.decode().splitlines()
    assert lines[0] == "group,respondent,kind,figure,value,lo,hi,n,reason"
    assert any(line.startswith(",model,model,acc_traj,0.0") for line in lines)


@pytest.mark.parametrize("page", ["studies", "runs"])
def test_lists_are_constant_in_queries(client, page):
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.force_login(researcher())
    counts = []
    for _round in range(2):
        for _more in range(1 if not counts else 3):
            study = speecheq_study(items=1)
            sit_through(study, respondent=model_respondent(study))
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse(page))
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_study_and_a_comparison_are_constant_in_queries(client):
    from django.core.cache import cache
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    client.force_login(researcher())
    study = speecheq_study(items=2)
    counts = []
    for number in (1, 3):
        for extra in range(number):
            sit_through(study, user=annotator())
            sit_through(study, respondent=model_respondent(study, name=f"m{number}{extra}"), choose=wrong_answer)
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            client.get(reverse("study", args=[study.uid]))
            client.get(reverse("comparison", args=[study.uid]))
        counts.append(len(captured))
    assert counts[0] == counts[1]
