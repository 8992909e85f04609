"""The page about a session: one HTML file that needs nothing beside itself."""

from __future__ import annotations

from dsh_session.views.page.document import page

__all__ = ["page"]
