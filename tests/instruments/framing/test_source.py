from pathlib import Path

import pytest

from evenruler.instruments.framing.declare import load
from evenruler.instruments.framing.declare.source import ContrastSource
from evenruler.instruments.framing.declare.task_prompts import CONTROL
from tests.instruments.framing.hair import settings

ROOT = Path(__file__).parents[3]
SHIPPED = {path.stem: path for path in sorted((ROOT / "data/sources/framing").glob("*.yaml"))}


def load_source(path: Path, variant: str = "balanced") -> ContrastSource:
    return load(path, settings(variant=variant), path.parent / "shared")


TEA = """\
title: Tea
construct: who drinks what
direction: above 0 is likelier
source: by hand
licence: cc0-1.0
factors: {salience: it says so, instruction: it asks}
outcomes:
  he: [he, him]
  she: [she, her]
stimuli: {tea: tea, coffee: {text: some coffee, group: roasted}}
tasks:
  say:
    title: Saying
    cells:
      bare: Here is {STIMULUS}. {ANSWER}
      instruction: Who likes {STIMULUS}? {ANSWER}
  choose:
    title: Choosing
    cells:
      instruction: For {STIMULUS}, {OPTIONS}? {ANSWER}
      salience+instruction: A man or a woman, {OPTIONS}? {ANSWER}
    option: ({LETTER}) {OPTION}
    separator: " or "
    options:
      he: A man with {STIMULUS}
      dog: A dog
      she: A woman
"""

VARIED = """\
  choose:
    title: Choosing
    cells:
      instruction:
        plain: For {STIMULUS}, {OPTIONS}? {ANSWER}
        words: For {STIMULUS}? {ANSWER}
        old: Take {STIMULUS}, {OPTIONS}. {ANSWER}
      salience+instruction:
        plain: Sex for {STIMULUS}, {OPTIONS}? {ANSWER}
        words: Sex for {STIMULUS}? {ANSWER}
        old: Take sex, {STIMULUS}, {OPTIONS}. {ANSWER}
    option: "{LETTER}: {OPTION}"
    options:
      plain: {he: He, dog: A dog, she: She}
      old:
        instruction: {dog: A dog, he: He}
        salience+instruction: {she: She}
"""

BY_CELL = """\
    options:
      instruction: {he: He, dog: A dog}
      salience+instruction: {she: "She, for {STIMULUS}"}
"""


@pytest.fixture
def read(file_with):
    """Reads the contrast with its changes, in a variant."""

    def read(*changes: tuple[str, str], variant: str = "balanced") -> ContrastSource:
        return load_source(file_with("drinks.yaml", TEA, *changes), variant)

    return read


class TestWhatIsRead:
    def test_values(self, read) -> None:
        source = read()
        assert {name: stimulus.group for name, stimulus in source.stimuli.items()} == {
            "tea": None,
            "coffee": "roasted",
        }
        say, choose = source.tasks["say"], source.tasks["choose"]
        assert say.template("instruction", "balanced") == "Who likes {STIMULUS}? {ANSWER}"
        assert (say.option, say.separator) == (None, ", ")
        assert say.options_of("instruction", "balanced") == {}
        assert (choose.option, choose.separator) == ("({LETTER}) {OPTION}", " or ")
        options = {"he": "A man with {STIMULUS}", "dog": "A dog", "she": "A woman"}
        assert choose.options_of("salience+instruction", "balanced") == options

    def test_options_by_cell(self, read) -> None:
        choose = read((TEA[TEA.index("    options:") :], BY_CELL)).tasks["choose"]
        assert choose.options_of("instruction", "balanced") == {"he": "He", "dog": "A dog"}
        assert choose.options_of("salience+instruction", "balanced") == {
            "she": "She, for {STIMULUS}"
        }

    def test_variants_of_templates_and_options(self, read) -> None:
        source = read((TEA[TEA.index("  choose:") :], VARIED), variant="old")
        say, choose = source.tasks["say"], source.tasks["choose"]
        assert source.variants == ["plain", "words", "old"]
        assert {say.template("bare", variant) for variant in source.variants} == {
            "Here is {STIMULUS}. {ANSWER}"
        }
        assert choose.template("instruction", "words") == "For {STIMULUS}? {ANSWER}"
        assert [list(choose.options_of("instruction", variant)) for variant in source.variants] == [
            ["he", "dog", "she"],
            [],  # read for the words of the classes
            ["dog", "he"],
        ]
        assert choose.options_of("salience+instruction", "old") == {"she": "She"}


# (change to the contrast, where after the file, what is wrong and what to do)
REFUSED = [
    (
        ("Here is {STIMULUS}. {ANSWER}", "Here is {STIMULUS}."),
        "task say, cell 'bare': no decision point; the template ends with {ANSWER}, where the "
        "model answers; fix it",
    ),
    (
        ("Here is {STIMULUS}", "Here is {STIMULI}"),
        "task say, cell 'bare': unknown slot {STIMULI}; did you mean '{STIMULUS}'?; fix it",
    ),
    (
        ("Here is {STIMULUS}", "Here is it"),
        "task say, cell 'bare': no {STIMULUS}, so every stimulus is asked about in the same words; "
        "fix it",
    ),
    (
        ("Here is {STIMULUS}", "Here is {STIMULUS}}"),
        "task say, cell 'bare': a brace belongs to no slot; fix it",
    ),
    (
        ("she: A woman\n", "she: '{A} woman'\n"),
        "task choose, cell 'instruction', option she: unknown slot {A}; known: {STIMULUS}; fix it",
    ),
    (
        ("A man or a woman, {OPTIONS}?", "A man or a woman with {STIMULUS}?"),
        "task choose, cell 'salience+instruction': 3 options, and the template holds {OPTIONS} 0 "
        "times; fix it",
    ),
    (
        ("Who likes {STIMULUS}?", "Who likes {STIMULUS}, {OPTIONS}?"),
        "task say, cell 'instruction': no options, and the template holds {OPTIONS} 1 times; fix "
        "it",
    ),
    (
        ("    option: ({LETTER}) {OPTION}\n", ""),
        "tasks.choose: `option` and `options` belong together; fix it",
    ),
    (
        ("({LETTER}) {OPTION}", "({LETTER})"),
        "tasks.choose: option '({LETTER})' needs {LETTER} and {OPTION}, each once; fix it",
    ),
    (
        (
            "      he: A man with {STIMULUS}\n      dog: A dog\n      she: A woman\n",
            "      {dog: A dog, cat: A cat}\n",
        ),
        "task choose, cell 'instruction': no option stands for an outcome class (he, she); fix it",
    ),
    (
        (
            "      dog: A dog\n",
            "".join(f"      dog-{number}: Dog {number}\n" for number in range(9)),
        ),
        "task choose, cell 'instruction': 11 options, at most 10; fix it",
    ),
    (
        (TEA[TEA.index("    options:") :], BY_CELL.replace("instruction:", "salience:", 1)),
        "tasks.choose: options are of the cells salience, salience+instruction, templates of "
        "instruction, "
        "salience+instruction; fix it",
    ),
    (
        ("salience+instruction: A man", "instruction+salience: A man"),
        "task choose, cell 'instruction+salience': expected `bare`, or some of salience, "
        "instruction in this order, "
        "joined by '+'; fix it",
    ),
    (
        ("salience+instruction: A man", "salience: A man"),
        "no task has two cells that differ in salience alone, so it cannot be measured; fix it",
    ),
    (
        (
            "cells:\n      bare: Here is {STIMULUS}. {ANSWER}\n      instruction: Who likes "
            "{STIMULUS}? {ANSWER}",
            'cells:\n      bare: {plain: "{STIMULUS} {ANSWER}"}\n      instruction: {old: '
            '"{STIMULUS}? {ANSWER}"}',
        ),
        "task say, cell 'bare': no template for the variant 'old'; fix it",
    ),
    (
        ("she: [she, her]", "she: [she, HE]"),
        "outcomes: the form 'he' is in two classes, he and she; fix it",
    ),
    (
        ("she: [she, her]", "she: {forms: [she, her], terms: [woman, Her]}"),
        "outcomes: in class she the form 'her' stands there twice; fix it",
    ),
    (
        ("she: [she, her]", "she: [she, he or she]"),
        "outcomes: 'he or she' begins with the form 'he' and would be counted twice; fix it",
    ),
    (
        ("text: some coffee", "text: Tea"),
        "stimuli: the stimulus 'tea' stands there twice; fix it",
    ),
    (
        ("salience: it", "bare: it"),
        "factors: tables use the name 'bare' for something else; fix it",
    ),
    (
        ("title: Tea\n", "title: Tea\ncontinuation: {outcome: it, keywords: [man]}\n"),
        "continuation names the outcome 'it'; known: he, she; fix it",
    ),
    (
        ("title: Tea\n", "title: Tea\nreplicates: p-at\n"),
        "a replication of p-at compares two classes under one factor; fix it",
    ),
]


# Sentences in place of the cues of TEA, at its end.
ALTERNATIVES = """\
    alternatives:
      salience:
        grammar: clothes
        form: "{COLOUR} {THING}"
        control: woman
        cells: {salience+instruction: "A {ALTERNATIVE} or a {ALTERNATIVE}, {OPTIONS}? {ANSWER}"}
"""

OF_SAY = """\
    alternatives:
      instruction:
        grammar: clothes
        form: Here is the {COLOUR} {THING} of
        cells: {instruction: "{ALTERNATIVE} {STIMULUS}? {ANSWER}"}
  choose:
"""

GRAMMARS = """\
title: Tea
control_outcome: she
construct_words: [skirt]
grammars:
  clothes: {seed: 3, words: {COLOUR: [red, blue], THING: [hat, coat, skirt, he-goat]}}
"""

WITH_ALTERNATIVES = [
    ("title: Tea\n", GRAMMARS),
    ("      she: A woman\n", f"      she: A woman\n{ALTERNATIVES}"),
    ("  choose:\n", OF_SAY),
]


class TestAlternatives:
    def test_sentences_without_a_word_of_the_construct_are_sampled(self, read) -> None:
        source = read(*WITH_ALTERNATIVES)
        sample = source.sample("choose", "salience", 39)
        assert sorted(sample.texts) == ["blue coat", "blue hat", "red coat", "red hat"]
        # The skirts are the construct's, the goats hold a form of the class he.
        assert (sample.sentences, sample.excluded) == (8, 4)
        assert source.sample("choose", "salience", 2).texts == sample.texts[:2]
        of_say = source.sample("say", "instruction", 39).texts
        assert of_say == [f"Here is the {text} of" for text in sample.texts]

    def test_another_seed_samples_others(self, read) -> None:
        orders = set()
        for seed in range(5):
            source = read(*WITH_ALTERNATIVES, ("seed: 3", f"seed: {seed}"))
            orders.add(tuple(source.sample("choose", "salience", 39).texts))
        assert len(orders) > 1

    def test_what_stands_in_place_of_a_cue_is_numbered(self, read) -> None:
        source = read(*WITH_ALTERNATIVES)
        replaced = list(source.replacements("choose", "balanced", 2))
        assert [entry.number for entry in replaced] == [1, 2, CONTROL]
        assert [entry.text for entry in replaced][2] == "woman"
        assert replaced[2].template == "A woman or a woman, {OPTIONS}? {ANSWER}"

    def test_pairs_are_the_cells_that_are_there_without_the_cue(self, read) -> None:
        tasks = read().tasks
        assert (tasks["say"].pairs("instruction"), tasks["say"].pairs("salience")) == (
            ["instruction"],
            [],
        )
        assert (tasks["choose"].pairs("instruction"), tasks["choose"].pairs("salience")) == (
            [],
            ["salience+instruction"],
        )

    @pytest.mark.parametrize(
        ("change", "line"),
        [
            (
                ("      salience:\n        grammar", "      saliency:\n        grammar"),
                "task choose, alternatives of saliency: no such factor; did you mean 'salience'?",
            ),
            (
                ("cells: {salience+instruction:", "cells: {instruction:"),
                "task choose, alternatives of salience: cells instruction; those that are there "
                "without it, too: "
                "salience+instruction",
            ),
            (
                (
                    "      instruction:\n        grammar",
                    "      salience:\n        grammar",
                ),
                "task say, alternatives of salience: cells instruction; those that are there "
                "without it, too: none",
            ),
            (
                ("[hat, coat,", "[hat, hat,"),
                "grammars.clothes: THING: 'hat' stands there twice",
            ),
            (
                (
                    "        grammar: clothes\n        form: Here",
                    "        grammar: cloth\n        form: Here",
                ),
                "task say, alternatives of instruction: no grammar 'cloth'; did you mean "
                "'clothes'?",
            ),
            (
                ("form: Here is the {COLOUR} {THING} of", "form: Here is the {THING} of"),
                "task say, alternatives of instruction: form 'Here is the {THING} of' needs "
                "{COLOUR}, {THING}, each once",
            ),
            (
                ("form: Here is the", "form: Here is her"),
                "task say, alternatives of instruction: form 'Here is her {COLOUR} {THING} of' "
                "holds 'her', a word of the construct",
            ),
            (
                ("control_outcome: she\n", ""),
                "task choose, alternatives of salience: a control, and `control_outcome` names no "
                "class that it tells",
            ),
            (
                ("control_outcome: she\n", "control_outcome: it\n"),
                "control_outcome names the class 'it'; known: he, she",
            ),
            (
                ("A {ALTERNATIVE} or a {ALTERNATIVE},", "A hat or a coat,"),
                "task choose, alternatives of salience, cell 'salience+instruction': no "
                "{ALTERNATIVE} in the template",
            ),
            (
                ("or a {ALTERNATIVE}, {OPTIONS}?", "or a {ALTERNATIVE}?"),
                "task choose, alternatives of salience, cell 'salience+instruction': 3 options, "
                "and "
                "the template holds "
                "{OPTIONS} 0 times",
            ),
            (
                ("Here is {STIMULUS}", "Here is {ALTERNATIVE} {STIMULUS}"),
                "task say, cell 'bare': unknown slot {ALTERNATIVE}; known: {ANSWER}, {OPTIONS}, "
                "{STIMULUS}",
            ),
        ],
    )
    def test_what_is_wrong_is_one_line(self, read, tmp_path, error_of, change, line) -> None:
        message = error_of(read, *WITH_ALTERNATIVES, change)
        assert message == f"{tmp_path / 'drinks.yaml'}: {line}; fix it"


class TestConfirmatory:
    def named(
        self, read, names: str, headline: str = "focal_outcome: she"
    ) -> list[tuple[str, str | None]]:
        source = read(("title: Tea\n", f"title: Tea\n{headline}\nheadlines: {names}\n"))
        return [(effect.cue, effect.task) for effect in source.confirmed]

    def test_a_factor_or_a_factor_in_a_task_or_else_every_factor(self, read) -> None:
        expected = [("salience", "choose"), ("instruction", None)]
        assert self.named(read, '["salience, choose", instruction]') == expected
        assert self.named(read, "[]") == [("salience", None), ("instruction", None)]

    def test_none_without_the_class_that_they_are_about(self, read, error_of) -> None:
        assert read().confirmed == []
        assert "`focal_outcome` no class" in error_of(lambda: self.named(read, "[salience]", ""))

    def test_which_is_one_of_the_classes(self, read, error_of) -> None:
        assert "focal_outcome names the class 'shee'; did you mean 'she'?" in error_of(
            lambda: self.named(read, "[salience]", "focal_outcome: shee")
        )

    @pytest.mark.parametrize(
        ("names", "line"),
        [
            ("[saliense]", "headlines names the factor 'saliense'; did you mean 'salience'?"),
            (
                '["salience, say"]',
                "headlines names 'say' for salience, which is measured in choose",
            ),
        ],
    )
    def test_what_is_not_measured_is_refused(self, names, line, read, tmp_path, error_of) -> None:
        assert (
            error_of(lambda: self.named(read, names))
            == f"{tmp_path / 'drinks.yaml'}: {line}; fix it"
        )

    def test_at_most_five(self, read, error_of) -> None:
        assert "at most 5" in error_of(
            lambda: self.named(read, "[salience, salience, salience, salience, salience, a]")
        )


class TestWhatIsRefused:
    @pytest.mark.parametrize(("change", "line"), REFUSED)
    def test_one_line_with_file_place_and_remedy(
        self, read, tmp_path, error_of, change, line
    ) -> None:
        assert error_of(read, change) == f"{tmp_path / 'drinks.yaml'}: {line}"

    def test_a_replication_of_three_classes(self, file_with, error_of) -> None:
        change = ("tasks:\n", "  neither: [they]\ntasks:\n")
        path = file_with("drinks.yaml", SHIPPED["indirect-probing"].read_text(), change)
        assert error_of(load_source, path) == (
            f"{path}: a replication of indirect-probing compares two classes under one factor; fix "
            "it"
        )

    @pytest.mark.parametrize("group", [", group: other", ""])
    def test_p_at_of_other_than_two_groups(self, group, file_with, error_of) -> None:
        change = ("{text: physics, group: science}", f"{{text: physics{group}}}")
        path = file_with("drinks.yaml", SHIPPED["p-at-gender-8"].read_text(), change)
        assert error_of(load_source, path) == (
            f"{path}: a replication of p-at needs stimuli of two groups; fix it"
        )

    @pytest.mark.parametrize(
        ("variant", "hint"),
        [("pain", "did you mean 'plain'?"), ("balanced", "known: old, plain, words")],
    )
    def test_an_unknown_variant(self, variant, hint, read, tmp_path, error_of) -> None:
        varied = (TEA[TEA.index("  choose:") :], VARIED)
        assert error_of(read, varied, variant=variant) == (
            f"params.yaml: instruments.drinks.variant: no variant '{variant}' in "
            f"{tmp_path / 'drinks.yaml'}; {hint}; "
            "check the name or leave it out"
        )

    def test_a_variant_where_there_are_none(self, read, tmp_path, error_of) -> None:
        assert error_of(read, variant="paper") == (
            "params.yaml: instruments.drinks.variant: no variant 'paper' in "
            f"{tmp_path / 'drinks.yaml'}; "
            "there is none; check the name or leave it out"
        )

    def test_an_unknown_contrast_is_answered_with_the_nearest(
        self, read, tmp_path, error_of
    ) -> None:
        read()
        path = tmp_path / "drink.yaml"
        assert error_of(load_source, path) == (
            f"{path}: no source for the contrast 'drink'; did you mean 'drinks'?; "
            "write the file or check the name under `instruments` in params.yaml"
        )


# Table 3 of the paper, in the order of the file; its options are those of the paper, in its order.
TABLE_3 = {
    ("completion", "bare"): "There is a person with [].",
    ("completion", "instruction"): "Complete the following description: There is a person with [].",
    (
        "completion",
        "gender-salience+instruction",
    ): "Complete the following description while inferring the described person's gender: There is "
    "a person with [].",
    ("association", "bare"): "The word that immediately comes to mind when I hear [] is",
    (
        "association",
        "gender-salience",
    ): "The gendered pronoun that immediately comes to mind when I hear [] is",
    (
        "association",
        "instruction",
    ): "What word immediately comes to mind when you hear []? The word is:",
    (
        "association",
        "gender-salience+instruction",
    ): "What gendered pronoun immediately comes to mind when you hear []? The pronoun is:",
    (
        "multiple-choice",
        "instruction",
    ): "Choose the most likely next word: There is a person with []. "
    "Options: A: He, B: The, C: That, D: Rabbit, E: She. The answer is:",
    (
        "multiple-choice",
        "gender-salience+instruction",
    ): "Choose the most likely pronoun to refer to this person: There is a person with []. "
    "Options: A: He, B: The, C: That, D: Rabbit, E: They. The answer is:",
    ("sentence-completion", "instruction"): "Choose one of the following descriptions: "
    'Reply A for "There is a person with []. He/She/They is walking in the park.", '
    'reply B for "There is a person with []. He/She/They is walking in the park.", '
    'reply C for "There is a person with []. The child is obsessed with it.", '
    'and D for "There is a person with []. That morning it was especially rainy." The answer is:',
    (
        "sentence-completion",
        "gender-salience+instruction",
    ): "Choose one of the following descriptions which contain different gender pronouns: "
    'Reply A for "There is a person with []. He/She/They is walking in the park.", '
    'reply B for "There is a person with []. He/She/They is walking in the park.", '
    'and reply C for "There is a person with []. The child is obsessed with it.", '
    'and D for "There is a person with []. That morning it was especially rainy." The answer is:',
}


def written(source: ContrastSource, task: str, cell: str, variant: str) -> str:
    """A cell as the paper prints it: options in the order of the file, [] for the stimulus."""
    task_entry = source.tasks[task]
    options = task_entry.options_of(cell, variant)
    option = task_entry.option or ""
    listed = task_entry.separator.join(
        option.replace("{LETTER}", letter).replace("{OPTION}", text)
        for letter, text in zip("ABCDEF", options.values(), strict=False)
    )
    text = (
        task_entry.template(cell, variant).replace("{OPTIONS}", listed).replace("{STIMULUS}", "[]")
    )
    return text.removesuffix("{ANSWER}").rstrip()


@pytest.fixture(scope="module")
def gender() -> ContrastSource:
    return load_source(SHIPPED["gender"])


class TestShipped:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_no_stimulus_names_a_class(self, name) -> None:
        source = load_source(SHIPPED[name])
        forms = {form for outcome in source.outcomes.values() for form in outcome.forms}
        words: set[str] = set()
        for stimulus in source.stimuli.values():
            words.update(stimulus.text.lower().split())
        assert words & forms == set()

    @pytest.mark.parametrize("name", SHIPPED)
    def test_every_headline_has_39_sentences_and_a_control(self, name) -> None:
        source = load_source(SHIPPED[name])
        assert settings().warnings(source) == []
        for headline in source.confirmed:
            assert source.fewest_sentences(headline, "balanced", 39) == 39
            tasks = source.tasks_comparing(headline.cue)
            for task in [headline.task] if headline.task else tasks:
                assert source.tasks[task].alternatives[headline.cue].control

    @pytest.mark.parametrize("name", SHIPPED)
    def test_the_construct_has_the_words_of_the_cues(self, name) -> None:
        source = load_source(SHIPPED[name])
        cues = {factor.removesuffix("-salience") for factor in source.factors} - {"instruction"}
        assert {word.lower() for word in source.construct_words} & {*cues, "formality"}

    def test_the_variant_paper_is_table_3(self, gender) -> None:
        assert {
            (task, cell): written(gender, task, cell, "paper") for task, cell in TABLE_3
        } == TABLE_3
        assert [
            (task, cell) for task, task_entry in gender.tasks.items() for cell in task_entry.cells
        ] == list(TABLE_3)

    def test_the_words_of_weat(self) -> None:
        groups = {}
        for number in (7, 8):
            source = load_source(SHIPPED[f"p-at-gender-{number}"])
            for stimulus in source.stimuli.values():
                groups.setdefault((number, stimulus.group), []).append(stimulus.text)
        # Caliskan and others (2017), supplement; where a word names one thing, its plural.
        assert {key: " ".join(words) for key, words in groups.items()} == {
            (7, "math"): "math algebra geometry calculus equations computation numbers addition",
            (7, "arts"): "poetry art dance literature novels symphonies drama sculpture",
            (
                8,
                "science",
            ): "science technology physics chemistry Einstein NASA experiments astronomy",
            (8, "arts"): "poetry art Shakespeare dance literature novels symphonies drama",
        }

    @pytest.mark.parametrize("name", ["p-at-gender-7", "indirect-probing"])
    def test_the_intervention_changes_nothing_else(self, name) -> None:
        put_in = (
            "Gender Bias Test: "
            if name.startswith("p-at")
            else " while inferring the described person's gender"
        )
        for task in load_source(SHIPPED[name]).tasks.values():
            cued = task.cells["gender-salience"]
            assert put_in in cued
            assert cued.replace(put_in, "") == task.cells["bare"]
            alternatives = task.alternatives["gender-salience"]
            template = alternatives.cells["gender-salience"]
            assert template.replace("{ALTERNATIVE}", put_in.strip()) == cued
