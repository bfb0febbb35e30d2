"""What can go wrong, as one typed value per outcome.

    AssistantError
    ├── RequestInvalid      400  the body or a parameter is not what this API takes
    ├── NotAuthenticated    401  no client key, or one that is not known
    ├── LabelRefused        403  no pool of the tier may hold data of this label
    ├── NotFound            404  a path, model or intent that does not exist
    ├── HttpRefused         405, 408, 413, 415  the HTTP request was not read to its end
    ├── ToolCallRefused     502  the model made a call that is not run
    ├── ToolFailed          502  a tool gave no result
    ├── EngineFailed        502  an engine refused or broke off the request
    ├── EngineUnavailable   503  no replica answered
    └── DeadlineExceeded    504  the time for the whole request is over

    PlanInvalid             at start: the request plan cannot be used

A message is for the caller: it names the rule and the way out. It may quote the request, so it is
never written to a log or a span; `code` is, and holds no content.
"""

from typing import ClassVar


class AssistantError(Exception):
    """Base of every refusal. `status` is the HTTP status, `kind` the OpenAI error type.

    `retry` tells an OpenAI client whether the same request may succeed when sent again.
    """

    status: int = 500
    kind: ClassVar[str] = "server_error"
    retry: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param

    def document(self) -> dict[str, object]:
        """The error as the OpenAI API writes it."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "code": self.code,
                "param": self.param,
            }
        }


class RequestInvalid(AssistantError):
    """The request breaks a rule of this API; `param` is the field's path from the body's root."""

    status = 400
    kind = "invalid_request_error"

    def __init__(self, message: str, *, code: str = "invalid_value", param: str | None) -> None:
        super().__init__(f"{param}: {message}" if param else message, code=code, param=param)


class NotAuthenticated(AssistantError):
    """The caller could not be matched with a tenant."""

    status = 401
    kind = "authentication_error"

    def __init__(self, message: str) -> None:
        super().__init__(message, code="invalid_api_key")


class LabelRefused(AssistantError):
    """Nothing that may hold the data is able to serve the request.

    Never followed by a call elsewhere.
    """

    status = 403
    kind = "permission_error"

    def __init__(self, message: str) -> None:
        super().__init__(message, code="label_refused", param="metadata.perimeter.label")


class NotFound(AssistantError):
    """The path, model or intent does not exist here."""

    status = 404
    kind = "not_found_error"


class HttpRefused(AssistantError):
    """The HTTP request was not read: wrong method, too large, too slow, or not JSON."""

    kind = "invalid_request_error"

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message, code=code)
        self.status = status


class ToolCallRefused(AssistantError):
    """The model asked for a call that this intent does not offer, or that breaks the tool's schema.

    No tool of that round has been run.
    """

    status = 502
    kind = "tool_call_error"


class ToolFailed(AssistantError):
    """A tool gave no result. An answer without its figures would be invented, so there is none."""

    status = 502
    kind = "tool_error"


class EngineFailed(AssistantError):
    """An engine refused the request, or what it wrote cannot be used."""

    status = 502
    kind = "engine_error"


class EngineUnavailable(AssistantError):
    """Every replica that may hold the data was tried and none answered."""

    status = 503
    kind = "engine_error"
    retry = True


class DeadlineExceeded(AssistantError):
    """The one deadline of the request has passed."""

    status = 504
    kind = "timeout_error"

    def __init__(self, message: str) -> None:
        super().__init__(message, code="deadline_exceeded", param="metadata.perimeter.deadline_ms")


class PlanInvalid(Exception):
    """The plan or a prompt file cannot be used; the process does not start.

    The message is `<file or field>: <rule>` and the fix on a second line.
    """

    def __init__(self, *, where: str, rule: str, fix: str) -> None:
        super().__init__(f"{where}: {rule}\n  fix: {fix}")
        self.where = where
        self.rule = rule
        self.fix = fix
