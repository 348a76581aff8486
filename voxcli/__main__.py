"""The program `voxcpm2`, also `python -m voxcli`. Signal handlers come first, so Ctrl-C never shows a traceback."""

import gc
import os
import sys

try:
    from voxcli import interrupts
except KeyboardInterrupt:  # in the first milliseconds, before our handler is installed
    os.write(2, b"voxcpm2: interrupted\n")
    os._exit(130)


def main() -> None:
    """Run the command line and exit with its code."""
    interrupts.install()
    gc.disable()  # imports leave no garbage; the command that runs enables it again
    from voxcli.cli.main import run

    code = run(sys.argv[1:])
    interrupts.leave(code)


if __name__ == "__main__":
    main()
