"""What happens to a split after the freeze: gates, waivers, release, public page, withdrawals, and what changed."""

from unittest.mock import Mock

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.domain.manifest import manifest_hash
from annotation.exporters import exporters
from annotation.exporters.card import card_text
from annotation.exporters.croissant import _document as croissant_document
from annotation.models import Release, Split, SplitAudit, Waiver, Withdrawal
from annotation.selectors import manifest_entries, manifest_head, pseudonym, split_rounds
from annotation.selectors.gates import split_gates
from annotation.selectors.versions import split_difference
from annotation.services import (
    audit_make,
    audit_request,
    gate_waive,
    split_freeze,
    split_publish,
    split_release,
    split_withdraw,
)
from eqstudio.errors import Conflict, Forbidden, InvalidInput, NotFound
from eqstudio.models import Event
from generation.models import Corpus, Dialogue, Variant
from tests.annotation.factories import judged_round, split_of
from tests.generation.factories import CorpusFactory, emosbench_dialogue, speecheq_dialogue

pytestmark = pytest.mark.django_db
WHY = "Its licence is with the lawyers."


def gates(split):
    return {gate.name: gate.open for gate in split_gates(split=split)}


def waived_all(split, ada):
    for gate in split_gates(split=split):
        if not gate.passes:
            gate_waive(split=split, gate=gate.name, reason=WHY, actor=ada)
    return split


def test_a_fresh_split_has_every_gate_shut_that_nobody_opened():
    assert gates(split_of(items=1)) == {"agreement": False, "audit": False, "licence": False, "consent": True}


def test_gates_open_when_what_they_ask_for_is_there():
    made = judged_round(
        items=1, verdicts=("keep",) * 3, grades=(3, 3, 3), make=emosbench_dialogue, benchmark="emosbench"
    )
    Corpus.objects.update(licence="CC BY 4.0")
    recipe = {"agreement_measure": "percent_agreement", "agreement_at_least": 0.9}
    split = split_freeze(name="good", round=made, recipe=recipe, now=timezone.now())
    audit_make(audit_id=audit_request(split=split).pk, now=timezone.now())

    assert gates(split) == {"agreement": True, "audit": True, "licence": True, "consent": True}
    assert split_release(split=split).public is False


def test_recorded_voices_need_a_word_of_consent():
    corpus = CorpusFactory()
    speecheq_dialogue(corpus=corpus, source="recorded", extras={"consent": "signed 2026-01-01"})
    without = speecheq_dialogue(corpus=corpus, source="recorded")
    split = split_of(items=0, corpus=corpus)

    consent = next(gate for gate in split_gates(split=split) if gate.name == "consent")

    assert not consent.open
    assert without.uid in consent.why


@pytest.mark.parametrize(
    ("extras", "open_"),
    [
        ({"recording": {"consent": "signed"}}, True),
        ({"consent": True}, True),
        ({"consent": "No"}, False),
        ({"consent": False}, False),
        ({"consent": "signed", "recording": {"consent": "withdrawn"}}, False),
        ({"consent": " ", "recording": []}, False),
    ],
)
def test_consent_counts_where_imports_put_it_and_a_no_is_none(extras, open_):
    split = split_of(items=1, make=lambda corpus: speecheq_dialogue(corpus=corpus, source="recorded", extras=extras))

    assert gates(split)["consent"] is open_


def test_licences_come_from_every_corpus_and_recording_of_a_split(client, ada):
    rounds = [judged_round(items=2, corpus=CorpusFactory(licence=licence)) for licence in ("CC-BY-4.0", "")]
    split = split_freeze(name="both", recipe={"rounds": [one.name for one in rounds]}, now=timezone.now())
    first, second = Dialogue.objects.filter(corpus__licence="")
    Dialogue.objects.filter(pk=first.pk).update(extras={"recording": {"licence": "CC0-1.0"}})
    before = gates(split)["licence"]
    Dialogue.objects.filter(pk=second.pk).update(extras={"recording": {"licence": "CC0-1.0"}})

    card = card_text(split, exporters.get("csv")())

    assert (before, gates(split)["licence"]) == (False, True)
    assert "license:\n- cc-by-4.0\n- cc0-1.0\n" in card
    assert "| licence | CC-BY-4.0, CC0-1.0 |" in card
    assert f"| corpus | {', '.join(sorted(one.corpus.name for one in rounds))} |" in card
    assert croissant_document(split, "0" * 64, 1)["license"] == ["CC-BY-4.0", "CC0-1.0"]
    split_publish(split=split_release(split=waived_all(split, ada)).split, public=True)
    assert "CC0-1.0" in client.get(reverse("split_public", args=[split.uid])).content.decode()


def test_what_an_audit_against_another_split_found_is_not_undone_by_one_alone():
    make = {"make": emosbench_dialogue}
    split = split_of(items=1, **make)
    other = split_freeze(name="copies", corpus=split.corpus, now=timezone.now())
    clean = split_of(items=1, **make)
    Variant.objects.filter(turn__dialogue__split_items__split=clean).update(text="Of quite another thing.", clip=None)
    Dialogue.objects.filter(split_items__split=clean).update(scenario={"title": "Elsewhere"})

    stood = []
    for against in (clean, None, other, None):
        audit_make(audit_id=audit_request(split=split, against=against).pk, now=timezone.now())
        stood.append(next(gate for gate in split_gates(split=split) if gate.name == "audit"))

    assert [gate.open for gate in stood] == [False, True, False, False]
    assert "Audit it by itself" in stood[0].why
    assert stood[2].why == stood[3].why
    assert "copies-v1" in stood[3].why
    told = {audit["against"]: audit["passed"] for audit in manifest_head(split=split)["audits_against"]}
    assert told == {"copies-v1": False, str(clean): True}


def test_an_audit_that_could_not_hear_everything_shuts_the_gate(monkeypatch):
    split = split_of(items=1, make=emosbench_dialogue)
    monkeypatch.setattr("annotation.services.audits.blob_read", Mock(side_effect=FileNotFoundError))

    audit_make(audit_id=audit_request(split=split).pk, now=timezone.now())

    gate = next(gate for gate in split_gates(split=split) if gate.name == "audit")
    assert not gate.open
    assert "recordings that could not be read" in gate.why
    assert manifest_head(split=split)["audit"]["passed"] is False


def test_a_shut_gate_stands_in_the_way_until_an_admin_waives_it_in_writing(ada, rita):
    split = split_of(items=1)

    with pytest.raises(Conflict, match="licence"):
        split_release(split=split, actor=rita)
    with pytest.raises(Forbidden):
        gate_waive(split=split, gate="licence", reason=WHY, actor=rita)
    with pytest.raises(InvalidInput) as raised:
        gate_waive(split=split, gate="licence", reason="  no ", actor=ada)
    assert raised.value.field == "reason"
    with pytest.raises(InvalidInput, match="Known: agreement"):
        gate_waive(split=split, gate="door", reason=WHY, actor=ada)
    with pytest.raises(Conflict):
        gate_waive(split=split, gate="consent", reason=WHY, actor=ada)
    release = split_release(split=waived_all(split, ada), actor=rita)

    assert {gate["gate"]: gate["waived"] for gate in release.gates}["licence"] == WHY
    assert Waiver.objects.count() == 3
    assert Event.objects.filter(verb="waived gate", actor=ada).count() == 3
    assert Event.objects.get(verb="released split").actor == rita
    with pytest.raises(Conflict, match="already"):
        split_release(split=split, actor=rita)


def test_a_waiver_holds_for_what_was_found_when_it_was_written(ada):
    split = split_of(items=1)

    def audited(*shut_by):
        SplitAudit.objects.create(split=split, state="done", report={"summary": {"shut_by": list(shut_by)}})
        return next(gate for gate in split_gates(split=split) if gate.name == "audit")

    assert not audited("shortcut: longer", "names").passes
    gate_waive(split=split, gate="audit", reason=WHY, actor=ada)
    with pytest.raises(Conflict):
        gate_waive(split=split, gate="audit", reason=WHY, actor=ada)

    assert audited("shortcut: longer").waiver is not None
    assert audited("shortcut: longer", "clips").waiver is None
    gate_waive(split=split, gate="audit", reason=WHY, actor=ada)
    assert audited("clips").passes
    assert Waiver.objects.count() == 2


def test_a_page_is_public_only_while_it_is_opened(client, ada):
    split = split_of(items=1)
    address = reverse("split_public", args=[split.uid])
    with pytest.raises(Conflict, match="Release it first"):
        split_publish(split=split, public=True)
    statuses = [client.get(address).status_code]
    split_release(split=waived_all(split, ada))
    statuses.append(client.get(address).status_code)
    split_publish(split=split, public=True)
    shown = client.get(address)
    split_publish(split=split, public=False)
    statuses += [shown.status_code, client.get(address).status_code]

    assert statuses == [404, 404, 200, 404]
    html = shown.content.decode()
    assert split.manifest_hash in html
    assert split.canary in html
    assert split.items.get().dialogue.uid not in html
    assert Variant.objects.first().text not in html
    assert Release.objects.count() == 3


def test_a_withdrawn_item_makes_a_new_version_and_stays_out_of_later_ones(rita):
    first = split_of(items=3)
    gone = first.items.all()[1].dialogue

    second = split_withdraw(split=first, items=[gone.uid], reason="The speaker asked.", actor=rita, now=timezone.now())
    third = split_freeze(name=first.name, corpus=first.corpus, now=timezone.now())

    assert (second.name, second.version, second.item_count) == (first.name, 2, 2)
    assert first.items.count() == 3
    assert [item.position for item in second.items.all()] == [0, 1]
    assert gone.pk not in second.items.values_list("dialogue_id", flat=True)
    assert second.manifest["withdrawn"][0]["uid"] == gone.uid
    assert third.item_count == 2
    assert third.manifest_hash == second.manifest_hash != first.manifest_hash
    whole = {**manifest_head(split=second), "items": list(manifest_entries(split=second))}
    assert manifest_hash(whole) == second.manifest_hash
    assert Withdrawal.objects.get().withdrawn_by == rita
    assert Event.objects.get(verb="withdrew").detail["items"] == [gone.uid]


@pytest.mark.parametrize(
    ("items", "reason", "error"),
    [
        (["nonsense", "\ud800"], WHY, NotFound),
        ([], WHY, NotFound),
        (None, "no", InvalidInput),
        (None, WHY, InvalidInput),
    ],
)
def test_a_withdrawal_that_cannot_be_changes_nothing(items, reason, error):
    split = split_of(items=1)
    wanted = [split.items.get().dialogue.uid] if items is None else items

    with pytest.raises(error):
        split_withdraw(split=split, items=wanted, reason=reason, now=timezone.now())

    assert (Split.objects.count(), Withdrawal.objects.count()) == (1, 0)


def test_only_the_latest_version_gives_items_back():
    first = split_of(items=2)
    split_freeze(name=first.name, corpus=first.corpus, now=timezone.now())

    with pytest.raises(Conflict, match="later version"):
        split_withdraw(split=first, items=[first.items.first().dialogue.uid], reason=WHY, now=timezone.now())


def test_a_difference_tells_what_was_added_removed_moved_and_changed():
    first = split_of(items=3)
    gone, changed, _same = (item.dialogue for item in first.items.all())
    Variant.objects.filter(turn__dialogue=changed, label="high").update(text="Another word.")
    Dialogue.objects.filter(pk=gone.pk).update(language="zh")
    new = speecheq_dialogue(corpus=first.corpus)
    second = split_freeze(name=first.name, corpus=first.corpus, recipe={"language": "en"}, now=timezone.now())

    found = split_difference(old=first, new=second)

    assert [row[0] for row in found.added] == [new.uid]
    assert [row[0] for row in found.removed] == [gone.uid]
    assert [row[0] for row in found.changed] == [changed.uid]
    assert (found.moved, found.same) == ([], 1)
    assert found.recipe == [("language", "", "en")]


def test_pseudonyms_are_the_same_in_a_split_and_differ_between_splits():
    one, other = split_of(items=1), split_of(items=1)

    assert pseudonym(split=one, person=7) == pseudonym(split=one, person="7")
    assert pseudonym(split=one, person=7) != pseudonym(split=one, person=8)
    assert pseudonym(split=one, person=7) != pseudonym(split=other, person=7)
    assert one.salt not in str(manifest_head(split=one))


def test_rows_and_rounds_of_a_split_are_read_in_order():
    made = judged_round(items=3)
    split = split_freeze(name="exam", recipe={"rounds": [made.name]}, now=timezone.now())

    rows = list(split.items.order_by("position"))
    assert [row.position for row in rows] == [0, 1, 2]
    assert [row.entry for row in rows] == list(manifest_entries(split=split))
    assert split_rounds(split=split) == [made]


def test_what_goes_before_the_sources_of_a_recipe_stands_in_the_manifest_in_their_place():
    one, other = judged_round(items=2), judged_round(items=1)
    recipe = {"rounds": [one.name]}

    by_round = split_freeze(name="rounds", round=other, recipe=recipe, now=timezone.now())
    by_corpus = split_freeze(name="corpus", corpus=one.corpus, recipe=recipe, now=timezone.now())
    back = split_freeze(name="back", round=one, recipe={"corpus": other.corpus.name}, now=timezone.now())

    named = [
        (split.manifest["recipe"]["rounds"], split.manifest["recipe"]["corpus"], split_rounds(split=split))
        for split in (by_round, by_corpus, back)
    ]
    assert named == [([other.name], "", [other]), ([], one.corpus.name, []), ([one.name], "", [one])]
    assert back.manifest_hash == split_freeze(name="again", recipe=recipe, now=timezone.now()).manifest_hash
    Split.objects.filter(pk=by_corpus.pk).update(recipe=by_corpus.recipe | recipe)
    assert split_rounds(split=Split.objects.get(pk=by_corpus.pk)) == []


# Pages


@pytest.fixture
def split():
    return split_of(items=2, name="arena")


def test_an_audit_is_asked_for_on_the_page_and_its_report_read(client, rita, split, django_capture_on_commit_callbacks):
    client.force_login(rita)

    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("split_audit_new", args=[split.uid]), {"against": ""})

    audit = SplitAudit.objects.get()
    part = client.get(reverse("split_audit", args=[split.uid])).content.decode()
    report = client.get(reverse("audit", args=[audit.uid])).content.decode()
    assert (audit.state, audit.created_by) == (SplitAudit.State.DONE, rita)
    assert reverse("audit", args=[audit.uid]) in part
    assert "always the quieter one" in report
    assert "Dialogues with the same words" in report


def test_an_audit_against_another_split_is_asked_for_on_the_page(
    client, rita, split, django_capture_on_commit_callbacks
):
    other = split_freeze(name="other", corpus=split.corpus, now=timezone.now())
    client.force_login(rita)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("split_audit_new", args=[split.uid]), {"against": other.uid})

    report = client.get(reverse("audit", args=[SplitAudit.objects.get().uid])).content.decode()

    assert "Shared with other-v1" in report
    assert client.post(reverse("split_audit_new", args=[split.uid]), {"against": "nonsense"}).status_code == 400


def test_the_page_waives_releases_publishes_and_withdraws(client, ada, split):
    client.force_login(ada)
    for gate in ("agreement", "audit", "licence"):
        client.post(reverse("split_waive", args=[split.uid]), {"gate": gate, "reason": WHY})
    client.post(reverse("split_release", args=[split.uid]))
    client.post(reverse("split_publish", args=[split.uid]), {"public": "1"})
    page = client.get(reverse("split", args=[split.uid])).content.decode()
    gone = split.items.first().dialogue.uid
    answer = client.post(reverse("split_withdraw", args=[split.uid]), {"items": gone, "reason": WHY})

    new = Split.objects.get(version=2)
    assert reverse("split_public", args=[split.uid]) in page
    assert WHY in page
    assert answer.url == reverse("split", args=[new.uid])
    changes = client.get(reverse("split_diff", args=[new.uid]))
    assert [count for _label, count, _rows in changes.context["parts"]] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("name", "body", "told"),
    [
        ("split_waive", {"gate": "licence", "reason": ""}, "Reason:"),
        ("split_waive", {"gate": "door", "reason": WHY}, "Gate:"),
        ("split_release", {}, "cannot be released yet"),
        ("split_publish", {"public": "1"}, "Release it first"),
        ("split_withdraw", {"items": "nonsense", "reason": WHY}, "no items of arena-v1"),
        ("split_withdraw", {"items": "", "reason": WHY}, "Items:"),
    ],
)
def test_what_cannot_be_done_is_said_on_the_page(client, ada, split, name, body, told):  # noqa: PLR0917
    client.force_login(ada)

    page = client.post(reverse(name, args=[split.uid]), body, follow=True).content.decode()

    assert told in page
    assert (Split.objects.count(), Waiver.objects.count(), Release.objects.count()) == (1, 0, 0)


def test_a_researcher_may_not_waive(client, rita, split):
    client.force_login(rita)

    assert client.post(reverse("split_waive", args=[split.uid]), {"gate": "licence", "reason": WHY}).status_code == 403


def test_the_recipe_of_a_split_is_a_file_that_freezes_the_same_again(client, rita, split):
    client.force_login(rita)

    answer = client.get(reverse("split_recipe", args=[split.uid]))

    assert answer.headers["Content-Disposition"] == 'attachment; filename="arena-v1.toml"'
    assert answer.content.decode() == f'corpus = "{split.corpus.name}"\n'
    form = client.get(reverse("split_new"), {"split": split.uid}).content.decode()
    assert 'value="arena"' in form
