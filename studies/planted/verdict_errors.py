"""How often a verdict is false, an interval holds the truth, and an effect is detected: scripted
chats and planted scores, judged for real. Rates of randomisations are in `studies.false_rates`.

Prints a Markdown table a family; populations are in the modules beside this one. Variances are
those of SmolLM2 on the published sets (docs/controls.md). A cell FAILS where an interval holds the
truth in less than .92 or more than .98 of draws, or where a verdict is false in more than .05 by
the lower end of Wilson's interval, which stands in brackets.
"""

import time

import typer

from studies.planted.choices import CHOICES
from studies.planted.saged import SAGED

FAMILIES = (CHOICES, SAGED)


def main(draws: int = 1000, only: str = "") -> None:
    """Print the tables, of rows whose name has some words; what takes long is drawn less often."""
    began = time.monotonic()
    for family in FAMILIES:
        cases = [case for case in family.cases() if only in case.name]
        if cases:
            print()
            family.print_head()
        for case in cases:
            family.print_case(case, draws)
    seconds = time.monotonic() - began
    print(f"\n{draws} draws, {seconds:.0f} s")


if __name__ == "__main__":
    typer.run(main)
