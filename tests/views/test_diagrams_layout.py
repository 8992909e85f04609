from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dsh_session.views.diagrams.drawing import bezier
from dsh_session.views.diagrams.layout import CELL, RAIL, Block, Cell, arrange

WIDTH = 730.0


def cells(depth: int) -> st.SearchStrategy[list[Cell]]:
    behind = cells(depth - 1) if depth else st.just([])
    cell = st.builds(Cell, st.just("n"), st.just(40.0), behind, st.lists(st.just("note"), max_size=3))
    return st.lists(cell, min_size=1, max_size=6)


def parts(block: Block) -> list[tuple[float, float, float, float]]:
    """Every node, those of the frames included, as left, top, right and bottom."""
    own = [(n.x - n.width / 2, n.y - n.height / 2, n.x + n.width / 2, n.y + n.height / 2) for n in block.nodes]
    return own + [part for box in block.boxes for part in parts(box.block)]


@given(cells(2))
def test_everything_has_its_place_within_the_block_and_nothing_overlaps(row: list[Cell]) -> None:
    block = arrange(row, WIDTH)
    places = parts(block)
    assert block.width <= WIDTH
    for at, (left, top, right, bottom) in enumerate(places):
        assert left >= 0
        assert top >= 0
        assert right <= block.width + 1e-6
        assert bottom <= block.height + 1e-6
        for x, y, x2, y2 in places[at + 1 :]:
            assert right <= x + 1e-6 or x2 <= left + 1e-6 or bottom <= y + 1e-6 or y2 <= top + 1e-6


@given(cells(2))
def test_a_frame_holds_its_own_list_and_hangs_below_its_node(row: list[Cell]) -> None:
    block = arrange(row, WIDTH)
    assert len(block.boxes) == sum(bool(cell.behind) for cell in row)
    for box in block.boxes:
        for left, top, right, bottom in parts(box.block):
            assert box.x <= left
            assert box.y <= top
            assert right <= box.x + box.width + 1e-6
            assert bottom <= box.y + box.height + 1e-6


@given(cells(2))
def test_frames_keep_a_distance(row: list[Cell]) -> None:
    boxes = arrange(row, WIDTH).boxes
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            beside = other.x - (one.x + one.width)
            below = other.y - (one.y + one.height)
            assert max(beside, below) >= 12 - 1e-6


@given(st.integers(1, 40))
def test_a_list_is_one_chain_in_rows_of_four(count: int) -> None:
    block = arrange([Cell(f"n{at}", 46.0) for at in range(count)], WIDTH)
    chain = {(f"n{at}", f"n{at + 1}") for at in range(count - 1)}
    assert {(path.tail, path.head) for path in block.paths} == chain
    assert len(block.paths) == len(chain)
    assert len({node.y for node in block.nodes}) == -(-count // 4)
    assert block.first == block.nodes[0]
    assert block.last == block.nodes[-1]


def test_an_empty_list_takes_no_room() -> None:
    block = arrange([], WIDTH)
    assert (block.height, block.nodes, block.first) == (0.0, [], None)


def test_frames_that_fit_share_a_row_and_a_wide_one_ends_it() -> None:
    small = [Cell("a", 46, [Cell("a1", 34)]), Cell("b", 46, [Cell("b1", 34)])]
    shared = arrange(small, WIDTH)
    assert len({node.y for node in shared.nodes}) == 1
    wide = [Cell("a", 46, [Cell(f"a{at}", 34) for at in range(9)]), Cell("b", 46, [Cell("b1", 34)])]
    assert len({node.y for node in arrange(wide, WIDTH).nodes}) == 2


def test_a_frame_that_must_move_left_moves_the_one_beside_it_too() -> None:
    row = [
        Cell("a", 46),
        Cell("b", 46),
        Cell("c", 46, [Cell("c1", 34)]),
        Cell("d", 46, [Cell("d1", 34), Cell("d2", 34)]),
    ]
    block = arrange(row, WIDTH)
    first, second = block.boxes
    assert len({node.y for node in block.nodes}) == 1
    assert second.x + second.width == block.width - RAIL
    assert first.x + first.width == second.x - 12


def test_a_line_starts_and_ends_at_the_outlines_of_its_nodes() -> None:
    block = arrange([Cell(f"n{at}", 46.0) for at in range(5)], WIDTH)
    places = {node.name: node for node in block.nodes}
    for path in block.paths:
        assert path.points[0] == (places[path.tail].x + CELL / 2, places[path.tail].y)
        assert path.points[-1] == (places[path.head].x - CELL / 2, places[path.head].y)


@given(
    st.lists(st.tuples(st.floats(-500, 500), st.floats(-500, 500)), min_size=2, max_size=8, unique=True),
    st.floats(0, 10),
)
def test_a_curve_has_as_many_points_as_graphviz_wants(corners: list[tuple[float, float]], arrow: float) -> None:
    tip, *curve, end = bezier(corners, start=arrow, end=arrow)
    assert len(curve) % 3 == 1
    assert (tip, end) == (corners[0], corners[-1])
