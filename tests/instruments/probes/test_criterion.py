import pytest

from evenruler.instruments.probes.declare import Criterion, load
from tests.instruments.probes.conftest import settings_of

DOMAIN = """\
title: Jobs
construct: association of jobs with gender
direction: positive means closer to men
source: by hand
licence: cc0-1.0
targets: {men: [man], women: [woman]}
attributes: [engineer, nurse, CEO, poet]
criterion:
  file: figures.csv
  column: pct_women
  label: women among the employed (%)
sets:
  hand:
    title: One by hand
    templates:
      plain: A {ATTRIBUTE} is a {TARGET}.
"""

FIGURES = """\
attribute,pct_women,match,titles
engineer,14.8,exact,Engineers
nurse,87.4,group,"Registered nurses; Practical nurses"
CEO,29,exact,Chief executives
poet,,none,
judge,58.0,exact,Judges
"""

COMPLEMENT = ("  label:", "  complement_of: 100\n  label:")


@pytest.fixture
def read(file_with):
    """Reads the criterion of a domain from figures, each with its changes."""

    def read(*changes: tuple[str, str], domain: tuple[tuple[str, str], ...] = ()) -> Criterion | None:
        file_with("figures.csv", FIGURES, *changes)
        path = file_with("jobs.yaml", DOMAIN, *domain)
        return load(path, settings_of(), path.parent).published

    return read


class TestWhatIsRead:
    def test_values_and_matches_by_slug(self, read):
        assert read() == Criterion(
            label="women among the employed (%)",
            values={"engineer": 14.8, "nurse": 87.4, "ceo": 29.0, "poet": None},
            matches={"engineer": "exact", "nurse": "group", "ceo": "exact", "poet": "none"},
        )

    def test_complement(self, read):
        # 100 - 14.8 and so on, without the noise of binary fractions (100 - 87.4 is 12.599999999999994).
        assert read(domain=(COMPLEMENT,)).values == {"engineer": 85.2, "nurse": 12.6, "ceo": 71.0, "poet": None}

    def test_complement_of_one(self, read):
        assert (
            read(("14.8", "0.25"), domain=(("  label:", "  complement_of: 1.0\n  label:"),)).values["engineer"] == 0.75
        )

    def test_zero_is_a_figure(self, read):
        assert read(("14.8", "0")).values["engineer"] == 0.0

    def test_rows_of_words_that_the_set_lacks_are_left_out(self, read):
        criterion = read()
        assert "judge" not in criterion.values
        assert "judge" not in criterion.matches

    def test_a_domain_without_a_criterion(self, file_with):
        start, end = DOMAIN.index("criterion:"), DOMAIN.index("sets:")
        path = file_with("jobs.yaml", DOMAIN[:start] + DOMAIN[end:])
        assert load(path, settings_of(), path.parent).published is None


# (change to the figures, where after the file, what else the line holds)
REFUSED = [
    pytest.param(("pct_women", "pct_woman"), "", ["no column 'pct_women'", "add it"], id="no-column"),
    pytest.param(
        ("nurse,87.4,group", "doctor,87.4,group"),
        "",
        ["no row for 1 attributes", "nurse", "add a row for each", "match `none`"],
        id="no-row",
    ),
    pytest.param(("judge,58.0", "Nurse,58.0"), "line 6 (Nurse): ", ["'Nurse' twice", "keep one"], id="row-twice"),
    pytest.param(("14.8", "14.8%"), "engineer: ", ["'14.8%' is no number"], id="no-number"),
    pytest.param(
        ("poet,,none", "poet,3.0,none"), "poet: ", ["'3.0'", "match 'none'", "no figure"], id="none-with-a-figure"
    ),
    pytest.param(("14.8,exact", ",exact"), "engineer: ", ["figure ''", "match 'exact'"], id="exact-without-a-figure"),
    pytest.param(("14.8,exact", "14.8,exakt"), "engineer: ", ["'exakt'", "exact, group, none"], id="unknown-match"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("change", "where", "held"), REFUSED)
    def test_one_line_with_file_row_finding_and_remedy(self, read, tmp_path, error_of, change, where, held):
        line = error_of(read, change)
        assert line.startswith(f"{tmp_path / 'figures.csv'}: {where}")
        for words in held:
            assert words in line

    def test_no_file(self, read, tmp_path, error_of):
        line = error_of(read, domain=(("figures.csv", "figure.csv"),))
        assert line == f"{tmp_path / 'figure.csv'}: no such file; put the criterion there or mend `criterion.file`"

    @pytest.mark.parametrize(
        ("change", "held"),
        [
            pytest.param(
                ("engineer,14.8,exact,Engineers", "engineer,14,8,exact,Engineers"), "engineer", id="decimal-comma"
            ),
            pytest.param(("engineer,14.8,exact,Engineers", "engineer"), "engineer", id="row-cut-short"),
        ],
    )
    def test_a_row_of_another_width(self, read, error_of, change, held):
        assert held in error_of(read, change)

    def test_a_decimal_comma_in_the_last_column(self, file_with, error_of):
        path = file_with(
            "figures.csv", "attribute,match,pct_women\nengineer,exact,14,8\nnurse,exact,1\nCEO,exact,1\npoet,none,\n"
        )
        domain = file_with("jobs.yaml", DOMAIN)
        assert "engineer" in error_of(load, domain, settings_of(), path.parent)

    def test_a_row_cut_short_in_the_last_column(self, file_with, error_of):
        path = file_with(
            "figures.csv", "attribute,match,pct_women\nengineer,exact\nnurse,exact,1\nCEO,exact,1\npoet,none,\n"
        )
        domain = file_with("jobs.yaml", DOMAIN)
        assert "engineer" in error_of(load, domain, settings_of(), path.parent)

    @pytest.mark.parametrize("text", ["nan", "inf", "-Infinity"])
    def test_a_number_that_is_not_finite(self, read, error_of, text):
        assert f"{text!r} is no number" in error_of(read, ("14.8", text))

    def test_not_utf_8(self, tmp_path, file_with, error_of):
        (tmp_path / "figures.csv").write_bytes(FIGURES.replace("Judges", "Pr\xe9sident").encode("latin-1"))
        assert "not UTF-8" in error_of(load, file_with("jobs.yaml", DOMAIN), settings_of(), tmp_path)

    def test_a_byte_order_mark_is_no_part_of_the_first_column(self, tmp_path, file_with):
        (tmp_path / "figures.csv").write_bytes(b"\xef\xbb\xbf" + FIGURES.encode())
        source = load(file_with("jobs.yaml", DOMAIN), settings_of(), tmp_path)
        assert source.published.values["engineer"] == 14.8
