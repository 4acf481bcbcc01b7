"""Keys and passwords that somebody left in a text: found by their own form, named without being repeated. Pure."""

import re

from clusters.findings import Finding
from clusters.wording import gettext_noop

FORMS = {
    gettext_noop("an access key of AWS"): re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    gettext_noop("a private key"): re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    gettext_noop("a token of GitHub"): re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,})"),
    gettext_noop("a token of Hugging Face"): re.compile(r"\bhf_[A-Za-z0-9]{30,}"),
    gettext_noop("a secret key of AWS"): re.compile(
        r"(?i)aws_?secret_?access_?key[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9/+=]{40}"
    ),
}


def findings(text: str) -> list[Finding]:
    """One for each, in the order of the kinds."""
    return [
        Finding("secret_inside", "refused", "file", name, values={"line": text.count("\n", 0, match.start()) + 1})
        for name, pattern in FORMS.items()
        for match in pattern.finditer(text)
    ]
