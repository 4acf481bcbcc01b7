"""The one way in which a sandbox service refuses: an error as the real service would word it."""

from moto.core.exceptions import ServiceException


class AwsError(ServiceException):
    """An error answer; the protocol of the service decides how it looks on the wire."""

    def __init__(self, code: str, message: str, status: int | None = None) -> None:
        super().__init__(code, message)
        self.status = status


class NoAnswer(Exception):
    """The caller gets no answer: the connection is closed."""
