"""Fixed randomness for the commands of a page: Python imports this before anything else.

`tests/support/printed.py` puts this folder on the path of the commands that it runs, and the seed
into their environment. Each command draws other bytes, as its words are part of its seed; without
folders, so that every checkout draws the same.
"""

import os
import random
import sys

if seed := os.environ.get("PRINTED_SEED"):
    _words = [os.path.basename(word) for word in sys.orig_argv[1:]]  # noqa: PTH119 - starts sooner
    _draw = random.Random(" ".join([seed, *_words])).randbytes
    # `secrets` and `random.SystemRandom` draw from the second.
    os.urandom = _draw
    random._urandom = _draw
