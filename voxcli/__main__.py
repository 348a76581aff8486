"""The program: `voxcpm2` and `python -m voxcli`. Signals come first, so that Ctrl-C is never a traceback."""

import os
import sys

try:
    from voxcli import interrupts
except KeyboardInterrupt:  # in the milliseconds in which only Python's own handler is there
    os.write(2, b"voxcpm2: interrupted\n")
    os._exit(130)


def main() -> None:
    """Run the command line and exit with its code."""
    interrupts.install()
    from voxcli.cli.main import run

    code = run(sys.argv[1:])
    interrupts.leave(code)


if __name__ == "__main__":
    main()
