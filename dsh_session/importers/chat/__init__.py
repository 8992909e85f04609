"""What chat messages of model APIs have in common: blocks, calls, results, token counts, times.

Four of the formats hold messages as an API takes them, OpenAI's or Anthropic's, each with its own
envelope. The envelopes are the importers' business; what lies inside is read here, once.
"""

from dsh_session.importers.chat.content import Answer, Said, said, tool_schemas
from dsh_session.importers.chat.counts import usage_of
from dsh_session.importers.chat.messages import ChatMessage, chat_message
from dsh_session.importers.chat.moments import moment

__all__ = ["Answer", "ChatMessage", "Said", "chat_message", "moment", "said", "tool_schemas", "usage_of"]
