"""Commands of `dsh-session`, each a plain function that the command line registers."""

from dsh_session.commands.convert import convert_log
from dsh_session.commands.folders import list_any
from dsh_session.commands.logs import list_logs, validate_logs

__all__ = ["convert_log", "list_any", "list_logs", "validate_logs"]
