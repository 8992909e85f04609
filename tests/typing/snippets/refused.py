"""What a type checker must refuse: every statement that is marked, and no other line."""

from dsh_session import VOCABULARY, Replace, Session

session = Session("s")

# a message needs to say how it joins the surface
session.append("user/message", {"content": [], "source": {"kind": "user"}})  # refused
session.append("steering/message", {"turn": 1, "content": [], "source": {"kind": "user"}})  # refused
session.append("context/message", {"content": [], "source": {"kind": "user"}}, source_event_seqs=[0])  # refused
session.append("assistant/message", {"turn": 1, "step": 1, "content": [], "provenance": {"provider": "p", "model": "m"}})  # refused
session.append("tool/result", {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": False})  # refused
session.append("user/message", {"content": [], "source": {"kind": "user"}}, surface_op=None)  # refused
session.append("user/message", {"content": [], "source": {"kind": "user"}}, surface_op="prepend")  # refused
session.append("user/message", {"content": [], "source": {"kind": "user"}}, surface_op=7)  # refused

# a log-only event must not
session.append("step/start", {"turn": 1, "step": 1}, surface_op="append")  # refused
session.append("step/end", {"turn": 1, "step": 1}, surface_op=Replace(0, 1), source_event_seqs=[0, 1])  # refused
session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}}, source_event_seqs=[0])  # refused
session.append("todo/write", {"todos": []}, surface_op="append")  # refused
session.append("tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": "{}"}, surface_op="append")  # refused
session.append(VOCABULARY.register_event("typing/note"), {}, surface_op="append")  # refused

# a payload has its type's shape
session.append("step/start", {"turn": 1})  # refused
session.append("step/start", {"turn": "1", "step": 1})  # refused
session.append("step/start", {"turn": 1, "stop": 1})  # refused
session.append("todo/write", {"todos": [{"content": "x", "status": "later"}]})  # refused
session.append("tool/call", {"turn": 1, "step": 1, "callId": "c", "name": "n", "arguments": {}})  # refused
session.append("request/header", {"header": {"config": {"provider": "p"}}, "reason": "initial"})  # refused
session.append("request/header", {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "because"})  # refused
session.append("assistant/chunk", {"turn": 1, "step": 1, "chunk": {"type": "image-delta", "index": 0}})  # refused
session.append("user/message", {"content": "x", "source": {"kind": "user"}}, surface_op="append")  # refused
session.append("context/message", {"content": [], "source": {"kind": "user"}, "envelope": "other"}, surface_op="append")  # refused
session.append("tool/result", {"turn": 1, "step": 1, "callId": "c", "content": [], "isError": "no"}, surface_op="append")  # refused

# options have names, and a type nobody registered is no event type
session.append("user/message", {"content": [], "source": {"kind": "user"}}, "append")  # refused
session.append("turn/begin", {"turn": 1})  # refused

# what is read cannot be written
event = session.append("step/start", {"turn": 1, "step": 1})
event.data = {}  # refused
event.source_event_seqs = []  # refused
session.seq = 7  # refused
session.events = []  # refused
session.events[0] = event  # refused
session.surface.nodes[0] = 7  # refused
session.surface.node(0).prev = 7  # refused
session.header.cwd = "/x"  # refused
