"""How often a verdict is false, an interval holds the truth, and an effect is found: planted
scores, judged for real.

Run by hand: `python -m studies.planted.verdict_errors`, with `--draws N` and `--only WORDS`,
which is part of the name of a row. Prints a Markdown table a family; populations are in
the modules beside this one. Variances are those of SmolLM2 on the published sets (docs/controls.md). A cell
FAILS where an interval holds the truth in less than .92 or more than .98 of draws, or where a
verdict is false in more than .05 by the lower end of Wilson's interval, which stands in brackets.
"""

import argparse
import time

from studies.planted.choices import CHOICES
from studies.planted.framing import FRAMING, bias_of_total
from studies.planted.populations import Family
from studies.planted.probes import PROBES
from studies.planted.questionnaires import QUESTIONNAIRES
from studies.planted.saged import SAGED

FAMILIES: tuple[Family, ...] = (PROBES, CHOICES, FRAMING, QUESTIONNAIRES, SAGED)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--draws", type=int, default=1000, help="of a row; what takes long has a share of them"
    )
    parser.add_argument("--only", default="", help="rows whose name has these words")
    args, began = parser.parse_args(), time.monotonic()
    for family in FAMILIES:
        cases = [case for case in family.cases() if args.only in case.name]
        if cases:
            print(f"\n{family.head()}", flush=True)
        for case in cases:
            print(family.row(case, args.draws), flush=True)
    if not args.only:
        for stimuli in (12, 40):
            mean, error = bias_of_total(stimuli, 20 * args.draws)
            print(
                f"\nTotal shift of {stimuli} stimuli where nothing moves: {mean:.4f}, standard "
                f"error {error:.4f}."
            )
    print(f"\n{args.draws} draws, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
