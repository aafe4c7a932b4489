"""Sentences about I and other subjects: rules of English, their balance, and what is refused."""

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.questionnaires.declare.sentences import (
    N_OF_I,
    NoSentenceError,
    Version,
    list_versions,
    refuse_items,
    third_person,
    write_version,
)
from evenruler.instruments.questionnaires.declare.source import load_questionnaire
from evenruler.instruments.questionnaires.declare.subjects import Subject, load_subjects
from evenruler.instruments.questionnaires.rows import fill_templates
from evenruler.reference_sets import ANIMAL_NOUNS, PERSON_NOUNS
from studies.reference_subjects import draw_subjects
from tests.conftest import ROOT
from tests.text_tables import read_cells

SOURCES = ROOT / "data" / "sources" / "questionnaires"
SUBJECTS = SOURCES / "shared" / "pairs" / "subjects.csv"
SLOT = "{INTENSIFIER}"


def person(form: str = "noun", pronoun: str = "she", noun: str = "the tenant") -> Subject:
    return Subject.model_validate(
        {"noun": noun, "form": form, "pronoun": pronoun, "source": "s", "licence": "l"}
    )


class TestRules:
    @pytest.mark.parametrize(
        ("verb", "third"),
        read_cells("""
have | has
am | is
feel | feels
react | reacts
go | goes
do | does
watch | watches
worry | worries
say | says
was | was
felt | felt
relied | relied
need | needs
can | can
"""),
    )
    def test_verbs_agree(self, verb, third) -> None:
        assert third_person(verb) == third

    @pytest.mark.parametrize(
        ("form", "pronoun", "premise", "hypothesis"),
        read_cells("""
noun | she | Of late the tenant has felt low. | The tenant {INTENSIFIER} feels so.
he or she | she | Of late the tenant has felt low. | She {INTENSIFIER} feels so.
he or she | he | Of late the tenant has felt low. | He {INTENSIFIER} feels so.
it | it | Of late the tenant has felt low. | It {INTENSIFIER} feels so.
"""),
    )
    def test_the_second_sentence_takes_the_subject_up(
        self, form, pronoun, premise, hypothesis
    ) -> None:
        version = Version(1, person(form, pronoun), "plain")
        sentences = write_version(
            version, "Of late I have felt low.", f"I {SLOT} feel so.", "source"
        )
        assert sentences == (premise, hypothesis)

    @pytest.mark.parametrize(
        ("about_i", "about_her"),
        read_cells("""
My thoughts are clear. | The tenant's thoughts are clear.
People I know well act so. | People the tenant knows well act so.
With people I do not know, I am on my guard. | With people the tenant does not know, she is on her guard.
People on whom I relied have failed me. | People on whom the tenant relied have failed her.
I have seen myself as a failure. | The tenant has seen herself as a failure.
Drawing attention to myself is something I avoid. | Drawing attention to herself is something the tenant avoids.
Others have seen me move. | Others have seen the tenant move.
"""),
    )
    def test_later_mentions_in_a_sentence_are_pronouns(self, about_i, about_her) -> None:
        version = Version(1, person(), "plain")
        premise, _ = write_version(version, about_i, "This is so.", "source")
        assert premise == about_her

    @pytest.mark.parametrize(
        ("premise", "hypothesis", "reason"),
        read_cells("""
It rains. | I like it. | its premise does not speak of I
The fault is mine, I think. | This is so. | a word of the first person that no rule knows
I say that we are late. | This is so. | a word of the first person that no rule knows
"""),
    )
    def test_what_has_no_rule_is_refused(self, premise, hypothesis, reason) -> None:
        with pytest.raises(NoSentenceError, match=reason):
            write_version(Version(1, person(), "plain"), premise, hypothesis, "source")


class TestVersions:
    def test_wordings_are_put_to_both_sentences(self) -> None:
        sides = ("I have felt low.", f"I {SLOT} feel so.", "source")
        assert write_version(Version(1, None, "premise"), *sides)[0] == (
            "It is true that I have felt low."
        )
        assert write_version(Version(1, person(), "hypothesis"), *sides)[1] == (
            "It is true that the tenant {INTENSIFIER} feels so."
        )

    def test_the_control_says_the_other_of_inverse_terms(self) -> None:
        version = Version(1, None, "plain", "all the time")
        premises = [
            write_version(version, "I feel so.", "This is so.", polarity)[0]
            for polarity in ("source", "inverse")
        ]
        assert premises == [
            "It is true all the time that I feel so.",
            "It is never true that I feel so.",
        ]

    def test_every_wording_has_as_many_subjects_and_goes_round_over_items(self) -> None:
        subjects = load_subjects(SUBJECTS)[:6]
        wordings_by_subject = Counter[tuple[str, str]]()
        for place in range(3):
            versions = [v for v in list_versions(subjects, place) if v.subject]
            assert set(Counter(version.wording for version in versions).values()) == {2}
            wordings_by_subject.update((version.name, version.wording) for version in versions)
        assert set(wordings_by_subject.values()) == {1}

    def test_sentences_about_i_come_first(self) -> None:
        versions = list_versions(load_subjects(SUBJECTS), 0)
        assert [version.number for version in versions if version.name == "I"] == list(
            range(1, N_OF_I + 1)
        )
        assert len(versions) == N_OF_I + 20


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "refused"),
        [
            *(("gad-7", 0), ("phq-9", 0), ("soc-13", 0), ("ipip-extraversion", 0)),
            *(("trust-in-people", 3), ("women-roles", 7), ("immigrants", 12)),
        ],
    )
    def test_items_that_are_not_about_i_are_refused(self, name, refused) -> None:
        read, _ = load_questionnaire(SOURCES / f"{name}.yaml", SOURCES / "shared/scales")
        reasons = refuse_items(read.items, load_subjects(SUBJECTS))
        assert len(reasons) == refused
        assert set(reasons.values()) <= {"its premise does not speak of I"}

    def test_rows_stand_where_their_word_begins(self) -> None:
        read, scale = load_questionnaire(SOURCES / "gad-7.yaml", SOURCES / "shared/scales")
        subjects = load_subjects(SUBJECTS)[:2]
        rows = fill_templates("gad-7", read, scale, subjects, least=6).subjects
        assert len(rows) == 7 * (N_OF_I + 2) * 6 * 8
        assert len({row["id"] for row in rows}) == len(rows)
        for row in rows:
            text = f"{row['premise']} {row['hypothesis']}"
            assert text[row["begin"] :].startswith(row["word"])
        assert {row["word"] for row in rows} == set(scale.words)
        few = fill_templates("gad-7", read, scale, subjects, least=8)
        assert few.subjects == []

    def test_subjects_are_those_that_the_seed_draws(self) -> None:
        persons = pd.read_csv(PERSON_NOUNS, keep_default_na=False)
        animals = pd.read_csv(ANIMAL_NOUNS, keep_default_na=False)
        written = pd.read_csv(SUBJECTS, keep_default_na=False)
        pd.testing.assert_frame_equal(draw_subjects(persons, animals), written)


class TestLoad:
    def test_without_a_file_there_are_none(self, tmp_path: Path) -> None:
        assert load_subjects(tmp_path / "subjects.csv") == []

    def test_a_subject_that_stands_twice_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "subjects.csv"
        row = "the tenant,noun,she,s,l\n"
        path.write_text(f"noun,form,pronoun,source,licence\n{row}{row}")
        with pytest.raises(UserError, match="a subject stands twice"):
            load_subjects(path)
