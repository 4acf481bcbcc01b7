"""Output of any kind is made safe to keep and to show."""

import time

import pytest

from clusters.jobs.logs import cleaning
from clusters.jobs.logs.reading import Line, read
from tests.clusters.job_logs.test_formats import AT


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31merror\x1b[0m here", "error here"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        (" 1%|  | 1/9\r 2%|  | 2/9\r\n", " 2%|  | 2/9"),
        ("a\x00b\x08c", "a\ufffdb\ufffdc"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),  # text; the page escapes it
        ("right\u202eto left", "right\ufffdto left"),
        ("\ud800half", "\ufffdhalf"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b", ""),
        ("", ""),
    ],
)
def test_a_line_is_safe(raw, shown):
    assert cleaning.shown(raw) == shown


def test_binary_output_is_said_to_be_none():
    raw = bytes(range(256)).decode("latin-1") * 4
    assert cleaning.shown(raw.replace("\r", "").replace("\n", "")) == "[1016 characters that are no text]"


def test_a_line_of_a_megabyte_is_cut_and_costs_no_time():
    began = time.monotonic()
    for raw in ("x" * 1_000_000, "\x1b[" * 500_000, "1," * 500_000, "step=1 loss=" + "9" * 1_000_000, "\r" * 1_000_000,
                "\x1b]" * 500_000, " " * 1_000_000, "rank " * 200_000, "iteration 1/1 | " * 60_000):  # fmt: skip
        assert len(cleaning.shown(raw)) < 2_100
        read([Line(AT, raw)])
    assert time.monotonic() - began < 5
    assert cleaning.shown("x" * 1_000_000).endswith("[… 998000 more characters]")
