"""Open calls on pages of the layers below, which know nothing of calls: the doors for whoever has no account."""

from django import template

from program.calls import applying

register = template.Library()


@register.simple_tag
def open_call_count() -> int:
    """How many calls anybody may apply to now."""
    return len(applying.open_calls())
