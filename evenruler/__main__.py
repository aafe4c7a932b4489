"""`python -m evenruler`: the command `evenruler`."""

from evenruler.cli import main

main()
