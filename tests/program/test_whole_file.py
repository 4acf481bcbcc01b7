"""The whole programme as one file: what is written comes back, adds up to the same, and is written again byte for byte."""

import io
from typing import Any

import pytest
import yaml
from django.db import connection, transaction

from program.transfer import importing, programme_file
from program.transfer.dates import moment
from program.transfer.writing import whole


def read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


@pytest.mark.django_db
def test_x():
    told = programme_file.read()
    said = []
    now = moment(told["meta"]["as_of"])
    with transaction.atomic():
        importing.load(told, said.append)
        out = io.StringIO()
        whole.write(out, now)
        open("/tmp/h/wholefile/out1.yaml", "w").write(out.getvalue())
        transaction.set_rollback(True)
    connection.scope = None
    again = read(out.getvalue())
    print(said)
    probs = programme_file.problems(again)
    assert probs == [], probs
    importing.load(again, said.append)
    out2 = io.StringIO()
    whole.write(out2, now)
    open("/tmp/h/wholefile/out2.yaml", "w").write(out2.getvalue())
