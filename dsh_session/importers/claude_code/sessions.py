"""From a tree to sessions: one for the path that is in force, a fork for each that was left."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dsh_session.core.session import Session
from dsh_session.importers.assembler import Assembler
from dsh_session.importers.book import Book, text_of
from dsh_session.importers.claude_code.entries import CONTEXT, PROMPT, Entry
from dsh_session.importers.claude_code.nodes import Node, Tree
from dsh_session.importers.claude_code.values import string
from dsh_session.importers.claude_code.writing import Writer
from dsh_session.importers.found import Descent


class Written(NamedTuple):
    """The sessions of one tree.

    Attributes:
        session: The path in force.
        forks: The others, in the order of their leaves in the file.
        lineage: Where the forks come from.
    """

    session: Session
    forks: list[Session]
    lineage: list[Descent]


def write_tree(tree: Tree, book: Book, *, identity: str, parent: str | None, taken: set[str]) -> Written:
    """Write all paths of a tree.

    Args:
        tree: The tree.
        book: Takes findings, the side table and the sources.
        identity: The id of the session of the path in force.
        parent: The id of the session that started this one.
        taken: Ids that are in use; those of the forks are added.
    """
    path = tree.path()
    # Loose ends are attached to where they hang, which is to be known before that is written.
    branches, left_out = tree.branches()
    make = Assembler(_header(path, tree, identity, parent), book)
    continues = parent is None and bool(path) and path[0].entries[0].session_id not in (None, identity)
    has_forks = bool(branches) or continues
    inherited = _inherited(path, make.id) if continues else None
    wrote = None if inherited is None else path[inherited].entries[0].session_id
    trunk = Writer(make, book, tree.kept(), again=tree.again(branches), has_forks=has_forks)
    trunk.write_attached(tree.preamble)
    trunk.write(path if has_forks else tree.consumed(path))
    trunk.finish()
    writers = [trunk]
    owners = dict.fromkeys(path, trunk)
    lineage = []
    for branch in branches:
        writer = _branch(branch, owners.get(branch[0].parent, trunk) if branch[0].parent else trunk, taken)
        owners.update(dict.fromkeys(branch, writer))
        writers.append(writer)
        lineage.append(Descent(writer.make.id, writer.parent_id, writer.shared, "fork"))
    if inherited is not None:
        _note_continuation(path, inherited, wrote, trunk)
    sessions = [writer.make.finish() for writer in writers]
    _leave_out(left_out, book)
    return Written(sessions[0], sessions[1:], lineage)


def _header(path: list[Node], tree: Tree, identity: str, parent: str | None) -> Mapping[str, Any]:
    lines = [entry for node in (*path, *tree.nodes[:1]) for entry in node.entries] or tree.preamble
    header: dict[str, Any] = {
        "id": identity,
        "createdAt": next((entry.time for entry in lines if entry.time is not None), 0),
    }
    folder = string(lines[0].fields().get("cwd")) if lines else None
    if folder is not None and folder.startswith("/"):
        header["cwd"] = folder
    if parent is not None:
        header["parentSession"] = parent
    return header


def _branch(branch: list[Node], origin: Writer, taken: set[str]) -> Writer:
    """Write what was left behind, from the last turn's end before it on."""
    joint = branch[0].parent
    make = origin.make
    length = 0 if joint is None else origin.places.shared_with(joint, opens=branch[0].kind)
    identity = _fork_id(branch, make.id, taken)
    times = (entry.time for node in branch for entry in node.entries if entry.time is not None)
    made = next(times, None)
    first = branch[0].entries[0]
    origin.turn_to(first)
    make.at(first.number)
    child = make.branch(identity, length, **({} if made is None else {"createdAt": made}))
    writer = Writer(child, origin.book, origin.kept, origin, again=origin.again)
    # What the fork has in common with its parent and no turn's end to be cut at is written again.
    again: list[Node] = []
    node = joint
    while node is not None and origin.places.began(node) >= writer.shared:
        again.append(node)
        node = node.parent
    writer.write([*reversed(again), *branch])
    writer.finish()
    return writer


def _fork_id(branch: list[Node], parent: str, taken: set[str]) -> str:
    """Name a fork by the session that wrote it, or else by where it begins."""
    wrote = branch[-1].entries[-1].session_id
    first = branch[0].entries[0]
    name = wrote if wrote is not None and wrote not in taken else f"{parent}~{first.uuid or first.number}"
    found, number = name, 2
    while found in taken:
        found = f"{name}~{number}"
        number += 1
    taken.add(found)
    return found


def _inherited(path: list[Node], identity: str) -> int | None:
    """Give the place of the last node that a log has from the session that it goes on with."""
    mine = (at for at, node in enumerate(path) if node.entries[0].session_id in (None, identity))
    found = next(mine, 0) - 1
    return None if found < 0 else found


def _note_continuation(path: list[Node], inherited: int, wrote: str | None, writer: Writer) -> None:
    """Say in the header which session a log goes on with, and how much of it is that one's."""
    make = writer.make
    length = writer.places.shared_with(path[inherited], opens=PROMPT if _opens(path, inherited + 1) else "")
    ends = [seq for seq in make.closed_at if seq < length]
    make._wire["parentSession"] = wrote
    make._wire["seedLength"] = ends[-1] + 1 if ends else 0


def _opens(path: list[Node], at: int) -> bool:
    return at < len(path) and path[at].kind in (PROMPT, CONTEXT)


def _leave_out(lines: list[Entry], book: Book) -> None:
    if not lines:
        return
    told = f"{len(lines)} lines of branches that became no session are in the side table"
    book.finding("BRANCHES_LEFT_OUT", told, lines[0].number)
    for entry in lines:
        whole = entry.raw if entry.tree is None else text_of(entry.tree)
        book.side(entry.type or "unknown", whole, line=entry.number, file=entry.file)
