"""What a card says may be said, how items go together, and what stands beside others."""

import json
from dataclasses import replace

from evenruler.instruments.instrument import FigureHeading
from evenruler.publish.folder import write_benchmark
from evenruler.report.sentences import VERDICT_MEANINGS
from tests.publish.conftest import R
from tests.publish.test_card import body_of, section, table, with_evidence
from tests.text_tables import yaml_of_text

JUDGED = yaml_of_text("""\
figure: r
model: tiny
set: hand
value: 0.924725
low: 0.8851
high: 0.9454
p: 0.0021645
n: 43
unit: attributes
'null': criterion randomised over 43 attributes
bound: 0.2
detects: 0.31
percentile: 98.0
alternatives: 351.0
reference_set: person nouns
positive_control: brides and monks
positive_value: 0.99
positive_low: 0.9
positive_p: 0.001
facets: 43 attributes, 8 templates
verdict: detected
why: It is so.
""")


HEADER = "| model | part | figure | value | p | bound | positive control | sample | verdict |"
FINDING = "| model | finding |"
CORRELATION = {"figure": "item_rest_correlation", "model": "tiny", "set": "hand"}
CORRELATIONS = [
    CORRELATION | {"template": "flat", "value": None},
    CORRELATION
    | {"template": "odd", "unscored": "yes"}
    | {"value": -0.8249, "low": -0.9, "high": -0.71},
    CORRELATION | {"template": "plain", "value": 0.885},
]


class TestVerdicts:
    def test_stand_before_the_figures_each_rounded_once(self, benchmark):
        body = body_of(with_evidence(benchmark, JUDGED))
        assert table(body, HEADER) == [
            [
                *("tiny", "`hand`", "r", "0.92 [0.89, 0.95], n = 43", "0.0022", "0.2"),
                "brides and monks: 0.99, detected",
                *(JUDGED["facets"], "**detected**"),
            ]
        ]

    def test_a_row_a_model_in_sentences_and_what_they_do_not_show(self, benchmark):
        evidence = [JUDGED | {"set": name} for name in ("a", "b")]
        body = body_of(replace(benchmark, evidence=evidence))
        rest = (
            "<br>**compared** More than 98% of 351 alternatives from person nouns."
            "<br>**sensitive** It detects 0.31 in 8 of 10 studies. Brides and monks: 0.99, "
            "detected."
        )
        claims = [f"**detected** r ({name}): R: 0.92 [0.89, 0.95].{rest}" for name in ("a", "b")]
        assert table(body, FINDING) == [["tiny", "<br>".join(claims)]]
        assert "|\n\nIt shows no harm.\n\n## Measure" in body

    def test_parts_with_a_verdict_come_first_with_their_titles(self, benchmark):
        evidence = [R | {"set": "a"}, JUDGED | {"set": "b"}]
        titled = replace(benchmark, evidence=evidence, titles={"b": "The headline"})
        quality = section(body_of(titled), "Quality")
        assert quality.index("### `b`: The headline\n") < quality.index("### `a`\n")

    def test_each_word_is_explained_and_each_null_and_carrier_named(self, benchmark):
        ends = {"highest_units": "carpenter", "lowest_units": "nurse"}
        body = body_of(with_evidence(benchmark, JUDGED | ends))
        assert [word for word in VERDICT_MEANINGS if f"| `{word}` |" not in body] == []
        assert "\nWhat p is of: criterion randomised over 43 attributes\n" in body
        assert "\n- tiny, `hand`: Highest: carpenter; lowest: nurse.\n" in body

    def test_a_part_that_the_heading_says_is_not_said_again(self, benchmark):
        heading = FigureHeading("r", "r on hand", "its r", dimensions={"set": "hand"})
        row = JUDGED | {"prompt_format": "chat"}
        body = body_of(replace(benchmark, evidence=[row], quality=[heading]))
        assert table(body, HEADER)[0][1:3] == ["`chat`", "r on hand"]

    def test_without_a_test_or_control(self, benchmark):
        missing = ("p", "null", "facets", "positive_control", "percentile", "detects")
        row = {key: content for key, content in JUDGED.items() if key not in missing}
        body = body_of(with_evidence(benchmark, row | {"verdict": "inconclusive"}))
        rows = table(body, HEADER)
        assert rows[0][4:] == [
            "none",
            "0.2",
            "no positive control was asked",
            "",
            "**inconclusive**",
        ]
        assert "What p is of" not in body

    def test_the_control_stands_in_the_table_of_quality_too(self, benchmark):
        body = body_of(with_evidence(benchmark, R | {"control": 0.38}))
        assert "n = 43; control 0.38" in section(body, "Quality")

    def test_where_nothing_is_judged_it_says_so(self, benchmark):
        body = body_of(benchmark)
        assert section(body, "What was found").startswith("No figure has a verdict.\n")
        assert HEADER not in body


class TestItems:
    def test_controls_last_and_named(self, benchmark):
        rows = table(body_of(with_evidence(benchmark, *CORRELATIONS)), "| item | tiny |")
        assert rows == [
            ["`flat`", "none"],
            ["`plain`", "0.89"],
            ["`odd` (a control, in no score)", "-0.82 [-0.90, -0.71]"],
        ]


class TestCompared:
    def test_differences_with_their_sign(self, benchmark):
        gain = {"figure": "gain", "model": "tiny", "set": "hand"}
        rows = [
            {**gain, "compared_with": "seed", "value": 0.104, "low": -0.02, "high": 0.2},
            {**gain, "compared_with": "human", "held_out": "yes", "value": None},
        ]
        headings = [FigureHeading("gain", "gain", "its gain")]
        changed = replace(with_evidence(benchmark, *rows), compared=headings, titles={"human": "H"})
        assert table(body_of(changed), "| model | against | gain |") == [
            ["tiny", "seed", "+0.10 [-0.02, +0.20]"],
            ["tiny", "H (held out)", ""],
        ]
        assert "Against others" in section(body_of(changed), "Quality")


def test_nothing_is_said_of_what_is_not_there(benchmark):
    body = body_of(with_evidence(benchmark))
    assert "lanted" not in body
    assert "Correlation of every item" not in body
    assert "Against others" not in body


PLANTED = yaml_of_text("""\
figure: r
key: set=hand
plant: occupation-gender
own: true
sensitivity: 0.31
low: 0.25
high: 0.37
verdict:
planted:
- {dose: 2.0, n: 6, detected: 5, opposite: 0, low: 0.436, high: 0.97}
- {dose: 8.0, n: 1, detected: 1, opposite: 0, low: 0.207, high: 1.0}
""")


class TestPlanted:
    def test_a_row_a_headline_and_plant_with_a_sentence_before(self, benchmark):
        unknown = {"planted": [], "sensitivity": None, "low": None, "high": None}
        other = PLANTED | {"plant": "mood", "own": False} | unknown
        body = body_of(replace(benchmark, planted=[PLANTED, other]))
        head = "| planted | same construct | part | figure | change per nat | detected by dose |"
        counts = "2 nats: 5 of 6 [0.44, 0.97]; 8 nats: 1 of 1 [0.21, 1.00]"
        assert table(body, head) == [
            ["occupation-gender", "yes", "`set=hand`", "r", "**0.31 [0.25, 0.37]**", counts],
            ["mood", "no", "`set=hand`", "r", "none", "not known"],
        ]
        assert (
            "\n**Planted bias.** Of a planted association (occupation-gender) it detects 2 nats in "
            "5 of 6 models, 8 in 1 of 1.\n" in body
        )

    def test_it_lies_in_the_folder_too(self, benchmark, tmp_path):
        write_benchmark(replace(benchmark, planted=[PLANTED]), tmp_path / "one")
        assert json.loads((tmp_path / "one/planted.json").read_text()) == [PLANTED]
        write_benchmark(benchmark, tmp_path / "two")
        assert not (tmp_path / "two/planted.json").exists()
        assert "planted" not in json.loads((tmp_path / "two/evidence.json").read_text())
