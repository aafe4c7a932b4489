"""Where a keyword stands in a sentence."""

import re


def place(sentence: str, keyword: str) -> tuple[int, int] | None:
    """Where a keyword first stands in a sentence as a whole word, in any case; None where it does not.

    Returns:
        Begin and end (exclusive), in characters.
    """
    pattern = re.sub("['\u2019]", "['\u2019]", re.escape(keyword).replace(r"\ ", r"\s+"))
    match = re.search(rf"(?<!\w){pattern}(?!\w)", sentence, re.IGNORECASE) if keyword else None
    return match.span() if match else None
