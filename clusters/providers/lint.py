"""cfn-lint over one template. Imported when it is first used: it takes seconds and a hundred megabytes."""

from typing import Any


def problems(text: str, region: str) -> list[dict[str, Any]]:
    """Errors and warnings with their line, for a Region; suggestions are none."""
    from cfnlint import api

    found = api.lint(text, config=api.ManualArgs(regions=[region]))
    return [
        {"rule": each.rule.id, "line": each.linenumber, "says": each.message}
        for each in found
        if each.rule.id[0] in "EW"
    ]
