"""What can be done with corpora, batches and dialogues. Every service is keyword-only, atomic, and never enqueues."""

from generation.services.batches import BriefInput, batch_cancel, batch_create, dialogues_retry
from generation.services.budgets import Budget, BudgetSpent, budget_set
from generation.services.checking import qc_imported, qc_run
from generation.services.corpora import corpus_create, corpus_ensure
from generation.services.flagged import AS_IT_IS, dialogue_settle, dialogue_settled_as, dialogues_settle
from generation.services.gates import Busy, slots_reclaim
from generation.services.generating import batch_top_up, briefs_wanted, dialogues_of, dialogues_run
from generation.services.hearing import hearing_ask, transcript_correct
from generation.services.importing import ImportReport, corpus_import, import_check
from generation.services.leases import dialogue_reserve, leases_reclaim
from generation.services.lifecycle import dialogue_move, dialogues_move
from generation.services.matching import Filled, clips_match, corpus_match, dialogue_match
from generation.services.production import Step, dialogue_advance, dialogue_step, step_queue
from generation.services.provider_checks import ProviderState, provider_check, providers_check
from generation.services.scripting import script_generate
from generation.services.uploading import upload_create, upload_run
from generation.services.voicing import clips_synthesize

__all__ = [
    "AS_IT_IS",
    "BriefInput",
    "Budget",
    "BudgetSpent",
    "Busy",
    "Filled",
    "ImportReport",
    "ProviderState",
    "Step",
    "batch_cancel",
    "batch_create",
    "batch_top_up",
    "briefs_wanted",
    "budget_set",
    "clips_match",
    "clips_synthesize",
    "corpus_create",
    "corpus_ensure",
    "corpus_import",
    "corpus_match",
    "dialogue_advance",
    "dialogue_match",
    "dialogue_move",
    "dialogue_reserve",
    "dialogue_settle",
    "dialogue_settled_as",
    "dialogue_step",
    "dialogues_move",
    "dialogues_of",
    "dialogues_retry",
    "dialogues_run",
    "dialogues_settle",
    "hearing_ask",
    "import_check",
    "leases_reclaim",
    "provider_check",
    "providers_check",
    "qc_imported",
    "qc_run",
    "script_generate",
    "slots_reclaim",
    "step_queue",
    "transcript_correct",
    "upload_create",
    "upload_run",
]
