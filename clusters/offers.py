"""Instance types and Regions as people choose them: the code first, then what it is."""

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from clusters import facts
from clusters.wording import gettext_noop

# Where each Region is, by the provider's own names.
PLACES: Mapping[str, str] = {
    "ap-northeast-1": gettext_noop("Tokyo"),
    "ap-northeast-2": gettext_noop("Seoul"),
    "ap-northeast-3": gettext_noop("Osaka"),
    "ap-south-1": gettext_noop("Mumbai"),
    "ap-southeast-1": gettext_noop("Singapore"),
    "ap-southeast-2": gettext_noop("Sydney"),
    "ap-southeast-3": gettext_noop("Jakarta"),
    "ap-southeast-4": gettext_noop("Melbourne"),
    "ca-central-1": gettext_noop("Canada Central"),
    "eu-central-1": gettext_noop("Frankfurt"),
    "eu-north-1": gettext_noop("Stockholm"),
    "eu-west-1": gettext_noop("Ireland"),
    "eu-west-2": gettext_noop("London"),
    "eu-west-3": gettext_noop("Paris"),
    "sa-east-1": gettext_noop("São Paulo"),
    "us-east-1": gettext_noop("N. Virginia"),
    "us-east-2": gettext_noop("Ohio"),
    "us-west-1": gettext_noop("N. California"),
    "us-west-2": gettext_noop("Oregon"),
}


def region_words(region: str) -> str:
    """`ap-northeast-1 Tokyo`; the code alone where no name is known."""
    return f"{region} {_(PLACES[region])}" if region in PLACES else region


def type_words(name: str) -> str:
    """`p5.48xlarge, 8 × H100`; the type alone where it has no accelerators that are known."""
    instance = facts.load().instance(name)
    if instance is None or not instance.accelerators:
        return name
    return f"{name}, {instance.accelerators} × {instance.chip}"


def by_accelerator(types: Iterable[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The types as groups of choices, a group for each accelerator, the smallest type of each first."""
    groups: dict[str, list[tuple[int, int, str]]] = {}
    for name in types:
        known = facts.load().instance(name)
        size = (known.accelerators, known.vcpus or 0) if known else (0, 0)
        groups.setdefault(known.chip if known else "–", []).append((*size, name))
    return [(chip, [(name, type_words(name)) for *_size, name in sorted(groups[chip])]) for chip in sorted(groups)]


def region_choices(regions: Iterable[str]) -> list[tuple[str, str]]:
    return [(region, region_words(region)) for region in regions]


def type_choices(types: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, type_words(name)) for name in types]
