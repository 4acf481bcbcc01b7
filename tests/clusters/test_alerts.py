"""What Alertmanager posts is read strictly: the shape of its own webhook, version 4, and a sentence for everything else."""

import json

import pytest

from clusters import alerts
from tenants.web.problems import Refused

# As Alertmanager 0.27 writes it (its documentation, webhook_config).
GOOD = {
    "version": "4",
    "groupKey": '{}:{alertname="GpuHot"}',
    "truncatedAlerts": 0,
    "status": "firing",
    "receiver": "portal",
    "groupLabels": {"alertname": "GpuHot"},
    "commonLabels": {"alertname": "GpuHot"},
    "commonAnnotations": {},
    "externalURL": "http://alertmanager",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "GpuHot", "severity": "warning", "instance": "10.0.128.7"},
            "annotations": {"summary": "GPU 1 of 10.0.128.7 has 90 °C"},
            "startsAt": "2026-11-01T10:00:00.123Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus/graph",
            "fingerprint": "c4ffee00c4ffee00",
        }
    ],
}


def changed(**more):
    return json.dumps({**GOOD, "alerts": [{**GOOD["alerts"][0], **more}]}).encode()


def test_a_message_of_alertmanager_is_read_as_it_is():
    [told] = alerts.read(json.dumps(GOOD).encode())
    assert (told.name, told.severity, told.node, told.ends_at) == ("GpuHot", "normal", "10.0.128.7", None)
    assert told.summary == "GPU 1 of 10.0.128.7 has 90 °C" and told.starts_at.microsecond == 123000
    [over] = alerts.read(changed(status="resolved", endsAt="2026-11-01T10:05:00Z"))
    assert over.ends_at is not None and over.ends_at > over.starts_at


@pytest.mark.parametrize(
    ("word", "ours"),
    [("critical", "urgent"), ("Warning", "normal"), ("info", "low"), ("nonsense", "normal"), ("", "normal")],
)
def test_the_word_of_a_rule_becomes_a_severity_of_ours(word, ours):
    [told] = alerts.read(changed(labels={"alertname": "X", "severity": word}))
    assert told.severity == ours


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "version"),
        (b'{"version": "3"}', "version"),
        (b'{"version": "4", "alerts": {}}', "alerts"),
        (b'{"version": "4", "alerts": [7]}', "alerts[0]"),
        (changed(status="burning"), "alerts[0].status"),
        (changed(fingerprint="../../etc"), "alerts[0].fingerprint"),
        (changed(fingerprint=7), "alerts[0].fingerprint"),
        (changed(labels={}), "alerts[0].labels.alertname"),
        (changed(labels={"alertname": "X", "gpu": 3}), "alerts[0].labels.gpu"),
        (changed(startsAt="yesterday"), "alerts[0].startsAt"),
        (changed(startsAt="0001-01-01T00:00:00+14:00"), "alerts[0].startsAt"),
        (changed(status="resolved", endsAt="9999-12-31T23:59:59-12:00"), "alerts[0].endsAt"),
        (changed(startsAt="2026-11-01T10:00:00"), "alerts[0].startsAt"),
        (changed(status="resolved", endsAt=None), "alerts[0].endsAt"),
        (json.dumps({**GOOD, "alerts": GOOD["alerts"] * 501}).encode(), "alerts"),
        (b"x" * (alerts.LARGEST + 1), "body"),
    ],
)
def test_what_is_no_alert_is_refused_with_its_field(body, field):
    with pytest.raises(Refused) as refused:
        alerts.read(body)
    assert refused.value.facts["field"] == field and refused.value.status == 422
    assert field in refused.value.sentence and "has to be" in refused.value.sentence


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe",
        b"[]",
        b"[" * 100_000,
        b'{"version": "4", "version": "4"}',
        b'{"version": NaN}',
        changed(labels={"alertname": "X\0"}),
        changed(labels={"alertname": "X\ud800"}),
    ],
)
def test_an_alert_is_read_as_strictly_as_every_other_body(body):
    with pytest.raises(Refused) as refused:
        alerts.read(body)
    assert refused.value.code in ("malformed", "invalid") and refused.value.status in (400, 422)
