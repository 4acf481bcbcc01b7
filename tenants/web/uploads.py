"""Uploads are measured before they are read: a page's proof of origin lies in the body, so anybody could send a disk full."""

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler

from tenants.web.problems import UploadTooLarge

LARGEST = 20 * 1024 * 1024
ROOM = 1024 * 1024  # for the other fields of the form, and what separates them


class SmallEnough(FileUploadHandler):
    """Refuses a body that cannot hold an allowed file; reads nothing itself."""

    def handle_raw_input(
        self, input_data: Any, META: Any, content_length: int, boundary: Any, encoding: str | None = None
    ) -> None:
        if content_length > LARGEST + ROOM:
            raise UploadTooLarge(content_length, LARGEST)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
