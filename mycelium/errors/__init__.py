"""What went wrong: one verdict for each span, counts, repaired scores, and the worst examples."""

from mycelium.errors.find import find_errors
from mycelium.errors.kinds import ERRORS, KINDS, REPAIRS
from mycelium.errors.repair import repaired
from mycelium.errors.result import Errors
from mycelium.errors.verdicts import Verdicts, judge

__all__ = ["ERRORS", "KINDS", "REPAIRS", "Errors", "Verdicts", "find_errors", "judge", "repaired"]
