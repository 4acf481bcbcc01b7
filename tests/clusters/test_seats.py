"""Who sits where after a look."""

from clusters.engine.seats import STATES, Seat, seated
from clusters.engine.writing import spans
from clusters.providers import NodeSeen


def node(instance, status="Running", group="workers"):
    return NodeSeen(group=group, instance_id=instance, instance_type="p5.48xlarge", status=status)


def told(rows):
    return [(row.number, row.state, row.seen.instance_id if row.seen else "", row.replaced) for row in rows]


def test_new_instances_take_empty_seats_in_order():
    rows = seated([Seat("workers", 1), Seat("workers", 2)], [node("i-b"), node("i-a", "Pending")])
    assert told(rows) == [(1, "pending", "i-a", ""), (2, "running", "i-b", "")]


def test_an_instance_keeps_its_seat_whatever_the_order_of_the_list():
    seats = [Seat("workers", 1, "i-a", "running"), Seat("workers", 2, "i-b", "running")]
    assert told(seated(seats, [node("i-b"), node("i-a")])) == [(1, "running", "i-a", ""), (2, "running", "i-b", "")]


def test_a_replacement_takes_the_seat_of_the_instance_that_left():
    seats = [Seat("workers", 1, "i-a", "running"), Seat("workers", 2, "i-b", "impaired")]
    assert told(seated(seats, [node("i-a"), node("i-c", "Pending")])) == [
        (1, "running", "i-a", ""),
        (2, "pending", "i-c", "i-b"),
    ]


def test_a_seat_whose_instance_left_is_being_replaced_and_an_unused_one_is_pending():
    assert told(seated([Seat("workers", 1, "i-a", "running"), Seat("workers", 2)], [])) == [
        (1, "replacing", "", ""),
        (2, "pending", "", ""),
    ]


def test_nothing_that_runs_is_left_out_of_the_count():
    assert told(seated([Seat("workers", 1, "i-a")], [node("i-a"), node("i-b")])) == [
        (1, "running", "i-a", ""),
        (2, "running", "i-b", ""),
    ]


def test_groups_do_not_mix():
    rows = seated([Seat("head", 1), Seat("workers", 1)], [node("i-h", group="head")])
    assert [(row.group, row.state) for row in rows] == [("head", "running"), ("workers", "pending")]


def test_an_ending_cluster_has_empty_seats_that_are_gone():
    assert told(seated([Seat("workers", 1, "i-a", "running")], [], ending=True)) == [(1, "gone", "", "")]


def test_a_group_that_rests_has_empty_seats_that_are_gone_and_the_others_do_not():
    seats = [
        Seat("head", 1, "i-h", "running"),
        Seat("workers", 1, "i-a", "running"),
        Seat("workers", 2, "i-b", "running"),
    ]
    seen = [node("i-h", "running", "head"), node("i-b", "shutting-down")]
    rows = seated(seats, seen, resting={"workers"})
    assert [(row.group, row.state) for row in rows] == [("head", "running"), ("workers", "gone"), ("workers", "gone")]


def test_a_seat_that_was_given_up_and_is_wanted_again_is_pending_not_replaced():
    assert told(seated([Seat("workers", 1, "i-a", "gone")], [])) == [(1, "pending", "", "")]


def test_every_word_of_the_engines_has_a_meaning():
    """SageMaker's words for an instance of a cluster, and EC2's for those of a ParallelCluster."""
    import botocore.session

    session = botocore.session.Session()
    words = [
        word
        for service, shape in (("sagemaker", "ClusterInstanceStatus"), ("ec2", "InstanceStateName"))
        for word in session.get_service_model(service).shape_for(shape).enum
    ]
    assert set(words) == set(STATES)


def test_many_nodes_are_told_in_few_words():
    seats = [("train-workers", number) for number in (3, 1, 2, 7)] + [("train-head", 1)]
    assert spans(seats) == ["train-head-1", "train-workers-1…3", "train-workers-7"]
