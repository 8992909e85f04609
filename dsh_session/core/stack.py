"""Is this call still under way? Asked of the call stack, which an interruption cannot leave behind.

A flag that says "in progress" stays set when a `KeyboardInterrupt` arrives at the wrong moment; a
frame does not.
"""

import sys
from types import CodeType, FrameType


def is_running_here(code: CodeType, owner: object) -> bool:
    """Tell whether this thread is inside a method of an object.

    Args:
        code: The method's code.
        owner: Its ``self``.
    """
    return _holds(sys._getframe(1), code, owner)


def is_running_anywhere(code: CodeType, owner: object) -> bool:
    """Tell whether any thread is inside a method of an object; see `is_running_here`."""
    return any(_holds(frame, code, owner) for frame in sys._current_frames().values())


def _holds(frame: FrameType | None, code: CodeType, owner: object) -> bool:
    while frame is not None:
        if frame.f_code is code and frame.f_locals.get("self") is owner:
            return True
        frame = frame.f_back
    return False
