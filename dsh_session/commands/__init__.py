"""Commands of `dsh-session`, each a plain function that the command line registers."""

from dsh_session.commands.logs import list_logs, validate_logs

__all__ = ["list_logs", "validate_logs"]
