"""What people suffer from in other tools, one by one: which test of ours covers it, or why it cannot occur here.

Numbers are those of the shared reference on annotation tools, section 3; B01 to B30 those of the shared bug reports.
"""

import ast
import json
import re
from pathlib import Path

import pytest
from django.db import transaction

from annotation.domain.agreement import NO_VARIATION, WORDS, agreement
from annotation.domain.prevalence import prevalence
from annotation.domain.ratings import Rating, coded
from annotation.services import export_request
from annotation.tasks import annotation_sweep
from eqstudio.benchmarks.parsing import answer_parse
from eqstudio.benchmarks.trials import Option, Trial, TrialKind
from generation.domain.quality import wer
from tests.annotation.factories import split_of
from tests.eqstudio.factories import researcher

TESTS = Path(__file__).resolve().parents[1]
_ = None


def by_rater(rows):
    return [Rating(i, r, value) for r, row in enumerate(rows) for i, value in enumerate(row) if value is not None]


def test_one_deviating_value_gives_alpha_zero_with_percent_agreement_and_its_reason():
    rows = [[3, 3, 3, 3, 3], [3, 3, 3, 3, 3], [3, 3, _, _, 3], [3, 3, 3, 3, 1], [3, _, 3, 3, 3]]
    ratings = by_rater(rows)

    found = agreement(ratings)

    assert found.estimates["alpha_nominal"].value == pytest.approx(0.0, abs=1e-9)
    assert found.estimates["percent_agreement"].value == pytest.approx(0.92)
    assert prevalence(coded(ratings), found).value == 3


def test_full_agreement_on_one_value_is_undefined_with_its_reason_and_valid_json():
    found = agreement(by_rater([[4, 4, 4], [4, 4, 4]])).as_dict()["estimates"]

    assert (found["alpha_nominal"]["value"], found["alpha_nominal"]["reason"]) == (None, NO_VARIATION)
    assert (found["cohen_kappa"]["value"], found["percent_agreement"]["value"]) == (None, 1.0)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_two_raters_with_one_common_item_have_a_value_or_a_reason():
    found = agreement(by_rater([[1, 2, _], [_, 2, 3]]), domain=(1, 2, 3, 4)).estimates

    assert all((one.value is None) != (one.reason is None) for one in found.values())
    assert found["alpha_nominal"].reason == NO_VARIATION


LOW, MEDIUM, HIGH = "low", "medium", "high"
FIRST = [LOW, LOW, MEDIUM, MEDIUM, HIGH, HIGH, LOW, MEDIUM]
SECOND = [LOW, MEDIUM, MEDIUM, HIGH, HIGH, HIGH, LOW, LOW]


def test_words_have_the_order_they_are_given_and_never_that_of_the_alphabet():
    ratings = by_rater([FIRST, SECOND])

    given = agreement(ratings, domain=(LOW, MEDIUM, HIGH), names=["alpha_ordinal"]).estimates["alpha_ordinal"]
    without = agreement(ratings, names=["alpha_ordinal"]).estimates["alpha_ordinal"]

    assert given.value == pytest.approx(0.735021, abs=1e-6)
    assert (without.value, without.reason) == (None, WORDS)


@pytest.mark.parametrize(
    ("options", "outputs", "letters"),
    [
        (
            "ABCD",
            ["ANSWER: None of the above", "ANSWER: Don't know", "ANSWER: I don't know", "ANSWER: B"],
            [_, _, _, "B"],
        ),
        ("ABCD", ["Antwort:\n\nAntwort: C", "Answer:\nAnswer: D", "Antwort: Antwort: B"], [_, "D", _]),
        (
            "ABCDE",
            [
                r"\boxed{E}",
                r"\boxed{\text{E}}",
                r"\boxed{\text{C: nine}}",
                r"first \boxed{C} ... so \boxed{\mathbf{E}}",
                "\\boxed{\\langle H\\rangle \\ll \\Delta E}\n**Answer: D**",
            ],
            ["E", "E", "C", "E", "D"],
        ),
        ("ABCD", ["I'm sorry, I can't help with audio.", "", "The audio is silent.", "B"], [_, _, _, "B"]),
    ],
    ids=["B18", "B19", "B22", "B24"],
)
def test_answers_of_the_bug_reports_are_read_and_never_guessed(options, outputs, letters):
    """Instructions are in English and Chinese, so a German key word is no answer; above all it is not the letter A."""
    trial = Trial(
        key="t", kind=TrialKind.MCQ, category="c", language="en", question="Which?",
        options=tuple(Option(letter=letter, text="nine" if letter == "C" else f"number {letter}") for letter in options),
    )  # fmt: skip

    assert [answer_parse(trial, output).value for output in outputs] == letters


def test_numbers_in_words_and_in_figures_are_no_errors():
    pairs = [("The primary coil has fifty turns.", "The primary coil has 50 turns."), ("fifty turns", "15 turns")]

    assert [wer(*pair) == 0 for pair in pairs] == [True, False]


def test_an_empty_reference_is_undefined_and_breaks_nothing():
    assert [wer("", ""), wer("", "hello there"), wer("a b", "a b")] == [None, None, 0.0]


@pytest.mark.django_db
@pytest.mark.parametrize("spoilt", [False, True], ids=["commit", "rollback"])
def test_a_job_is_handed_out_on_commit_and_never_after_a_rollback(spoilt, django_capture_on_commit_callbacks):
    """B30: the sweep hands an export out only when the transaction it looked in has ended well."""
    asked = export_request(split=split_of(), format="huggingface", actor=researcher())
    with django_capture_on_commit_callbacks() as outer, transaction.atomic():
        annotation_sweep()
        transaction.set_rollback(spoilt)

    assert len(outer) == (0 if spoilt else 1)
    assert asked.pk


PAINS: dict[str, tuple[str, ...] | str] = {
    # audio will not play, will not seek
    "1": ("test_a_clip_plays_whole", "test_nginx_gets_the_path_and_django_sends_nothing"),
    "2": ("test_anything_else_keeps_its_bytes_and_gets_a_playable_copy_once", "test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason"),
    "3": ("test_a_missing_sound_is_said_in_words_and_reported",),
    "4": ("test_a_range_gives_just_those_bytes",),
    "5": ("test_a_range_gives_just_those_bytes", "test_a_range_behind_the_end_is_416"),
    "6": ("test_a_range_gives_just_those_bytes", "test_a_clip_plays_whole"),
    "7": ("test_a_range_gives_just_those_bytes",),
    "8": ("test_grades_unlock_only_after_listening",),
    "9": ("test_unheard_clips_are_refused_by_the_server", "test_grades_unlock_only_after_listening"),
    "10": "sound starts by a press of the person on the player itself, which is what Safari asks for; nothing plays on its own",
    "11": ("test_a_clip_plays_whole", "test_what_browsers_play_is_kept_as_it_is"),
    "12": ("test_level_gives_way_before_true_peaks_clip",),
    "13": ("test_the_sounds_ahead_are_those_of_the_item_that_comes_next_and_nothing_is_reserved",),
    "14": ("test_a_report_on_a_sound_stands_beside_the_judgement_and_is_stored_once", "test_the_page_shows_similar_decisions_problems_and_what_was_given_back"),
    "15": ("test_a_researcher_sends_files_and_sees_what_came_of_them",),
    # wrong durations, drift, large files
    "16": ("test_clicks_in_a_long_stereo_mp3_of_varying_rate_are_drawn_where_they_are_heard",),
    "17": ("test_peaks_trace_the_envelope",),
    "18": ("test_two_hundred_items_in_one_tab_leave_nothing_behind",),
    "19": "waveforms are peaks in the page, measured once when a clip comes in; no sound is fetched to draw one",
    "20": ("test_a_clip_that_is_too_long_is_refused", "test_a_file_that_needs_too_much_memory_is_refused_not_fatal"),
    "21": ("test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason",),
    "22": ("test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason",),
    "23": ("test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason",),
    "24": ("test_every_odd_file_gives_a_playable_clip_of_the_right_length_or_a_reason",),
    # lost or overwritten work
    "25": ("test_offline_keeps_the_judgement_and_sends_it_later",),
    "26": ("test_submit_stores_and_answers_with_the_next_item", "test_wrong_field_is_named"),
    "27": "no page of judging waits for a model; drafts are kept on every change (test_reload_brings_back_what_was_heard_and_filled_in)",
    "28": ("test_lost_session_keeps_the_judgement_through_sign_in_and_a_closed_tab",),
    "29": ("test_lost_session_keeps_the_judgement_through_sign_in_and_a_closed_tab", "test_a_late_answer_counts_while_a_slot_is_free"),
    "30": ("test_draft_comes_back_with_the_page", "test_reload_brings_back_what_was_heard_and_filled_in"),
    "31": ("test_two_different_submits_of_one_lease_store_one", "test_submit_again_under_another_key_is_refused"),
    "32": ("test_offline_keeps_the_judgement_and_sends_it_later",),
    "33": ("test_submit_stores_verdict_and_a_grade_for_every_graded_variant",),
    "34": ("test_a_busy_afternoon_gives_every_item_exactly_what_was_asked_for",),
    "35": ("test_a_busy_afternoon_gives_every_item_exactly_what_was_asked_for",),
    # assignment, locks, overlap
    "36": ("test_racing_people_never_hold_more_slots_than_asked_for",),
    "37": ("test_queue_reserved_by_others_says_until_when",),
    "38": ("test_queue_is_work_again_when_the_lease_of_others_is_over", "test_each_reason_for_an_empty_queue_has_words_of_its_own"),
    "39": ("test_gold_and_repeats_never_count", "test_an_undecided_item_asks_one_more_person"),
    "40": ("test_a_skipped_item_goes_to_others_and_does_not_come_straight_back", "test_a_recount_mends_what_went_wrong"),
    "41": ("test_nothing_is_decided_while_judgements_are_missing",),
    "42": ("test_the_second_opinion_is_collected_after_the_first",),
    "43": ("test_racing_people_never_hold_more_slots_than_asked_for", "test_two_people_get_different_slots_of_one_item"),
    "44": ("test_no_more_people_than_asked_for",),
    "45": ("test_a_busy_afternoon_gives_every_item_exactly_what_was_asked_for", "test_many_people_at_once"),
    "46": ("test_a_table_is_read_in_the_encoding_it_has", "test_a_file_is_read_in_its_shape"),
    "47": ("test_a_lease_that_is_over_frees_its_slot_and_keeps_the_draft_for_its_person", "test_the_sweep_ends_leases_that_are_over"),
    "48": "nothing is reserved for somebody who has not asked for it: a lease is made by the request that shows the item",
    "49": ("test_an_item_that_was_left_untouched_is_free_in_a_minute",),
    "50": ("test_a_request_sent_four_times_stores_one_judgement", "test_double_submit_stores_one"),
    "51": ("test_the_long_table_is_the_one_that_the_figures_rest_on",),
    # slow with many tasks
    "52": ("test_the_next_item_costs_the_same_however_large_the_round",),
    "53": ("test_the_list_of_rounds_is_constant_in_queries", "test_round_pages_are_constant_in_queries"),
    "54": ("test_the_sounds_ahead_are_those_of_the_item_that_comes_next_and_nothing_is_reserved",),
    "55": ("test_importing_an_export_again_stores_nothing_twice",),
    "56": ("test_corpus_page_is_constant_in_queries",),
    "57": ("test_a_requested_export_becomes_a_zip_once", "test_the_long_table_is_the_one_that_the_figures_rest_on"),
    "58": ("test_a_figure_follows_a_submit_within_a_second", "test_the_list_of_people_is_constant_in_queries"),
    # agreement missing or wrong
    "59": ("test_the_dashboard_follows_a_submit_and_is_silent_without", "test_agreement_is_what_the_command_says"),
    "60": ("test_one_deviating_value_gives_alpha_zero_with_percent_agreement_and_its_reason", "test_prevalence_is_explained_where_it_bites"),
    "61": ("test_two_raters_with_one_common_item_have_a_value_or_a_reason",),
    "62": ("test_full_agreement_on_one_value_is_undefined_with_its_reason_and_valid_json", "test_raters_who_always_agree_have_one"),
    "63": ("test_degenerate",),
    "64": ("test_full_agreement_on_one_value_is_undefined_with_its_reason_and_valid_json",),
    "65": ("test_prevalence_is_explained_where_it_bites",),
    "66": ("test_worked_value_of_agreement", "test_the_items_page_shows_those_asked_for"),
    "67": ("test_the_long_table_is_the_one_that_the_figures_rest_on",),
    "68": ("test_the_rule_of_the_round_decides", "test_differences_of_a_pair_come_widest_first"),
    "69": ("test_worked_value_of_agreement", "test_published_agreement_of_real_ratings"),
    # review and adjudication
    "70": ("test_nothing_is_decided_before_all_judgements_are_in", "test_adjudicate_an_open_item_is_refused"),
    "71": ("test_a_person_who_left_breaks_neither_queue_nor_item_nor_figures",),
    "72": ("test_a_decision_freezes_the_judgements_and_keeps_their_authors", "test_more_people_are_asked_and_the_dialogue_is_in_review_again"),
    "73": ("test_a_decision_freezes_the_judgements_and_keeps_their_authors",),
    "74": ("test_history_takes_back_and_opens_the_item_again", "test_a_revision_counts_in_place_of_what_was_said_before"),
    # import and export
    "75": ("test_a_quoted_field_may_hold_commas_quotes_and_lines", "test_importing_an_export_gives_the_same_ratings"),
    "76": ("test_the_long_table_is_the_one_that_the_figures_rest_on",),
    "77": ("test_importing_an_export_gives_the_same_ratings",),
    "78": ("test_importing_an_export_gives_the_same_ratings",),
    "79": ("test_another_encoding_is_told_with_byte_row_and_what_it_may_be", "test_a_file_is_read_in_its_encoding"),
    "80": ("test_a_quoted_field_may_hold_commas_quotes_and_lines",),
    "81": ("test_wrong_rows_are_told_by_number_and_the_rest_is_read",),
    "82": ("test_wrong_rows_are_told_by_number_and_the_rest_is_read",),
    "83": ("test_a_file_is_read_in_its_encoding",),
    "84": ("test_the_long_table_is_the_one_that_the_figures_rest_on",),
    "85": ("test_submit_stores_verdict_and_a_grade_for_every_graded_variant",),
    "86": ("test_a_safe_cell_runs_in_no_spreadsheet_and_comes_back",),
    "87": ("test_importing_an_export_again_stores_nothing_twice", "test_a_second_import_adds_nothing"),
    # permissions and blinding
    "88": ("test_each_visitor_reads_what_the_table_says", "test_another_persons_address_is_404"),
    "89": ("test_each_visitor_changes_what_the_table_says",),
    "90": ("test_nothing_an_annotator_gets_changes_with_the_key", "test_others_are_not_shown_of_an_open_item_nor_where_the_round_forbids_it"),
    "91": ("test_only_those_who_curate_may_send",),
    "92": ("test_page_tells_nothing_of_the_key", "test_somebody_elses_lease_does_not_exist"),
    "93": "items are dialogues of people in a scene, written and checked by us; no system under test speaks in them",
    "94": ("test_others_are_shown_once_the_item_is_closed_and_undo_is_over",),
    # keyboard, undo, flow
    "95": ("test_judging_by_keyboard_alone",),
    "96": ("test_keys_do_nothing_while_somebody_types",),
    "97": ("test_undo_brings_the_item_back_as_it_was",),
    "98": ("test_fifty_items_by_keyboard_alone",),
    "99": ("test_undo_brings_the_item_back_as_it_was",),
    "100": ("test_a_skipped_item_comes_back_later", "test_skip_says_where_the_item_goes"),
    "101": ("test_a_part_is_repeated_and_seeking_is_by_click_drag_and_keys",),
    # time, sessions, deployment
    "102": ("test_lost_session_keeps_the_judgement_through_sign_in_and_a_closed_tab",),
    "103": ("test_pay_counts_a_changed_judgement_once",),
    "104": ("test_impossible_speed_is_flagged_with_its_times", "test_pay_counts_accepted_judgements_of_every_kind"),
    "105": ("test_an_item_belongs_to_the_day_and_week_of_its_latest_judgement",),
    "106": "webhooks are written where an Event is, in the same transaction, so no way in can miss them",
    # listening-test and crowd quality
    "107": "each clip is one audio element with one address; nothing decodes it a second time",
    "108": "every graded version must be heard before any grade of it counts (test_unheard_clips_are_refused_by_the_server)",
    "109": ("test_a_pair_ends_equally_loud_and_the_originals_stay", "test_level_gives_way_before_true_peaks_clip"),
    "110": ("test_training_is_not_passed_by_merely_answering", "test_five_of_six_pass"),
    "111": ("test_each_reason_for_an_empty_queue_has_words_of_its_own",),
    "112": ("test_without_items_nobody_is_stuck",),
    # bug reports
    "B01": ("test_clicks_in_a_long_stereo_mp3_of_varying_rate_are_drawn_where_they_are_heard",),
    "B03": ("test_a_recording_of_a_browser_without_a_duration_gets_the_decoded_one",),
    "B05": ("test_the_second_opinion_is_collected_after_the_first",),
    "B07": ("test_mp3_of_different_rates_leave_as_they_are_and_keep_length_and_pitch_in_either_order", "test_load_dataset_opens_the_folder_and_finds_the_original_bytes"),
    "B08": ("test_two_bad_files_of_four_are_named_with_reasons_and_the_others_are_exported",),
    "B10": ("test_rows_and_files_that_do_not_match_are_all_named",),
    "B12": ("test_one_deviating_value_gives_alpha_zero_with_percent_agreement_and_its_reason",),
    "B13": ("test_full_agreement_on_one_value_is_undefined_with_its_reason_and_valid_json",),
    "B15": ("test_published_agreement_of_real_ratings",),
    "B16": ("test_words_have_the_order_they_are_given_and_never_that_of_the_alphabet",),
    "B18": ("test_answers_of_the_bug_reports_are_read_and_never_guessed",),
    "B19": ("test_answers_of_the_bug_reports_are_read_and_never_guessed",),
    "B22": ("test_answers_of_the_bug_reports_are_read_and_never_guessed",),
    "B24": ("test_answers_of_the_bug_reports_are_read_and_never_guessed",),
    "B25": ("test_numbers_in_words_and_in_figures_are_no_errors",),
    "B26": ("test_an_empty_reference_is_undefined_and_breaks_nothing",),
    "B28": ("test_an_export_that_the_broker_hands_out_again_is_written_once", "test_a_step_that_was_handed_out_twice_is_done_once"),
    "B30": ("test_a_job_is_handed_out_on_commit_and_never_after_a_rollback",),
}  # fmt: skip


def names_of_tests():
    found = set()
    for path in TESTS.rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {
            node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
    return found


def test_every_pain_has_a_test_that_exists_or_a_reason():
    there = names_of_tests()

    missing = {
        name: wanted
        for name, said in PAINS.items()
        for wanted in (said if isinstance(said, tuple) else re.findall(r"test_\w+", said))
        if wanted not in there
    }

    assert missing == {}
    assert all(len(said) > 40 for said in PAINS.values() if isinstance(said, str))


def test_every_pain_of_the_shared_lists_is_in_the_table(shared):
    text = (shared / "reference" / "annotation.md").read_text(encoding="utf-8").partition("## 3. What users")[2]
    numbers = set(re.findall(r"^(\d+)\. ", text, flags=re.MULTILINE))
    lines = (shared / "cases" / "bug_reports.jsonl").read_text(encoding="utf-8").splitlines()
    bugs = {json.loads(line)["id"] for line in lines if line.strip()}

    assert set(PAINS) == numbers | bugs
