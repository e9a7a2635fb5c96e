"""The protocol's pages, the pre-registration, and a protocol from a file."""

import hashlib
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import translation

from evaluation.models import Part, Study, StudyItem
from evaluation.selectors import protocol_of
from evaluation.services import protocol_lock, protocol_save, registration_build
from evaluation.words_protocol import FIELDS, protocol_told
from tests.eqstudio.factories import researcher
from tests.evaluation.factories import echomind_study, model_respondent, sit_through, speecheq_study, split_of
from tests.evaluation.people import specials
from tests.generation.factories import speecheq_dialogue

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client):
    client.force_login(researcher())
    return client


def filled(client, study):
    """Every value that the form shows, as a browser would send it."""
    form = client.get(reverse("protocol_edit", args=[study.uid])).context["form"]
    sent = {}
    for name in form.fields:
        value = form[name].value()
        if value is not None and value is not False and value != "":
            sent[name] = "on" if value is True else value
    return sent


def save(client, study, **changes):
    sent = {**filled(client, study), **{name.replace("__", "."): value for name, value in changes.items()}}
    return client.post(reverse("protocol_edit", args=[study.uid]), {k: v for k, v in sent.items() if v is not None})


@pytest.mark.parametrize("make", [speecheq_study, echomind_study])
def test_a_form_sent_as_it_is_saves_the_default(signed_in, make):
    study = make(items=1)
    before, hash_before = protocol_of(study), study.instructions_hash
    assert save(signed_in, study).url == reverse("study_protocol", args=[study.uid])
    study.refresh_from_db()
    assert (protocol_of(study), study.instructions_hash) == (before, hash_before)


def test_a_form_fills_every_block_and_shows_it_again(signed_in):
    study = speecheq_study(items=4)
    save(
        signed_in,
        study,
        sampling__plan="stratified",
        sampling__size=3,
        recruitment__population="Adults",
        recruitment__languages=["en"],
        recruitment__pay="7.5",
        recruitment__consent__text__zh="同意",
        execution__gate_share="80",
        execution__instructions__en="Listen well.",
        analysis__hypotheses="People are ahead.\n\nBy ten points.",
        analysis__smallest_difference="10",
        analysis__baselines=["mean", "best"],
        rule__too_fast="on",
        rule__too_fast__threshold="0.2",
    )
    study.refresh_from_db()
    found = protocol_of(study)
    assert (found.sampling.plan, found.sampling.size) == ("stratified", 3)
    assert (found.recruitment.languages, found.recruitment.pay) == (("en",), 7.5)
    assert (found.recruitment.consent.text, found.execution.gate_share) == ({"zh": "同意"}, 0.8)
    assert (study.instructions["en"], found.execution.instructions) == ("Listen well.", {"en": "Listen well."})
    assert found.analysis.hypotheses == ("People are ahead.", "By ten points.")
    assert (found.analysis.smallest_difference, found.analysis.baselines) == (0.1, ("mean", "best"))
    assert [(one.rule, one.threshold) for one in found.analysis.exclusions] == [("too_fast", 0.2)]
    assert save(signed_in, study).status_code == 302
    assert study.protocols.count() == 1
    page = signed_in.get(reverse("study_protocol", args=[study.uid])).content.decode()
    assert all(words in page for words in ("Adults", "同意", "Listen well.", "By ten points.", "10 %", "7.5"))


def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost(signed_in):
    study = speecheq_study(items=2)
    response = save(signed_in, study, sampling__plan="random", sampling__size=9, recruitment__population="Kept words")
    form = response.context["form"]
    assert (response.status_code, list(form.errors), study.protocols.count()) == (200, ["sampling.size"], 0)
    assert "Kept words" in response.content.decode()


def test_instructions_cannot_change_once_somebody_has_answered(signed_in):
    study = speecheq_study(items=1)
    sit_through(study, respondent=model_respondent(study))
    response = save(signed_in, study, execution__instructions__en="Guess.")
    assert "answered already" in response.content.decode()
    assert save(signed_in, study, recruitment__people=4).status_code == 302


def test_changes_are_told_field_by_field_in_words(signed_in):
    study = speecheq_study(items=2)
    protocol_save(study=study, content={"execution": {"headphones": "off"}})
    protocol_save(study=study, content={"execution": {"headphones": "required", "practice": 2}})
    response = signed_in.get(reverse("protocol_changes", args=[study.uid]))
    assert response.context["rows"] == [
        ("Headphones", "not asked for", "checked, and required"),
        ("Items for practice, with feedback", "0", "2"),
    ]
    assert (
        "Headphones"
        not in signed_in.get(reverse("protocol_changes", args=[study.uid]), {"from": 1, "to": 1}).content.decode()
    )


def test_a_lock_from_the_page_tells_what_stands_in_its_way(signed_in):
    study = speecheq_study(items=1)
    protocol_save(study=study, content={"execution": {"pilot": True}})
    page = signed_in.post(reverse("protocol_lock", args=[study.uid]), follow=True).content.decode()
    assert "still says pilot" in page
    protocol_save(study=study, content={})
    page = signed_in.post(reverse("protocol_lock", args=[study.uid]), follow=True).content.decode()
    assert ("is locked" in page, reverse("protocol_edit", args=[study.uid]) in page) == (True, False)
    assert signed_in.get(reverse("protocol_edit", args=[study.uid])).status_code == 409


def test_the_hash_of_a_registration_can_be_worked_out_from_its_file(signed_in):
    study = speecheq_study(items=3)
    protocol_save(
        study=study, content={"sampling": {"plan": "random", "size": 2}, "recruitment": {"population": "成人"}}
    )
    protocol_lock(study=study)
    file = json.loads(signed_in.get(reverse("protocol_file", args=[study.uid, "json"])).content)
    canonical = json.dumps(file["registration"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert hashlib.sha256(canonical.encode()).hexdigest() == file["hash"]
    told = file["registration"]
    uids = sorted(StudyItem.objects.filter(study=study).values_list("dialogue__uid", flat=True))
    assert told["items"] == {
        "plan": "random",
        "count": 2,
        "hash": hashlib.sha256("\n".join(uids).encode()).hexdigest(),
        "strata": [{"name": "", "size": 3, "drawn": 2}],
    }
    assert (told["state"], set(told["instructions"])) == ("locked", {"en", "zh"})


def test_a_registration_stays_what_it_was_at_the_lock(monkeypatch):
    study = speecheq_study(items=1)
    protocol_lock(study=study)
    before = registration_build(study=study)["hash"]
    monkeypatch.setattr("evaluation.services.registration.git_revision", lambda: "later")
    sit_through(study, respondent=model_respondent(study))
    with translation.override("zh-hans"):
        assert registration_build(study=Study.objects.get(pk=study.pk))["hash"] == before


def test_special_items_are_in_the_registration_in_their_order(signed_in):
    study = speecheq_study(items=1)
    practice, attention = specials(study, Part.PRACTICE, 2), specials(study, Part.ATTENTION, 1)
    draft = registration_build(study=study)
    protocol_lock(study=study)

    file = json.loads(signed_in.get(reverse("protocol_file", args=[study.uid, "json"])).content)

    named = {"practice": [one.uid for one in practice], "attention": [attention[0].uid]}
    assert draft["registration"]["specials"] == file["registration"]["specials"] == named
    canonical = json.dumps(file["registration"], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert hashlib.sha256(canonical.encode()).hexdigest() == file["hash"]
    text = signed_in.get(reverse("protocol_file", args=[study.uid, "md"])).content.decode()
    assert f"- Attention items: `{attention[0].uid}`" in text


def test_the_hash_hangs_on_the_special_items():
    study = speecheq_study(items=1)
    hashes = {registration_build(study=study)["hash"]}
    for _ in range(2):
        specials(study, Part.PRACTICE, 1)
        hashes.add(registration_build(study=study)["hash"])

    assert len(hashes) == 3


@pytest.mark.parametrize(("asked", "words"), [("practice", "practice"), ("attention", "attention item")])
def test_a_protocol_whose_special_items_are_not_chosen_is_not_locked(signed_in, asked, words):
    study = speecheq_study(items=1)
    protocol_save(study=study, content={"execution": {asked: 2}})
    specials(study, Part(asked), 1)
    address = reverse("protocol_lock", args=[study.uid])

    page = signed_in.post(address, follow=True).content.decode()

    assert f"The protocol asks for 2 of {words}, and 1 are chosen." in page
    assert Study.objects.get(pk=study.pk).locked_at is None
    specials(study, Part(asked), 2)
    assert "is locked" in signed_in.post(address, follow=True).content.decode()


def test_a_registration_as_a_document_holds_the_same_block(signed_in):
    study = speecheq_study(items=1)
    text = signed_in.get(reverse("protocol_file", args=[study.uid, "md"])).content.decode()
    block = json.loads(text.rsplit("```json", 1)[1].rsplit("```", 1)[0])
    assert block["hash"] == registration_build(study=study)["hash"]
    assert ("not reported" in text, study.instructions["zh"] in text) == (True, True)


def test_every_field_of_the_protocol_has_a_name():
    def leaves(model, path=""):
        for name, field in model.model_fields.items():
            inner = field.annotation
            if hasattr(inner, "model_fields"):
                yield from leaves(inner, f"{path}{name}.")
            else:
                yield path + name

    from evaluation.domain.protocol import Protocol

    assert sorted(leaves(Protocol)) == sorted(FIELDS)
    assert len([row for _name, _title, rows in protocol_told(Protocol()) for row in rows]) == len(FIELDS)


def run(tmp_path, text, name="p.toml", **options):
    split = split_of([speecheq_dialogue() for _ in range(3)])
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    out = io.StringIO()
    call_command("study_create", "from-file", split=str(split), protocol=file, json=True, stdout=out, **options)
    return json.loads(out.getvalue())


def test_a_study_is_made_with_a_protocol_from_a_file(tmp_path):
    made = run(tmp_path, '[sampling]\nplan = "random"\nsize = 2\n[recruitment]\npay = 9\n', lock=True)
    study = Study.objects.get()
    assert (made["items"], made["protocol_hash"], study.locked_at is None) == (2, study.protocols.get().hash, False)
    assert protocol_of(study).recruitment.pay == 9


def test_a_study_with_practice_and_attention_items_is_made_and_locked_at_once(tmp_path):
    text = "[execution]\npractice = 1\nattention = 1\n"
    with pytest.raises(SystemExit):
        run(tmp_path, text, lock=True)
    assert not Study.objects.exists()
    practice, attention = speecheq_dialogue(), speecheq_dialogue()
    made = run(tmp_path, text, lock=True, practice=[practice.uid], attention=[attention.uid])
    study = Study.objects.get()
    assert made["locked_at"] is not None
    told = registration_build(study=study)["registration"]["specials"]
    assert told == {"practice": [practice.uid], "attention": [attention.uid]}


def test_json_will_do_too(tmp_path):
    run(tmp_path, '{"execution": {"practice": 3}}', name="p.json")
    assert protocol_of(Study.objects.get()).execution.practice == 3


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ('[sampling]\nplan = "some"\n', "p.toml", "sampling.plan"),
        ("[sampling]\nsize = 2.5\n", "p.toml", "sampling.size"),
        ("[samplings]\nsize = 2\n", "p.toml", "samplings"),
        ("[recruitment.consent]\nversion = 2026-01-31\n", "p.toml", "recruitment.consent.version: should be text"),
        ("[analysis]\nhypotheses = ['a', 07:32:00]\n", "p.toml", "analysis.hypotheses.1: should be text"),
        ("[sampling\n", "p.toml", "not TOML"),
        ("{", "p.json", "not JSON"),
        ("[1]", "p.json", "table of blocks"),
        ("[" * 100_000, "p.json", "not JSON"),
    ],
)
def test_a_protocol_file_that_is_wrong_names_file_and_field_and_makes_no_study(tmp_path, text, name, words):
    split = split_of([speecheq_dialogue()])
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CommandError) as refused:
        call_command("study_create", "bad", split=str(split), protocol=file)
    assert (words in str(refused.value), name in str(refused.value), Study.objects.exists()) == (True, True, False)


@pytest.mark.parametrize("name", ["", "two words", "../up", "n" * 81])
def test_a_study_is_not_made_under_a_name_that_will_not_do_in_addresses(name):
    split = split_of([speecheq_dialogue()])

    with pytest.raises(CommandError, match="no name for a study"):
        call_command("study_create", name, split=str(split))

    assert not Study.objects.exists()
