"""Corpora with several annotators: references made of them, how they agree, and what the metrics make of that."""

from mycelium.annotators.cleanup import CLEANUPS, cleaned
from mycelium.annotators.consensus import SHARES, consensus, leave_one_out, soft_labels
from mycelium.annotators.corpus import Annotations, as_annotations, merge
from mycelium.annotators.human import HumanLevel, human_level
from mycelium.annotators.layout import human_levels_table, studies_table
from mycelium.annotators.relations import RELATIONS, pairwise_relations, relation
from mycelium.annotators.study import Study, study
from mycelium.annotators.subsets import equal_numbers
from mycelium.annotators.uncertainty import StudyIntervals, study_intervals

__all__ = [
    "CLEANUPS",
    "RELATIONS",
    "SHARES",
    "Annotations",
    "HumanLevel",
    "Study",
    "StudyIntervals",
    "as_annotations",
    "cleaned",
    "consensus",
    "equal_numbers",
    "human_level",
    "human_levels_table",
    "leave_one_out",
    "merge",
    "pairwise_relations",
    "relation",
    "soft_labels",
    "studies_table",
    "study",
    "study_intervals",
]
