"""Is this call still under way? Asked of the call stack, which an interruption cannot leave behind.

A flag that says "in progress" stays set when a `KeyboardInterrupt` arrives at the wrong moment; a
frame does not. Only of this thread's stack: to walk another thread's frames can crash the interpreter.
"""

import sys
from types import CodeType, FrameType


def is_running_here(code: CodeType, owner: object) -> bool:
    """Tell whether this thread is inside a method of an object.

    Args:
        code: The method's code.
        owner: Its ``self``.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is code and frame.f_locals.get("self") is owner:
            return True
        frame = frame.f_back
    return False
