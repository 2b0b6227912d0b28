"""Ask the agent one thing from a Python program. It uses the model that `hermes model` shows.

python examples/embed.py "What does this folder hold?"
"""

import sys

from hermes_core import AIAgent

with AIAgent() as agent:
    print(agent.chat(" ".join(sys.argv[1:]) or "What does this folder hold?"))
