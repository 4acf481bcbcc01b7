"""Each reported failure C1 to C5 and each bad input 59 to 73 has a test that holds what must be done about it.

The numbers are those of the facts about cluster failures and reliability. One without a test fails here, unless it is
said below why it has none yet; so does a name that no test has any more.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT.parent / "shared" / "facts"

FORM = "clusters/engine/test_preflight_form.py::test_each_fact_of_the_account_fails_its_own_line_and_no_other"
BAD = "clusters/test_bad_configurations.py::test_it_is_refused_in_a_sentence_and_nothing_is_asked_for"
PORTS = "clusters/test_preflight_network.py::test_each_missing_thing_fails_its_own_line"
EC2 = "clusters/test_preflight_ec2.py"
PROOF = "clusters/test_smoke_script.py::test_rows_35_and_41_a_node_without_its_file_systems_or_homes_is_named"
STEP, CHANGES, PREFLIGHTS = (f"clusters/engine/test_{name}.py" for name in ("step", "changes", "preflights"))

FAILURES: dict[int, list[str]] = {
    # C1: capacity and reservations
    1: [FORM, "clusters/test_preflight.py::test_a_type_must_exist_and_be_offered", f"{STEP}::test_no_capacity_waits_and_says_why"],
    2: ["clusters/test_waiting.py::test_row_2_the_code_of_ec2_and_the_cooldown_are_told", "clusters/test_waiting.py::test_row_2_only_a_job_that_waits_is_told_and_only_for_it_are_nodes_asked"],
    3: [f"{STEP}::test_no_capacity_waits_and_says_why", f"{CHANGES}::test_a_change_that_the_provider_refuses_frees_the_cluster_and_keeps_its_evidence"],
    5: [f"{EC2}::test_the_file_asks_for_static_instances_of_the_reservation_without_a_placement_group", f"{EC2}::test_a_reservation_must_hold_what_is_asked_of_it"],
    6: [f"{EC2}::test_the_file_asks_for_static_instances_of_the_reservation_without_a_placement_group", f"{EC2}::test_a_reservation_must_hold_what_is_asked_of_it"],
    7: ["clusters/test_endings.py::test_row_7_a_job_that_passes_the_end_is_refused_with_the_one_number_that_fits", "clusters/test_ways_out_pages.py::test_rows_7_and_9_a_cluster_and_its_jobs_say_when_their_capacity_ends"],
    9: ["clusters/test_endings.py::test_row_9_in_the_last_half_hour_nothing_is_replaced_and_no_job_is_taken", "clusters/test_ways_out_pages.py::test_rows_7_and_9_a_cluster_and_its_jobs_say_when_their_capacity_ends"],
    10: [f"{EC2}::test_a_capacity_block_is_outside_the_quotas"],
    11: [f"{EC2}::test_what_belongs_to_ec2_means_nothing_to_hyperpod"],
    # C2: quotas
    13: ["clusters/test_facts.py::test_quota_names_are_exact_and_their_codes_agree_with_the_source", f"{EC2}::test_each_type_counts_against_the_quota_of_its_kind_by_exact_name"],
    14: [f"{EC2}::test_a_refusal_names_the_numbers_the_unit_and_the_quota", FORM],
    15: ["clusters/test_preflight.py::test_a_refusal_names_asked_allowed_unit_and_who"],
    17: ["clusters/test_preflight.py::test_a_quota_counts_what_other_clusters_use"],
    18: [FORM, "clusters/test_preflight_account.py::test_what_others_made_in_the_account_counts_too", f"{PREFLIGHTS}::test_what_does_not_fit_stops_a_creation_before_its_first_call_and_mended_it_goes_on"],
    19: [FORM, "clusters/test_preflight.py::test_the_disk_of_an_instance_must_fit_its_quota"],
    # C3: network, EFA, addresses
    21: [PORTS, f"{PREFLIGHTS}::test_a_change_that_does_not_fit_leaves_the_cluster_as_it_was"],
    22: ["clusters/test_preflight.py::test_nodes_need_addresses_by_orchestrator_and_type", "clusters/test_preflight.py::test_a_subnet_that_is_there_counts_what_is_free_in_it"],
    23: ["clusters/test_node_scripts.py::test_a_node_that_is_not_whole_says_what_is_missing", f"{STEP}::test_no_proof_no_ready"],
    25: ["clusters/test_facts.py::test_an_instance_type_has_the_facts_of_the_table", "clusters/test_node_scripts.py::test_what_a_type_should_have_is_what_the_facts_say"],
    26: ["clusters/test_schema.py::test_what_we_write_is_what_its_schema_takes", "clusters/test_hyperpod_request.py::test_the_request_of_each_demo_cluster_is_valid"],
    27: [PORTS, "clusters/test_preflight_network.py::test_what_our_templates_make_lets_everything_through"],
    29: [PORTS],
    30: ["clusters/test_quarantine.py::test_row_30_a_failed_check_is_evidence_and_the_node_is_checked_again_before_it_is_replaced", "clusters/engine/test_searches.py::test_a_bad_node_is_named_by_pairs_held_and_offered_for_replacement"],
    31: [FORM, "clusters/test_preflight.py::test_the_place_must_be_one_of_the_architecture"],
    # C4: storage
    33: ["clusters/test_architectures.py::test_the_parts_come_in_the_order_of_the_architecture"],
    34: [PORTS, "clusters/test_preflight_network.py::test_the_group_and_the_subnet_are_those_that_the_stack_named"],
    35: [PROOF, "clusters/engine/test_orders.py::test_software_is_updated_batch_by_batch_and_proven_anew"],
    37: ["clusters/sandbox/test_eks.py::test_a_file_system_is_linked_to_a_bucket_that_exists"],
    38: ["clusters/test_change_plan.py::test_a_file_system_that_is_left_out_stays_in_the_account_and_somebody_else_agrees", "clusters/sandbox/test_stacks.py::test_what_is_to_be_retained_outlives_its_stack"],
    39: ["clusters/test_preflight_network.py::test_a_type_that_is_known_not_to_be_offered_is_refused", "clusters/sandbox/test_eks.py::test_openzfs_has_its_own_throughputs_and_places"],
    41: [PROOF],
    # C5: create, update, delete
    42: ["clusters/test_architectures.py::test_nothing_is_fetched_from_the_internet_while_a_node_is_made"],
    43: ["clusters/test_node_scripts.py::test_a_script_that_was_changed_on_the_way_is_noticed", "clusters/test_architectures.py::test_nothing_is_fetched_from_the_internet_while_a_node_is_made"],
    45: [f"clusters/engine/test_ways_out.py::test_row_45_{name}" for name in (
        "a_budget_is_several_times_what_is_usual", "an_update_of_a_stack_that_takes_far_too_long_is_told_to_stop",
        "what_no_engine_stops_is_let_go_and_still_looked_at",
    )],
    46: ["contracts/test_providers.py::test_what_failed_can_be_deleted"],
    47: ["clusters/test_name_taken.py::test_another_broken_rule_is_not_a_taken_name", f"{STEP}::test_a_failed_cluster_is_tried_again_by_a_person"],
    49: ["clusters/test_change_plan.py::test_a_change_has_the_effects_that_the_engine_gives_it", f"{CHANGES}::test_jobs_are_stopped_only_when_somebody_says_so"],
    50: ["clusters/engine/test_orders.py::test_a_second_thing_waits_for_the_first_and_says_who_is_at_it"],
    51: ["clusters/test_allowed.py::test_rollback_states_have_a_way_out"],
    53: ["clusters/engine/test_orders.py::test_software_is_updated_batch_by_batch_and_proven_anew"],
    54: ["clusters/test_schema.py::test_what_we_write_is_what_its_schema_takes"],
    55: ["clusters/engine/test_deletion.py::test_what_is_stuck_is_tried_again_told_and_left_when_a_person_says_so", "clusters/engine/test_deletion.py::test_what_is_left_is_what_was_kept_on_purpose_and_is_listed"],
    57: [f"{STEP}::test_not_found_once_says_nothing_about_the_nodes"],
    58: ["clusters/test_ways_out_pages.py::test_row_58_a_fleet_that_protects_itself_says_how_often_it_failed_and_the_way_out"],
    59: ["clusters/sandbox/test_hyperpod.py::test_a_node_that_fails_is_replaced_where_recovery_is_automatic", f"{STEP}::test_a_replaced_node_keeps_its_seat"],
    61: ["clusters/test_architectures.py::test_a_missing_output_is_named", "clusters/test_export.py::test_an_output_that_is_missing_stops_it_with_its_name"],
    62: ["clusters/test_architectures.py::test_a_missing_output_is_named", "clusters/test_architectures.py::test_every_parameter_of_the_base_template_is_given_and_no_other"],
    63: ["clusters/engine/test_orders.py::test_nodes_that_are_taken_away_do_not_come_back_with_the_next_change"],
    65: ["clusters/engine/test_preflight_form.py::test_what_the_role_may_not_do_fails_with_the_names_of_the_actions"],
    66: ["clusters/test_upstream_defects.py::test_a12_8_a_second_deployment_in_an_account_meets_no_name_that_is_taken"],
    67: ["clusters/test_preflight.py::test_the_place_must_be_one_of_the_architecture", "clusters/test_architectures.py::test_a_template_is_sound_in_every_region_of_its_architecture"],
}  # fmt: skip
# What must be done about these, or the part of it that no test holds yet.
WITHOUT: dict[int, str] = {}
BAD_INPUTS: dict[int, list[str]] = {
    **dict.fromkeys((59, 60, 61, 62, 64, 65, 66, 67, 68), [BAD]),
    63: ["clusters/test_bad_files.py::test_a_script_from_elsewhere_is_closed_to_who_asks", "clusters/test_node_scripts.py::test_a_script_that_was_changed_on_the_way_is_noticed"],
    69: ["clusters/test_configurations.py::test_row_69_a_secret_in_it_is_refused_and_not_kept", "clusters/test_bad_files.py::test_each_known_mistake_is_told_with_line_reason_and_remedy"],
    70: ["clusters/test_bad_configurations.py::test_row_70_a_role_of_elsewhere_is_refused"],
    71: ["clusters/test_change_plan.py::test_another_zone_replaces_the_subnet_and_with_it_what_is_on_it_and_the_cluster_is_refused", f"{CHANGES}::test_what_the_engine_does_not_do_is_refused_before_any_call"],
    72: ["clusters/test_bad_files.py::test_each_known_mistake_is_told_with_line_reason_and_remedy"],
    73: ["clusters/test_bad_files.py::test_each_known_mistake_is_told_with_line_reason_and_remedy"],
}  # fmt: skip


@cache
def named_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(
    ("number", "named"), [*FAILURES.items(), *BAD_INPUTS.items()], ids=lambda value: str(value)[:40]
)
def test_what_is_named_is_a_test(number: int, named: list[str]) -> None:
    assert named
    for each in named:
        file, _, name = each.partition("::")
        assert name in named_in(file), (number, each)


@pytest.mark.skipif(not FACTS.exists(), reason="the facts lie beside a checkout only")
def test_no_reported_failure_is_forgotten() -> None:
    text = (FACTS / "cluster-failures.md").read_text("utf-8")
    told = text[text.index("## C1.") : text.index("## C6.")]
    numbers = {int(found) for found in re.findall(r"^\| (\d+) \|", told, re.M)}
    assert numbers == set(FAILURES) | set(WITHOUT)
    assert not set(FAILURES) & set(WITHOUT) and all(WITHOUT.values())


@pytest.mark.skipif(not FACTS.exists(), reason="the facts lie beside a checkout only")
def test_no_bad_input_of_a_cluster_is_forgotten() -> None:
    text = (FACTS / "reliability.md").read_text("utf-8")
    told = text[text.index("Cluster configs: ") : text.index("74 max_steps")]
    assert {int(found) for found in re.findall(r"(?:: |· )(\d\d) ", told)} == set(BAD_INPUTS)
