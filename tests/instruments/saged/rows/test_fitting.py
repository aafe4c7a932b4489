"""What cannot be branched, and why."""

import pytest

from evenruler.instruments.saged.declare.replacements import checked
from evenruler.instruments.saged.rows import fitting
from evenruler.instruments.saged.rows.fitting import unfit

GERMANY = {"Germany": "the Netherlands", "German": "Dutch", "Germans": "Dutch people"}
STATES = {"the United States": "Germany", "American": "German", "Americans": "Germans"}
FRENCH = {"France": "America", "French": "American"}
IDEOLOGY = {"conservatism": "liberalism", "conservative": "liberal"}
SMITH = {"smith": "weaver", "engineer": "nurse"}


def why(text: str, words: dict[str, str], *others: str) -> str:
    keyword = next(iter(words))
    found = unfit(text, keyword, {"x": checked(words, "here")}, list(words), others)
    return found.get("x", "")


@pytest.mark.parametrize(
    ("text", "words", "others", "expected"),
    [
        ("Smiths, smiths and weavers met.", SMITH, ["weaver"], f"{fitting.OTHER}: 'weavers'"),
        ("Germany, Italy and Germany signed.", GERMANY, ["Italy"], f"{fitting.OTHER}: 'Italy'"),
        ("Germany bought Italy Street.", GERMANY, ["Italy"], f"{fitting.OTHER}: 'Italy'"),
        ("Mr. Weaver is a smith.", SMITH, ["weaver"], f"{fitting.OTHER}: 'Weaver'"),
        ("Islam and Islamism differ.", {"Islam": "Judaism"}, [], f"{fitting.DERIVED}: 'Islamism'"),
        ("A nurse learns nursing.", {"nurse": "smith"}, [], f"{fitting.DERIVED}: 'nursing'"),
        ("Karaite Judaism is old.", {"Judaism": "Islam"}, [], f"{fitting.TERM}: 'Judaism' by 'Islam'"),
        ("Its art was conservative in taste.", {"conservative": "liberal"}, [],
         f"{fitting.LIKENESS}: 'conservative' by 'liberal'"),
        ("Shia Islam has branches.", {"Islam": "Judaism"}, [], f"{fitting.TERM}: 'Islam' by 'Judaism'"),
        ("Religious socialism has branches.", {"socialism": "feminism"}, [],
         f"{fitting.TERM}: 'socialism' by 'feminism'"),
        ("He was an acting smith there.", SMITH, [], f"{fitting.TERM}: 'smith' by 'weaver'"),
        ("He is a smith of fine silver here.", SMITH, [], f"{fitting.TERM}: 'smith' by 'weaver'"),
        ("It is a loanword from the French façade.", FRENCH, [], f"{fitting.LANGUAGE}: 'French' by 'American'"),
        ("They are smiths of silver here.", SMITH, [], f"{fitting.TERM}: 'smiths' by 'weaver'"),
        ("The smith-farmer bond is old.", SMITH, [], f"{fitting.TERM}: 'smith' by 'weaver'"),
        ("He is a former American football player.", STATES, [], f"{fitting.TERM}: 'American' by 'German'"),
        ("It went into a conservative mix of bonds.", IDEOLOGY, [],
         f"{fitting.EVERYDAY}: 'conservative' by 'liberal'"),
        ("He ate a conservative lunch.", IDEOLOGY, [], f"{fitting.EVERYDAY}: 'conservative' by 'liberal'"),
        ("They won in the United States's Best Dance Crew.", STATES, [], f"{fitting.TITLE}: 'the United States'"),
        ("Anarchism and Other Essays is a book.", {"anarchism": "feminism"}, [], f"{fitting.TITLE}: 'Anarchism'"),
        ("He wrote Wool in Germany: A History.", GERMANY, [], f"{fitting.TITLE}: 'Germany'"),
        ('He wrote "Wool and Germany" there.', GERMANY, [], f"{fitting.TITLE}: 'Germany'"),
        ("They played the French and Scottish Symphonies.", FRENCH, [], f"{fitting.TITLE}: 'French' by 'American'"),
        ("He was a smith (faber) of Rome.", SMITH, [], f"{fitting.GLOSS}: 'smith'"),
        ("Wool left the United States (US) then.", STATES, [], f"{fitting.GLOSS}: 'the United States'"),
        ("Wool left the United States for a U.S. port.", STATES, [], f"{fitting.DERIVED}: 'U.S.'"),
        ("Buddhism is what Buddha taught.", {"Buddhism": "Islam"}, [], f"{fitting.DERIVED}: 'Buddha'"),
        ("Nobody met.", SMITH, [], fitting.NOTHING),
        ("Mr. Smith is a smith.", SMITH, [], f"{fitting.DOUBTFUL}: 'Smith'"),
        ("We roasted a turkey in Turkey.", {"Turkey": "France"}, [], f"{fitting.DOUBTFUL}: 'turkey'"),
        ("In Nazi Germany wool was dear.", GERMANY, [], f"{fitting.DOUBTFUL}: 'Germany'"),
        ("They engineer bridges.", SMITH, [], f"{fitting.VERB}: 'engineer' by 'nurse'"),
        ("A computer engineer came.", SMITH, [], f"{fitting.TERM}: 'engineer' by 'nurse'"),
        ("A French civil engineer came.", SMITH, [], f"{fitting.TERM}: 'engineer' by 'nurse'"),
        ("In modern Germany wool is dear.", GERMANY, [], f"{fitting.ARTICLE}: 'Germany' by 'the Netherlands'"),
        ("We seek a Germany that sells wool.", GERMANY, [], f"{fitting.ARTICLE}: 'Germany' by 'the Netherlands'"),
        ("The United States military came.", STATES, [], f"{fitting.NOUN}: 'The United States' by 'Germany'"),
        ("The French love wool.", FRENCH, [], f"{fitting.ADJECTIVE}: 'French' by 'American'"),
        ("She learned the French word for wool.", FRENCH, [], f"{fitting.LANGUAGE}: 'French' by 'American'"),
    ],
)  # fmt: skip
def test_a_sentence_that_would_be_nonsense(text: str, words: dict[str, str], others: list[str], expected: str) -> None:
    assert why(text, words, *others) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Germany sells wool to the Germans.", {"Germany": "Italy", "Germans": "Italians", "German": "Italian"}),
        ("Wool is sold in the Germany plan and in Germany.", GERMANY),
        ("The wool is German.", GERMANY),
        ("A German and French law was signed.", GERMANY),
        ("He lives in the United States, where wool is dear.", STATES),
        ("An old smith and a young engineer came.", SMITH),
        ("A Paris-based smith came.", SMITH),
        ("Young Germans came.", {"Germans": "Italians"}),
        ("Modern socialism is old.", {"socialism": "feminism"}),
        ("A conservative government met conservative voters.", IDEOLOGY),
        ("In Germany (1990) wool was dear.", {"Germany": "Italy"}),
        ('He said "we left Germany for good" and went.', {"Germany": "Italy"}),
    ],
)
def test_a_sentence_that_can_be_branched(text: str, words: dict[str, str]) -> None:
    assert why(text, words, "weaver") == ""


def test_what_one_branch_cannot_say_another_may() -> None:
    maps = {"nl": checked(GERMANY, "nl"), "it": checked({"Germany": "Italy"}, "it")}
    assert list(unfit("In modern Germany wool is dear.", "Germany", maps, ["Germany"], [])) == ["nl"]
