"""`python -m thresholds` is the command line."""

import sys

from thresholds.cli import main

if __name__ == "__main__":
    sys.exit(main())
