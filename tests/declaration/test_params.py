import pytest

from evenruler.declaration.params import FIRST_VERSION, load_params
from tests.text_tables import read_cells, yaml_of_text

REVISION, SHA256 = "0123456789abcdef" * 2 + "deadbeef", "0a" * 32

PARAMS = f"""\
models:
  tiny:
    kind: causal
    source: package:tiny_weights/tiny.gguf
    sha256: {SHA256}
    licence: mit
    origin: org/tiny, quantised
    lineage: tiny-family
    profile: quick
  minilm:
    kind: embedder
    source: package:minilm_weights/model
    sha256: {SHA256}
    licence: mit
    origin: org/minilm
  big:
    kind: causal
    source: hub:org/big
    revision: {REVISION}
    licence: gemma
    origin: org/big
    profile: paper
  shared:
    kind: causal
    source: local:weights/shared
    licence: apache-2.0
    origin: of our own
  parked:
    kind: causal
    source: [package:parts_one/p.gguf.0, package:parts_two/p.gguf.1]
    sha256: {SHA256}
    licence: bsd
    origin: org/parked
    profile: none
instruments:
  jobs:
    family: framing
    stimuli: {{quick: 3, paper: 9}}
  later: {{family: saged, profile: paper}}
families:
  framing: {{seed: 2}}
  saged:
diagnosis:
  level: 0.9
  seed: 7
versions: {{framing-jobs: 1.2.3}}
"""


class TestWhatIsRead:
    def test_benchmarks_are_of_all_instruments_at_whatever_scale(self, file_with):
        assert load_params(file_with("params.yaml", PARAMS)).benchmarks == {
            "framing-jobs": "1.2.3",
            "saged-later": FIRST_VERSION,
        }

    def test_lineage_is_the_name_unless_it_is_given(self, file_with):
        params = load_params(file_with("params.yaml", PARAMS))
        assert [params.lineage(name) for name in ("tiny", "minilm")] == ["tiny-family", "minilm"]

    @pytest.mark.parametrize(
        ("name", "scheme", "locations", "is_file"),
        [
            ("tiny", "package", [("package", "tiny_weights/tiny.gguf")], True),
            ("minilm", "package", [("package", "minilm_weights/model")], False),
        ],
    )
    def test_source(self, file_with, name, scheme, locations, is_file):
        entry = load_params(file_with("params.yaml", PARAMS)).models[name]
        assert (entry.scheme, entry.locations, entry.is_file) == (scheme, locations, is_file)

    @pytest.mark.parametrize("word", ["no"])
    def test_words_of_yaml_1_1_stay_words(self, file_with, word):
        path = file_with("params.yaml", PARAMS, ("origin: org/big", f"origin: {word}"))
        assert load_params(path).models["big"].origin == word


REFUSED = yaml_of_text(rf"""
unknown-key: ["diagnosis:", "diagnosi:", "diagnosi", "did you mean 'diagnosis'?"]
a-line-break: ["diagnosis:", '"diag\nnosis":', "diag nosis", "'diagnosis'?"]
kind: ["kind: embedder", "kind: embeder", "models.minilm.kind", "'embeder'"]
revision: ["{REVISION}", main, "models.big", "revision is 'main'"]
sha256-of-parts: ["p.gguf.1]\n    sha256: {SHA256}", "p.gguf.1]",
  models.parked, "sha256 is missing"]
sha256-of-a-folder: ["model\n    sha256: {SHA256}", "model", models.minilm, "sha256 is missing"]
sha256-short: ["tiny.gguf\n    sha256: {SHA256}", "tiny.gguf\n    sha256: abc",
  models.tiny.sha256, "'abc'"]
scheme: ["hub:org/big", "hug:org/big", "models.big.source", "'hug:org/big'"]
two-schemes: ["package:parts_two/", "hub:parts/", "models.parked.source", "hub:parts/p.gguf.1"]
parts-hub: ["hub:org/big", "[hub:org/big, hub:org/b]", models.big.source,
  "only the file of a package"]
slug: ["  big:", "  big.2b:", "models.big.2b", "'big.2b', expected a slug"]
family: ["  framing: {{seed: 2}}", "  framming: {{seed: 2}}", families, "no family 'framming'"]
left-out: ["diagnosis:", "left_out: {{ask@framing-bigg: torn}}\ndiagnosis:", left_out,
  "did you mean 'ask@framing-big'?"]
key-missing: ["    licence: gemma\n", "", "models.big.licence", "add the key 'licence'"]
version: ["{{framing-jobs: 1.2.3}}", "{{framing-jobs: '1.2'}}",
  versions.framing-jobs, "MAJOR.MINOR"]
""")
"""By mistake: what is replaced, by what, the key, and what else the line holds."""


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            (
                "  later: {family: saged, profile: paper}\n",
                "  later:\n",
                "instruments.later: found nothing",
            ),
            ("  framing: {seed: 2}\n  saged:\n", "  [framing]\n", "families: found ['framing']"),
        ],
    )
    def test_what_is_no_mapping_is_told_in_words_of_ours(
        self, file_with, error_of, old, new, reason
    ):
        path = file_with("params.yaml", PARAMS, (old, new))
        assert (
            error_of(load_params, path) == f"{path}: {reason}, expected keys; "
            f"{'write it' if 'nothing' in reason else 'write `key: value`'}"
        )

    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED.values(), ids=REFUSED)
    def test_one_line_with_file_key_and_finding(self, file_with, error_of, old, new, key, held):
        path = file_with("params.yaml", PARAMS, (old, new))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: {key}: ")
        assert held in line


NLI = """\
  head:
    kind: nli
    source: local:weights/head
    licence: mit
    origin: of our own
    intervention: every
"""
ANSWERING = (
    PARAMS.replace("instruments:\n", f"{NLI}instruments:\n")
    .replace(
        "    profile: paper\n", "    entailment: true\n    intervention: last\n    profile: paper\n"
    )
    .replace("    lineage: tiny-family\n", "    lineage: tiny-family\n    entailment: true\n")
)
"""`tiny` (quick), `big` (paper) and `head` (both) answer questionnaires; `big` and `head` are
adapted to corpora."""


class TestAdapted:
    def test_an_embedder_cannot_be_adapted(self, file_with, error_of):
        path = file_with(
            "params.yaml",
            ANSWERING,
            ("kind: embedder\n", "kind: embedder\n    intervention: last\n"),
        )
        assert error_of(load_params, path).startswith(
            f"{path}: models.minilm: `intervention` belongs to models that "
        )


class TestLabels:
    @pytest.mark.parametrize(
        ("kind", "labels"),
        [
            ("nli", "[contradiction, neutral, entailment]"),
            ("classifier", "[acceptable, unacceptable]"),
        ],
    )
    def test_in_the_models_own_order(self, file_with, kind, labels):
        changes = [
            ("kind: nli\n", f"kind: {kind}\n    labels: {labels}\n"),
            ("    intervention: every\n", ""),
        ]
        path = file_with("params.yaml", ANSWERING, *changes)
        assert load_params(path).models["head"].labels == labels.strip("[]").split(", ")

    @pytest.mark.parametrize(
        ("old", "labels", "key", "held"),
        read_cells("""
kind: embedder | [a, b] | minilm | the kinds nli and classifier
kind: nli | [yes, maybe, no] | head | labels are ['yes', 'maybe', 'no'],
"""),
    )
    def test_elsewhere_or_others_are_refused(self, file_with, error_of, old, labels, key, held):
        change = (f"{old}\n", f"{old}\n    labels: {labels}\n")
        path = file_with("params.yaml", ANSWERING, change)
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: models.{key}: ")
        assert held in line


class TestUntrained:
    @pytest.mark.parametrize(
        ("other", "held"),
        [
            ("sharde", "no model 'sharde'; check the name (did you mean 'shared'?)"),
            ("hosted", "'hosted' has no files of its own; name a model that has"),
        ],
    )
    def test_what_it_cannot_be_made_of_is_refused_as_it_is_read(
        self, file_with, error_of, other, held
    ):
        path = file_with("params.yaml", PARAMS, ("instruments:\n", random_model(other)))
        assert error_of(load_params, path) == f"{path}: models.random.source: {held}"


def random_model(other: str) -> str:
    """An untrained model, not in use, and a hosted one."""
    entries = {"random": ("causal", f"untrained:{other}"), "hosted": ("chat", "endpoint:big")}
    return (
        "".join(
            f"  {name}:\n    kind: {kind}\n    source: {source}\n    licence: none\n    origin: "
            "x\n    profile: none\n"
            for name, (kind, source) in entries.items()
        )
        + "instruments:\n"
    )
