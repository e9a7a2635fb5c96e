import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqstudio.errors import IllegalMove
from generation.domain.lifecycle import IN_PRODUCTION, MOVES, REVIEWABLE, DialogueState, move_check
from generation.words import STATE_LABELS

STATES = st.sampled_from(DialogueState)


def reachable(start: DialogueState) -> set[DialogueState]:
    seen, todo = set(), [start]
    while todo:
        state = todo.pop()
        if state not in seen:
            seen.add(state)
            todo += MOVES[state]
    return seen


def test_table_is_total_and_every_state_can_be_reached():
    assert set(MOVES) == set(DialogueState)
    assert set().union(*MOVES.values()) <= set(DialogueState)
    assert reachable(DialogueState.BRIEFED) == set(DialogueState)


@given(STATES)
def test_no_state_is_a_dead_end_and_none_moves_to_itself(state):
    assert MOVES[state]
    assert state not in MOVES[state]


@given(STATES)
def test_what_is_in_production_can_become_ready(state):
    assert state not in IN_PRODUCTION or DialogueState.READY in reachable(state)
    assert state not in IN_PRODUCTION or DialogueState.FAILED in MOVES[state]


@given(STATES, STATES)
def test_move_check_agrees_with_the_table(before, after):
    if after in MOVES[before]:
        move_check(before, after)
    else:
        with pytest.raises(IllegalMove):
            move_check(before, after)


@given(st.lists(STATES, max_size=12))
def test_no_walk_over_allowed_moves_reaches_review_without_having_been_ready(wishes):
    state, been = DialogueState.BRIEFED, {DialogueState.BRIEFED}
    for wish in wishes:
        if wish in MOVES[state]:
            state = wish
            been.add(state)
    assert (
        state not in REVIEWABLE or state is DialogueState.READY or been & {DialogueState.READY, DialogueState.FLAGGED}
    )


def test_every_state_has_a_name_on_pages():
    assert set(STATE_LABELS) == set(DialogueState)
