"""Kinds are registry entries."""

import pytest

from eqstudio.errors import UnknownAlias
from eqstudio.estimates import Estimate
from eqstudio.registry import Registry


def test_a_lazy_entry_is_imported_on_first_use():
    kinds = Registry("estimate kind", {"plain": "eqstudio.estimates:Estimate"})

    assert kinds.get("plain") is Estimate
    assert kinds.get("plain") is kinds.get("plain")


def test_an_unknown_alias_names_those_that_exist_and_the_nearest():
    kinds = Registry("voice provider", {"kokoro": Estimate, "openai": Estimate})

    with pytest.raises(UnknownAlias) as caught:
        kinds.get("openia")

    assert caught.value.message == "Unknown voice provider 'openia'. Did you mean 'openai'? Known: kokoro, openai."
    assert caught.value.field == "voice_provider"


def test_a_registry_lists_its_aliases_in_order_without_importing():
    kinds = Registry("thing", {"b": "nowhere:Nothing", "a": "nowhere:Nothing"})

    assert (list(kinds), len(kinds), "a" in kinds, "c" in kinds) == (["a", "b"], 2, True, False)
    assert kinds.choices() == [("a", "a"), ("b", "b")]


def test_an_estimate_has_either_a_value_or_a_reason():
    assert Estimate.undefined("no overlap", n=3).as_dict() == {
        "value": None,
        "lo": None,
        "hi": None,
        "n": 3,
        "reason": "no overlap",
    }
    with pytest.raises(ValueError, match="either a value or a reason"):
        Estimate(value=None)
    with pytest.raises(ValueError, match="either a value or a reason"):
        Estimate(value=1.0, reason="both")
