"""Django's file storage, made safe against death in the middle: a name holds its whole content or does not exist."""

import os
import tempfile
from pathlib import Path
from typing import Any

from django.core.files.storage import FileSystemStorage


class WholeFiles(FileSystemStorage):
    """Writes beside the name and renames: whoever is killed while writing leaves a `.part`, never half a file.

    A name that exists is replaced, because names are digests and hold the same bytes whoever writes them.
    """

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def _save(self, name: str, content: Any) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as written:
                for chunk in content.chunks():
                    written.write(chunk)
                written.flush()
                os.fsync(written.fileno())
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)  # there only when something went wrong
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # without it the name itself may be gone after a power cut
        finally:
            os.close(folder)
        return name
