"""Sentences of what an account says of itself before something is made in it, and of the templates that make it."""

from collections.abc import Mapping

from clusters.wording import gettext_noop

# Nobody could say, so it warns and does not pass.
NOT_KNOWN = frozenset(
    {
        "nat_gateways_unknown", "security_groups_unknown", "zone_open_unknown", "actions_unknown", "linked_roles_unknown",
        "efa_rules_unknown", "lustre_ports_unknown", "openzfs_ports_unknown", "way_out_unknown", "way_to_s3_unknown",
        "lustre_zone_unknown", "lustre_zone_doubted_unknown", "openzfs_zone_unknown", "openzfs_zone_doubted_unknown",
        "lustre_systems_unknown", "openzfs_systems_unknown", "bucket_unknown", "lint_unknown", "lint_off",
        "engine_later", "engine_unknown",
    }
)  # fmt: skip

SENTENCES: Mapping[str, str] = {
    "zone_open": gettext_noop("The account %(account)s may use the zone %(asked)s."),
    "zone_closed": gettext_noop("The account %(account)s has no zone %(asked)s; it has %(allowed)s."),
    "zone_open_unknown": gettext_noop(
        "Whether the account %(account)s may use the zone %(asked)s is not known. %(why)s"
    ),
    "actions": gettext_noop(
        "The role of Cohort in the account %(account)s is allowed all %(asked)s actions that are needed."
    ),
    "actions_denied": gettext_noop(
        "The role of Cohort in the account %(account)s is allowed %(allowed)s of the %(asked)s actions that are needed; "
        "these are missing: %(missing)s."
    ),
    "actions_unknown": gettext_noop(
        "Whether the role of Cohort is allowed the %(asked)s actions that are needed is not known. %(why)s"
    ),
    "linked_roles": gettext_noop("The account has the roles that the services work with: %(needed)s."),
    "linked_roles_to_come": gettext_noop("The services will make these roles at their first use: %(missing)s."),
    "linked_roles_missing": gettext_noop(
        "The account lacks these roles of services, and Cohort may not have them made: %(missing)s."
    ),
    "linked_roles_unknown": gettext_noop("Whether the account has the roles %(needed)s is not known. %(why)s"),
    "nat_gateways": gettext_noop(
        "The account may have %(allowed)s NAT gateways in a zone; with the %(used)s that it has, this needs %(asked)s more."
    ),
    "nat_gateways_exceeded": gettext_noop(
        "This needs %(asked)s NAT gateway more; the account may have %(allowed)s in a zone, and %(left)s are left."
    ),
    "nat_gateways_unknown": gettext_noop("How many NAT gateways the account may have in a zone is not known."),
    "security_groups": gettext_noop(
        "The account may have %(allowed)s security groups in %(region)s; with the %(used)s that it has, this needs %(asked)s more."
    ),
    "security_groups_exceeded": gettext_noop(
        "This needs %(asked)s security groups more in %(region)s; the account may have %(allowed)s, and %(left)s are left."
    ),
    "security_groups_unknown": gettext_noop(
        "How many security groups the account may have in %(region)s is not known."
    ),
    "efa_rules": gettext_noop(
        "The security group %(group)s lets %(types)s reach each other in both directions, as EFA wants."
    ),
    "efa_rules_made": gettext_noop(
        "The security group that will be made lets %(types)s reach each other in both directions, as EFA wants."
    ),
    "efa_rules_missing": gettext_noop(
        "EFA of %(types)s does not work with the security group %(group)s: the rule for all traffic that names the group "
        "itself is missing (%(missing)s)."
    ),
    "efa_rules_unknown": gettext_noop("Whether the security group lets %(types)s reach each other is not known."),
    "lustre_ports": gettext_noop("The security group %(group)s lets Lustre through."),
    "lustre_ports_made": gettext_noop("The security group that will be made lets Lustre through."),
    "lustre_ports_missing": gettext_noop(
        "Lustre cannot be mounted with the security group %(group)s: closed are %(missing)s."
    ),
    "lustre_ports_unknown": gettext_noop("Whether the security group lets Lustre through is not known."),
    "openzfs_ports": gettext_noop("The security group %(group)s lets OpenZFS through."),
    "openzfs_ports_made": gettext_noop("The security group that will be made lets OpenZFS through."),
    "openzfs_ports_missing": gettext_noop(
        "OpenZFS cannot be mounted with the security group %(group)s: closed are %(missing)s."
    ),
    "openzfs_ports_unknown": gettext_noop("Whether the security group lets OpenZFS through is not known."),
    "way_out": gettext_noop("The subnet %(subnet)s has a way out to the services that nodes need."),
    "way_out_made": gettext_noop("The subnet that will be made has a way out to the services that nodes need."),
    "way_out_missing": gettext_noop(
        "Nodes in the subnet %(subnet)s reach nothing: it has no route to a NAT gateway, and no endpoints for %(missing)s."
    ),
    "way_out_unknown": gettext_noop("Whether the subnet has a way out is not known."),
    "way_to_s3": gettext_noop("Nodes in the subnet %(subnet)s reach S3."),
    "way_to_s3_made": gettext_noop("Nodes in the subnet that will be made reach S3."),
    "way_to_s3_missing": gettext_noop(
        "Nodes in the subnet %(subnet)s cannot reach S3: it has neither an endpoint for it nor a NAT gateway."
    ),
    "way_to_s3_unknown": gettext_noop("Whether nodes reach S3 is not known."),
    "lustre_zone": gettext_noop(
        "FSx has Lustre of the type %(deployment)s in %(zone)s: the account runs %(proof)s there."
    ),
    "lustre_zone_missing": gettext_noop("FSx has no Lustre of the type %(deployment)s in %(zone)s (%(source)s)."),
    "lustre_zone_unknown": gettext_noop(
        "Whether FSx has Lustre of the type %(deployment)s in %(zone)s nobody can say before it is made."
    ),
    "lustre_zone_doubted_unknown": gettext_noop(
        "Lustre of the type %(deployment)s was once reported missing in %(zone)s (%(source)s); whether it is there today is "
        "not known."
    ),
    "openzfs_zone": gettext_noop(
        "FSx has OpenZFS of the type %(deployment)s in %(zone)s: the account runs %(proof)s there."
    ),
    "openzfs_zone_missing": gettext_noop("FSx has no OpenZFS of the type %(deployment)s in %(zone)s (%(source)s)."),
    "openzfs_zone_unknown": gettext_noop(
        "Whether FSx has OpenZFS of the type %(deployment)s in %(zone)s nobody can say before it is made."
    ),
    "openzfs_zone_doubted_unknown": gettext_noop(
        "OpenZFS of the type %(deployment)s was once reported missing in %(zone)s (%(source)s); whether it is there today "
        "is not known."
    ),
    "lustre_systems": gettext_noop(
        "The account may have %(allowed)s Lustre file systems in %(region)s; with the %(used)s that it has, this needs one more."
    ),
    "lustre_systems_exceeded": gettext_noop(
        "This needs one Lustre file system more in %(region)s; the account may have %(allowed)s, and %(left)s are left."
    ),
    "lustre_systems_unknown": gettext_noop(
        "How many Lustre file systems the account may have in %(region)s is not known."
    ),
    "openzfs_systems": gettext_noop(
        "The account may have %(allowed)s OpenZFS file systems in %(region)s; with the %(used)s that it has, this needs one more."
    ),
    "openzfs_systems_exceeded": gettext_noop(
        "This needs one OpenZFS file system more in %(region)s; the account may have %(allowed)s, and %(left)s are left."
    ),
    "openzfs_systems_unknown": gettext_noop(
        "How many OpenZFS file systems the account may have in %(region)s is not known."
    ),
    "bucket": gettext_noop("The bucket %(asked)s is as it was said to be."),
    "bucket_missing": gettext_noop("The account has no bucket %(asked)s, though it was said to be there."),
    "bucket_there": gettext_noop("The account has a bucket %(asked)s already, so none of that name can be made."),
    "bucket_unknown": gettext_noop("Whether the account has the bucket %(asked)s is not known. %(why)s"),
    "lint": gettext_noop("cfn-lint %(linter)s finds nothing wrong with the %(asked)s templates in %(region)s."),
    "lint_problems": gettext_noop("cfn-lint %(linter)s finds %(asked)s mistakes in the templates: %(says)s."),
    "lint_unknown": gettext_noop("cfn-lint has not looked at the templates for %(region)s yet."),
    "lint_off": gettext_noop("The templates are not checked: cfn-lint is not part of this installation."),
    "engine": gettext_noop("ParallelCluster's own validators take the configuration."),
    "engine_refused": gettext_noop("ParallelCluster's own validators refuse the configuration: %(says)s"),
    "engine_later": gettext_noop(
        "ParallelCluster's own validators have not spoken yet: they need the network, and are asked when it is there."
    ),
    "engine_unknown": gettext_noop("ParallelCluster's own validators could not be asked: %(says)s"),
}

ADVICE: Mapping[str, str] = {
    "zone_closed": gettext_noop("Choose one of those."),
    "zone_open_unknown": gettext_noop("Cohort asks again by itself before anything is made."),
    "actions_denied": gettext_noop("Let %(who)s give the role the permissions that the account's page shows."),
    "actions_unknown": gettext_noop("Let %(who)s allow the role to look at its own permissions."),
    "linked_roles_missing": gettext_noop("Let %(who)s make them, or allow the role to have them made."),
    "linked_roles_unknown": gettext_noop("Let %(who)s allow the role to list the account's roles."),
    "nat_gateways_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "nat_gateways_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "security_groups_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "security_groups_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "efa_rules_missing": gettext_noop("Let %(who)s add that rule in each direction that is missing."),
    "efa_rules_unknown": gettext_noop("Cohort looks at its rules as soon as the account lets it."),
    "lustre_ports_missing": gettext_noop("Let %(who)s open them between the members of the group."),
    "lustre_ports_unknown": gettext_noop("Cohort looks at its rules as soon as the account lets it."),
    "openzfs_ports_missing": gettext_noop("Let %(who)s open them between the members of the group."),
    "openzfs_ports_unknown": gettext_noop("Cohort looks at its rules as soon as the account lets it."),
    "way_out_missing": gettext_noop("Let %(who)s put the route back, or make the endpoints."),
    "way_out_unknown": gettext_noop("Cohort looks at its routes as soon as the account lets it."),
    "way_to_s3_missing": gettext_noop("Let %(who)s put the endpoint or the route back."),
    "way_to_s3_unknown": gettext_noop("Cohort looks at its routes as soon as the account lets it."),
    "lustre_zone_missing": gettext_noop("Choose another zone."),
    "lustre_zone_doubted_unknown": gettext_noop("Have another zone ready."),
    "openzfs_zone_missing": gettext_noop("Choose another zone."),
    "openzfs_zone_doubted_unknown": gettext_noop("Have another zone ready."),
    "lustre_systems_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "lustre_systems_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "openzfs_systems_exceeded": gettext_noop("Let %(who)s have the quota “%(quota)s” raised."),
    "openzfs_systems_unknown": gettext_noop("Cohort reads the quota “%(quota)s” as soon as the account lets it in."),
    "bucket_missing": gettext_noop("Correct its name, or let Cohort make it."),
    "bucket_there": gettext_noop("Say that it is there already, or choose another name."),
    "bucket_unknown": gettext_noop("Cohort asks again by itself before anything is made."),
    "lint_problems": gettext_noop("Let %(who)s mend the catalogue's entry."),
    "lint_unknown": gettext_noop("It does so in the background, once for each release of the catalogue."),
    "lint_off": gettext_noop("Let %(who)s have it installed."),
    "engine_refused": gettext_noop("Change what it names."),
}
