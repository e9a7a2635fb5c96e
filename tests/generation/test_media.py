"""Clips go out: to the right person, in the right bytes, telling nothing else."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.core.files.base import ContentFile
from django.core.files.storage import InMemoryStorage, default_storage
from django.urls import reverse
from django.utils import timezone

from eqstudio.blobs import blob_key
from eqstudio.errors import NotFound
from generation.intake import clip_ingest
from generation.media import clip_card, clip_served, clip_url, ticket_read
from generation.views.media import ByteRange, UnsatisfiableError, range_wanted
from tests.audio import encoded, speechlike, wav
from tests.generation.factories import speecheq_dialogue

SIZE = 1000


@pytest.fixture
def clip(db):
    return clip_ingest(data=wav(speechlike(seconds=1)), name="high_eq_secret_name.wav")


@pytest.fixture
def data():
    return wav(speechlike(seconds=1))


@pytest.fixture
def signed_in(client, alice):
    client.force_login(alice)
    return client


@pytest.fixture
def url(clip, alice):
    return clip_url(clip=clip, holder=alice.uid)


class Bucket(InMemoryStorage):
    """Signs addresses as django-storages does."""

    def url(self, name, parameters=None):
        return f"https://bucket.example/{name}?type={parameters['ResponseContentType']}&signature=x"


def body(response) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_a_clip_plays_whole(signed_in, alice, clip, data):
    response = signed_in.get(clip_url(clip=clip, holder=alice.uid))
    assert (response.status_code, body(response)) == (200, data)
    assert response["Content-Type"] == "audio/wav"
    assert response["Content-Length"] == str(len(data))
    assert response["Accept-Ranges"] == "bytes"
    assert response["Cache-Control"].startswith("private")


@pytest.mark.parametrize(
    ("header", "part"),
    [
        ("bytes=0-0", slice(0, 1)),
        ("bytes=0-99", slice(0, 100)),
        ("bytes=100-", slice(100, None)),
        ("bytes=100-9999999", slice(100, None)),
        ("bytes=-50", slice(-50, None)),
        ("bytes=-9999999", slice(0, None)),
        (" bytes=5-9 ", slice(5, 10)),
    ],
)
def test_a_range_gives_just_those_bytes(signed_in, url, data, header, part):
    response = signed_in.get(url, headers={"range": header})
    start, end, _step = part.indices(len(data))
    assert (response.status_code, body(response)) == (206, data[part])
    assert response["Content-Range"] == f"bytes {start}-{end - 1}/{len(data)}"
    assert response["Content-Length"] == str(end - start)


@pytest.mark.parametrize("header", ["bytes=99999999-", "bytes=99999999-100000000", "bytes=-0"])
def test_a_range_behind_the_end_is_416(signed_in, alice, clip, data, header):
    response = signed_in.get(clip_url(clip=clip, holder=alice.uid), headers={"range": header})
    assert (response.status_code, response["Content-Range"], response.content) == (416, f"bytes */{len(data)}", b"")


@pytest.mark.parametrize(
    "header", ["bytes=9-5", "bytes=-", "bytes=0-1,5-6", "lines=0-1", "bytes=a-b", "bytes", f"bytes=0-{'9' * 5_000}"]
)
def test_a_range_that_cannot_be_read_gives_the_whole_file(signed_in, alice, clip, data, header):
    response = signed_in.get(clip_url(clip=clip, holder=alice.uid), headers={"range": header})
    assert (response.status_code, body(response)) == (200, data)


def test_if_range_of_this_address_keeps_the_range(signed_in, alice, clip, data):
    url = clip_url(clip=clip, holder=alice.uid)
    etag = signed_in.get(url)["ETag"]
    response = signed_in.get(url, headers={"range": "bytes=0-9", "if-range": etag})
    assert (response.status_code, body(response)) == (206, data[:10])


def test_if_range_of_another_gives_the_whole_file(signed_in, alice, clip, data):
    url = clip_url(clip=clip, holder=alice.uid)
    response = signed_in.get(url, headers={"range": "bytes=0-9", "if-range": '"something-else"'})
    assert (response.status_code, body(response)) == (200, data)


def test_a_known_etag_is_304(signed_in, alice, clip):
    url = clip_url(clip=clip, holder=alice.uid)
    response = signed_in.get(url, headers={"if-none-match": signed_in.get(url)["ETag"]})
    assert (response.status_code, response.content) == (304, b"")


def test_head_tells_the_length_without_the_bytes(signed_in, alice, clip, data):
    response = signed_in.head(clip_url(clip=clip, holder=alice.uid))
    assert (response.status_code, response["Content-Length"], response.content) == (200, str(len(data)), b"")


def test_writing_is_not_allowed(signed_in, alice, clip):
    assert signed_in.post(clip_url(clip=clip, holder=alice.uid)).status_code == 405


def test_anonymous_is_sent_to_sign_in(client, alice, clip):
    response = client.get(clip_url(clip=clip, holder=alice.uid))
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))


def test_another_persons_address_is_404(signed_in, rita, clip):
    assert signed_in.get(clip_url(clip=clip, holder=rita.uid)).status_code == 404


def test_an_expired_address_is_404(signed_in, alice, clip, settings):
    url = clip_url(clip=clip, holder=alice.uid)
    with time_machine.travel(timezone.now() + timedelta(seconds=settings.MEDIA_TOKEN_SECONDS + 60)):
        assert signed_in.get(url).status_code in (302, 404)
        signed_in.force_login(alice)
        assert signed_in.get(url).status_code == 404


@pytest.mark.parametrize("token", ["x", "gAAAAA", "%00", "a" * 300])
def test_a_forged_address_is_404(signed_in, token):
    assert signed_in.get(f"/media/{token}").status_code == 404


def test_a_spoilt_token_is_not_found(alice, clip):
    token = clip_url(clip=clip, holder=alice.uid).rsplit("/", 1)[1]
    with pytest.raises(NotFound):
        ticket_read(token=token[:-3] + "abc", now=timezone.now())


def test_a_clip_whose_file_is_gone_is_said_with_its_dialogue(signed_in, alice):
    dialogue = speecheq_dialogue(title="A secret title")
    clip = dialogue.turns.first().variants.get().clip
    default_storage.delete(blob_key(clip.sha256))

    answer = signed_in.get(clip_url(clip=clip, holder=alice.uid), headers={"accept": "application/json"})

    assert answer.status_code == 410
    assert answer.json()["error"] == (
        f"The sound of this clip is missing from the store (dialogue {dialogue.uid}). Tell whoever runs the studio."
    )


def test_a_clip_whose_bytes_were_cut_short_is_not_played_as_if_it_were_whole(signed_in, alice, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    clip = clip_ingest(data=wav(speechlike(seconds=1)))
    name = blob_key(clip_served(clip=clip).sha256)
    with default_storage.open(name, "rb") as handle:
        most = handle.read()[:-100]
    default_storage.delete(name)
    default_storage.save(name, ContentFile(most))

    assert signed_in.get(clip_url(clip=clip, holder=alice.uid)).status_code == 410


def test_address_and_headers_tell_nothing(signed_in, alice, rita, clip):
    other = clip_ingest(data=encoded(speechlike(seconds=3, seed=4), format="FLAC"), name="low.flac")
    urls = [clip_url(clip=each, holder=holder) for each in (clip, other) for holder in (alice.uid, rita.uid)]
    assert len({len(url) for url in urls}) == 1
    assert len(set(urls)) == 4
    assert clip_url(clip=clip, holder=alice.uid) != urls[0]
    response = signed_in.get(urls[0])
    told = " ".join(f"{name}: {value}" for name, value in response.items()) + urls[0]
    for secret in (clip.uid, clip.sha256[:8], alice.uid, "secret_name", "Last-Modified"):
        assert secret not in told
    assert re.fullmatch(r'"[0-9a-f]{32}"', response["ETag"])
    assert response["ETag"] != signed_in.get(clip_url(clip=clip, holder=alice.uid))["ETag"]


def test_nginx_gets_the_path_and_django_sends_nothing(signed_in, alice, clip, settings):
    settings.MEDIA_ACCEL_PREFIX = "/protected/"
    response = signed_in.get(clip_url(clip=clip, holder=alice.uid))
    assert (response["X-Accel-Redirect"], response.content) == (f"/protected/{blob_key(clip.sha256)}", b"")
    assert response["Content-Type"] == "audio/wav"


def test_nginx_is_not_told_about_a_clip_of_somebody_else(signed_in, rita, clip, settings):
    settings.MEDIA_ACCEL_PREFIX = "/protected"
    response = signed_in.get(clip_url(clip=clip, holder=rita.uid))
    assert (response.status_code, "X-Accel-Redirect" in response) == (404, False)


def test_a_card_holds_what_a_player_needs(alice, clip):
    card = clip_card(clip=clip, holder=alice.uid)
    assert set(card) == {"url", "duration", "peaks"}
    assert (card["duration"], len(card["peaks"])) == (1.0, 400)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-", ByteRange(0, 999)),
        ("bytes=999-", ByteRange(999, 999)),
        ("bytes=10-20", ByteRange(10, 20)),
        ("bytes=-1", ByteRange(999, 999)),
        ("bytes=20-10", None),
    ],
)
def test_range_wanted(header, expected):
    assert range_wanted(header=header, condition=None, etag='"e"', size=SIZE) == expected


@pytest.mark.parametrize("header", ["bytes=1000-", "bytes=-0"])
def test_range_behind_the_end(header):
    with pytest.raises(UnsatisfiableError):
        range_wanted(header=header, condition=None, etag='"e"', size=SIZE)


def test_an_object_store_gets_a_redirect_that_expires(signed_in, alice, clip, settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "tests.generation.test_media.Bucket",
        },
    }
    settings.AWS_STORAGE_BUCKET_NAME = "bucket"
    response = signed_in.get(clip_url(clip=clip, holder=alice.uid))
    assert (response.status_code, response["Location"]) == (
        302,
        f"https://bucket.example/{blob_key(clip.sha256)}?type=audio/wav&signature=x",
    )
    assert "no-store" in response["Cache-Control"]
