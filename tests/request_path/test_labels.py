import pytest

from lambdas.assistant.labels import LabelOrder

ORDER = LabelOrder(("C1", "C2", "C3", "C4"))


def test_the_highest_of_several_labels_wins_whatever_their_order():
    assert ORDER.highest(["C1", "C3", "C2"]) == "C3"
    assert ORDER.highest(["C3", "C2", "C1"]) == "C3"


def test_no_label_at_all_is_the_lowest():
    assert ORDER.highest([]) == "C1"


def test_an_unknown_label_counts_as_the_highest():
    assert ORDER.highest(["C1", "secret"]) == "C4"
    assert ORDER.normal("") == "C4"


@pytest.mark.parametrize("may_hold", ORDER.names)
@pytest.mark.parametrize("label", ORDER.names)
def test_a_holder_may_see_labels_up_to_its_own(may_hold, label):
    assert ORDER.permits(may_hold=may_hold, label=label) == (label <= may_hold)


def test_a_holder_with_an_unknown_label_may_see_nothing():
    assert not ORDER.permits(may_hold="C9", label="C1")


def test_data_with_an_unknown_label_goes_to_holders_of_the_highest_alone():
    assert ORDER.permits(may_hold="C4", label="c1")
    assert not ORDER.permits(may_hold="C3", label="c1")
