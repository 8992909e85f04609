"""Which replacement stands for what: the nesting of a surface, from one pass over the log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsh_session.core.surface import SurfaceReplacement, fold_surface

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dsh_session.core.event import SessionEvent

__all__ = ["Folds", "fold", "folds_of"]


@dataclass(frozen=True, slots=True)
class Folds:
    """A surface and, behind each of its replacements, the nodes that it took the place of.

    Attributes:
        nodes: The surface's seqs in model-visible order.
        shadowed: For each replacement, in log order, the seqs it shadowed, in surface order.
        shadowed_by: For each shadowed seq the replacement that shadowed it.
        originals: For each replacement how many first events it stands for, through all levels.
    """

    nodes: Sequence[int]
    shadowed: Mapping[int, Sequence[int]]
    shadowed_by: Mapping[int, int]
    originals: Mapping[int, int]

    def path(self, seq: int) -> list[int]:
        """The way from the surface to a node: the node that stands for it now, and on down to the node itself.

        Args:
            seq: A seq that is or was on the surface.

        Returns:
            Seqs, the last of them `seq`; only `seq` if it is on the surface.
        """
        way = [seq]
        while way[-1] in self.shadowed_by:
            way.append(self.shadowed_by[way[-1]])
        return way[::-1]


def fold(events: Iterable[SessionEvent]) -> Folds:
    """Fold a log, in one pass.

    Args:
        events: All events from seq 0 on, up to the moment that is to be seen.

    Returns:
        The surface after the last of them, with its nesting.

    Example:
        >>> from dsh_session import Replace, Session
        >>> session = Session("tour")
        >>> said = {"content": [], "source": {"kind": "user"}}
        >>> for _ in range(3):
        ...     event = session.append("user/message", said, surface_op="append")
        >>> event = session.append("user/message", said, surface_op=Replace(0, 1), source_event_seqs=[0, 1])
        >>> event = session.append("user/message", said, surface_op=Replace(3, 2), source_event_seqs=[3, 2])
        >>> folds = fold(session.events)
        >>> list(folds.nodes), folds.shadowed, folds.originals, folds.path(1)
        ([4], {3: [0, 1], 4: [3, 2]}, {3: 2, 4: 3}, [4, 3, 1])
    """
    folded = fold_surface(events)
    return folds_of(folded.nodes, folded.replacements)


def folds_of(nodes: Sequence[int], replacements: Iterable[SurfaceReplacement]) -> Folds:
    """The nesting of a surface whose replacements are known.

    Args:
        nodes: The surface's seqs in model-visible order.
        replacements: All replacements of the log, in its order.

    Returns:
        The same surface, with its nesting.

    Example:
        >>> folds_of([1], [SurfaceReplacement(1, 0, 0, [0])]).path(0)
        [1, 0]
    """
    shadowed: dict[int, Sequence[int]] = {}
    shadowed_by: dict[int, int] = {}
    originals: dict[int, int] = {}
    # Log order: what a replacement shadows has been counted when the replacement comes.
    for replacement in replacements:
        seqs = replacement.shadowed_seqs
        shadowed[replacement.seq] = seqs
        shadowed_by.update(dict.fromkeys(seqs, replacement.seq))
        originals[replacement.seq] = sum(originals.get(seq, 1) for seq in seqs)
    return Folds(nodes, shadowed, shadowed_by, originals)
