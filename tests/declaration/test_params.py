import pytest

from evenruler.declaration.params import FIRST_VERSION, load_params
from evenruler.errors import UserError

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
    def test_values(self, file_with):
        params = load_params(file_with("params.yaml", PARAMS))
        assert list(params.models) == ["tiny", "minilm", "big", "shared", "parked"]
        assert params.models["big"].revision == REVISION
        assert params.models["tiny"].sha256 == SHA256
        assert params.instruments == {
            "jobs": {"family": "framing", "stimuli": {"quick": 3, "paper": 9}},
            "later": {"family": "saged", "profile": "paper"},
        }
        assert params.families == {"framing": {"seed": 2}, "saged": None}
        assert params.versions == {"framing-jobs": "1.2.3"}
        assert (params.diagnosis.level, params.diagnosis.seed) == (0.9, 7)

    def test_the_path_may_be_text(self, file_with):
        path = file_with("params.yaml", PARAMS)
        assert load_params(str(path)) == load_params(path)

    def test_benchmarks_are_of_all_instruments_at_whatever_scale(self, file_with):
        assert load_params(file_with("params.yaml", PARAMS)).benchmarks == {
            "framing-jobs": "1.2.3",
            "saged-later": FIRST_VERSION,
        }

    def test_lineage_is_the_name_unless_it_is_given(self, file_with):
        params = load_params(file_with("params.yaml", PARAMS))
        assert [params.lineage(name) for name in params.models] == [
            "tiny-family",
            "minilm",
            "big",
            "shared",
            "parked",
        ]

    @pytest.mark.parametrize(
        ("name", "scheme", "locations", "is_file"),
        [
            ("tiny", "package", [("package", "tiny_weights/tiny.gguf")], True),
            ("minilm", "package", [("package", "minilm_weights/model")], False),
            (
                "parked",
                "package",
                [("package", "parts_one/p.gguf.0"), ("package", "parts_two/p.gguf.1")],
                True,
            ),
        ],
    )
    def test_source(self, file_with, name, scheme, locations, is_file):
        entry = load_params(file_with("params.yaml", PARAMS)).models[name]
        assert (entry.scheme, entry.locations, entry.is_file) == (scheme, locations, is_file)

    @pytest.mark.parametrize("word", ["no", "y"])
    def test_words_of_yaml_1_1_stay_words(self, file_with, word):
        path = file_with("params.yaml", PARAMS, ("origin: org/big", f"origin: {word}"))
        assert load_params(path).models["big"].origin == word


# (what is replaced, by what, key, what else the line holds)
REFUSED = [
    pytest.param(
        "diagnosis:",
        "diagnosi:",
        "diagnosi",
        ["unknown key 'diagnosi'", "'diagnosis'?", "rename"],
        id="unknown-key",
    ),
    pytest.param(
        "diagnosis:",
        '"diag\\nnosis":',
        "diag nosis",
        ["'diagnosis'?"],
        id="unknown-key-with-a-line-break",
    ),
    pytest.param(
        "  seed: 7",
        "  size: 7",
        "diagnosis.size",
        ["'size'", "DVC", "call it something"],
        id="size",
    ),
    pytest.param(
        "level: 0.9",
        "level: [1, {nfiles: 2}]",
        "diagnosis.level.1.nfiles",
        ["'nfiles'"],
        id="nfiles-in-a-list",
    ),
    pytest.param(
        "kind: embedder",
        "kind: embeder",
        "models.minilm.kind",
        [
            "'embeder'",
            "'causal', 'seq2seq', 'chat', 'completions', 'masked', 'nli', 'classifier', 'encoder', "
            "'embedder' or "
            "'recorded'",
        ],
        id="kind",
    ),
    pytest.param(
        f"    revision: {REVISION}\n",
        "",
        "models.big",
        ["revision is None", "40 hex digits"],
        id="revision-none",
    ),
    pytest.param(
        f"p.gguf.1]\n    sha256: {SHA256}",
        "p.gguf.1]",
        "models.parked",
        ["sha256 is missing"],
        id="sha256-of-parts",
    ),
    pytest.param(
        REVISION,
        "main",
        "models.big",
        ["revision is 'main'", "40 hex digits"],
        id="revision-a-branch",
    ),
    pytest.param(
        f"tiny.gguf\n    sha256: {SHA256}",
        "tiny.gguf",
        "models.tiny",
        ["sha256 is missing", "checksum"],
        id="sha256",
    ),
    pytest.param(
        f"weights/model\n    sha256: {SHA256}",
        "weights/model",
        "models.minilm",
        ["sha256 is missing", "install"],
        id="sha256-of-a-folder",
    ),
    pytest.param(
        "hub:org/big",
        "hug:org/big",
        "models.big.source",
        ["'hug:org/big'", "hub:org/name"],
        id="scheme-unknown",
    ),
    pytest.param(
        "package:parts_two/",
        "hub:parts/",
        "models.parked.source",
        ["hub:parts/p.gguf.1"],
        id="parts-of-two-schemes",
    ),
    pytest.param(
        "hub:org/big",
        "[hub:org/big, hub:org/b]",
        "models.big.source",
        ["only the file of a package"],
        id="parts-hub",
    ),
    pytest.param(
        "  big:",
        "  big.2b:",
        "models.big.2b",
        ["'big.2b', expected a slug (lower-case letters a-z, digits, single hyphens)"],
        id="slug-of-a-model",
    ),
    pytest.param(
        "  framing: {seed: 2}",
        "  framming: {seed: 2}",
        "families",
        ["no family 'framming'", "did you mean 'framing'?", "remove it or check the name"],
        id="family-unknown",
    ),
    pytest.param(
        "diagnosis:",
        "left_out: {ask@framing-bigg: torn}\ndiagnosis:",
        "left_out",
        [
            "no stage 'ask@framing-bigg'",
            "did you mean 'ask@framing-big'?",
            "remove it or check the name",
        ],
        id="left-out-unknown",
    ),
    pytest.param(
        "    licence: gemma\n",
        "",
        "models.big.licence",
        ["missing", "add the key 'licence'"],
        id="key-missing",
    ),
    pytest.param(
        f"tiny.gguf\n    sha256: {SHA256}",
        "tiny.gguf\n    sha256: abc",
        "models.tiny.sha256",
        ["'abc'"],
        id="sha256-short",
    ),
    pytest.param(
        "{framing-jobs: 1.2.3}",
        "{framing-jobs: '1.2'}",
        "versions.framing-jobs",
        ["found '1.2', expected MAJOR.MINOR.PATCH; fix it"],
        id="version-of-two-parts",
    ),
]


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

    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with, error_of, old, new, key, held
    ):
        path = file_with("params.yaml", PARAMS, (old, new))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: {key}: ")
        for words in held:
            assert words in line

    def test_how_many_more_mistakes_there_are_is_said(self, file_with, error_of):
        path = file_with("params.yaml", PARAMS, ("level: 0.9", "level: 9"), ("seed: 7", "seed: x"))
        assert "(and 1 more" in error_of(load_params, path)

    def test_without_any_one_line_it_is_read_or_refused_in_one_line(self, file_with):
        lines = PARAMS.splitlines(keepends=True)
        needless, refusals = [], []
        for left_out, gone in enumerate(lines):
            rest = lines[:left_out] + lines[left_out + 1 :]
            path = file_with("params.yaml", "".join(rest))
            try:
                load_params(path)
                needless.append(gone.strip())
            except UserError as error:
                refusals.append(str(error))
        for line in refusals:
            assert line.startswith(f"{path}: ")
            assert "\n" not in line
        # Without `profile` a model is used at every one.
        assert needless == [
            "lineage: tiny-family",
            "profile: quick",
            "profile: paper",
            "profile: none",
            "stimuli: {quick: 3, paper: 9}",
            "later: {family: saged, profile: paper}",
            "framing: {seed: 2}",
            "saged:",
            "level: 0.9",
            "seed: 7",
            "versions: {framing-jobs: 1.2.3}",
        ]


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
    def test_how_often_is_read(self, file_with):
        models = load_params(file_with("params.yaml", ANSWERING)).models
        adapted = {name: entry.intervention for name, entry in models.items()}
        assert (adapted["big"], adapted["head"], adapted["tiny"]) == ("last", "every", None)

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
        ("change", "key", "held"),
        [
            (
                ("kind: embedder\n", "kind: embedder\n    labels: [a, b]\n"),
                "minilm",
                "the kinds nli and classifier",
            ),
            (
                ("kind: nli\n", "kind: nli\n    labels: [yes, maybe, no]\n"),
                "head",
                "labels are ['yes', 'maybe', 'no'],",
            ),
            (
                ("kind: nli\n", "kind: nli\n    labels: [entailment, neutral]\n"),
                "head",
                "expected entailment, neutral and contradiction in the model's order",
            ),
        ],
    )
    def test_elsewhere_or_others_are_refused(self, file_with, error_of, change, key, held):
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

    def test_any_model_with_files_will_do(self, file_with):
        path = file_with("params.yaml", PARAMS, ("instruments:\n", random_model("tiny")))
        assert load_params(path).models["random"].scheme == "untrained"


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
