"""A file of somebody's own on the page that looks at it: known mistakes with line, reason and remedy; hostile ones refused."""

import time

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from clusters import file_checks
from clusters.architectures.configuration import read_configuration
from clusters.findings import Refusals
from tenants.work.models import Due
from tests.clusters.test_pages import REQUEST, signed_in, told
from tests.clusters.test_pages import hoshi as hoshi
from tests.clusters.test_preflight_ec2 import document
from tests.conftest import World
from tests.examples import Examples

PAGE = "/t/hoshi/configurations/check/"
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=False)
)
MISTAKES = {
    "72 ends of lines of Windows": ("job.sbatch", "#!/bin/bash\r\nset -euo pipefail\r\nsrun hostname\r\n", 1, "ends as on Windows", "line ends of Unix"),
    "72 a return outside a function": ("job.sh", "#!/bin/bash\nset -eu\nreturn 1\n", 3, "outside a function", "Write “exit” there."),
    "72 names without a value": ("job.sh", "#!/bin/bash\necho $STACK\n", 1, "names that have no value", "set -euo pipefail"),
    "69 a key": ("job.sh", "#!/bin/bash\nset -eu\nexport KEY=AKIAABCDEFGHIJKLMNOP\n", 3, "looks like a secret", "have it replaced"),
    "73 a secret in a manifest": ("pod.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: c\n    env:\n    - {name: HF_TOKEN, value: abc}\n", 7, "HF_TOKEN", "Take it from a secret."),
    "code that is pulled from a branch": ("boot.sh", "#!/bin/bash\nset -eu\ncurl https://raw.githubusercontent.com/a/b/main/x.sh\n", 3, "can be another thing tomorrow", "Name a commit or a release"),
    "YAML that runs code": ("x.yaml", "a: !!python/object/apply:os.system ['true']\n", 1, "would run a program", ""),
    "an alias bomb": ("x.yaml", BOMB, 2, "repeats another part of the file", ""),
    "nothing": ("x.yaml", " \n\n", 0, "Paste something", ""),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line", "says", "remedy"), MISTAKES.values(), ids=list(MISTAKES))
def test_each_known_mistake_is_told_with_line_reason_and_remedy(
    world: World, hoshi: Examples, name: str, text: str, line: int, says: str, remedy: str
) -> None:
    client, before = signed_in(world.person("ml_engineer")), Due.objects.count()
    began = time.monotonic()
    as_file = "\r" in text  # what is pasted comes with such ends from every browser
    sent = {"file": SimpleUploadedFile(name, text.encode())} if as_file else {"name": name, "text": text}
    answer = client.post(PAGE, sent)
    page = answer.content.decode()
    assert answer.status_code == (200 if line else 422), page
    assert says in page and remedy in page
    assert time.monotonic() - began < 5 and Due.objects.count() == before
    if line:
        [found] = [each for each in answer.context["lines"] if says in each["sentence"]]
        assert found["line"] == line


def test_a_good_script_has_nothing_and_is_not_said_to_work(world: World, hoshi: Examples) -> None:
    script = "#!/bin/bash\nset -euo pipefail\nsrun hostname\n"
    client = signed_in(world.person("platform_engineer"))
    pasted = client.post(PAGE, {"text": script.replace("\n", "\r\n")}).content.decode()
    assert "Nothing found" in pasted
    page = client.post(PAGE, {"file": SimpleUploadedFile("train.sbatch", script.encode())}).content.decode()
    assert "train.sbatch" in page and "Nothing found" in page and "That it works is not said by that." in page


@pytest.mark.parametrize("size", [500_001, 10_000_000])
def test_a_file_that_is_too_large_is_refused_with_both_numbers(world: World, hoshi: Examples, size: int) -> None:
    client = signed_in(world.person("platform_engineer"))
    answer = client.post(PAGE, {"file": SimpleUploadedFile("big.yaml", b"a" * size)})
    assert answer.status_code in (413, 422)
    if answer.status_code == 422:
        assert f"The file has {size:,} bytes; the most is 500,000." in answer.content.decode()


def test_who_only_looks_on_does_not_see_the_page_and_others_of_elsewhere_find_nothing(
    world: World, hoshi: Examples
) -> None:
    assert signed_in(world.person("viewer")).get(PAGE).status_code == 403
    assert signed_in(world.people["stranger"]).get(PAGE).status_code == 404


def test_several_documents_in_one_manifest_are_all_looked_at() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - env: [{name: API_KEY, value: x}]\n"
    assert [each.code for each in file_checks.findings("two.yaml", text)] == ["secret_in_env"]
    hostile = "apiVersion: v1\n---\na: !!python/name:os.system\n"
    [found] = file_checks.findings("two.yaml", hostile)
    assert (found.code, found.values["line"], found.verdict) == ("read_code", 3, "fail")


@pytest.mark.parametrize(
    "settings",
    [
        {"HeadNode": {"CustomActions": {"OnNodeStart": {"Script": "s3://somebody-elses-bucket/x.sh"}}}},
        {"HeadNode": {"CustomActions": {"OnNodeConfigured": {"Script": "http://example.org/x.sh"}}}},
        {"Scheduling": {"SlurmQueues": [{"CustomActions": {"OnNodeStart": {"Script": "s3://gone/x.sh"}}}]}},
    ],
)
def test_a_script_from_elsewhere_is_closed_to_who_asks(settings: dict[str, object]) -> None:
    """Row 63: what runs on nodes is ours, from our own bucket; the place for another script is closed."""
    with pytest.raises(Refusals) as refused:
        read_configuration(document(engine_settings=settings))
    assert {each.code for each in refused.value.findings} <= {"settings_closed", "settings_ours", "unknown_field"}


@pytest.mark.parametrize("text", [BOMB, "a: !!python/object/apply:os.system ['true']\n", "x" * 10_000_000])
def test_a_hostile_configuration_is_refused_by_the_request_too(world: World, hoshi: Examples, text: str) -> None:
    began = time.monotonic()
    sent = told(hoshi, mode="paste", document_text=text)
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, sent)
    assert answer.status_code in (413, 422) and time.monotonic() - began < 5
