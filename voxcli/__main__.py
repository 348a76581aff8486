"""`python -m voxcli` is `voxcpm2`."""

from voxcli.cli.main import main

main()
