"""`python -m hermes_tui_gateway`."""

from __future__ import annotations

import sys

from hermes_tui_gateway.main import main

sys.exit(main())
