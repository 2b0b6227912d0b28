"""Measures the surfaces against a scripted model: `python -m bench [--full] [--json FILE]`.

Figures are for comparing two states of the code on one machine. A slow figure never fails; wrong content does.
"""
