"""Where a head node's agent speaks: its token opens its own cluster alone, and whatever it sends is bounded and typed."""

from datetime import timedelta

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.utils import timezone

from clusters import agent_views
from clusters.actions import agents, cancel_job, retire_cluster
from clusters.models import AgentLog, AgentOrder, AgentRun, HeadNodeAgent
from clusters.providers import ProviderError
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tests.clusters.head_node_agent.place import HELLO, Place, row_of, settle


@pytest.fixture
def place(world) -> Place:
    return settle(world)


def raised(call) -> ProviderError:
    with pytest.raises(ProviderError) as told:
        call()
    return told.value


def test_the_token_of_a_cluster_opens_its_own_addresses_and_nothing_else(world, place):
    other = settle(world, "umi")
    assert place.post("pull").status_code == 200
    for token in ("", "wrong", "w" * 43, other.token, place.token + "x"):
        answer = place.post("pull", token=token)
        assert (
            answer.status_code == 401
            and answer.json()["code"] == "not_known"
            and answer["WWW-Authenticate"] == "Bearer"
        )
    elsewhere = place.path.replace(place.tenant.slug, "nobody")
    head = {"Authorization": f"Bearer {place.token}"}
    assert Client().post(f"{elsewhere}/pull/", {}, content_type="application/json", headers=head).status_code == 401
    assert Client().get("/api/v1/me/", headers=head).status_code == 401
    assert Client().get(f"{place.path}/", headers=head).status_code == 401
    assert Client().get(f"{place.path}/pull/", headers=head).status_code == 405
    signed_in = Client()
    signed_in.force_login(world.person("programme_manager"))
    assert signed_in.post(f"{place.path}/pull/", HELLO, content_type="application/json").status_code == 401


def test_an_order_of_another_cluster_does_not_exist(world, place):
    other = settle(world, "umi")
    job = other.launch()
    other.jobs()
    other.step()
    [order] = other.pull()
    assert place.post("answer", {"id": order["id"], "ok": True, "job": "7"}).status_code == 404
    assert place.post("answer", {"id": "nonsense", "ok": True}).status_code == 422
    assert other.now(job).state == "requested"


def test_of_the_token_only_a_digest_stays_and_a_new_one_replaces_it(world, place):
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute("select row_to_json(a)::text from clusters_headnodeagent a")
        assert place.token not in cursor.fetchone()[0]
        cursor.execute("reset role")
    with acting_for(place.tenant, staff=True):
        agents.renew_token(cluster=place.cluster, by="engine")
    newer = str(place.agent.undelivered)
    assert place.post("pull", token=newer).status_code == place.post("pull").status_code == 200
    with acting_for(place.tenant, staff=True):
        HeadNodeAgent.objects.update(before_until=timezone.now() - timedelta(seconds=1))
    assert (place.post("pull").status_code, place.post("pull", token=newer).status_code) == (401, 200)
    with acting_for(place.tenant, staff=True):
        retire_cluster(cluster=place.cluster, by="engine", why="over")
        kinds = list(Entry.objects.filter(kind__startswith="agent.").values_list("kind", flat=True))
    assert place.post("pull", token=newer).status_code == 401
    assert {"agent.connected", "agent.renewed", "agent.revoked"} == set(kinds)


def test_a_job_goes_through_the_orders_and_comes_back_in_the_report(world, place):
    job = place.launch(environment={"KEY": "hidden"}, time_limit_minutes=30)
    place.step()
    assert place.now(job).unknown_since, "nobody has spoken yet"
    place.jobs()
    place.step()
    [order] = place.pull()
    assert order["kind"] == "submit" and not order["again"]
    asked = order["arguments"]
    assert (asked["name"], asked["nodes"], asked["environment"]["KEY"]) == (job.engine_name, 1, "hidden")
    assert place.pull() == [order], "not answered, so it is told again"
    place.step()
    assert place.now(job).state == "requested"
    assert place.post("answer", {"id": order["id"], "ok": True, "job": "7"}).status_code == 200
    assert place.pull() == []
    place.step()
    assert (place.now(job).state, place.now(job).external_id) == ("submitted", "7")
    place.jobs({"name": job.engine_name})
    place.report(logs=[{"name": "7", "turn": 1, "at": 0, "bytes": 7, "text": "step 1\n"}])
    place.step()
    running = place.now(job)
    assert (running.state, running.node_names, running.log_tail) == ("running", ["gpu1", "gpu2"], "step 1")
    with acting_for(place.tenant, staff=True):
        [row] = AgentOrder.objects.all()
    assert (row.progress, row.arguments) == ("done", ""), "what may be secret goes when it is done"


def test_a_refusal_ends_the_job_in_slurms_words(place):
    job = place.launch()
    place.jobs()
    place.step()
    [order] = place.pull()
    place.post("answer", {"id": order["id"], "ok": False, "told": "Invalid partition name specified"})
    place.step()
    assert (place.now(job).state, place.now(job).reason) == ("failed", "Invalid partition name specified")


def test_what_is_cancelled_before_the_head_node_fetched_it_is_never_handed_out(place):
    job = place.launch()
    place.jobs()
    place.step()
    with acting_for(place.tenant):
        cancel_job(job=place.now(job), by="engine")
    assert place.pull() == []
    place.step()
    assert place.now(job).state == "cancelled"


def test_a_silent_agent_is_unknown_since_and_nothing_is_done(place):
    job = place.launch()
    place.jobs({"name": job.engine_name})
    place.step()
    assert place.now(job).state == "running"
    with acting_for(place.tenant, staff=True):
        long_ago = timezone.now() - timedelta(minutes=5)
        HeadNodeAgent.objects.update(jobs_at=long_ago, last_seen_at=long_ago)
    place.step()
    silent = place.now(job)
    assert silent.state == "running" and silent.unknown_since and "was last heard at" in silent.unknown_reason
    place.post("report", {"trouble": "Unable to contact slurm controller"})
    place.step()
    assert "Unable to contact" in place.now(job).unknown_reason
    place.jobs({"name": job.engine_name})
    place.step()
    assert place.now(job).unknown_since is None


def test_verbs_are_one_order_at_a_time_and_say_a_refusal_once(place):
    place.post("pull")
    for _ in range(2):
        place.launcher.requeue(place.endpoint, "7")
    [order] = place.pull()
    assert (order["kind"], order["arguments"]) == ("requeue", {"job": "7"})
    place.post("answer", {"id": order["id"], "ok": False, "told": "Access/permission denied"})
    assert raised(lambda: place.launcher.requeue(place.endpoint, "7")).message == "Access/permission denied"
    place.launcher.requeue(place.endpoint, "7")
    assert len(place.pull()) == 1


def test_what_the_head_node_did_not_fetch_in_time_is_not_done_late(place):
    place.launcher.hold(place.endpoint, "7")
    place.launcher.cancel(place.endpoint, "8")
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute("update clusters_agentorder set created_at = created_at - interval '11 minutes'")
        cursor.execute("reset role")
    assert [order["kind"] for order in place.pull()] == ["cancel"], "a cancel is wished until it is confirmed"
    assert "within ten minutes" in raised(lambda: place.launcher.hold(place.endpoint, "7")).message


def test_of_two_head_nodes_one_speaks_and_the_other_looks_before_it_repeats(place):
    place.launcher.cancel(place.endpoint, "7")
    assert not place.pull()[0]["again"]
    assert place.post("pull", {"identity": "b" * 32}).status_code == 409
    with acting_for(place.tenant, staff=True):
        HeadNodeAgent.objects.update(last_seen_at=timezone.now() - timedelta(minutes=5))
    for _ in range(2):
        assert place.post("pull", {"identity": "b" * 32}).json()["orders"][0]["again"]


def test_logs_are_joined_by_their_offsets_whatever_comes_twice_or_is_missing(place):
    def send(at, text, turn=1):
        return place.report(
            logs=[{"name": "7", "turn": turn, "at": at, "bytes": len(text.encode()), "text": text}]
        ).json()

    def text():
        return place.launcher.tail(None, place.endpoint, "7")

    assert send(0, "one\n")["logs"] == {"7": [1, 4]}
    assert send(0, "one\n")["logs"] == {"7": [1, 4]} and text() == "one"
    send(2, "e\ntwo\n")
    assert text() == "one\ntwo"
    send(18, "four\n")
    assert text().splitlines() == ["one", "two", "", "[… 10 bytes were not sent …]", "four"]
    send(0, "anew\n", turn=2)
    assert text().splitlines()[-2:] == ["[… the file was begun anew …]", "anew"]
    assert send(0, "old\n", turn=1)["logs"] == {"7": [2, 5]} and text().endswith("anew")
    assert "old" not in text()
    for number in range(6):
        send(5 + number * 60_000, "x" * 60_000, turn=2)
    with acting_for(place.tenant, staff=True):
        [row] = AgentLog.objects.all()
    assert len(row.text) <= agents.LOG_KEPT and row.ends_at == 360_005
    assert (
        row.characters
        == len("one\ntwo\n\n[… 10 bytes were not sent …]\nfour\n[… the file was begun anew …]\nanew\n") + 360_000
    )
    assert place.launcher.tail(None, place.endpoint, "999") == ""
    place.report(logs=[{"name": "8", "turn": 1, "at": 0, "bytes": 3, "text": "a\0\ud800"}])
    assert place.launcher.tail(None, place.endpoint, "8") == "a\ufffd\ufffd"


def test_runs_are_kept_once_and_no_accounts_are_not_nought(place):
    run = {"job": "7", "attempt": 1, "name": "j", "state": "NODE_FAIL", "exit_code": 0, "signal": 9, "started": 1796096400,
           "ended": 1796100000, "nodes": "gpu[1-2]", "tres": "cpu=8,gres/gpu=16", "partition": "workers", "user": "cohort"}  # fmt: skip
    since = timezone.now() - timedelta(days=36500)
    place.post("pull")
    assert raised(lambda: place.launcher.ended(place.endpoint, since)).kind == "unclear"
    for _ in range(2):
        place.report(ended=[run, {**run, "attempt": 2, "state": "COMPLETED", "signal": 0}], accounts=True)
    first, second = place.launcher.ended(place.endpoint, since)
    assert (first.state, first.engine_state, first.accelerators, first.signal, first.nodes) == (
        "failed", "NODE_FAIL", 16, 9, ("gpu1", "gpu2"))  # fmt: skip
    assert (second.attempt, second.state) == (2, "succeeded")
    with acting_for(place.tenant, staff=True):
        assert AgentRun.objects.count() == 2
    place.report(accounts=False)
    assert raised(lambda: place.launcher.ended(place.endpoint, since)).code == "NoAccounting"


def test_nodes_are_told_in_our_word_and_in_slurms(place):
    node = {
        "name": "gpu1",
        "state": ["IDLE", "DRAIN"],
        "reason": "xid 79",
        "reason_changed_at": 1796096400,
        "gres": "gpu:h100:8",
        "gres_used": "gpu:h100:3(IDX:0-2)",
    }
    place.report(nodes={"digest": "a" * 64, "rows": [node]})
    [seen] = place.launcher.nodes(place.endpoint)
    assert (seen.state, seen.engine_state, seen.reason, seen.accelerators, seen.accelerators_used) == (
        "draining", "IDLE+DRAIN", "xid 79", 8, 3)  # fmt: skip
    assert place.report(nodes={"digest": "b" * 64, "rows": None}).json()["send"] == ["nodes"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"job_id": "7"}, "job_id"), ({"job_id": 0}, "job_id"), ({"job_id": True}, "job_id"), ({"job_id": 2**40}, "job_id"),
        ({"name": "a\0b"}, "name"), ({"name": "x" * 201}, "name"), ({"name": "\ud800"}, "name"), ({"name": None}, "name"),
        ({"job_state": "RUNNING"}, "job_state"), ({"job_state": []}, "job_state"), ({"job_state": ["<b>"]}, "job_state"),
        ({"exit_code": 0}, "exit_code"), ({"exit_code": {"return_code": -1, "signal": {"id": 0}}}, "return_code"),
        ({"submit_time": 1e99}, "submit_time"), ({"end_time": -1}, "end_time"), ({"nodes": ["gpu1"]}, "nodes"),
        ({"time_limit": "1:00"}, "time_limit"),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_and_the_others_are_kept(place, wrong, field):
    rows = [
        row_of(name="one"),
        row_of(**wrong) if "name" in wrong else row_of(name="bad", **wrong),
        row_of(job_id=9, name="two"),
    ]
    told = place.report(jobs={"digest": "c" * 64, "rows": rows})
    [refused] = told.json()["refused"]
    assert refused["row"] == "jobs[1]" and refused["why"].startswith(field)
    assert [job.name for job in place.launcher.observe(place.endpoint)] == ["one", "two"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400), (b"\xff", 400), (b"[]", 400), (b'{"a": 1, "a": 2}', 400), (b'{"a": NaN}', 400), (b"[" * 100_000, 400),
        (b"{}", 422), (b"x" * 2_500_001, 413),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["pull", "answer", "report"])
def test_what_is_no_message_is_refused_in_a_sentence(place, verb, body, status):
    answer = place.post(verb, body)
    assert answer.status_code == status and answer.json()["detail"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"jobs": []}, {"jobs": {"digest": "x", "rows": []}}, {"jobs": {"digest": "a" * 64, "rows": {}}},
        {"jobs": {"digest": "a" * 64, "rows": [1] * 2_001}}, {"logs": "text"}, {"ended": None}, {"accounts": "yes"},
        {"trouble": "x" * 501}, {"version": "x" * 21}, {"identity": "me"}, {"host": 7},
    ],
)  # fmt: skip
def test_a_report_of_another_shape_is_refused_whole(place, wrong):
    answer = place.report(**wrong)
    assert answer.status_code == 422 and (
        next(iter(wrong)) in answer.json()["detail"] or "digest" in answer.json()["detail"]
    )


def test_few_letters_do_not_become_many_nodes(place):
    place.jobs({"name": "one", "nodes": "n[1-999999999][1-999999999]"})
    [job] = place.launcher.observe(place.endpoint)
    assert len(job.nodes) == 20_000


def test_who_asks_too_often_is_told_when_to_come_back(place, monkeypatch):
    monkeypatch.setattr(agent_views, "A_MINUTE", 2)
    caches["throttles"].clear()
    assert [place.post("pull").status_code for _ in range(3)] == [200, 200, 429]
    assert place.post("pull")["Retry-After"] == "30"
    caches["throttles"].clear()
