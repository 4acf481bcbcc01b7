"""The Slurm launcher: one name is one job, every word of Slurm has ours, and a lost answer is never a failure."""

import base64
import dataclasses
import json
import threading
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest

from clusters import access
from clusters.launchers import LaunchSpec, SlurmEndpoint
from clusters.launchers.slurm import Slurm, spoken, token
from clusters.launchers.slurm_dialects import DIALECTS, STATES, hosts, state
from clusters.providers import ProviderError

KEY = b"k" * 32
SPEC = LaunchSpec(
    name="cohort-job-1",
    script="#!/bin/bash\nsrun hostname\n",
    nodes=2,
    partition="workers",
    time_limit_minutes=30,
    environment={"STEPS": "5"},
    comment="run 42",
    log_path="/fsx/cohort/logs/%j.out",
)


class Controller:
    """A slurmrestd that gives scripted answers and keeps what it was asked."""

    def __init__(self):
        self.jobs, self.errors, self.submit, self.cancel = [], [], (200, {"job_id": 7, "errors": []}), (200, {})
        self.calls, self.headers = [], []
        self.close, self.serves = False, None

    def answer(self, method, path, body):
        self.calls.append((method, path, body))
        if path.endswith("/openapi/v3"):
            return 200, {"paths": {f"/slurm/{version}/jobs/": {} for version in self.serves}}
        if self.serves is not None and path.split("/slurm/")[-1].split("/")[0] not in self.serves:
            return 404, b"Unable find requested URL. Please view /openapi/v3 for API reference."
        if path.endswith("/jobs"):
            return 200, {"jobs": self.jobs, "errors": self.errors}
        return self.submit if method == "POST" else self.cancel

    def of(self, method):
        return [(path, body) for called, path, body in self.calls if called == method]


@contextmanager
def serving(controller):
    class Handler(BaseHTTPRequestHandler):
        def handle_one(self):
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            controller.headers.append(dict(self.headers))
            status, told = controller.answer(self.command, self.path, body)
            if controller.close and self.command != "GET":
                self.close_connection = True
                return
            text = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = handle_one

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/slurm/000000000001/ap-northeast-1/c1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def controller():
    return Controller()


@pytest.fixture
def endpoint(controller):
    with serving(controller) as url:
        yield SlurmEndpoint(url, ("v0.0.40", "v0.0.41"), "cohort", KEY, "/cohort/clusters/c1/jobs")


def number(value):
    return {"set": True, "infinite": False, "number": value}


def old(endpoint):
    return SlurmEndpoint(endpoint.url, ("v0.0.37", "v0.0.38"), endpoint.user, endpoint.jwt_key, endpoint.log_group)


@pytest.mark.parametrize(
    ("offered", "version"),
    [
        (("v0.0.40",), "v0.0.40"),
        (("v0.0.40", "v0.0.42", "v0.0.41"), "v0.0.42"),
        (("v0.0.40", "v0.0.99"), "v0.0.40"),
        (("v0.0.36", "v0.0.37", "v0.0.38"), "v0.0.38"),
    ],
)
def test_the_newest_common_version_is_spoken(offered, version):
    assert spoken(SlurmEndpoint("http://x", offered, "u", KEY, "")).version == version


def test_a_server_without_a_common_version_is_told_apart():
    with pytest.raises(ProviderError) as told:
        spoken(SlurmEndpoint("http://x", ("v0.0.35",), "u", KEY, ""))
    assert told.value.kind == "refused"
    assert "v0.0.35" in told.value.message and "v0.0.42" in told.value.message


@pytest.mark.parametrize(
    ("told", "serves", "spoken_to"),
    [
        ((), ("v0.0.39", "v0.0.40", "v0.0.41"), "v0.0.41"),
        (("v0.0.99",), ("v0.0.40",), "v0.0.40"),
        (("v0.0.40", "v0.0.42"), ("v0.0.40", "v0.0.41"), "v0.0.41"),
        (("v0.0.41",), ("v0.0.41",), "v0.0.41"),
    ],
)
def test_where_the_cluster_does_not_say_or_is_wrong_its_server_is_asked_once(
    controller, endpoint, told, serves, spoken_to
):
    controller.serves, endpoint = serves, dataclasses.replace(endpoint, versions=told)
    for _ in range(2):
        Slurm().observe(endpoint)
        Slurm().cancel(endpoint, "7")
    assert all(f"/slurm/{spoken_to}/" in path for path, _ in controller.of("DELETE"))
    asked = sum(path.endswith("/openapi/v3") for path, _ in controller.of("GET"))
    assert asked == (0 if spoken_to in told and set(told) <= set(serves) else 1)
    controller.serves = ("v0.0.38",)  # renewed since, and nobody said so: learned at the second try
    with suppress(ProviderError):
        Slurm().observe(endpoint)
    assert Slurm().observe(endpoint) == [] and "/v0.0.38/" in controller.of("GET")[-1][0]


def test_a_server_that_serves_none_of_ours_is_told_in_a_sentence_and_not_asked_again(controller, endpoint):
    controller.serves, endpoint = ("v0.0.36", "v0.0.37"), dataclasses.replace(endpoint, versions=())
    for _ in range(2):
        with pytest.raises(
            ProviderError, match=r"serves the versions v0\.0\.36, v0\.0\.37; Cohort speaks v0\.0\.42"
        ) as said:
            Slurm().observe(endpoint)
        assert (said.value.kind, said.value.code) == ("refused", "NoCommonVersion")
    assert len(controller.calls) == 1


def test_a_token_is_short_lived_and_for_the_clusters_user(endpoint):
    now = datetime.now(UTC)
    claims = jwt.decode(token(endpoint, now), KEY, algorithms=["HS256"])
    assert claims["sun"] == "cohort"
    assert claims["exp"] - now.timestamp() <= 120
    assert claims["iat"] <= now.timestamp()


def test_a_job_is_submitted_in_the_new_dialect(controller, endpoint):
    assert Slurm().submit(endpoint, SPEC) == "7"
    [(path, body)] = controller.of("POST")
    assert path.endswith("/c1/slurm/v0.0.41/job/submit")
    job = body["job"]
    assert job["name"] == SPEC.name and job["script"] == SPEC.script
    assert (job["nodes"], job["tasks"], job["shared"]) == ("2-2", 2, ["none"])
    assert job["time_limit"] == {"set": True, "infinite": False, "number": 30}
    assert "STEPS=5" in job["environment"] and any(each.startswith("PATH=") for each in job["environment"])
    assert job["standard_output"] == "/fsx/cohort/logs/%j.out"
    sent = controller.headers[-1]
    assert sent["X-SLURM-USER-NAME"] == "cohort"
    assert jwt.decode(sent["X-SLURM-USER-TOKEN"], KEY, algorithms=["HS256"])["sun"] == "cohort"


def test_a_job_is_submitted_in_the_old_dialect(controller, endpoint):
    assert Slurm().submit(old(endpoint), SPEC) == "7"
    [(path, body)] = controller.of("POST")
    assert path.endswith("/slurm/v0.0.38/job/submit")
    assert body["script"] == SPEC.script
    assert (body["job"]["nodes"], body["job"]["tasks"], body["job"]["exclusive"]) == ([2, 2], 2, "exclusive")
    assert body["job"]["time_limit"] == 30
    assert body["job"]["environment"]["STEPS"] == "5"


@pytest.mark.parametrize(
    ("options", "old_words", "new_words"),
    [
        ({"cpus-per-task": "12"}, {"cpus_per_task": 12}, {"cpus_per_task": 12}),
        ({"mem": "64G"}, {"memory_per_node": 65536}, {"memory_per_node": number(65536)}),
        ({"mem": "0"}, {"memory_per_node": 0}, {"memory_per_node": number(0)}),
        ({"mem-per-cpu": "1500"}, {"memory_per_cpu": 1500}, {"memory_per_cpu": number(1500)}),
        ({"mem": "2048K"}, {"memory_per_node": 2}, {"memory_per_node": number(2)}),
        ({"constraint": "p5&efa"}, {"constraints": "p5&efa"}, {"constraints": "p5&efa"}),
        ({"account": "team", "qos": "high"}, {"account": "team", "qos": "high"}, {"account": "team", "qos": "high"}),
        ({"nice": ""}, {"nice": 100}, {"nice": 100}),
        ({"wait-all-nodes": "1"}, {"wait_all_nodes": True}, {"wait_all_nodes": True}),
        ({"gres": "gpu:h100:8,ssd:1"}, {"gres": "gpu:h100:8,ssd:1"}, {"tres_per_node": "gres/gpu:h100:8,gres/ssd:1"}),
        ({"gpus-per-node": "8"}, {"gpus_per_node": "8"}, {"tres_per_node": "gres/gpu:8"}),
        ({"chdir": "/fsx/run"}, {"current_working_directory": "/fsx/run"}, {"current_working_directory": "/fsx/run"}),
        ({"chdir": "run", "exclusive": "", "mail-user": "a@b.example", "output": "x"}, {}, {}),
    ],
)  # fmt: skip
def test_what_a_script_asks_in_its_own_lines_is_sent_in_each_dialect(options, old_words, new_words):
    spec = dataclasses.replace(SPEC, options=options)
    for dialect, words in (("v0.0.38", old_words), ("v0.0.40", new_words)):
        with_them, without = (DIALECTS[dialect].request(each)["job"] for each in (spec, SPEC))
        assert {name: value for name, value in with_them.items() if value != without.get(name)} == words
        assert with_them.keys() >= without.keys()


@pytest.mark.parametrize("options", [{"mem": "lots"}, {"cpus-per-task": "all"}, {"qos": ""}, {"account": "a" * 201}])
def test_an_option_that_sbatch_would_not_take_is_refused_with_its_line(controller, endpoint, options):
    with pytest.raises(ProviderError, match=f"The script says --{next(iter(options))}=") as told:
        Slurm().submit(endpoint, dataclasses.replace(SPEC, options=options))
    assert (told.value.kind, controller.of("POST")) == ("refused", [])


def test_what_is_not_wished_is_not_sent(controller, endpoint):
    Slurm().submit(endpoint, LaunchSpec("n", "#!/bin/bash\n", 1))
    job = controller.of("POST")[0][1]["job"]
    assert not {"partition", "time_limit", "comment", "standard_output"} & job.keys()


def test_a_job_of_that_name_is_taken_over_and_none_submitted(controller, endpoint):
    controller.jobs = [
        {"job_id": 3, "name": "another", "user_name": "cohort"},
        {"job_id": 4, "name": SPEC.name, "user_name": "somebody"},
        {"job_id": 5, "name": SPEC.name, "user_name": "cohort"},
    ]
    assert Slurm().submit(endpoint, SPEC) == "5"
    assert controller.of("POST") == []


@pytest.mark.parametrize(
    ("status", "answer", "kind", "code"),
    [
        (500, {"errors": [{"error_number": 2014, "error": "Requested node configuration is not available"}]}, "refused", "2014"),
        (500, {"errors": [{"error_code": 2000, "error": "Invalid partition"}]}, "refused", "2000"),
        (200, {"job_id": 0, "errors": []}, "refused", ""),
        (500, {"errors": [{"error_number": -1, "error": "Unspecified error"}]}, "unclear", "500"),
        (500, {"errors": [{"error_code": 1800, "error": "Unable to contact slurm controller"}]}, "unclear", "1800"),
        (502, b"<html>Bad gateway</html>", "unclear", "502"),
        (200, b"nonsense", "unclear", "200"),
        (401, b"Authentication failure", "denied", "401"),
        (511, {"errors": [{"error_number": 1007}]}, "denied", "511"),
        (429, b"", "throttled", "429"),
    ],
)  # fmt: skip
def test_what_an_answer_to_a_submission_means(controller, endpoint, status, answer, kind, code):
    controller.submit = (status, answer)
    with pytest.raises(ProviderError) as told:
        Slurm().submit(endpoint, SPEC)
    assert (told.value.kind, told.value.code) == (kind, code)


def test_a_job_that_slurm_keeps_although_it_cannot_start_is_cancelled(controller, endpoint):
    controller.submit = (200, {"job_id": 9, "errors": [{"error_code": 2015, "error": "More processors requested"}]})
    with pytest.raises(ProviderError) as told:
        Slurm().submit(endpoint, SPEC)
    assert (told.value.kind, told.value.message) == ("refused", "More processors requested")
    assert [path.rsplit("/", 2)[1:] for path, _ in controller.of("DELETE")] == [["job", "9"]]


def test_a_submission_without_an_answer_is_unclear_and_not_repeated(controller, endpoint):
    controller.close = True
    with pytest.raises(ProviderError) as told:
        Slurm().submit(endpoint, SPEC)
    assert told.value.kind == "unclear"
    assert len(controller.of("POST")) == 1


def test_a_list_that_slurm_could_not_make_is_no_empty_list(controller, endpoint):
    controller.errors = [{"error_number": 2051, "description": "Unable to read"}]
    with pytest.raises(ProviderError) as told:
        Slurm().observe(endpoint)
    assert told.value.kind == "unclear"


def test_nobody_at_the_other_end_is_unclear():
    with pytest.raises(ProviderError) as told:
        Slurm().observe(SlurmEndpoint("http://127.0.0.1:1", ("v0.0.40",), "u", KEY, ""))
    assert told.value.kind == "unclear"


def test_one_job_is_cancelled_and_a_vanished_one_is_no_error(controller, endpoint):
    Slurm().cancel(endpoint, "7")
    controller.cancel = (500, {"errors": [{"error_number": 2017, "error": "Invalid job id specified"}]})
    Slurm().cancel(endpoint, "8")
    controller.cancel = (500, {"errors": [{"error_number": 2002, "error": "Access/permission denied"}]})
    with pytest.raises(ProviderError) as told:
        Slurm().cancel(endpoint, "9")
    assert told.value.kind == "refused"
    assert [path.rsplit("/", 1)[1] for path, _ in controller.of("DELETE")] == ["7", "8", "9"]


NEW_JOB = {
    "job_id": 12,
    "name": "cohort-job-1",
    "user_name": "cohort",
    "job_state": ["FAILED"],
    "state_reason": "NonZeroExitCode",
    "exit_code": {
        "status": ["ERROR"],
        "return_code": number(137),
        "signal": {"id": {"set": False, "infinite": False, "number": 0}, "name": ""},
    },
    "nodes": "ip-10-0-1-[5-6]",
    "restart_cnt": 1,
    "submit_time": number(1764460800),
    "start_time": number(1764460860),
    "end_time": number(1764464460),
}


def test_a_failed_job_is_read_in_the_new_dialect(controller, endpoint):
    controller.jobs = [NEW_JOB]
    [seen] = Slurm().observe(endpoint)
    assert (seen.state, seen.engine_state, seen.reason) == ("failed", "FAILED", "NonZeroExitCode")
    assert (seen.exit_code, seen.signal, seen.restarts) == (137, None, 1)
    assert seen.nodes == ("ip-10-0-1-5", "ip-10-0-1-6")
    assert (seen.ended_at - seen.started_at).total_seconds() == 3600
    assert seen.external_id == "12"


def test_a_failed_job_is_read_in_the_old_dialect(controller, endpoint):
    controller.jobs = [
        NEW_JOB
        | {"job_state": "FAILED", "exit_code": 137 << 8, "submit_time": 1764460800, "start_time": 1764460860}
        | {"end_time": 1764464460}
    ]
    [seen] = Slurm().observe(old(endpoint))
    assert (seen.state, seen.exit_code, seen.signal) == ("failed", 137, None)
    assert (seen.ended_at - seen.started_at).total_seconds() == 3600
    controller.jobs = [controller.jobs[0] | {"exit_code": 9}]
    assert Slurm().observe(old(endpoint))[0].signal == 9


@pytest.mark.parametrize(
    ("job_state", "started", "ended"),
    [(["PENDING"], False, False), (["RUNNING"], True, False), (["COMPLETED"], True, True)],
)
def test_times_that_are_only_expected_are_not_told(controller, endpoint, job_state, started, ended):
    controller.jobs = [NEW_JOB | {"job_state": job_state, "restart_cnt": 0, "state_reason": "None"}]
    [seen] = Slurm().observe(endpoint)
    assert (seen.started_at is not None, seen.ended_at is not None) == (started, ended)
    assert (seen.exit_code is not None) == ended
    assert seen.reason == ""


@pytest.mark.parametrize(
    ("words", "restarts", "ours", "theirs"),
    [
        (["PENDING"], 0, "queued", "PENDING"),
        (["PENDING"], 1, "recovering", "PENDING"),
        (["PENDING", "REQUEUED"], 0, "recovering", "REQUEUED"),
        (["PENDING", "LAUNCH_FAILED"], 0, "queued", "PENDING"),
        (["SPECIAL_EXIT", "PENDING"], 1, "recovering", "SPECIAL_EXIT"),
        (["RUNNING"], 3, "running", "RUNNING"),
        (["RUNNING", "CONFIGURING"], 0, "starting", "CONFIGURING"),
        (["COMPLETING"], 0, "running", "COMPLETING"),
        (["FAILED", "COMPLETING"], 0, "running", "COMPLETING"),
        (["COMPLETED"], 0, "succeeded", "COMPLETED"),
        (["CANCELLED"], 0, "cancelled", "CANCELLED"),
        (["CANCELLED", "REVOKED"], 0, "cancelled", "CANCELLED"),
        (["TIMEOUT"], 0, "timed_out", "TIMEOUT"),
        (["DEADLINE"], 0, "timed_out", "DEADLINE"),
        (["NODE_FAIL"], 0, "failed", "NODE_FAIL"),
        (["OUT_OF_MEMORY"], 0, "failed", "OUT_OF_MEMORY"),
        (["PREEMPTED"], 0, "failed", "PREEMPTED"),
        (["BOOT_FAIL"], 0, "failed", "BOOT_FAIL"),
        (["LAUNCH_FAILED"], 0, "failed", "LAUNCH_FAILED"),
        (["SUSPENDED"], 0, "running", "SUSPENDED"),
        (["SOMETHING_NEW"], 0, "running", "SOMETHING_NEW"),
        ([], 0, "running", "UNKNOWN"),
    ],
)
def test_every_word_of_slurm_has_one_of_ours(words, restarts, ours, theirs):
    assert state(words, restarts) == (ours, theirs)


SLURM_WORDS = (
    "PENDING RUNNING SUSPENDED COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY "
    "LAUNCH_FAILED REQUEUED REQUEUE_HOLD SPECIAL_EXIT RESIZING CONFIGURING COMPLETING STOPPED RECONFIG_FAIL "
    "POWER_UP_NODE REVOKED REQUEUE_FED RESV_DEL_HOLD SIGNALING STAGE_OUT EXPEDITING UPDATE_DB"
).split()


def test_the_table_of_states_is_whole():
    assert set(STATES) == set(SLURM_WORDS)
    for word in SLURM_WORDS:
        assert state([word], 0)[0] in ("queued", "starting", "running", "recovering", *ENDS)


ENDS = ("succeeded", "failed", "cancelled", "timed_out")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("(null)", ()),
        ("gpu1", ("gpu1",)),
        ("gpu[1-3]", ("gpu1", "gpu2", "gpu3")),
        ("gpu[1-2,07],head", ("gpu1", "gpu2", "gpu07", "head")),
        ("gpu[09-11]", ("gpu09", "gpu10", "gpu11")),
        ("rack[1-2]-n[1-2]", ("rack1-n1", "rack1-n2", "rack2-n1", "rack2-n2")),
        ("ip-10-0-1-5,ip-10-0-1-9", ("ip-10-0-1-5", "ip-10-0-1-9")),
    ],
)
def test_a_host_list_is_spelled_out(text, names):
    assert hosts(text) == names


def test_a_parameter_and_a_secret_make_an_endpoint():
    told = json.dumps(
        {
            "url": "http://10.0.0.9:6820/",
            "versions": ["v0.0.40"],
            "user": "cohort",
            "log_group": "/cohort/clusters/c/jobs",
        }
    )
    endpoint = access._endpoint(told, base64.b64encode(KEY).decode())
    assert endpoint == SlurmEndpoint("http://10.0.0.9:6820", ("v0.0.40",), "cohort", KEY, "/cohort/clusters/c/jobs")


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254",
        "http://[fe80::1]:6820",
        "http://0.0.0.0:6820",
        "file:///etc/passwd",
        "gopher://10.0.0.9",
        "http://user:word@10.0.0.9",
        "http:///slurm",
        "http://10.0.0.9/?a=b",
        "",
    ],
)
def test_an_account_cannot_send_us_to_where_only_we_can_go(url):
    told = json.dumps({"url": url, "versions": ["v0.0.40"], "user": "u", "log_group": "g"})
    with pytest.raises(ProviderError) as error:
        access._endpoint(told, base64.b64encode(KEY).decode())
    assert (error.value.kind, error.value.code) == ("refused", "UnreadableEndpoint")


@pytest.mark.parametrize(
    ("told", "secret"),
    [("not json", "aw=="), ("{}", "aw=="), ("[]", "aw=="), ('{"url": 1}', "aw=="), ('{"url": "u"}', "not base64!")],
)
def test_what_cannot_be_read_is_refused_with_a_reason(told, secret):
    with pytest.raises(ProviderError) as error:
        access._endpoint(told, secret)
    assert error.value.kind == "refused"


def test_the_dialects_stand_newest_first():
    assert list(DIALECTS) == sorted(DIALECTS, reverse=True)
