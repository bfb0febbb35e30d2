"""`python -m model_packaging.cli`: the command without an installed script."""

from model_packaging.cli import main

main()
