"""`python -m dphist` is the command line."""

import sys

from dphist.cli import main

sys.exit(main())
