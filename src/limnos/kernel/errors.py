"""Errors, sorted by who must act. A tool failure is no exception but a result (`messages.ToolError`)."""


class LimnosError(Exception):
    """Something a person must act on: `what` happened and why, and the `fix`, a command or a setting."""

    exit_code = 1

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


class UsageError(LimnosError):
    """The command line or a setting is wrong."""

    exit_code = 2


class LimitError(LimnosError):
    """A limit that the person set was reached."""

    exit_code = 3


class DeniedError(LimnosError):
    """Something needed a yes and nobody could give it."""

    exit_code = 4


class SettingsError(UsageError):
    """A settings file or variable has a wrong value."""


class SessionInUseError(LimnosError):
    """Another process writes this session."""


class StorageError(LimnosError):
    """The disk is full, read-only or broken: nothing is saved from now on."""


class ModelError(LimnosError):
    """A model could not answer; the provider or the person must act."""


class ModelUnavailableError(ModelError):
    """Nothing answers, the child process died, or a time limit passed: another route may be tried."""


class ModelBusyError(ModelUnavailableError):
    """Rate limit or overload (429, 503); `retry_after` in seconds where the server named it."""

    def __init__(self, what: str, fix: str, retry_after: float | None = None) -> None:
        super().__init__(what, fix)
        self.retry_after = retry_after


class ModelRefusedError(ModelError):
    """The key or the account was refused (401, 403): the route is out until its settings change."""


class ContextOverflowError(ModelError):
    """The request was larger than the model's window; `limit` is the window in tokens where it was named."""

    def __init__(self, what: str, fix: str, limit: int | None = None) -> None:
        super().__init__(what, fix)
        self.limit = limit


class ModelRequestError(ModelError):
    """The provider rejected the request itself (400, 404, 422); sending it again changes nothing."""
