"""The curve of a launch day: what was in service when, and charts that lie where their numbers say."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from program.curve import Happened, Planned, curve
from tenants.web.charts import HEIGHT, WIDTH, by_step, over_time

DAWN = datetime(2026, 1, 15, tzinfo=UTC)
TRAIN = Planned("c", "train", "p5.48xlarge", 20, 160, frozenset({"gpu"}))


def at(minutes):
    return DAWN + timedelta(minutes=minutes)


def happened(number, minutes, kind, cluster="c", **facts):
    return Happened(number, at(minutes), kind, cluster, facts)


NODES = happened(1, 10, "nodes.running", count=21, nodes=["train-gpu-1…20", "train-head-1"], was="pending")
READY = happened(2, 30, "cluster.ready", name="train")


def totals(events, plans=(TRAIN,)):
    return [(point.at, point.total) for point in curve(events, plans, DAWN).points]


def test_nodes_that_run_are_in_service_when_their_cluster_is():
    assert totals([NODES]) == [(DAWN, 0)]
    assert totals([NODES, READY]) == [(DAWN, 0), (at(30), 20)]
    found = curve([NODES, READY], [TRAIN], DAWN)
    assert (found.now, found.came) == ({"c": 20}, {"c": at(30)})
    assert found.points[-1].entry == 2 and found.points[-1].by_type == {"p5.48xlarge": 20}


def test_a_controller_is_no_instance_with_accelerators():
    alone = happened(1, 10, "node.running", node="train-head-1", was="pending")
    assert curve([alone, READY], [TRAIN], DAWN).now == {"c": 0}


def test_a_node_that_falls_takes_itself_out_and_comes_back():
    events = [
        NODES,
        READY,
        happened(3, 40, "node.impaired", node="train-gpu-7", was="running"),
        happened(4, 41, "cluster.degraded", name="train"),
        happened(5, 50, "node.replacing", node="train-gpu-7", was="impaired"),
        happened(6, 60, "node.running", node="train-gpu-7", was="replacing"),
    ]
    assert [total for _at, total in totals(events)] == [0, 20, 19, 20]


def test_a_cluster_that_is_deleted_is_in_service_no_more():
    assert [total for _at, total in totals([NODES, READY, happened(3, 90, "cluster.deleting")])] == [0, 20, 0]


def test_what_came_before_the_day_is_where_its_curve_begins():
    events = [
        happened(1, -90, "nodes.running", nodes=["train-gpu-1…20"], was="pending"),
        happened(2, -60, "cluster.ready"),
    ]
    assert totals(events) == [(DAWN, 20)]
    other = Planned("d", "eo", "trn1.32xlarge", 8, 128)
    later = [*events, happened(3, 30, "launch.in_service", "d", count=8)]
    assert totals(later, (TRAIN, other)) == [(DAWN, 20), (at(30), 28)]


def test_an_imported_line_counts_as_it_says():
    events = [happened(1, 5, "launch.in_service", count=12), happened(2, 65, "launch.in_service", count=8)]
    found = curve(events, [TRAIN], DAWN)
    assert [point.total for point in found.points] == [0, 12, 20] and found.came == {"c": at(65)}


@given(st.permutations([NODES, READY, happened(3, 40, "node.impaired", node="train-gpu-7", was="running")]))
def test_the_order_in_which_entries_are_read_does_not_matter(events):
    assert [total for _at, total in totals(events)] == [0, 20, 19]


MOVES = [("nodes.running", ["train-gpu-1…4"]), ("nodes.impaired", ["train-gpu-1…2"]), ("nodes.gone", ["train-gpu-1…4"])]


@given(st.lists(st.tuples(st.sampled_from(MOVES), st.sampled_from(["running", "pending"])), max_size=20))
def test_there_are_never_less_than_none_nor_more_than_planned(moves):
    events = [READY, *(happened(n, 31 + n, kind, nodes=nodes, was=was) for n, ((kind, nodes), was) in enumerate(moves))]
    assert all(0 <= point.total <= TRAIN.instances for point in curve(events, [TRAIN], DAWN).points)


def test_a_chart_puts_higher_values_higher_and_later_ones_further_right():
    chart = by_step(["1", "2", "3"], {"open": [1, None, 7]}, least=1)
    (line,) = chart.lines
    first, last = line.marks
    assert first.x < last.x and first.y > last.y and [mark.value for mark in line.marks] == ["1", "7"]
    assert [mark.text for mark in chart.across] == ["1", "2", "3"]


@given(st.lists(st.one_of(st.none(), st.floats(0, 10_000)), min_size=1, max_size=30))
def test_every_point_lies_inside_its_chart(values):
    chart = by_step([str(n) for n in range(len(values))], {"line": values})
    assert all(0 <= mark.x <= WIDTH and 0 <= mark.y <= HEIGHT for line in chart.lines for mark in line.marks)


@pytest.mark.parametrize("most", [0, 1, 127, 1016])
def test_a_day_is_drawn_in_steps(most):
    chart = over_time({"p5": [(DAWN, 0), (at(60), float(most))]}, DAWN, at(120), most)
    (line,) = chart.lines
    assert (
        len(line.points.split()) == 4 and line.points.split()[1].split(",")[1] == line.points.split()[0].split(",")[1]
    )
