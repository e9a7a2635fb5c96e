"""Studies that people and models have sat, to be compared."""

from tests.eqstudio.factories import annotator
from tests.evaluation.factories import model_respondent, right_answer, sit_through, wrong_answer


def mixed(record):
    """Right on every other question."""
    return right_answer(record) if record.dialogue_id % 2 else wrong_answer(record)


def sat(study):
    for person, choose in (("a", right_answer), ("b", mixed), ("c", right_answer)):
        sit_through(study, user=annotator(username=person), choose=choose)
    sit_through(study, respondent=model_respondent(study, name="poor"), choose=wrong_answer)
    sit_through(study, respondent=model_respondent(study, name="fair"), choose=mixed)
    return study


def rows_of(result):
    return {row["name"]: row for row in result["respondents"]}
