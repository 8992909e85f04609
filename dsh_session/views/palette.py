"""Colours, shapes and lines of the views, light and dark.

The colours come from the palette of Okabe and Ito, which people with any kind of colour vision can tell apart,
thinned to fills that text is easy to read on. No view says anything by colour alone: each kind of event has a
shape, each state a line style. The contrast of every pair that is used together is computed in the tests.

A colour has a name here (`fill-user`, `ink`), not a place where it is used. Pictures are drawn with the light
values; a picture inside a page swaps them for the dark ones by their names (`Theme.variables`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from dsh_session.views.escape import cut
from dsh_session.views.window import ViewError

__all__ = [
    "DARK",
    "LIGHT",
    "SHAPES",
    "Theme",
    "ThemeName",
    "contrast",
    "css_variables",
    "fill_of",
    "shape_of",
    "theme_of",
]

ThemeName: TypeAlias = Literal["light", "dark"]
"""A theme, by its name."""


@dataclass(frozen=True, slots=True)
class Theme:
    """One value, as `#RRGGBB`, for each named colour.

    Example:
        >>> LIGHT.ink, DARK.ink
        ('#1A1A1A', '#F0F0F0')
    """

    fill_user: str
    fill_assistant: str
    fill_result: str
    fill_steering: str
    fill_summary: str
    fill_context: str
    fill_error: str
    fill_shadowed: str
    fill_plain: str
    border: str
    border_user: str
    border_assistant: str
    border_result: str
    border_steering: str
    border_summary: str
    border_context: str
    border_error: str
    border_shadowed: str
    ink: str
    muted: str
    stands_for: str
    error_text: str
    call_to_result: str
    selection: str
    page: str
    panel: str

    def variables(self) -> dict[str, str]:
        """The colours by the names that style sheets use for them.

        Returns:
            Name to value, in the order of the fields: `{"fill-user": "#BFE0F5", …}`.

        Example:
            >>> LIGHT.variables()["fill-user"]
            '#BFE0F5'
        """
        return {field.name.replace("_", "-"): getattr(self, field.name) for field in fields(self)}


LIGHT: Final = Theme(
    fill_user="#BFE0F5",
    fill_assistant="#FBE2B5",
    fill_result="#C5E8DC",
    fill_steering="#EBCFE0",
    fill_summary="#F0E442",
    fill_context="#AFC6E9",
    fill_error="#FBD9C6",
    fill_shadowed="#F4F4F4",
    fill_plain="#FFFFFF",
    border="#444444",
    border_user="#444444",
    border_assistant="#444444",
    border_result="#444444",
    border_steering="#444444",
    border_summary="#444444",
    border_context="#444444",
    border_error="#B34700",
    border_shadowed="#8A8A8A",
    ink="#1A1A1A",
    muted="#595959",
    stands_for="#A84D80",
    error_text="#B34700",
    call_to_result="#007A59",
    selection="#0072B2",
    page="#FFFFFF",
    panel="#FAFAFA",
)
"""Dark ink on light fills with one dark border, as on paper."""

DARK: Final = Theme(
    fill_user="#14384F",
    fill_assistant="#4A3510",
    fill_result="#0E3F31",
    fill_steering="#47293A",
    fill_summary="#4A460C",
    fill_context="#16335C",
    fill_error="#55240A",
    fill_shadowed="#26282C",
    fill_plain="#16181C",
    border="#B8BCC4",
    border_user="#56B4E9",
    border_assistant="#E69F00",
    border_result="#2DB88F",
    border_steering="#D68FB7",
    border_summary="#F0E442",
    border_context="#5B9BE0",
    border_error="#FF8F57",
    border_shadowed="#8A9099",
    ink="#F0F0F0",
    muted="#B8BCC4",
    stands_for="#E3A3C6",
    error_text="#FF8F57",
    call_to_result="#45C9A0",
    selection="#7CC7F5",
    page="#16181C",
    panel="#1E2126",
)
"""Light ink on deep fills; here the border carries the colour."""

_THEMES: Final = {"light": LIGHT, "dark": DARK}


def theme_of(theme: object) -> Theme:
    """The colours that are meant.

    Args:
        theme: `light` or `dark`, or colours, which are given back.

    Returns:
        The colours.

    Raises:
        ViewError: `VIEW_THEME` for anything else.

    Example:
        >>> theme_of("dark") is DARK
        True
    """
    found = theme if isinstance(theme, Theme) else _THEMES.get(theme) if isinstance(theme, str) else None
    if found is None:
        raise ViewError("VIEW_THEME", f"theme={cut(repr(theme), 60)}: there are 'light' and 'dark'")
    return found


SHAPES: Final = {
    "user": "box, rounded",
    "assistant": "box",
    "tool result": "cds",
    "tool call": "cds",
    "summary": "note",
    "steering": "hexagon",
    "context": "folder",
}
"""The shape of each kind that a diagram draws, by Graphviz's name for it, a style after a comma."""

_COLOUR_NAMES: Final = {
    "user": "user",
    "assistant": "assistant",
    "tool result": "result",
    "summary": "summary",
    "steering": "steering",
    "context": "context",
}


_CHOSEN_LIGHT: Final = (
    '[data-jp-theme-light="true"]',  # JupyterLab, Notebook 7 and nbconvert
    '[data-theme="light"]',  # Sphinx themes
    ".vscode-light",
)
_CHOSEN_DARK: Final = (
    '[data-jp-theme-light="false"]',
    '[data-theme="dark"]',
    '[theme="dark"]',  # Colab
    ".vscode-dark",
)
_FORCED: Final = {"ink": "CanvasText", "muted": "CanvasText", "page": "Canvas", "panel": "Canvas"}


def css_variables(scope: str = ".dsh") -> str:
    """The colours as CSS custom properties, named `--dsh-fill-user` and so on, light and dark.

    A page that has chosen its theme (a notebook, a documentation page) is followed, else the reader's system;
    paper is light, and a system with colours of its own (forced colours) keeps them. `--dsh-page-ink` is for text that
    stands on the page itself and takes the notebook's colour where there is one.

    Args:
        scope: The selector of the elements that shall have them.

    Returns:
        A style sheet. It is the same at every call, so that its hash can stand in a Content-Security-Policy.

    Example:
        >>> "--dsh-fill-user: #14384F;" in css_variables()
        True
    """
    light, dark = (
        f"{_declarations(theme)} --dsh-page-ink: var(--jp-content-font-color1, {theme.ink});" for theme in (LIGHT, DARK)
    )
    paper = f"{_declarations(LIGHT)} --dsh-page-ink: {LIGHT.ink};"
    forced = " ".join(
        f"--dsh-{name}: {_FORCED.get(name, 'Canvas' if name.startswith('fill') else 'CanvasText')};"
        for name in (*LIGHT.variables(), "page-ink")
    )
    return "\n".join(
        [
            f"{scope} {{ {light} }}",
            f"@media (prefers-color-scheme: dark) {{ {scope} {{ {dark} }} }}",
            f"{', '.join(f'{chosen} {scope}' for chosen in _CHOSEN_LIGHT)} {{ {light} }}",
            f"{', '.join(f'{chosen} {scope}' for chosen in _CHOSEN_DARK)} {{ {dark} }}",
            # A class of its own is repeated, to outweigh the choices above.
            f"@media print {{ {scope}{scope}{scope} {{ {paper} }} }}",
            f"@media (forced-colors: active) {{ {scope}{scope}{scope} {{ {forced} }} }}",
            "",
        ]
    )


def _declarations(theme: Theme) -> str:
    return " ".join(f"--dsh-{name}: {value};" for name, value in theme.variables().items())


def fill_of(kind: str, *, error: bool = False) -> str:
    """The name of the fill of a kind, to be found in `Theme.variables`; the border has the same name.

    Args:
        kind: One of `dsh_session.views.describe.KINDS`, or `shadowed`.
        error: Whether it is a tool result that says so.

    Returns:
        A name without its `fill-`; `plain` for what has no colour.

    Example:
        >>> fill_of("tool result"), fill_of("chunk"), fill_of("tool result", error=True)
        ('result', 'plain', 'error')
    """
    return "error" if error else "shadowed" if kind == "shadowed" else _COLOUR_NAMES.get(kind, "plain")


def shape_of(kind: str) -> tuple[str, str]:
    """The shape of a kind.

    Args:
        kind: One of `dsh_session.views.describe.KINDS`.

    Returns:
        Graphviz's name of the shape, and the style that belongs to it or an empty string.

    Example:
        >>> shape_of("user"), shape_of("chunk")
        (('box', 'rounded'), ('box', ''))
    """
    shape, _, style = SHAPES.get(kind, "box").partition(", ")
    return shape, style


def contrast(first: str, second: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21.

    Args:
        first: A colour as `#RRGGBB`.
        second: Another one.

    Returns:
        The ratio of their luminances, the lighter one above.

    Example:
        >>> contrast("#FFFFFF", "#000000")
        21.0
    """
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
