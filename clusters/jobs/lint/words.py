"""What the lint of job scripts and manifests can say: how grave each thing is, why it is a mistake, and what to do. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from clusters.findings import Finding, untranslated
from clusters.wording import gettext_noop

Severity = Literal["error", "warning"]

# Launching is refused for an error; a warning may be accepted.
ERRORS = frozenset({
    "time_past_reservation",
    "not_a_script", "carriage_return", "secret_inside", "secret_in_plain_env", "placeholder_unfilled",
    "option_unreadable", "auto_resume_on_sbatch", "gres_with_auto_resume", "container_path_relative",
    "namespace_foreign", "privileged", "annotation_not_text", "no_job", "several_jobs", "job_malformed",
    "container_name", "too_long", "kind_not_allowed",
})  # fmt: skip

REASONS: Mapping[str, str] = {
    "too_long": gettext_noop("It has %(asked)s characters, and may have %(allowed)s."),
    "not_a_script": gettext_noop("It does not begin with #!, so the scheduler refuses it."),
    "carriage_return": gettext_noop("It ends lines as Windows does; sbatch refuses that, and a shell stumbles over it."),
    "secret_inside": gettext_noop("This looks like a secret (%(asked)s); whoever may see the job can read it."),
    "secret_in_plain_env": gettext_noop("%(asked)s is written out for everybody who may see the job."),
    "placeholder_unfilled": gettext_noop("%(asked)s is still to be filled in."),
    "option_unreadable": gettext_noop("sbatch cannot read this line: %(asked)s."),
    "option_ignored": gettext_noop("%(asked)s has no effect: sbatch reads options only before the first command, at the start of a line."),
    "option_overruled": gettext_noop("The script asks for %(asked)s, the launch for %(allowed)s; the launch counts."),
    "option_not_sent": gettext_noop("%(asked)s is not sent to Slurm's REST server, so the job runs without it."),
    "nodes_not_set": gettext_noop("It does not say on how many nodes it runs."),
    "no_time_limit": gettext_noop("It has no time limit, so a run that hangs keeps its nodes until somebody looks."),
    "time_past_reservation": gettext_noop("It may run %(asked)s minutes; the reservation ends in %(allowed)s."),
    "auto_resume_missing": gettext_noop("Without auto-resume a faulty node is replaced, but the job does not start again."),
    "auto_resume_on_sbatch": gettext_noop("--auto-resume is an option of srun; sbatch refuses it."),
    "gres_with_auto_resume": gettext_noop("%(asked)s and auto-resume exclude each other: the job would not come back."),
    "container_path_relative": gettext_noop("“%(asked)s” has no / in front, so it is looked for in a registry and not on disk."),
    "checkpoint_path_relative": gettext_noop("Checkpoints go to “%(asked)s”, which depends on the folder that the job is started in."),
    "account_foreign": gettext_noop("It is charged to the account “%(asked)s”; yours is “%(allowed)s”."),
    "registry_foreign": gettext_noop("It takes something from the AWS account %(asked)s; this cluster is in %(allowed)s."),
    "efa_settings_missing": gettext_noop("%(asked)s has EFA, and FI_PROVIDER=efa is not set: NCCL may fall back to TCP and say nothing."),
    "open_mode_append_missing": gettext_noop("When the job starts again, its log is written over."),
    "no_job": gettext_noop("There is no PyTorchJob, HyperPodPyTorchJob or TrainJob in it."),
    "job_malformed": gettext_noop("The job has no %(asked)s, or it is of another form."),
    "several_jobs": gettext_noop("There are %(asked)s jobs in it; one can be launched at a time."),
    "kind_not_allowed": gettext_noop("It would make a %(asked)s beside the job; Cohort makes only the job itself."),
    "host_path": gettext_noop("%(asked)s is a folder of the node: it is lost with the node and shared with other jobs on it."),
    "privileged": gettext_noop("%(asked)s gives the container power over the node."),
    "checkpoint_inside_container": gettext_noop("Checkpoints go to %(asked)s, which is gone with the pod."),
    "efa_not_requested": gettext_noop("It asks for accelerators of %(asked)s and for no vpc.amazonaws.com/efa: it falls back to TCP without an error."),
    "efa_fewer": gettext_noop("It asks for %(asked)s EFA interfaces; a %(type)s has %(allowed)s."),
    "image_not_pinned": gettext_noop("The image %(asked)s is not named by its digest: tomorrow another one may run."),
    "download_at_start": gettext_noop("“%(asked)s” downloads at each start: every restart may run something else, or nothing."),
    "namespace_foreign": gettext_noop("It is for the namespace %(asked)s; yours is %(allowed)s."),
    "annotation_not_text": gettext_noop("The annotation %(asked)s is no text; Kubernetes refuses the manifest."),
    "max_retry_missing": gettext_noop("It does not say how often it may start again."),
    "queue_not_suspended": gettext_noop("It has a queue and is not suspended: it would start past the queue."),
    "container_name": gettext_noop("The container is called %(asked)s; the operator looks for one called pytorch."),
    "nproc_not_text": gettext_noop("nprocPerNode is a number; HyperPod's operator takes text."),
}  # fmt: skip

FIXES: Mapping[str, str] = {
    "too_long": gettext_noop("Put what is long into a file on shared storage, and read it from there."),
    "not_a_script": gettext_noop("Write #!/bin/bash into the first line."),
    "carriage_return": gettext_noop("Save it with line ends of Unix."),
    "secret_inside": gettext_noop("Take it out, and make a new one: this one is known now. Put it into the environment, which is kept sealed."),
    "secret_in_plain_env": gettext_noop("Put it into the environment of the launch, which is kept sealed; in a manifest, take it from a secret."),
    "placeholder_unfilled": gettext_noop("Put the real value there."),
    "option_unreadable": gettext_noop("Close the quotation marks, and begin every option with a dash."),
    "option_ignored": gettext_noop("Move it above the first command, with #SBATCH at the very start of the line."),
    "option_overruled": gettext_noop("Make both say the same."),
    "option_not_sent": gettext_noop("Leave it out, say it in the launch or to srun, or have the cluster reached by the agent on its head node, whose sbatch reads every option."),
    "nodes_not_set": gettext_noop("Add #SBATCH --nodes=… ."),
    "no_time_limit": gettext_noop("Add #SBATCH --time=… , or fill in the time limit of the launch."),
    "time_past_reservation": gettext_noop("Shorten it, or have the reservation extended."),
    "auto_resume_missing": gettext_noop("On Slurm pass --auto-resume=1 to srun where /opt/sagemaker_cluster exists; on Kubernetes add the annotation sagemaker.amazonaws.com/enable-job-auto-resume: \"true\"."),
    "auto_resume_on_sbatch": gettext_noop("Pass it to srun."),
    "gres_with_auto_resume": gettext_noop("Leave it out, and take whole nodes with --exclusive."),
    "container_path_relative": gettext_noop("Write the whole path, beginning with /, or begin it with ./ ."),
    "checkpoint_path_relative": gettext_noop("Write a whole path on shared storage, like /fsx/… ."),
    "account_foreign": gettext_noop("Leave --account out."),
    "registry_foreign": gettext_noop("Copy it into an account of your own, unless it is meant to come from there."),
    "efa_settings_missing": gettext_noop("Add export FI_PROVIDER=efa."),
    "open_mode_append_missing": gettext_noop("Add #SBATCH --open-mode=append."),
    "no_job": gettext_noop("Add the job, or launch something else."),
    "job_malformed": gettext_noop("Write it as the operator's documentation shows."),
    "several_jobs": gettext_noop("Make a manifest of each."),
    "kind_not_allowed": gettext_noop("Leave it out, and have whoever runs the cluster make it once."),
    "host_path": gettext_noop("Use a persistentVolumeClaim for what is kept, and an emptyDir (medium: Memory for /dev/shm) for what is not."),
    "privileged": gettext_noop("Leave it out: EFA and accelerators need none of it."),
    "checkpoint_inside_container": gettext_noop("Mount shared storage, and name a folder on it."),
    "efa_not_requested": gettext_noop("Request vpc.amazonaws.com/efa: %(allowed)s."),
    "efa_fewer": gettext_noop("Request all of them."),
    "image_not_pinned": gettext_noop("Name it as …@sha256:… ."),
    "download_at_start": gettext_noop("Put it into the image, or onto shared storage."),
    "namespace_foreign": gettext_noop("Leave the namespace out: Cohort fills it in."),
    "annotation_not_text": gettext_noop("Put it in quotation marks."),
    "max_retry_missing": gettext_noop("Say how often: job-max-retry-count for a PyTorchJob, runPolicy.jobMaxRetryCount for a HyperPodPyTorchJob."),
    "queue_not_suspended": gettext_noop("Add suspend: true; the queue lifts it."),
    "container_name": gettext_noop("Call it pytorch."),
    "nproc_not_text": gettext_noop("Put it in quotation marks."),
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    """One mistake of a script or manifest and the line it is on, counted from 1."""

    code: str
    line: int = 1
    asked: Any = ""
    allowed: Any = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    unreadable: Finding | None = None  # why the text could not be read at all

    @property
    def severity(self) -> Severity:
        return "error" if self.unreadable is not None or self.code in ERRORS else "warning"

    def reason(self, translate: Callable[[str], str] = untranslated) -> str:
        if self.unreadable is not None:
            return self.unreadable.sentence(translate)
        return translate(REASONS[self.code]) % self._words(translate)

    def fix(self, translate: Callable[[str], str] = untranslated) -> str:
        if self.unreadable is not None:
            return self.unreadable.advice(translate)
        return translate(FIXES[self.code]) % self._words(translate)

    def _words(self, translate: Callable[[str], str]) -> dict[str, Any]:
        asked = translate(self.asked) if self.code == "secret_inside" else self.asked
        return {**self.values, "asked": asked, "allowed": self.allowed}
