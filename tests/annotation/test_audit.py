"""Audits: every planted copy is found, clean pairs are left alone, and the real release shows its faults."""

import io
import json
from random import Random

import numpy as np
import pytest
import soundfile
import soxr
from django.core.management import call_command
from django.utils import timezone

from annotation.domain.leakage import Edge, clusters, skeleton, worst_edges
from annotation.domain.leakage_audio import RATE, alike_pairs, print_of
from annotation.domain.leakage_text import near_pairs
from annotation.models import ClipPrint, SplitAudit
from annotation.selectors import split_audit
from annotation.services import audit_make, audit_request, prints_ensure, split_freeze
from eqstudio.blobs import blob_put
from eqstudio.errors import InvalidInput
from evaluation.services import sitting_open, study_create
from generation.models import Clip, Dialogue, QcReport, Turn, Variant
from tests.annotation.factories import judged_round, split_of
from tests.eqstudio.factories import annotator
from tests.generation.factories import CorpusFactory, speecheq_dialogue

WORDS = [f"{a}{b}{c}" for a in "btkmsl" for b in ("an", "or", "ee", "ai") for c in ("", "der", "tion", "ly")]
SIGNS = "今明昨天早晚朋友家人工作学校老师电话问题时间事情心难过高兴生气害怕担希望知道觉得喜欢讨厌忘记帮忙谢抱歉"


def english(rng, count=60):
    return [rng.choice(WORDS) for _ in range(count)]


def chinese(rng, count=60):
    return [rng.choice(SIGNS) + rng.choice(SIGNS) for _ in range(count)]


def one_in_twelve(words, rng, pool):
    changed = list(words)
    for start in range(0, len(words) - 11, 12):
        changed[start + rng.randrange(12)] = rng.choice(pool)
    return changed


@pytest.mark.parametrize(
    ("make", "between", "pool"), [(english, " ", WORDS), (chinese, "", [a + b for a in SIGNS for b in "的了吗"])]
)
def test_near_copies_are_found_and_others_are_not(make, between, pool):
    rng = Random(3)
    texts = [make(rng) for _ in range(400)]
    copies = [one_in_twelve(texts[n], rng, pool) for n in range(100)]
    others = [make(rng) for _ in range(300)]

    found = list(near_pairs([between.join(one) for one in [*copies, *others]], [between.join(one) for one in texts]))

    assert {(near.here, near.there) for near in found} == {(n, n) for n in range(100)}
    assert all(0.85 <= near.score < 1 for near in found)


@pytest.mark.parametrize("turned", [False, True], ids=["short list first", "long list first"])
def test_near_copies_name_their_own_list(turned):
    rng = Random(4)
    long = [" ".join(english(rng)) for _ in range(50)]
    short = [f"{long[7]} indeed"]

    found = list(near_pairs(long, short) if turned else near_pairs(short, long))

    assert [(near.here, near.there) for near in found] == [(7, 0) if turned else (0, 7)]


def test_near_copies_within_one_list_come_once_and_width_and_case_make_none():
    text = "Please tell me what happened at the office today, Tom."

    found = list(
        near_pairs(
            [text, "ＰＬＥＡＳＥ tell me what happened at the office today Tom!", "Something else entirely, my friend."]
        )
    )

    assert [(near.here, near.there, near.score) for near in found] == [(0, 1, 1.0)]


def test_broken_and_empty_texts_are_compared_without_harm():
    assert list(near_pairs(["", "\ud800" * 30, "short"], ["", "\ud800" * 30])) == []
    assert [near.score for near in near_pairs(["broken \ud800 but long enough"], ["broken but long enough"])] == [1.0]
    assert list(near_pairs([], ["text that is long enough"])) == []


def test_skeletons_are_what_a_template_leaves():
    assert skeleton("Maya lost 3 keys at Paddington.", ["Maya"]) == skeleton("Tom lost 12 keys at Euston.", ["Tom"])
    assert skeleton("小美今天买了三个苹果", ["小美"]) == skeleton("小刚今天买了八个苹果", ["小刚"])
    assert skeleton("Maya lost her keys.") != skeleton("Maya found her keys.")


def test_clusters_are_chains_of_copies_and_the_worst_edge_counts():
    edges = [
        Edge("a", "b", "near", 0.9),
        Edge("b", "c", "text"),
        Edge("c", "d", "topic"),
        Edge("e", "f", "recording", 0.95),
    ]

    assert [cluster.items for cluster in clusters(edges)] == [["a", "b", "c"], ["e", "f"]]
    worst = worst_edges(edges)
    assert {item: edge.kind for item, edge in worst.items()} == {
        "a": "near", "b": "text", "c": "text", "d": "topic", "e": "recording", "f": "recording",
    }  # fmt: skip


# Recordings


def voiced(seed, seconds):
    """A signal with the gait of speech: syllables of changing pitch and colour."""
    rng = np.random.default_rng(seed)
    parts = []
    while sum(len(part) for part in parts) < seconds * RATE:
        length = int(rng.uniform(0.08, 0.3) * RATE)
        time = np.arange(length) / RATE
        pitch = rng.uniform(100, 260) * (1 + rng.uniform(-0.3, 0.3) * time)
        tone = sum(rng.uniform(0, 1) * np.sin(2 * np.pi * n * pitch * time) for n in range(1, 12))
        parts += [0.1 * tone * np.hanning(length), np.zeros(int(rng.uniform(0.0, 0.12) * RATE))]
    return np.concatenate(parts)[: int(seconds * RATE)].astype(np.float32)


def coded(samples, rate=RATE, kind="WAV", subtype=None):
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, format=kind, subtype=subtype)
    return buffer.getvalue()


def decoded(data):
    samples, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    return soxr.resample(samples, rate, RATE)


CHANGES = {
    "mp3": lambda x: decoded(coded(soxr.resample(x, RATE, 16_000), 16_000, "MP3")),
    "ogg": lambda x: decoded(coded(soxr.resample(x, RATE, 16_000), 16_000, "OGG", "VORBIS")),
    "louder": lambda x: x * 2.5,
    "other rate": lambda x: decoded(coded(soxr.resample(x, RATE, 22_050), 22_050)),
    "padded": lambda x: np.concatenate([np.zeros(RATE), x, np.zeros(RATE // 2)]).astype(np.float32),
    "noisy": lambda x: x + np.random.default_rng(1).normal(0, 0.05 * x.std(), len(x)).astype(np.float32),
}
CUTS = {
    "start": lambda x: x[int(0.37 * RATE) :],
    "end": lambda x: x[: int(0.7 * len(x))],
    "both": lambda x: x[len(x) // 4 : -len(x) // 4],
}


@pytest.mark.parametrize("seconds", [2.0, 6.0])
def test_re_encoded_recordings_are_found_and_others_are_not(seconds):
    originals = {str(n): print_of(voiced(n, seconds)) for n in range(12)}
    copies = {
        f"{n}/{name}": print_of(np.asarray(change(voiced(n, seconds)), dtype=np.float32))
        for n in range(12)
        for name, change in CHANGES.items()
    }

    found = {(alike.here.partition("/")[0], alike.there) for alike in alike_pairs(copies, originals)}
    hits = {alike.here for alike in alike_pairs(copies, originals)}

    assert found == {(str(n), str(n)) for n in range(12)}
    assert hits == set(copies)
    assert list(alike_pairs(originals)) == []


def test_trimmed_long_recordings_are_found():
    originals = {str(n): print_of(voiced(n, 7.0)) for n in range(10)}
    cut = {f"{n}/{name}": print_of(change(voiced(n, 7.0))) for n in range(10) for name, change in CUTS.items()}

    found = {(alike.here, alike.there) for alike in alike_pairs(cut, originals)}

    assert found == {(name, name.partition("/")[0]) for name in cut}


def test_silence_has_no_print():
    assert print_of(np.zeros(RATE, dtype=np.float32)).vector() is None
    assert (
        list(
            alike_pairs({"a": print_of(np.zeros(9, dtype=np.float32)), "b": print_of(np.zeros(RATE, dtype=np.float32))})
        )
        == []
    )


# Whole audits


def speech_clip(samples):
    data = coded(samples)
    measures = {
        "media_type": "audio/wav",
        "size": len(data),
        "frames": len(samples),
        "sample_rate": RATE,
        "channels": 1,
    }
    return Clip.objects.create(sha256=blob_put(data), duration=len(samples) / RATE, peak=-6.0, **measures)


def worded(corpus, words, *, seed, clip=True, **fields):
    """A dialogue of one critical line with two versions."""
    dialogue = Dialogue.objects.create(
        corpus=corpus, benchmark="speecheq", category="interpersonal_empathy", language="en", state="ready", **fields
    )
    turn = Turn.objects.create(
        dialogue=dialogue, position=1, role="critical", speaker="speaker1", speaker_name=f"N{seed}"
    )
    for offset, label in enumerate(("high", "low")):
        sound = speech_clip(voiced(1_000 + 2 * seed + offset, 4.5)) if clip else None
        Variant.objects.create(turn=turn, label=label, text=words, clip=sound)
    return dialogue


@pytest.mark.django_db
def test_an_audit_finds_a_planted_leak_of_each_kind_and_nothing_else():
    corpus, rng = CorpusFactory(), Random(9)
    plain = [" ".join(english(rng, 40)) for _ in range(6)]
    clean = [worded(corpus, text, seed=n, title=f"Title {n}") for n, text in enumerate(plain)]
    near = worded(corpus, " ".join(one_in_twelve(plain[0].split(), rng, WORDS)), seed=10, title="Ten")
    same = worded(corpus, plain[1].upper() + "!", seed=11, title="Eleven")
    titled = worded(corpus, " ".join(english(rng, 40)), seed=12, title="title 2")
    sounding = worded(corpus, " ".join(english(rng, 40)), seed=13, title="Thirteen")
    original = Variant.objects.get(turn__dialogue=clean[3], label="high").clip
    cut = speech_clip(voiced(1_006, 4.5)[3_000:] * np.float32(0.5))
    Variant.objects.filter(turn__dialogue=sounding, label="high").update(clip=cut)
    shared = worded(corpus, " ".join(english(rng, 40)), seed=14, title="Fourteen")
    Variant.objects.filter(turn__dialogue=shared, label="low").update(
        clip=Variant.objects.get(turn__dialogue=clean[4], label="low").clip
    )
    split = split_of(items=0, corpus=corpus)
    assert prints_ensure(split=split) == {}

    report = split_audit(split=split)

    found = {check["name"]: check["groups"] for check in report["checks"] if not check["passed"]}
    assert {name: sorted(groups[0]["items"]) for name, groups in found.items()} == {
        "near": sorted([clean[0].uid, near.uid]),
        "texts": sorted([clean[1].uid, same.uid]),
        "titles": sorted([clean[2].uid, titled.uid]),
        "recordings": sorted([clean[3].uid, sounding.uid]),
        "clips": sorted([clean[4].uid, shared.uid]),
    }
    assert all(len(groups) == 1 for groups in found.values())
    assert {frozenset(cluster["items"]) for cluster in report["clusters"]} == {
        frozenset({clean[0].uid, near.uid}),
        frozenset({clean[1].uid, same.uid}),
        frozenset({clean[3].uid, sounding.uid}),
        frozenset({clean[4].uid, shared.uid}),
    }
    assert (
        report["worst"][sounding.uid]["evidence"].endswith(cut.sha256[:12])
        or original.sha256[:12] in report["worst"][sounding.uid]["evidence"]
    )
    assert clean[5].uid not in report["worst"]
    assert report["summary"]["shut_by"][:4] == ["clips", "texts", "recordings", "near"]


@pytest.mark.django_db
def test_sides_that_share_a_group_are_told():
    corpus, rng = CorpusFactory(), Random(1)
    for n in range(30):
        fields = {"template_key": f"t{n % 3}", "topic_key": f"topic-{n % 2}", "title": f"Title {n}"}
        worded(corpus, " ".join(english(rng, 40)), seed=n, clip=False, **fields)
    loose = split_of(items=0, corpus=corpus, recipe={"train": 0.5})
    firm = split_of(items=0, corpus=corpus, recipe={"train": 0.5, "indivisible": ["template"]})

    def shared(split):
        return {check["name"]: check["found"] for check in split_audit(split=split, audio=False)["checks"]}

    assert (shared(loose)["templates"], shared(loose)["topics"]) == (3, 2)
    assert shared(firm)["templates"] == 0


@pytest.mark.django_db
def test_an_audit_asks_the_text_judge_where_one_ran():
    split = split_of(items=3)
    for item, right in zip(split.items.all(), (2, 2, 1), strict=True):
        QcReport.objects.create(
            dialogue=item.dialogue, run=1, check_name="text gives away", passed=False, detail={"right": 0, "asked": 2}
        )
        QcReport.objects.create(
            dialogue=item.dialogue,
            run=2,
            check_name="text gives away",
            passed=False,
            detail={"right": right, "asked": 2},
        )

    report = split_audit(split=split)

    assert (report["text_only"]["accuracy"]["value"], report["text_only"]["accuracy"]["n"]) == (pytest.approx(5 / 6), 6)
    assert report["text_only"]["warns"]
    assert "text only" in report["summary"]["shut_by"]


@pytest.mark.django_db
def test_judges_who_sat_the_exam_are_counted_and_labels_have_a_ceiling():
    people = [annotator() for _ in range(3)]
    split = split_freeze(name="exam", round=judged_round(items=2, people=people), now=timezone.now())
    sitting_open(study=study_create(name="study", split=split), user=people[1])

    report = split_audit(split=split)

    assert report["judges_who_answered"] == {"people": 1, "uids": [people[1].uid]}
    # Two of three gave 3: each of them meets a tie (a half), the third is alone.
    assert report["ceiling"]["grade"]["value"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert report["agreement"]["question"] == "grade"


@pytest.mark.django_db
def test_a_recording_that_is_gone_or_broken_is_named_and_the_audit_goes_on():
    split = split_of(items=1)
    dialogue = split.items.get().dialogue
    broken = Clip.objects.create(
        sha256=blob_put(b"no sound at all"), media_type="audio/wav", size=15, frames=1, sample_rate=8_000, channels=1,
        duration=1.0, peak=-3.0,
    )  # fmt: skip
    Variant.objects.filter(turn__dialogue=dialogue, turn__position=4, label="high").update(clip=broken)

    audit = audit_make(audit_id=audit_request(split=split).pk, now=timezone.now())

    assert audit.state == SplitAudit.State.DONE
    assert list(audit.report["unreadable"]) == [f"{dialogue.uid}/4/high"]
    assert ClipPrint.objects.count() == 7


@pytest.mark.django_db
def test_an_audit_is_asked_for_once_and_made_once():
    split = split_of(items=1)
    asked = audit_request(split=split)

    assert audit_request(split=split).pk == asked.pk
    made = audit_make(audit_id=asked.pk, now=timezone.now())
    again = audit_make(audit_id=asked.pk, now=timezone.now())
    assert (made.state, again.report) == (SplitAudit.State.DONE, made.report)
    with pytest.raises(InvalidInput):
        audit_request(split=split, against=split)


@pytest.mark.django_db
@pytest.mark.sqlite_enough
def test_the_real_release_shows_repeated_titles_names_and_cues(shared, capsys):
    call_command("corpus_import", str(shared / "data" / "speecheq"), "--format", "speecheq", "--name", "real")
    call_command("split_freeze", "real", "--corpus", "real")
    capsys.readouterr()

    call_command("split_audit", "real", "--json")

    report = json.loads(capsys.readouterr().out)
    checks = {check["name"]: (check["found"], check["items"]) for check in report["checks"]}
    assert report["items"] == 15
    assert (checks["titles"], checks["speakers"]) == ((1, 2), (2, 10))
    assert {name for name, (found, _items) in checks.items() if found} == {"titles", "speakers"}
    cues = {row["cue"]: (round(row["accuracy"]["value"], 3), row["accuracy"]["n"]) for row in report["shortcuts"]}
    assert cues["quieter"] == (0.633, 30)
    assert cues["longer"] == (0.667, 30)
    assert {"higher pitch", "together"} <= set(cues)
    assert report["unreadable"] == {}
    assert report["summary"]["shut_by"] == ["shortcut: longer", "shortcut: together"]


@pytest.mark.django_db
def test_an_audit_is_constant_in_queries(django_assert_max_num_queries):
    split = split_of(items=12, make=speecheq_dialogue)

    with django_assert_max_num_queries(40):
        split_audit(split=split)
