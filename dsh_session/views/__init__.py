"""Views: pure functions of a log. A log goes in; a frame, a diagram, a page or a string comes out.

Nothing in here mutates a session or keeps anything of it, and everything copes with every log that
loads, whatever its payloads hold. Importing this package loads nothing heavy; pandas, graphviz and
matplotlib are imported by the modules that draw with them.
"""
