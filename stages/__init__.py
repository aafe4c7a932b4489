"""The stages that `dvc repro` runs, one module each: they read files, call functions, and write
files.

Importing the package under DVC ties the process to its parent, before any slow import. A shell may
run between DVC and the stage, and other systems than Linux have no such signal: `stages.running`
watches too.
"""

import os

from evenruler.terminal import die_with_parent

if "DVC_STAGE" in os.environ:
    die_with_parent()
