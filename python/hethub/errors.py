"""The one exception that a user sees."""


class HetHubError(Exception):
    """Something the user can put right. The text is complete: rule first, then the offending value."""
