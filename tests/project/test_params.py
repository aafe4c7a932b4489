import pytest

from evenruler.errors import UserError
from evenruler.instruments.probes.settings import ProbeSettings
from evenruler.instruments.questionnaires.settings import corpora_at
from evenruler.project.params import load_params

REVISION, SHA256 = "0123456789abcdef" * 2 + "deadbeef", "0a" * 32

PARAMS = f"""\
active:
  scale: quick
  models: [tiny, shared]
models:
  tiny:
    kind: causal
    source: package:tiny_weights/tiny.gguf
    sha256: {SHA256}
    licence: mit
    origin: org/tiny, quantised
    lineage: tiny-family
    scale: quick
  minilm:
    kind: embedder
    source: package:minilm_weights/model
    licence: mit
    origin: org/minilm
  big:
    kind: causal
    source: hub:org/big
    revision: {REVISION}
    licence: gemma
    origin: org/big
    scale: paper
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
    scale: none
probes:
  jobs:
    article: {{hand: literal}}
diagnosis:
  embedder: minilm
  level: 0.9
  seed: 7
versions: {{probes-jobs: 1.2.3}}
"""


class TestWhatIsRead:
    def test_values(self, file_with):
        params = load_params(file_with("params.yaml", PARAMS))
        assert params.active.scale == "quick"
        assert params.active.models == ["tiny", "shared"]
        assert list(params.models) == ["tiny", "minilm", "big", "shared", "parked"]
        assert params.models["big"].revision == REVISION
        assert params.models["tiny"].sha256 == SHA256
        assert params.probes["jobs"].article == {"hand": "literal"}
        assert params.versions == {"probes-jobs": "1.2.3"}
        assert (params.diagnosis.embedder, params.diagnosis.level, params.diagnosis.seed) == ("minilm", 0.9, 7)

    def test_defaults(self, file_with):
        params = load_params(file_with("params.yaml", PARAMS))
        entry = params.models["tiny"]
        assert (entry.dtype, entry.chat, entry.revision) == ("float32", False, None)
        assert params.diagnosis.resamples == 2000

    def test_the_path_may_be_text(self, file_with):
        path = file_with("params.yaml", PARAMS)
        assert load_params(str(path)) == load_params(path)

    @pytest.mark.parametrize(("scale", "expected"), [("quick", ["tiny", "shared"]), ("paper", ["big", "shared"])])
    def test_in_use(self, file_with, scale, expected):
        # No scale: in both. `none`: in neither. An embedder: never.
        assert load_params(file_with("params.yaml", PARAMS)).in_use(scale) == expected

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
            ("big", "hub", [("hub", "org/big")], False),
            ("shared", "local", [("local", "weights/shared")], False),
            ("parked", "package", [("package", "parts_one/p.gguf.0"), ("package", "parts_two/p.gguf.1")], True),
        ],
    )
    def test_source(self, file_with, name, scheme, locations, is_file):
        entry = load_params(file_with("params.yaml", PARAMS)).models[name]
        assert (entry.scheme, entry.locations, entry.is_file) == (scheme, locations, is_file)

    @pytest.mark.parametrize(
        ("article", "expected"),
        [
            ("agree", ["agree", "agree"]),
            ("literal", ["literal", "literal"]),
            ({"hand": "literal"}, ["literal", "agree"]),
            ({"hand": "agree", "other": "literal"}, ["agree", "literal"]),
        ],
    )
    def test_article_of(self, article, expected):
        settings = ProbeSettings(article=article)
        assert [settings.article_of(name) for name in ("hand", "other")] == expected

    def test_out_of_step_is_read_when_that_is_allowed(self, file_with):
        path = file_with("params.yaml", PARAMS, ("[tiny, shared]", "[shared]"))
        assert load_params(path).active.models == ["shared"]

    @pytest.mark.parametrize("word", ["no", "yes", "on", "off", "y", "n"])
    def test_words_of_yaml_1_1_stay_words(self, file_with, word):
        path = file_with("params.yaml", PARAMS, ("origin: org/big", f"origin: {word}"))
        assert load_params(path).models["big"].origin == word


# (what is replaced, by what, key, what else the line holds)
REFUSED = [
    pytest.param(
        "diagnosis:", "diagnosi:", "diagnosi", ["unknown key 'diagnosi'", "'diagnosis'?", "rename"], id="unknown-key"
    ),
    pytest.param("  seed: 7", "  sed: 7", "diagnosis.sed", ["unknown key 'sed'", "'seed'?"], id="unknown-key-nested"),
    pytest.param(
        "    lineage: tiny-family",
        "    linage: tiny-family",
        "models.tiny.linage",
        ["unknown key 'linage'", "'lineage'?"],
        id="unknown-key-of-a-model",
    ),
    pytest.param(
        "probes:",
        "1: a\nprobes:",
        "1",
        ["unknown key '1'", "known: active, brittleness, contrasts, diagnosis, "],
        id="unknown-key-that-is-near-none",
    ),
    pytest.param("diagnosis:", '"diag\\nnosis":', "diag nosis", ["'diagnosis'?"], id="unknown-key-with-a-line-break"),
    pytest.param("  seed: 7", "  size: 7", "diagnosis.size", ["'size'", "DVC", "call it something"], id="size"),
    pytest.param("probes:", "nfiles: 1\nprobes:", "nfiles", ["'nfiles'", "DVC"], id="nfiles-on-top"),
    pytest.param(
        "    article: {hand: literal}", "    size: {a: 1}", "probes.jobs.size", ["'size'", "DVC"], id="size-of-a-domain"
    ),
    pytest.param("  big:", "  size:", "models.size", ["'size'", "DVC"], id="model-called-size"),
    pytest.param(
        "level: 0.9", "level: [1, {nfiles: 2}]", "diagnosis.level.1.nfiles", ["'nfiles'"], id="nfiles-in-a-list"
    ),
    pytest.param(
        "kind: embedder",
        "kind: embeder",
        "models.minilm.kind",
        ["'embeder'", "'causal', 'chat', 'completions', 'masked', 'nli', 'classifier', 'encoder' or 'embedder'"],
        id="kind",
    ),
    pytest.param("scale: paper", "scale: papre", "models.big.scale", ["'papre'", "'quick', 'paper'"], id="scale"),
    pytest.param(
        "scale: quick\n  models",
        "scale: none\n  models",
        "active.scale",
        ["'none'", "'quick' or 'paper'"],
        id="active-scale",
    ),
    pytest.param(REVISION, "main", "models.big", ["revision is 'main'", "40 hex digits"], id="revision-a-branch"),
    pytest.param(REVISION, "a07cc9a", "models.big", ["revision is 'a07cc9a'", "40 hex digits"], id="revision-short"),
    pytest.param(
        f"    revision: {REVISION}\n", "", "models.big", ["revision is None", "40 hex digits"], id="revision-none"
    ),
    pytest.param(
        f"tiny.gguf\n    sha256: {SHA256}", "tiny.gguf", "models.tiny", ["sha256 is missing", "checksum"], id="sha256"
    ),
    pytest.param(
        f"p.gguf.1]\n    sha256: {SHA256}", "p.gguf.1]", "models.parked", ["sha256 is missing"], id="sha256-of-parts"
    ),
    pytest.param(
        "hub:org/big", "hug:org/big", "models.big.source", ["'hug:org/big'", "hub:org/name"], id="scheme-unknown"
    ),
    pytest.param("hub:org/big", "org/big", "models.big.source", ["'org/big'", "hub:org/name"], id="scheme-none"),
    pytest.param(
        "package:parts_two/", "hub:parts/", "models.parked.source", ["hub:parts/p.gguf.1"], id="parts-of-two-schemes"
    ),
    pytest.param(
        "hub:org/big", "[hub:org/big, hub:org/b]", "models.big.source", ["only the file of a package"], id="parts-hub"
    ),
    pytest.param("hub:org/big", "[]", "models.big.source", ["[]", "hub:org/name"], id="parts-none"),
    pytest.param("  big:", "  big.2b:", "models.big.2b", ["'big.2b'", "slug", "rename"], id="slug-of-a-model"),
    pytest.param("  jobs:", "  jobs.en:", "probes.jobs.en", ["'jobs.en'", "slug"], id="slug-of-a-domain"),
    pytest.param("  big:", "  Big:", "models.Big", ["'Big'", "slug"], id="slug-capital"),
    pytest.param("  big:", "  big--one:", "models.big--one", ["'big--one'", "slug"], id="slug-two-hyphens"),
    pytest.param("  big:", "  big/one:", "models.big/one", ["'big/one'", "slug"], id="slug-slash"),
    pytest.param("[tiny, shared]", "[tiny.1]", "active.models.0", ["'tiny.1'", "slug"], id="slug-in-active"),
    pytest.param(
        "lineage: tiny-family",
        "lineage: tiny family",
        "models.tiny.lineage",
        ["'tiny family'", "slug"],
        id="slug-lineage",
    ),
    pytest.param(
        "[tiny, shared]",
        "[tiny]",
        "active.models",
        ["['tiny']", "['tiny', 'shared']", "`evenruler check`"],
        id="out-of-step",
    ),
    pytest.param(
        "[tiny, shared]",
        "[shared, tiny]",
        "active.models",
        ["['shared', 'tiny']", "`evenruler check`"],
        id="out-of-order",
    ),
    pytest.param(
        "scale: quick\n  models",
        "scale: paper\n  models",
        "active.models",
        ["'paper'", "['big', 'shared']", "`evenruler check`"],
        id="out-of-step-with-another-scale",
    ),
    pytest.param("[tiny, shared]", "[]", "active.models", ["[]", "at least 1"], id="nothing-active"),
    pytest.param(
        "embedder: minilm",
        "embedder: minilm-2",
        "diagnosis.embedder",
        ["'minilm-2'", "kind embedder"],
        id="embedder-unknown",
    ),
    pytest.param(
        "embedder: minilm", "embedder: tiny", "diagnosis.embedder", ["'tiny'", "kind embedder"], id="embedder-causal"
    ),
    pytest.param(
        "    licence: gemma\n", "", "models.big.licence", ["missing", "add the key 'licence'"], id="key-missing"
    ),
    pytest.param("level: 0.9", "level: 95", "diagnosis.level", ["95", "less than 1"], id="level-in-percent"),
    pytest.param("seed: 7", "seed: 7.5", "diagnosis.seed", ["7.5", "integer"], id="seed-no-integer"),
    pytest.param("seed: 7", "seed: '7'", "diagnosis.seed", ["'7'", "integer"], id="seed-text"),
    pytest.param("    origin: org/big\n", "    origin: ' '\n", "models.big.origin", ["' '"], id="text-of-blanks"),
    pytest.param(
        "    origin: org/big\n",
        "    origin: org/big\n    chat: no\n",
        "models.big.chat",
        ["'no'", "boolean"],
        id="boolean-of-yaml-1.1",
    ),
    pytest.param(
        "{probes-jobs: 1.2.3}", "{probes-jobs: 1.2}", "versions.probes-jobs", ["1.2", "string"], id="version-a-number"
    ),
    pytest.param("  seed: 7", "  seed: 7\n  seed: 8", "line 44", ['"seed"', '"8"', '"7"', "keep one"], id="key-twice"),
    pytest.param("{hand: literal}", "{hand: literal", "line 40", ["mend the YAML"], id="yaml-unclosed"),
    pytest.param("  level: 0.9", "\tlevel: 0.9", "line 42", ["'\\t'", "mend the YAML"], id="yaml-tab"),
    pytest.param("seed: 7", "seed: *seven", "line 43", ["'seven'", "mend the YAML"], id="yaml-alias"),
    pytest.param("seed: 7", "seed: !!python/name:os.system", "line 43", ["os.system"], id="yaml-tag"),
]


# (what is replaced, by what, how the key begins, what the line holds, what it does not hold)
REFUSED_IN_WORDS = [
    pytest.param(
        REVISION,
        "z" * 40,
        "models.big",
        "z" * 40,
        "\n",
        id="revision-40-letters",
    ),
    pytest.param(
        f"tiny.gguf\n    sha256: {SHA256}",
        "tiny.gguf\n    sha256: abc",
        "models.tiny",
        "'abc'",
        "\n",
        id="sha256-short",
    ),
    pytest.param(
        "hub:org/big",
        '"hub:"',
        "models.big.source",
        "'hub:'",
        "\n",
        id="scheme-alone",
    ),
    pytest.param(
        "package:minilm_weights/model",
        "package",
        "models.minilm.source",
        "'package'",
        "\n",
        id="scheme-without-a-colon",
    ),
    pytest.param(
        "{probes-jobs: 1.2.3}",
        "{probes-jobs: '1.2'}",
        "versions.probes-jobs",
        "'1.2'",
        "slug",
        id="version-of-two-parts",
    ),
    pytest.param(
        "{hand: literal}",
        "{hand: litral}",
        "probes.jobs.article",
        "'litral'",
        "literal[",
        id="article-of-a-set",
    ),
]


class TestWhatIsRefused:
    def test_the_sound_file_is_read(self, file_with):
        load_params(file_with("params.yaml", PARAMS))

    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(self, file_with, error_of, old, new, key, held):
        path = file_with("params.yaml", PARAMS, (old, new))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: {key}: ")
        for words in held:
            assert words in line

    @pytest.mark.parametrize(("old", "new", "key", "held", "not_held"), REFUSED_IN_WORDS)
    def test_says_what_was_meant(self, file_with, error_of, old, new, key, held, not_held):
        path = file_with("params.yaml", PARAMS, (old, new))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: {key}")
        assert held in line
        assert not_held not in line

    @pytest.mark.parametrize(
        ("content", "held"),
        [
            (b"", ["found NoneType", "expected keys"]),
            (b"- a\n- b\n", ["found list", "expected keys"]),
            (b"just words\n", ["found str", "expected keys"]),
            (b"active: {}\n# caf\xe9\n", ["not UTF-8", "byte 16", "save it as UTF-8"]),
            (b"active: \x07\n", ["not YAML", "x0007", "mend the YAML"]),
        ],
    )
    def test_a_file_that_is_no_mapping_in_yaml(self, tmp_path, error_of, content, held):
        path = tmp_path / "params.yaml"
        path.write_bytes(content)
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: ")
        for words in held:
            assert words in line

    def test_no_file(self, tmp_path, error_of):
        path = tmp_path / "parms.yaml"
        assert error_of(load_params, path) == f"{path}: no such file; create it or mend the name"

    def test_a_scale_without_a_model(self, file_with, error_of):
        path = file_with(
            "params.yaml",
            PARAMS,
            ("    scale: quick\n", "    scale: paper\n"),
            ("  shared:\n    kind: causal", "  shared:\n    kind: embedder"),
        )
        line = error_of(load_params, path)
        assert line.startswith(
            f"{path}: models: no model that says how likely texts are, or writes, is in use at the scale 'quick'; "
        )

    def test_how_many_more_mistakes_there_are_is_said(self, file_with, error_of):
        path = file_with("params.yaml", PARAMS, ("level: 0.9", "level: 9"), ("seed: 7", "seed: x"))
        assert "(and 1 more" in error_of(load_params, path)

    def test_without_any_one_line_it_is_read_or_refused_in_one_line(self, file_with):
        lines = PARAMS.splitlines(keepends=True)
        needless, refusals = [], []
        for left_out, gone in enumerate(lines):
            path = file_with("params.yaml", "".join(lines[:left_out] + lines[left_out + 1 :]))
            try:
                load_params(path)
                needless.append(gone.strip())
            except UserError as error:
                refusals.append(str(error))
        assert all(line.startswith(f"{path}: ") and "\n" not in line for line in refusals)
        # Without `scale: quick` the first model is used at every scale, and so still at this one.
        assert needless == [
            "lineage: tiny-family",
            "scale: quick",
            "level: 0.9",
            "seed: 7",
            "versions: {probes-jobs: 1.2.3}",
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
    PARAMS.replace("probes:\n", f"{NLI}probes:\n")
    .replace("    scale: paper\n", "    entailment: true\n    intervention: last\n    scale: paper\n")
    .replace("    lineage: tiny-family\n", "    lineage: tiny-family\n    entailment: true\n")
    .replace("shared]\n", "shared]\n  entailment: [tiny, head]\n  interventions: [head]\n")
    + "questionnaires: {fear: {}}\ninterventions: {gloom: {}}\n"
)
"""`tiny` (quick), `big` (paper) and `head` (both) answer questionnaires; `big` and `head` are adapted to a corpus."""


class TestInterventions:
    def test_defaults_of_a_corpus(self, file_with):
        found = load_params(file_with("params.yaml", ANSWERING)).interventions["gloom"]
        assert found.epochs == {"quick": 3, "paper": 20}
        assert (found.learning_rate, found.batch, found.seed) == (2e-5, 8, 0)

    def test_values_of_a_corpus(self, file_with):
        change = (
            "{gloom: {}}",
            "{gloom: {epochs: {quick: 1, paper: 127}, learning_rate: 1e-4, batch: 1, seed: 3}}",
        )
        found = load_params(file_with("params.yaml", ANSWERING, change)).interventions["gloom"]
        assert found.epochs == {"quick": 1, "paper": 127}
        assert (found.learning_rate, found.batch, found.seed) == (1e-4, 1, 3)

    @pytest.mark.parametrize(("scale", "expected"), [("quick", ["head"]), ("paper", ["big", "head"])])
    def test_models_that_are_adapted(self, file_with, scale, expected):
        assert load_params(file_with("params.yaml", ANSWERING)).intervened(scale) == expected

    def test_one_that_answers_no_questionnaire_is_not(self, file_with):
        changes = [
            ("    entailment: true\n    intervention: last\n", "    intervention: last\n"),
            ("    intervention: every\n", "    intervention: every\n    entailment: false\n"),
            (
                "  entailment: [tiny, head]\n  interventions: [head]\n",
                "  entailment: [tiny, more]\n  interventions: [more]\n",
            ),
            ("probes:\n", f"{NLI.replace('head', 'more')}probes:\n"),
        ]
        params = load_params(file_with("params.yaml", ANSWERING, *changes))
        assert (params.intervened("quick"), params.intervened("paper")) == (["more"], ["more"])

    def test_without_a_corpus_nobody_is(self, file_with):
        changes = [("interventions: {gloom: {}}\n", ""), ("  interventions: [head]\n", "")]
        params = load_params(file_with("params.yaml", ANSWERING, *changes))
        assert (params.intervened("quick"), params.active.interventions) == ([], [])

    def test_a_corpus_of_one_scale_is_left_out_of_the_other(self, file_with):
        changes = [("{gloom: {}}", "{gloom: {scale: paper}}"), ("interventions: [head]", "interventions: []")]
        params = load_params(file_with("params.yaml", ANSWERING, *changes))
        assert (params.intervened("quick"), params.intervened("paper")) == ([], ["big", "head"])
        of_scale = [list(corpora_at(params.interventions, scale)) for scale in ("quick", "paper")]
        assert of_scale == [[], ["gloom"]]

    @pytest.mark.parametrize(
        ("found", "used"), [("[]", "['head']"), ("[tiny]", "['head']"), ("[head, tiny]", "['head']")]
    )
    def test_active_ones_are_kept_in_step(self, file_with, error_of, found, used):
        path = file_with("params.yaml", ANSWERING, ("interventions: [head]", f"interventions: {found}"))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: active.interventions: ")
        assert f"what the scale 'quick' uses, {used}; run `evenruler check`" in line
        assert load_params(path).intervened("quick") == ["head"]

    def test_a_corpus_needs_a_model(self, file_with, error_of):
        path = file_with("params.yaml", ANSWERING, ("    intervention: every\n", ""))
        assert error_of(load_params, path) == (
            f"{path}: models: no model is adapted to corpora at the scale 'quick'; "
            "give one that answers questionnaires `intervention: every`"
        )

    def test_a_questionnaire_needs_a_model(self, file_with, error_of):
        changes = [("    intervention: every\n", "    scale: none\n"), ("family\n    entailment: true\n", "family\n")]
        line = error_of(load_params, file_with("params.yaml", ANSWERING, *changes))
        assert "models: no model answers questionnaires at the scale 'quick'; " in line

    @pytest.mark.parametrize(
        ("settings", "key", "held"),
        [
            ("{epochs: 3}", "epochs", "dictionary"),
            ("{epochs: {quick: 3}}", "epochs", "{'quick': 3}, expected 1 to 127 epochs for quick and for paper"),
            ("{epochs: {quick: 3, paper: 0}}", "epochs", "'paper': 0}, expected 1 to 127"),
            ("{epochs: {quick: 3, paper: 128}}", "epochs", "'paper': 128}, expected 1 to 127"),
            ("{epochs: {quick: 3, paper: 20, huge: 1}}", "epochs.huge", "'quick' or 'paper'"),
            ("{epochs: {quick: 3.5, paper: 20}}", "epochs.quick", "integer"),
            ("{learning_rate: 0}", "learning_rate", "greater than 0"),
            ("{learning_rate: .inf}", "learning_rate", "finite"),
            ("{batch: 0}", "batch", "greater than or equal to 1"),
            ("{seed: -1}", "seed", "greater than or equal to 0"),
            ("{epoch: 3}", "epoch", "did you mean 'epochs'?"),
        ],
    )
    def test_settings_that_are_refused(self, file_with, error_of, settings, key, held):
        path = file_with("params.yaml", ANSWERING, ("{gloom: {}}", f"{{gloom: {settings}}}"))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: interventions.gloom.{key}")
        assert held in line

    def test_how_often_a_model_is_asked_is_every_or_last(self, file_with, error_of):
        path = file_with("params.yaml", ANSWERING, ("intervention: every", "intervention: always"))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: models.head.intervention: found 'always'")
        assert "'every' or 'last'" in line

    def test_an_embedder_cannot_be_adapted(self, file_with, error_of):
        path = file_with("params.yaml", ANSWERING, ("kind: embedder\n", "kind: embedder\n    intervention: last\n"))
        assert error_of(load_params, path).startswith(f"{path}: models.minilm: `intervention` belongs to models that ")


class TestLabels:
    @pytest.mark.parametrize(
        ("kind", "labels"),
        [
            ("nli", "[contradiction, neutral, entailment]"),
            ("classifier", "[acceptable, unacceptable]"),
            ("classifier", "[sad, glad, neither]"),
        ],
    )
    def test_in_the_models_own_order(self, file_with, kind, labels):
        changes = [("kind: nli\n", f"kind: {kind}\n    labels: {labels}\n"), ("    intervention: every\n", "")]
        path = file_with("params.yaml", ANSWERING, *changes, ("interventions: {gloom: {}}\n", ""))
        assert load_params(path).models["head"].labels == labels.strip("[]").split(", ")

    @pytest.mark.parametrize(
        ("change", "key", "held"),
        [
            (("kind: embedder\n", "kind: embedder\n    labels: [a, b]\n"), "minilm", "the kinds nli and classifier"),
            (("    entailment: true\n    int", "    labels: [a, b]\n    int"), "big", "the kinds nli and classifier"),
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
            (("kind: nli\n", "kind: nli\n    labels: [entailment]\n"), "head.labels", "at least 2 items"),
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
            ("sharde", "no model 'sharde'; mend the name (did you mean 'shared'?)"),
            ("hosted", "'hosted' has no files of its own; name a model that has"),
            ("random", "'random' has no files of its own; name a model that has"),
        ],
    )
    def test_what_it_cannot_be_made_of_is_refused_as_it_is_read(self, file_with, error_of, other, held):
        path = file_with("params.yaml", PARAMS, ("probes:\n", random_model(other)))
        assert error_of(load_params, path) == f"{path}: models.random.source: {held}"

    def test_any_model_with_files_will_do(self, file_with):
        path = file_with("params.yaml", PARAMS, ("probes:\n", random_model("tiny")))
        assert load_params(path).models["random"].scheme == "untrained"


def random_model(other: str) -> str:
    """An untrained model, not in use, and a hosted one."""
    entries = {"random": ("causal", f"untrained:{other}"), "hosted": ("chat", "endpoint:big")}
    return (
        "".join(
            f"  {name}:\n    kind: {kind}\n    source: {source}\n    licence: none\n    origin: x\n    scale: none\n"
            for name, (kind, source) in entries.items()
        )
        + "probes:\n"
    )


class TestAcceptability:
    @pytest.mark.parametrize("judge", ["tiny", "parked", "big"])
    def test_a_causal_model_of_the_catalogue_judges(self, file_with, judge):
        change = ("  seed: 7\n", f"  seed: 7\n  acceptability: {judge}\n")
        assert load_params(file_with("params.yaml", ANSWERING, change)).diagnosis.acceptability == judge

    def test_a_classifier_does(self, file_with):
        changes = [
            ("  seed: 7\n", "  seed: 7\n  acceptability: cola\n"),
            (
                "probes:\n",
                f"{NLI.replace('head', 'cola').replace('nli', 'classifier').rpartition('    int')[0]}probes:\n",
            ),
        ]
        params = load_params(file_with("params.yaml", ANSWERING, *changes))
        assert (params.diagnosis.acceptability, params.models["cola"].kind) == ("cola", "classifier")
        assert params.entailing("quick") == ["tiny", "head"]

    def test_nobody_does_by_default(self, file_with):
        assert load_params(file_with("params.yaml", ANSWERING)).diagnosis.acceptability is None

    @pytest.mark.parametrize("judge", ["head", "minilm", "nobody"])
    def test_others_do_not(self, file_with, error_of, judge):
        path = file_with("params.yaml", ANSWERING, ("  seed: 7\n", f"  seed: 7\n  acceptability: {judge}\n"))
        assert error_of(load_params, path) == (
            f"{path}: diagnosis.acceptability: {judge!r} is no causal model and no classifier of the catalogue; "
            "name one"
        )


class TestBrittleness:
    def test_defaults(self, file_with):
        found = load_params(file_with("params.yaml", PARAMS)).brittleness
        assert found.probes == {"quick": 0, "paper": 1000}
        assert found.questionnaires == {"quick": 0, "paper": 1000}

    def test_values(self, file_with):
        added = "brittleness: {probes: {quick: 1, paper: 2}}\n"
        found = load_params(file_with("params.yaml", PARAMS + added)).brittleness
        assert (found.probes, found.questionnaires) == ({"quick": 1, "paper": 2}, {"quick": 0, "paper": 1000})

    @pytest.mark.parametrize(
        ("settings", "key", "held"),
        [
            ("{probes: {quick: 3}}", "probes", "{'quick': 3}, expected numbers from 0 on for quick and for paper"),
            ("{questionnaires: {quick: 3, paper: -1}}", "questionnaires", "'paper': -1}, expected numbers from 0 on"),
            ("{items: {quick: 3, paper: 1}}", "items", "unknown key 'items'"),
        ],
    )
    def test_settings_that_are_refused(self, file_with, error_of, settings, key, held):
        path = file_with("params.yaml", f"{PARAMS}brittleness: {settings}\n")
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: brittleness.{key}: ")
        assert held in line
