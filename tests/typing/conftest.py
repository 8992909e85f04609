"""The snippets are read by a type checker; half of them would fail if they ran."""

collect_ignore = ["snippets"]
