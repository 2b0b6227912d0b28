"""`python -m hermes_acp`."""

from __future__ import annotations

import sys

from hermes_acp.main import main

sys.exit(main())
