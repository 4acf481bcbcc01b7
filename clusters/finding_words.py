"""What is said of a finding by its code: the sentence, the advice, whose matter it is, the unit, and what nobody could say."""

from collections.abc import Mapping

from clusters import account_words
from clusters.wording import gettext_noop

# Nobody could say, so it warns and does not pass.
NOT_KNOWN = account_words.NOT_KNOWN | {
    "type_offer_unknown", "type_quota_unknown", "cluster_quota_unknown", "total_quota_unknown", "vcpu_quota_unknown",
    "interfaces_unknown", "networks_unknown", "elastic_ips_unknown", "access_unknown",
    "schema_off", "schema_away", "schema_late", "schema_dumb",
}  # fmt: skip
# What was asked for is a word of ours here, and no value of somebody's.
ASKED_IN_WORDS = frozenset({"secret_inside", "kind_beside", "kind_unknown"})

WHO: Mapping[str, str] = {
    "you": gettext_noop("you, in this request"),
    "account_team": gettext_noop("your account team"),
    "architect": gettext_noop("the lead architect"),
    "owner": gettext_noop("whoever owns the account"),
    "provider": gettext_noop("AWS alone, when it is made"),
    "cohort": gettext_noop("nobody: Cohort does it by itself"),
    "programme": gettext_noop("the programme's office, through a request for capacity"),
}

UNITS: Mapping[str, str] = {
    "instances": gettext_noop("instances"),
    "addresses": gettext_noop("addresses"),
    "GB": gettext_noop("GB"),
    "GiB": gettext_noop("GiB"),
    "MB/s": gettext_noop("MB/s"),
    "MB/s per TiB": gettext_noop("MB/s per TiB"),
    "groups": gettext_noop("groups"),
    "characters": gettext_noop("characters"),
    "percent": gettext_noop("percent"),
    "interfaces": gettext_noop("network interfaces"),
    "networks": gettext_noop("networks"),
    "gateways": gettext_noop("gateways"),
    "security groups": gettext_noop("security groups"),
    "file systems": gettext_noop("file systems"),
    "actions": gettext_noop("actions"),
}

SENTENCES: Mapping[str, str] = {
    # The form of a configuration
    "missing": gettext_noop("%(field)s is missing."),
    "unknown_field": gettext_noop("%(field)s is not part of a configuration."),
    "not_text": gettext_noop("%(field)s is %(asked)s, and should be text."),
    "not_number": gettext_noop("%(field)s is %(asked)s, and should be a whole number."),
    "not_list": gettext_noop("%(field)s should be a list."),
    "not_fields": gettext_noop("%(field)s should be a set of named fields."),
    "not_yes_or_no": gettext_noop("%(field)s is %(asked)s, and should be true or false."),
    "too_small": gettext_noop("You asked for %(asked)s %(unit)s in %(field)s; the least is %(allowed)s."),
    "too_large": gettext_noop("You asked for %(asked)s %(unit)s in %(field)s; the most is %(allowed)s."),
    "not_a_choice": gettext_noop("%(field)s is %(asked)s; it can be %(allowed)s."),
    "not_a_step": gettext_noop("You asked for %(asked)s %(unit)s in %(field)s; it can be %(allowed)s."),
    "bad_name": gettext_noop("%(field)s is “%(asked)s”, which is not a name that HyperPod takes."),
    "bad_kubernetes_name": gettext_noop(
        "%(field)s is “%(asked)s”; a name on Kubernetes has lower-case letters, digits and dashes, at most %(allowed)s."
    ),
    "namespace_of_kubernetes": gettext_noop("%(field)s is “%(asked)s”, which belongs to Kubernetes itself."),
    "priority_without_queue": gettext_noop(
        "%(field)s is “%(asked)s”, and there is no queue: a priority class of Kueue counts only within a queue."
    ),
    "bad_bucket": gettext_noop("%(field)s is “%(asked)s”, which is not a name for a bucket."),
    "bad_plan": gettext_noop("%(field)s is “%(asked)s”, which is not the name of a training plan."),
    "bad_role": gettext_noop(
        "%(field)s is “%(asked)s”, which is not the ARN of a role, like arn:aws:iam::111122223333:role/Trainers."
    ),
    "no_managed_grafana": gettext_noop("Amazon Managed Grafana is not offered in %(asked)s; it is in %(allowed)s."),
    "not_a_script": gettext_noop("It begins with “%(asked)s”, and a script begins with #!."),
    "image_tag": gettext_noop(
        "%(field)s is “%(asked)s”, which names no digest: a tag can be moved to another image while a job runs."
    ),
    "image_registry": gettext_noop(
        "%(field)s is “%(asked)s”, which is not an image in a registry of the account, like "
        "111122223333.dkr.ecr.us-east-1.amazonaws.com/train@sha256:…"
    ),
    "image_name": gettext_noop("%(field)s is “%(asked)s”, which is not a name for an image."),
    "image_twice": gettext_noop("Two images are called “%(asked)s”."),
    "node_setup_unknown": gettext_noop("There is no node set-up “%(asked)s”; there are: %(allowed)s."),
    "bad_queue": gettext_noop("%(field)s is “%(asked)s”, which is not a name that ParallelCluster takes for a queue."),
    "bad_reservation": gettext_noop("%(field)s is “%(asked)s”, which is not the id of a capacity reservation."),
    "not_here": gettext_noop("%(field)s means nothing to %(title)s."),
    "twice": gettext_noop("Two instance groups are called “%(asked)s”."),
    "bad_network": gettext_noop("%(field)s is “%(asked)s”, which is not an address range."),
    "network_not_private": gettext_noop("%(field)s is %(asked)s, which is not a private address range."),
    "network_size": gettext_noop("%(field)s is %(asked)s; it can be %(allowed)s."),
    "subnet_outside": gettext_noop("The subnet %(asked)s does not fit into the network %(allowed)s."),
    "unknown_architecture": gettext_noop("There is no reference architecture “%(asked)s”."),
    "unknown_version": gettext_noop("The reference architecture %(slug)s has no version “%(asked)s”."),
    "role_too_few": gettext_noop("You asked for %(asked)s groups with the role %(role)s; %(title)s needs %(allowed)s."),
    "role_too_many": gettext_noop(
        "You asked for %(asked)s groups with the role %(role)s; %(title)s takes %(allowed)s."
    ),
    "role_count": gettext_noop("The group %(group)s asks for %(asked)s instances; a %(role)s is %(allowed)s."),
    "no_openzfs": gettext_noop("%(title)s brings no OpenZFS file system."),
    "settings_closed": gettext_noop("%(field)s cannot be told to the engine from here."),
    "settings_ours": gettext_noop("%(field)s is “%(asked)s”, but Cohort itself sets it."),
    "settings_value": gettext_noop("%(field)s has “%(asked)s” in it, which is neither text, a number, nor yes or no."),
    "settings_too_deep": gettext_noop("%(field)s lies %(asked)s levels deep; the most is %(allowed)s."),
    # The account, and what its participation may do
    "residency": gettext_noop("Data of this participation may lie in %(asked)s."),
    "residency_refused": gettext_noop(
        "Data of this participation may not lie in %(asked)s; the Regions it may use are %(allowed)s."
    ),
    "editor_role": gettext_noop("The role %(asked)s is one of this account."),
    "editor_role_elsewhere": gettext_noop("%(asked)s is no role of this account, whose roles are %(allowed)s."),
    "access": gettext_noop("The account %(account)s lets Cohort in."),
    "access_denied": gettext_noop("The account %(account)s does not let Cohort in at present."),
    "access_unknown": gettext_noop("It is not known whether the account %(account)s lets Cohort in."),
    "interfaces": gettext_noop(
        "The nodes need %(asked)s network interfaces; with what other clusters take, that fits the account's %(allowed)s."
    ),
    "interfaces_exceeded": gettext_noop(
        "The nodes need %(asked)s network interfaces; %(left)s of %(allowed)s are left in %(region)s."
    ),
    "interfaces_unknown": gettext_noop(
        "The nodes need %(asked)s network interfaces; how many the account may have in %(region)s is not known."
    ),
    "networks": gettext_noop("The account may have %(allowed)s networks in %(region)s; this needs %(asked)s more."),
    "networks_exceeded": gettext_noop(
        "This needs %(asked)s network more in %(region)s; the account may have %(allowed)s, and %(left)s are left."
    ),
    "networks_unknown": gettext_noop("How many networks the account may have in %(region)s is not known."),
    "elastic_ips": gettext_noop(
        "The account may have %(allowed)s Elastic IPs in %(region)s; this needs %(asked)s more."
    ),
    "elastic_ips_exceeded": gettext_noop(
        "This needs %(asked)s Elastic IP more in %(region)s; the account may have %(allowed)s, and %(left)s are left."
    ),
    "elastic_ips_unknown": gettext_noop("How many Elastic IPs the account may have in %(region)s is not known."),
    # What ParallelCluster's own schema says
    "schema": gettext_noop("ParallelCluster's own schema takes the configuration."),
    "schema_unknown": gettext_noop("ParallelCluster knows no %(path)s."),
    "schema_missing": gettext_noop("ParallelCluster wants %(path)s, and it is missing."),
    "schema_choice": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster takes %(allowed)s."),
    "schema_least": gettext_noop("%(path)s is %(asked)s; ParallelCluster takes %(allowed)s or more."),
    "schema_most": gettext_noop("%(path)s is %(asked)s; ParallelCluster takes %(allowed)s or less."),
    "schema_longest": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster takes %(allowed)s characters at most."),
    "schema_number": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster takes a number there."),
    "schema_yes_or_no": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster takes true or false there."),
    "schema_text": gettext_noop("%(path)s is no text; ParallelCluster takes text there."),
    "schema_list": gettext_noop("%(path)s is no list; ParallelCluster takes a list there."),
    "schema_fields": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster takes named fields there."),
    "schema_pattern": gettext_noop("%(path)s is “%(asked)s”, which does not have the form that ParallelCluster wants."),
    "schema_other": gettext_noop("%(path)s is “%(asked)s”; ParallelCluster says: %(says)s"),
    "schema_off": gettext_noop(
        "Not checked by ParallelCluster's own schema: the process that knows it is not part of this installation."
    ),
    "schema_away": gettext_noop(
        "Not checked by ParallelCluster's own schema: the process that knows it does not run, or is still starting."
    ),
    "schema_late": gettext_noop(
        "Not checked by ParallelCluster's own schema: the process that knows it did not answer in time."
    ),
    "schema_dumb": gettext_noop(
        "Not checked by ParallelCluster's own schema: the process that knows it fell over this configuration."
    ),
    # Files of somebody's own that cannot be read
    "read_too_large": gettext_noop("The file has %(asked)s bytes; the most is %(allowed)s."),
    "read_empty": gettext_noop("There is nothing in it."),
    "read_encoding": gettext_noop("The file is written in %(asked)s; save it as UTF-8."),
    "read_bytes": gettext_noop("Line %(line)s: the byte %(asked)s is no UTF-8; save the file as UTF-8."),
    "read_character": gettext_noop("Line %(line)s: the character %(asked)s cannot be shown and does not belong there."),
    "read_json": gettext_noop("Line %(line)s, character %(column)s: this is no JSON (%(asked)s)."),
    "read_yaml": gettext_noop("Line %(line)s: this is no YAML (%(says)s)."),
    "read_tab": gettext_noop("Line %(line)s is indented by a tab; YAML takes spaces only."),
    "read_twice": gettext_noop("Line %(line)s: “%(asked)s” is there a second time."),
    "read_alias": gettext_noop("Line %(line)s: %(asked)s repeats another part of the file; write it out instead."),
    "read_deep": gettext_noop("Line %(line)s lies more than %(allowed)s levels deep."),
    "read_documents": gettext_noop("Line %(line)s begins a second document; one file is one configuration."),
    "read_key": gettext_noop("Line %(line)s: the name of a field is no text."),
    "read_number": gettext_noop("Line %(line)s: %(asked)s is no number that can be worked with."),
    "read_code": gettext_noop("Line %(line)s: %(asked)s would run a program; a configuration holds values only."),
    "read_tag": gettext_noop("Line %(line)s: the tag %(asked)s is not known here; write the value itself."),
    "read_template": gettext_noop(
        "Line %(line)s: %(asked)s belongs to a template that has to be filled in first; it is not plain YAML yet."
    ),
    "read_line_ends": gettext_noop("Line %(line)s ends as on Windows; it is read all the same."),
    "read_surprise": gettext_noop("Line %(line)s: %(asked)s without quotes means %(allowed)s in YAML."),
    # What a file says of a cluster
    "placeholder_unfilled": gettext_noop("Line %(line)s: %(asked)s is still to be filled in."),
    "secret_inside": gettext_noop("Line %(line)s holds what looks like a secret (%(asked)s)."),
    "cluster_name_missing": gettext_noop("The request names no cluster: %(field)s is missing."),
    "group_name_mismatch": gettext_noop(
        "The provisioning parameters speak of the group “%(asked)s”; the request has %(allowed)s."
    ),
    "group_without_role": gettext_noop(
        "The group “%(asked)s” has no role: the provisioning parameters speak of %(allowed)s."
    ),
    "not_provisioning": gettext_noop("The second file holds no provisioning parameters of HyperPod."),
    "capacity_unknown": gettext_noop("%(field)s asks for %(asked)s capacity, which Cohort does not use."),
    "kind_beside": gettext_noop("This is %(asked)s; a cluster cannot be made of it alone."),
    "kind_unknown": gettext_noop("This says nothing of a cluster: it is %(asked)s."),
    # Files of somebody's own
    "file_empty": gettext_noop("The file is empty."),
    "source_unpinned": gettext_noop(
        "Line %(line)s: %(asked)s can be another thing tomorrow: it names no release or commit."
    ),
    "carriage_return": gettext_noop("Line %(line)s ends as on Windows; a node cannot run that."),
    "offering_for_reservation": gettext_noop(
        "Line %(line)s: %(asked)s is the id of an offer; a reservation's id begins with cr-."
    ),
    "placeholders_mixed": gettext_noop(
        "Line %(line)s: ${%(asked)s} is spelt in another way than ${%(allowed)s}; whoever fills in one set leaves the "
        "other empty."
    ),
    "return_outside": gettext_noop("Line %(line)s: “return” outside a function ends nothing."),
    "script_not_strict": gettext_noop("The script goes on with names that have no value."),
    "system_refused": gettext_noop(
        "Line %(line)s: ParallelCluster no longer takes the system %(asked)s; it takes %(allowed)s."
    ),
    "name_fixed": gettext_noop(
        "Line %(line)s: %(allowed)s always gets the name “%(asked)s”, so a second deployment in the account fails."
    ),
    "efa_rule_missing": gettext_noop(
        "Line %(line)s: the security group %(asked)s has no rule of its own kind for %(allowed)s from and to itself; EFA "
        "does not work without."
    ),
    "grafana_default_password": gettext_noop("Line %(line)s: Grafana starts with the password that everybody knows."),
    "grafana_without_tls": gettext_noop("Line %(line)s: Grafana is reached without encryption."),
    "container_name": gettext_noop(
        "Line %(line)s: the container is called “%(asked)s”; the training operator looks for one called “pytorch”."
    ),
    "secret_in_env": gettext_noop("Line %(line)s: %(asked)s is written out for everybody who may read the job."),
    "checkpoint_inside": gettext_noop(
        "Line %(line)s: checkpoints go to %(asked)s inside the container and are lost when it starts anew."
    ),
    "model_size": gettext_noop(
        "Line %(line)s: the name %(name)s says %(asked)s billion parameters; its layers make about %(allowed)s."
    ),
    # Whether it fits
    "region": gettext_noop("%(title)s is offered in %(asked)s."),
    "region_not_offered": gettext_noop("%(title)s is not offered in %(asked)s."),
    "zone": gettext_noop("The zone %(asked)s lies in %(region)s."),
    "zone_elsewhere": gettext_noop("The zone %(asked)s does not lie in %(region)s."),
    "name": gettext_noop("The name “%(asked)s” can be used."),
    "name_pattern": gettext_noop("The name “%(asked)s” cannot be used for a cluster."),
    "type_unknown": gettext_noop("There is no instance type %(asked)s."),
    "type_not_hyperpod": gettext_noop("HyperPod does not run %(asked)s."),
    "type_offered": gettext_noop("%(asked)s is offered in %(zone)s."),
    "type_not_in_region": gettext_noop("%(asked)s is not offered in %(region)s."),
    "type_not_in_zone": gettext_noop("%(asked)s is not offered in %(zone)s."),
    "type_offer_unknown": gettext_noop("It is not known whether %(asked)s is offered in %(zone)s."),
    "grant": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; the programme grants %(allowed)s in %(region)s and %(used)s are held."
    ),
    "grant_unlimited": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; the programme sets no limit in %(region)s."
    ),
    "grant_not_set": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; the programme has not set how many in %(region)s."
    ),
    "grant_not_set_refused": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; the programme has not set how many in %(region)s, and its rule refuses "
        "what is not set."
    ),
    "grant_none": gettext_noop("You asked for %(asked)s %(type)s %(unit)s; the programme allows none in %(region)s."),
    "grant_exceeded": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; %(free)s are free in %(region)s: "
        "the programme grants %(allowed)s and %(used)s are held. Nothing is about to become free."
    ),
    "grant_exceeded_giving_back": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; %(free)s are free in %(region)s: the programme grants %(allowed)s "
        "and %(used)s are held, of which %(giving_back)s become free when the cluster that holds them is deleted."
    ),
    "grant_exceeded_later": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; %(free)s are free in %(region)s: the programme grants %(allowed)s "
        "and %(used)s are held. From %(next_on)s on it grants %(next_more)s more."
    ),
    "type_quota": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; the quota allows %(allowed)s in %(region)s and %(used)s are in use."
    ),
    "type_quota_exceeded": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; %(left)s are left in %(region)s: "
        "the quota allows %(allowed)s and %(used)s are in use."
    ),
    "type_quota_unknown": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; how many the quota allows in %(region)s is not known yet."
    ),
    "cluster_quota": gettext_noop("You asked for %(asked)s %(unit)s in one cluster; the quota allows %(allowed)s."),
    "cluster_quota_exceeded": gettext_noop(
        "You asked for %(asked)s %(unit)s in one cluster; the quota of this account in %(region)s allows %(allowed)s."
    ),
    "cluster_quota_unknown": gettext_noop(
        "You asked for %(asked)s %(unit)s in one cluster; how many the quota allows in %(region)s is not known yet."
    ),
    "total_quota": gettext_noop(
        "You asked for %(asked)s %(unit)s; the quota allows %(allowed)s across all clusters and %(used)s are in use."
    ),
    "total_quota_exceeded": gettext_noop(
        "You asked for %(asked)s %(unit)s; %(left)s are left across all clusters of this account in %(region)s: "
        "the quota allows %(allowed)s and %(used)s are in use."
    ),
    "total_quota_unknown": gettext_noop(
        "You asked for %(asked)s %(unit)s; how many the quota allows across all clusters in %(region)s "
        "is not known yet."
    ),
    "disk_quota_exceeded": gettext_noop(
        "Each instance comes with a disk of %(asked)s %(unit)s; the quota of this account in %(region)s allows %(allowed)s."
    ),
    "plan": gettext_noop("The training plan %(plan)s covers the %(asked)s %(type)s of the group %(group)s."),
    "plan_missing": gettext_noop("The training plan %(plan)s is not known in this account and Region."),
    "plan_type": gettext_noop("The training plan %(plan)s is for %(allowed)s; the group %(group)s asks for %(asked)s."),
    "plan_zone": gettext_noop("The training plan %(plan)s is in %(allowed)s; the cluster is to be in %(asked)s."),
    "plan_count": gettext_noop(
        "You asked for %(asked)s %(unit)s from the training plan %(plan)s; %(allowed)s of its %(total)s are left."
    ),
    "plan_state": gettext_noop("The training plan %(plan)s is %(asked)s."),
    "plan_over": gettext_noop("The training plan %(plan)s ended on %(allowed)s."),
    "plan_ends_soon": gettext_noop("The training plan %(plan)s ends on %(allowed)s."),
    "plan_not_begun": gettext_noop("The training plan %(plan)s begins on %(allowed)s; its nodes come then."),
    "plan_absent": gettext_noop(
        "The group %(group)s asks for %(asked)s %(type)s without a training plan, so AWS may be short of them."
    ),
    "type_family": gettext_noop("%(title)s is not made for %(asked)s."),
    "vcpu_quota": gettext_noop(
        "You asked for %(asked)s %(unit)s; the quota “%(quota)s” allows %(allowed)s in %(region)s and %(used)s are in use."
    ),
    "vcpu_quota_exceeded": gettext_noop(
        "You asked for %(asked)s %(unit)s; %(left)s are left in %(region)s: "
        "the quota “%(quota)s” allows %(allowed)s and %(used)s are in use."
    ),
    "vcpu_quota_unknown": gettext_noop(
        "You asked for %(asked)s %(unit)s; how many the quota “%(quota)s” allows in %(region)s is not known yet."
    ),
    "reservation": gettext_noop(
        "The reservation %(reservation)s covers the %(asked)s %(type)s of the group %(group)s."
    ),
    "reservation_missing": gettext_noop("The reservation %(reservation)s is not known in this account and Region."),
    "reservation_kind": gettext_noop(
        "The reservation %(reservation)s is %(allowed)s capacity; the group %(group)s asks for %(asked)s."
    ),
    "reservation_type": gettext_noop(
        "The reservation %(reservation)s is for %(allowed)s; the group %(group)s asks for %(asked)s."
    ),
    "reservation_zone": gettext_noop(
        "The reservation %(reservation)s is in %(allowed)s; the cluster is to be in %(asked)s."
    ),
    "reservation_count": gettext_noop(
        "You asked for %(asked)s %(unit)s from the reservation %(reservation)s; %(allowed)s of its %(total)s are left."
    ),
    "reservation_state": gettext_noop("The reservation %(reservation)s is %(asked)s."),
    "reservation_over": gettext_noop("The reservation %(reservation)s ended on %(allowed)s."),
    "reservation_ends_soon": gettext_noop("The reservation %(reservation)s ends on %(allowed)s."),
    "reservation_not_begun": gettext_noop(
        "The reservation %(reservation)s begins on %(allowed)s; its nodes come then."
    ),
    "reservation_absent": gettext_noop(
        "The group %(group)s asks for %(asked)s %(type)s without a reservation, so AWS may be short of them."
    ),
    "placement_and_reservation": gettext_noop(
        "The group %(group)s asks for a placement group and for the reservation %(reservation)s: "
        "instances of a reservation lie where it is."
    ),
    "block_unnamed": gettext_noop("The group %(group)s asks for a Capacity Block without naming one."),
    "addresses": gettext_noop("The nodes need %(asked)s %(unit)s; the subnet has %(allowed)s."),
    "addresses_short": gettext_noop("The nodes need %(asked)s %(unit)s; the subnet %(subnet)s has %(allowed)s."),
    "addresses_tight": gettext_noop(
        "The nodes need %(asked)s of the %(allowed)s %(unit)s of the subnet %(subnet)s, "
        "which leaves none for a replacement."
    ),
    "lustre_quota_exceeded": gettext_noop(
        "You asked for %(asked)s %(unit)s of Lustre; the quota of this account in %(region)s allows %(allowed)s."
    ),
    "lustre": gettext_noop("Lustre will have %(asked)s %(unit)s and carry %(rate)s MB/s in all."),
    **account_words.SENTENCES,
}

# What is said instead where what comes later ends again.
UNTIL: Mapping[str, str] = {
    "grant_exceeded_later": gettext_noop(
        "You asked for %(asked)s %(type)s %(unit)s; %(free)s are free in %(region)s: the programme grants %(allowed)s "
        "and %(used)s are held. From %(next_on)s until %(next_until)s it grants %(next_more)s more."
    ),
}
# Values that are days.
DAYS = ("next_on", "next_until")

ADVICE: Mapping[str, str] = {
    "residency_refused": gettext_noop("Choose one of those, or let %(who)s allow the Region for this participation."),
    "editor_role_elsewhere": gettext_noop("Name a role of the account that the cluster lies in."),
    "access_denied": gettext_noop("Have its role mended: until then nothing can be made there."),
    "access_unknown": gettext_noop("Cohort asks it by itself; have its role checked if this stays."),
    "interfaces_exceeded": gettext_noop("Ask for fewer, or let %(who)s have the quota “%(quota)s” raised."),
    "interfaces_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "networks_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "networks_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "elastic_ips_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "elastic_ips_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "placeholder_unfilled": gettext_noop("Put the real value there."),
    "secret_inside": gettext_noop(
        "Take it out, and have it replaced where it was made: everybody who reads this sees it."
    ),
    "group_name_mismatch": gettext_noop("Give both the same name."),
    "group_without_role": gettext_noop("Name it there as controller, login or worker."),
    "read_surprise": gettext_noop("Put it in quotes if text is meant."),
    "capacity_unknown": gettext_noop("Use ONDEMAND or CAPACITY_BLOCK."),
    "file_empty": gettext_noop("Take the file from where it was made once more."),
    "source_unpinned": gettext_noop("Name a commit or a release, and keep a copy in your own bucket."),
    "carriage_return": gettext_noop("Save the file with line ends of Unix."),
    "offering_for_reservation": gettext_noop("Look up the id of the reservation that was bought."),
    "placeholders_mixed": gettext_noop("Spell all of them in one way."),
    "return_outside": gettext_noop("Write “exit” there."),
    "script_not_strict": gettext_noop("Write “set -euo pipefail” at its beginning."),
    "system_refused": gettext_noop("Change Image.Os; the rest of the file can stay."),
    "name_fixed": gettext_noop("Leave the name out, or make the stack's name a part of it."),
    "efa_rule_missing": gettext_noop("Add a rule for all traffic in both directions that names the group itself."),
    "grafana_default_password": gettext_noop("Generate one and keep it in Secrets Manager."),
    "grafana_without_tls": gettext_noop("Give it a certificate, or reach it by Session Manager only."),
    "container_name": gettext_noop("Call it “pytorch”."),
    "secret_in_env": gettext_noop("Take it from a secret."),
    "checkpoint_inside": gettext_noop("Write them to a folder of a mounted volume."),
    "model_size": gettext_noop("Correct the name, or the arguments."),
    "missing": gettext_noop("Fill it in."),
    "unknown_field": gettext_noop("Leave it out."),
    "too_small": gettext_noop("Ask for more."),
    "too_large": gettext_noop("Ask for less."),
    "not_a_choice": gettext_noop("Choose one of them."),
    "not_a_step": gettext_noop("The nearest is %(suggestion)s."),
    "bad_name": gettext_noop(
        "Use at most %(allowed)s letters, digits and dashes; begin and end with a letter or a digit."
    ),
    "bad_bucket": gettext_noop("Use 3 to 63 lower-case letters, digits, dots and dashes."),
    "bad_plan": gettext_noop("Give the plan's name or its ARN. HyperPod takes no capacity reservations of EC2."),
    "bad_queue": gettext_noop(
        "Use at most %(allowed)s lower-case letters, digits and dashes; begin with a letter, end with no dash."
    ),
    "bad_reservation": gettext_noop(
        "An id is cr- and 17 characters from 0 to f. What begins with cb- is an offer of a Capacity Block, not its reservation."
    ),
    "not_here": gettext_noop("Leave it out."),
    "bad_kubernetes_name": gettext_noop("Write the name as Kubernetes has it, like hyperpod-ns-hoshi-localqueue."),
    "namespace_of_kubernetes": gettext_noop("Name another, or leave it out: then it is “default”."),
    "priority_without_queue": gettext_noop("Name the local queue too, or leave the priority out."),
    "no_managed_grafana": gettext_noop("Choose a Grafana on a machine of the account."),
    "not_a_script": gettext_noop("Write #!/bin/bash into its first line."),
    "image_tag": gettext_noop(
        "Write it as registry/repository@sha256:…; the registry shows the digest beside the tag."
    ),
    "image_registry": gettext_noop("Push the image to the registry that the base stack made, and name it there."),
    "image_name": gettext_noop("Use at most %(allowed)s lower-case letters, digits and single dashes."),
    "image_twice": gettext_noop("Give each image a name of its own."),
    "node_setup_unknown": gettext_noop("Save it first, on the page of node set-ups."),
    "twice": gettext_noop("Give each group a name of its own."),
    "settings_closed": gettext_noop("Open are: %(allowed)s."),
    "settings_ours": gettext_noop("Leave it out."),
    "settings_value": gettext_noop("Put text in quotation marks."),
    "schema_unknown": gettext_noop("Leave it out, or look how it is spelt."),
    "schema_missing": gettext_noop("Fill it in."),
    "schema_choice": gettext_noop("Choose one of them."),
    "schema_off": gettext_noop("ParallelCluster checks it itself before it creates anything."),
    "schema_away": gettext_noop("ParallelCluster checks it itself before it creates anything."),
    "schema_late": gettext_noop("ParallelCluster checks it itself before it creates anything."),
    "schema_dumb": gettext_noop("ParallelCluster checks it itself before it creates anything."),
    "bad_network": gettext_noop("Write it like %(suggestion)s."),
    "network_not_private": gettext_noop("Take one from 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16."),
    "subnet_outside": gettext_noop("Ask for a smaller subnet or a larger network."),
    "unknown_architecture": gettext_noop("Choose one of %(allowed)s."),
    "unknown_version": gettext_noop("Choose one of %(allowed)s."),
    "role_too_few": gettext_noop("Add a group with this role."),
    "role_too_many": gettext_noop("Leave the others out or give them another role."),
    "no_openzfs": gettext_noop("Leave it out, or choose an architecture with Slurm."),
    "region_not_offered": gettext_noop("Choose one of %(allowed)s."),
    "zone_elsewhere": gettext_noop("Choose one of %(allowed)s."),
    "name_pattern": gettext_noop(
        "Use at most %(allowed)s lower-case letters, digits and dashes; begin with a letter, end with no dash."
    ),
    "type_unknown": gettext_noop("Did you mean %(suggestion)s?"),
    "type_not_hyperpod": gettext_noop("Choose another instance type."),
    "type_not_in_region": gettext_noop("Choose another instance type, or one of the Regions %(suggestion)s."),
    "type_not_in_zone": gettext_noop("Choose a zone that offers it: %(suggestion)s."),
    "type_offer_unknown": gettext_noop("AWS decides when the cluster is created."),
    "grant_not_set": gettext_noop("Let %(who)s say how many."),
    "grant_not_set_refused": gettext_noop("Ask for capacity, or let %(who)s say how many."),
    "grant_none": gettext_noop("Choose another type or Region, or have it raised by %(who)s."),
    "grant_exceeded": gettext_noop("Ask for fewer, give something back, or have it raised by %(who)s."),
    "grant_exceeded_giving_back": gettext_noop("Wait for that, ask for fewer, or have it raised by %(who)s."),
    "grant_exceeded_later": gettext_noop("Wait until then, ask for fewer, or have it raised by %(who)s."),
    "type_quota_exceeded": gettext_noop("Ask for fewer, or let %(who)s have the quota “%(quota)s” raised."),
    "type_quota_unknown": gettext_noop("Let %(who)s record the quota “%(quota)s”."),
    "cluster_quota_exceeded": gettext_noop("Ask for fewer, or let %(who)s have the quota “%(quota)s” raised."),
    "cluster_quota_unknown": gettext_noop("Let %(who)s record the quota “%(quota)s”."),
    "total_quota_exceeded": gettext_noop("Ask for fewer, or let %(who)s have the quota “%(quota)s” raised."),
    "total_quota_unknown": gettext_noop("Let %(who)s record the quota “%(quota)s”."),
    "disk_quota_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "plan_missing": gettext_noop("Check the name, or let %(who)s record the plan."),
    "plan_type": gettext_noop("Choose a plan for this instance type."),
    "plan_zone": gettext_noop("Choose the plan's zone, or another plan."),
    "plan_count": gettext_noop("Ask for fewer, or let %(who)s buy more."),
    "plan_state": gettext_noop("Choose a plan that is scheduled or active."),
    "plan_over": gettext_noop("Choose another plan, or let %(who)s extend it."),
    "plan_ends_soon": gettext_noop("Let %(who)s extend it in time."),
    "plan_not_begun": gettext_noop("Request the cluster again when it has begun, or choose another plan."),
    "plan_absent": gettext_noop("Name a training plan, or let %(who)s reserve one."),
    "type_family": gettext_noop("Choose one of %(allowed)s, or another architecture."),
    "vcpu_quota_exceeded": gettext_noop("Ask for fewer, or let %(who)s have the quota “%(quota)s” raised."),
    "vcpu_quota_unknown": gettext_noop("Let %(who)s record the quota “%(quota)s”."),
    "reservation_missing": gettext_noop("Check the id, or let %(who)s record the reservation."),
    "reservation_kind": gettext_noop("Ask for the reservation's kind of capacity."),
    "reservation_type": gettext_noop("Choose a reservation for this instance type."),
    "reservation_zone": gettext_noop("Choose the reservation's zone, or another reservation."),
    "reservation_count": gettext_noop("Ask for fewer, or let %(who)s reserve more."),
    "reservation_state": gettext_noop("Choose a reservation that is scheduled or active."),
    "reservation_over": gettext_noop("Choose another reservation, or let %(who)s extend it."),
    "reservation_ends_soon": gettext_noop("Let %(who)s extend it in time."),
    "reservation_not_begun": gettext_noop(
        "Request the cluster again when it has begun, or choose another reservation."
    ),
    "reservation_absent": gettext_noop("Name a reservation, or let %(who)s make one."),
    "placement_and_reservation": gettext_noop("Leave out the placement group."),
    "block_unnamed": gettext_noop("Name the Capacity Block's reservation."),
    "addresses_short": gettext_noop("Ask for a subnet of %(suggestion)s or larger, or for fewer nodes."),
    "addresses_tight": gettext_noop("Ask for a subnet of %(suggestion)s to be safe."),
    "lustre_quota_exceeded": gettext_noop("Ask for less, or let %(who)s have the quota “%(quota)s” raised."),
    **account_words.ADVICE,
}
