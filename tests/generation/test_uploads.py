"""Audio comes in from a browser: what is kept, what is refused and with which words, and that a kill loses nothing."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from eqstudio.errors import InvalidInput, StudioError
from eqstudio.models import Event
from generation.importers import unpacking
from generation.importers.unpacking import Room, zip_unpack
from generation.models import Dialogue, Upload
from generation.selectors import uploads_due
from generation.services import upload_create, upload_run, uploading
from tests.bucket import FullBucket
from tests.generation.factories import CorpusFactory, wav_bytes

pytestmark = pytest.mark.django_db
NOW = timezone.now()


def sent(name, data):
    return SimpleUploadedFile(name, data)


def zipped(entries, **how):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **how) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return buffer.getvalue()


def take(*files, format="audio", **defaults):  # noqa: A002
    upload = upload_create(
        corpus=CorpusFactory(), files=files, format=format, defaults={"category": "happy", **defaults}
    )
    upload_run(upload_id=upload.pk, now=NOW)
    upload.refresh_from_db()
    return upload


def told(upload):
    return [(refusal.path, refusal.row, refusal.reason) for refusal in upload.refusals.all()]


def test_many_files_with_a_table_come_in_and_the_files_are_forgotten():
    table = "audio,text\na.wav,One.\nb.wav,Two.\nc.wav,Three.\n"
    upload = take(
        sent("a.wav", wav_bytes(seconds=0.4)),
        sent("b.wav", wav_bytes(seconds=0.4, frequency=300)),
        sent("table.csv", table.encode()),
    )

    assert (upload.total, upload.position, upload.made, upload.refused, upload.error) == (3, 3, 2, 1, "")
    assert told(upload) == [("table.csv", "row 4", "The file c.wav is missing (audio).")]
    assert upload.finished_at == NOW
    assert Event.objects.filter(verb="imported", entity="corpus").count() == 1


def test_the_files_are_forgotten_once_it_is_done(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        upload = take(sent("a.wav", wav_bytes(seconds=0.4)))

    assert not default_storage.exists(f"uploads/{upload.uid}/00000")


def test_files_that_the_bucket_refuses_are_told_and_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(default_storage, "_wrapped", FullBucket())

    with pytest.raises(StudioError, match=r"could not be stored: .*The bucket is full\. Nothing was kept"):
        take(sent("a.wav", wav_bytes(seconds=0.4)))

    assert not Upload.objects.exists()


def test_a_zip_with_folders_and_a_table_inside_comes_in():
    data = zipped(
        [
            ("set/clips/a.wav", wav_bytes(seconds=0.4)),
            ("set/meta.jsonl", json.dumps({"audio": "clips/a.wav", "text": "One."})),
            ("__MACOSX/set/._a.wav", b"x"),
        ]
    )

    upload = take(sent("all.zip", data))

    assert (upload.made, told(upload)) == (1, [])
    assert Dialogue.objects.get().external_id == "set/clips/a.wav"


def test_what_is_no_sound_is_refused_by_name_and_the_rest_goes_in():
    upload = take(
        sent("a.wav", wav_bytes(seconds=0.4)),
        sent("page.mp3", b"<html>404</html>"),
        sent("empty.wav", b" "),
        sent("a.wav", b"again"),
    )

    assert upload.made == 1
    assert [(path, reason.split(": ", 1)[-1]) for path, _row, reason in told(upload)] == [
        ("a.wav", "Another file has the same name."),
        ("empty.wav", "it is not a sound file, or broken (Format not recognised)."),
        ("page.mp3", "it is a web page, not a sound; the download has probably failed."),
    ]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("../../etc/cron.d/x.wav", "Its name leads out of the folder."),
        ("/etc/x.wav", "Its name leads out of the folder."),
        ("C:\\x.wav", "Its name leads out of the folder."),
        ("..\\..\\x.wav", "Its name leads out of the folder."),
        ("inner.zip", "It is a zip inside a zip; send it on its own."),
        ("x" * 250 + ".wav", "Its name is too long."),
    ],
)
def test_an_entry_that_leads_elsewhere_is_left_out(tmp_path, entry, reason):
    folder = tmp_path / "in"
    folder.mkdir()
    data = zipped([(entry, b"x"), ("good.wav", b"y")])

    left = list(zip_unpack(io.BytesIO(data), "z.zip", folder, Room(entries=10, bytes=1000)))

    assert [refusal.reason for refusal in left] == [reason]
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()] == ["in/good.wav"]


def test_a_link_and_an_encrypted_entry_are_left_out(tmp_path):
    link = zipfile.ZipInfo("link.wav")
    link.external_attr = 0o120777 << 16
    secret = bytearray(zipped([("secret.wav", b"x")]))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        secret[secret.find(mark) + offset] |= 1

    of_link = list(zip_unpack(io.BytesIO(zipped([(link, b"/etc/passwd")])), "z", tmp_path, Room(9, 999)))
    of_secret = list(zip_unpack(io.BytesIO(bytes(secret)), "z", tmp_path, Room(9, 999)))

    assert [refusal.reason for refusal in (*of_link, *of_secret)] == [
        "It is a link or a device, not a file.",
        "It is encrypted.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_zip_bomb_is_left_out_by_its_density_and_by_the_room(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "RATIO_FROM_BYTES", 1_000_000)
    bomb = zipped([("bomb.wav", bytes(30_000_000)), ("good.wav", b"y" * 10)], compression=zipfile.ZIP_DEFLATED)
    large = zipped([("a.wav", bytes(900_000)), ("b.wav", bytes(900_000)), ("c.wav", b"y")])

    dense = list(zip_unpack(io.BytesIO(bomb), "z", tmp_path, Room(9, 10**9)))
    full = list(zip_unpack(io.BytesIO(large), "z", tmp_path / "large", Room(9, 1_000_000)))

    assert [refusal.reason for refusal in dense] == [
        "It unpacks to more than 200 times its size, as only a zip bomb does."
    ]
    assert [(refusal.path, refusal.reason) for refusal in full] == [
        ("z:b.wav", "There is no more room: the whole unpacks to more than is taken. Send it in parts.")
    ]
    assert sorted(path.name for path in tmp_path.rglob("*.wav")) == ["a.wav", "good.wav"]


def test_a_zip_with_too_many_entries_or_that_is_none_is_refused_whole(tmp_path):
    many = zipped([(f"{n}.wav", b"x") for n in range(5)])
    cut = zipped([("a.wav", wav_bytes())])[:-40]

    assert [refusal.reason for refusal in zip_unpack(io.BytesIO(many), "z", tmp_path, Room(4, 999))] == [
        "The zip has 5 entries; at most 4 are taken. Send it in parts."
    ]
    assert [refusal.reason for refusal in zip_unpack(io.BytesIO(cut), "z", tmp_path, Room(4, 999))] == [
        "This zip cannot be read: File is not a zip file."
    ]


def test_a_spoilt_entry_is_told_and_the_others_are_unpacked(tmp_path):
    data = bytearray(zipped([("a.wav", b"first" * 50), ("b.wav", b"second")]))
    data[data.find(b"first") + 3] ^= 0xFF

    [refusal] = list(zip_unpack(io.BytesIO(bytes(data)), "z", tmp_path, Room(9, 9999)))

    assert (refusal.path, refusal.reason) == ("z:a.wav", "It cannot be unpacked: Bad CRC-32 for file 'a.wav'.")
    assert [path.name for path in tmp_path.iterdir()] == ["b.wav"]


def test_chinese_names_of_old_windows_zips_are_read():
    name = "录音.wav".encode("gb18030").decode("cp437")
    info = zipfile.ZipInfo("x")
    info.filename, info.flag_bits = name, 0

    assert unpacking.name_of(info) == "录音.wav"


def test_nothing_of_the_format_is_said():
    upload = take(sent("notes.txt", b"hello"))

    assert (upload.made, upload.finished_at) == (0, NOW)
    assert upload.error.startswith("What was sent holds no table and no audio: ")


def test_too_many_files_and_too_much_are_refused_before_anything_is_kept(settings, monkeypatch):
    corpus = CorpusFactory()
    monkeypatch.setattr(uploading, "MAX_FILES", 1)
    with pytest.raises(InvalidInput, match="2 files came; at most 1 are taken at once"):
        upload_create(corpus=corpus, files=[sent("a", b"x"), sent("b", b"x")], format="audio", defaults={})
    settings.UPLOAD_MAX_BYTES = 1_000_000
    with pytest.raises(InvalidInput, match="2 MB came; at most 1 MB are taken at once"):
        upload_create(corpus=corpus, files=[sent("a", bytes(2_000_000))], format="audio", defaults={})
    assert not Upload.objects.exists()


def test_a_worker_that_died_loses_nothing_and_counts_nothing_twice(monkeypatch):
    files = [sent(f"{n}.wav", wav_bytes(seconds=0.4, frequency=200 + 20 * n)) for n in range(5)]
    upload = upload_create(corpus=CorpusFactory(), files=files, format="audio", defaults={"category": "sad"})
    real = uploading._count

    def dies(upload, outcome):
        if upload.position == 3:
            raise KeyboardInterrupt
        return real(upload, outcome)

    monkeypatch.setattr(uploading, "_count", dies)
    with pytest.raises(KeyboardInterrupt):
        upload_run(upload_id=upload.pk, now=NOW)
    monkeypatch.setattr(uploading, "_count", real)
    assert uploads_due(now=NOW) == []
    assert not upload_run(upload_id=upload.pk, now=NOW).more  # its lease is still held
    later = NOW + timedelta(minutes=6)
    assert uploads_due(now=later) == [upload.pk]
    upload_run(upload_id=upload.pk, now=later)

    upload.refresh_from_db()
    assert (upload.total, upload.position, upload.made + upload.skipped, upload.finished_at) == (5, 5, 5, later)
    assert Dialogue.objects.count() == 5


def test_a_long_upload_goes_on_in_the_next_step(monkeypatch):
    files = [sent(f"{n}.wav", wav_bytes(seconds=0.4, frequency=200 + 20 * n)) for n in range(3)]
    upload = upload_create(corpus=CorpusFactory(), files=files, format="audio", defaults={"category": "sad"})
    monkeypatch.setattr(uploading, "STEP_S", 0.0)

    steps = [upload_run(upload_id=upload.pk, now=NOW).more for _ in range(4)]

    upload.refresh_from_db()
    assert (steps, upload.made) == ([True, True, True, False], 3)


# --- the page -----------------------------------------------------------------------------------------------------


def test_a_researcher_sends_files_and_sees_what_came_of_them(client, rita, django_capture_on_commit_callbacks):
    client.force_login(rita)
    corpus = CorpusFactory()
    files = [sent("a.wav", wav_bytes(seconds=0.4)), sent("b.wav", b"<html>")]

    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(
            reverse("corpus_upload", args=[corpus.uid]),
            {"sent": files, "format": "audio", "category": "echomind/happy", "licence": "CC0-1.0"},
        )

    upload = Upload.objects.get()
    assert answer["Location"] == reverse("upload", args=[upload.uid])
    page = client.get(answer["Location"]).content.decode()
    assert "2 of 2 rows are dealt with." in page
    assert "it is a web page, not a sound" in page
    assert "hx-trigger" not in page.split('id="upload-progress"')[1]
    assert Dialogue.objects.get().extras["recording"] == {"licence": "CC0-1.0"}
    assert "some refused" in client.get(reverse("corpus_upload", args=[corpus.uid])).content.decode()


def test_an_empty_file_among_others_is_named_and_the_others_come_in(client, rita, django_capture_on_commit_callbacks):
    client.force_login(rita)
    files = [sent("a.wav", wav_bytes(seconds=0.4)), sent("b.wav", b""), sent("c.wav", wav_bytes(frequency=300))]

    with django_capture_on_commit_callbacks(execute=True):
        address = reverse("corpus_upload", args=[CorpusFactory().uid])
        answer = client.post(address, {"sent": files, "format": "audio", "category": "echomind/happy"})

    upload = Upload.objects.get()
    assert answer["Location"] == reverse("upload", args=[upload.uid])
    assert (upload.made, told(upload)) == (2, [("b.wav", "", "b.wav: the file is empty (0 bytes).")])


def test_files_that_no_row_names_are_told_and_names_are_those_of_the_sender():
    table = "audio,text\na.wav,One.\nbad.wav,Two.\n"
    files = [
        sent(f"{name}.wav", wav_bytes(seconds=0.4, frequency=n)) for name, n in (("a", 200), ("x", 300), ("y", 400))
    ]

    upload = take(*files, sent("bad.wav", b"<html>"), sent("table.csv", table.encode()))

    assert told(upload) == [
        ("table.csv", "row 3", "bad.wav: it is a web page, not a sound; the download has probably failed."),
        ("", "", "2 files are named by no row of a table and were left out: x.wav, y.wav."),
    ]
    assert (upload.total, upload.position, upload.made, upload.refused) == (3, 3, 1, 2)


def test_the_progress_asks_again_until_it_is_done(client, rita):
    client.force_login(rita)
    files = [sent("a.wav", wav_bytes(seconds=0.4))]
    upload = upload_create(corpus=CorpusFactory(), files=files, format="audio", defaults={})

    part = client.get(reverse("upload", args=[upload.uid]), headers={"HX-Request": "true"}).content.decode()

    assert part.startswith('<div id="upload-progress"')
    assert 'hx-trigger="every 2s"' in part
    assert "A worker takes them up in a moment." in part


def test_a_form_without_files_says_so(client, rita):
    client.force_login(rita)
    answer = client.post(reverse("corpus_upload", args=[CorpusFactory().uid]), {"format": "audio"})

    assert answer.status_code == 200
    assert "This field is required." in answer.content.decode()


@pytest.mark.parametrize(("who", "status"), [("otto", 404), ("alice", 403), ("rita", 200)])
def test_only_those_who_curate_may_send(client, request, who, status):
    client.force_login(request.getfixturevalue(who))
    corpus = CorpusFactory()
    upload = upload_create(corpus=corpus, files=[sent("a.wav", b"x")], format="audio", defaults={})

    assert client.get(reverse("corpus_upload", args=[corpus.uid])).status_code == status
    assert client.get(reverse("upload", args=[upload.uid])).status_code == status


def test_what_announces_itself_as_too_large_is_not_read(client, rita, settings):
    client.force_login(rita)
    settings.UPLOAD_MAX_BYTES = 1000

    answer = client.post(
        reverse("corpus_upload", args=[CorpusFactory().uid]), {"sent": [sent("a.wav", bytes(2000))], "format": "audio"}
    )

    assert answer.status_code == 400
    assert not Upload.objects.exists()
