"""What the tests of the judging page send, and to whom a lease belongs."""

import json

from django.urls import reverse
from django.utils import timezone

from annotation.selectors import required_clips
from annotation.services import assignment_next
from tests.annotation.factories import heard_whole
from tests.eqstudio.factories import annotator

JSON = {"HTTP_ACCEPT": "application/json"}


def post(client, name, round_, body):
    return client.post(reverse(name, args=[round_.uid]), json.dumps(body), content_type="application/json", **JSON)


def lease_of(person, round_):
    return assignment_next(round=round_, annotator=person, now=timezone.now())


def lease_of_other(round_):
    return lease_of(annotator(), round_)


def judgement_of(lease, **changes):
    dialogue = lease.item.dialogue
    return {
        "assignment": lease.uid,
        "client_key": "key-1",
        "verdict": "keep",
        "grades": {clip.uid: 3 for clip in required_clips(dialogue=dialogue) if clip.graded},
        "heard": heard_whole(dialogue),
        "active_ms": 4000,
        **changes,
    }


def change(client, judgement, **changes):
    body = judgement_of(judgement.assignment, **changes)
    body.pop("assignment")
    address = reverse("judgement_change", args=[judgement.uid])
    return client.post(address, json.dumps(body), content_type="application/json", **JSON)
