"""Standard input and output for one protocol alone: no print, no library and no child writes between two frames.

Kept apart from `stdio`, so that a first frame can be answered before the event loop is loaded.
"""

from __future__ import annotations

import os
import sys


def claim_stdio() -> tuple[int, int]:
    """Return private descriptors of the real input and output, and replace what others know by those names.

    From then on descriptor 0 reads nothing and descriptor 1 and `sys.stdout` write to stderr. Children cannot
    inherit the returned descriptors. Call it once, before anything is read.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # started without a stderr
        os.dup2(nothing, 2)
        os.dup2(nothing, 1)
    os.close(nothing)
    if sys.stdout:  # None in a program without a console
        sys.stdout.flush()
    sys.stdout = sys.stderr
    return source, target
