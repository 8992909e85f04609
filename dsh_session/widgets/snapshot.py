"""What a widget shows, as something that needs no kernel to be seen again."""

from dsh_session.views.escape import cut, one_line


class Snapshot:
    """Static HTML with a line of text.

    Attributes:
        html: A piece of a page in which every text of a log is escaped.
        description: What is to be seen, in a line of plain text.

    Example:
        >>> Snapshot("<p>Nothing.</p>", "nothing")
        <Snapshot: nothing>
    """

    def __init__(self, html: str, description: str) -> None:
        """Take the HTML and the line."""
        self.html = html
        self.description = cut(one_line(description), 200)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<Snapshot: {self.description}>"
