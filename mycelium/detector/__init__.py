"""The detector as a decision maker: ranking, operating points, probability, abstention, cost, and the artifact."""

from mycelium.detector.binomial import BinomialInterval, binomial_interval, required_unsupported
from mycelium.detector.bootstrap import BootstrapInterval, bootstrap_interval
from mycelium.detector.both import BothReports, evaluate_both
from mycelium.detector.bridge import ResponseScores, response_labels, response_scores
from mycelium.detector.contract import EvaluationContract, OpenQuestion
from mycelium.detector.costs import CostVector, ExpectedCost, expected_cost
from mycelium.detector.curve import OperatingCurve, operating_curve
from mycelium.detector.distributions import ScoreDistributions, score_distributions
from mycelium.detector.evaluate import evaluate_detector
from mycelium.detector.gates import Gate, gate
from mycelium.detector.parts import rows_digest
from mycelium.detector.points import OperatingPoint, evaluate_operating_point
from mycelium.detector.prevalence import PrevalencePoint, accepted_risk, alert_precision, prevalence_stress
from mycelium.detector.probability import (
    CalibrationError,
    ProbabilityReport,
    ReliabilityCurve,
    expected_calibration_error,
    probability_report,
    reliability_curve,
)
from mycelium.detector.ranking import (
    AveragePrecision,
    RocAucComparison,
    RocAucInterval,
    average_precision,
    average_precision_at_prevalence_score,
    compare_roc_auc,
    roc_auc_interval,
)
from mycelium.detector.rates import false_acceptance_rate, false_rejection_rate, supported_acceptance_rate
from mycelium.detector.report import EvaluationReport
from mycelium.detector.routing import RoutingReport, route, routing_report
from mycelium.detector.scorer import max_far_scorer
from mycelium.detector.segments import (
    SegmentPoints,
    SegmentThresholds,
    WorstSlice,
    select_segment_thresholds,
    worst_slice,
)
from mycelium.detector.selection import ThresholdSelection
from mycelium.detector.selective import (
    RiskCoverageCurve,
    augrc_score,
    aurc_score,
    excess_aurc_score,
    risk_coverage_curve,
)
from mycelium.detector.structure import report_schema
from mycelium.detector.suite import MinimumSuite
from mycelium.detector.thresholds import select_threshold

__all__ = [
    "AveragePrecision",
    "BinomialInterval",
    "BootstrapInterval",
    "BothReports",
    "CalibrationError",
    "CostVector",
    "EvaluationContract",
    "EvaluationReport",
    "ExpectedCost",
    "Gate",
    "MinimumSuite",
    "OpenQuestion",
    "OperatingCurve",
    "OperatingPoint",
    "PrevalencePoint",
    "ProbabilityReport",
    "ReliabilityCurve",
    "ResponseScores",
    "RiskCoverageCurve",
    "RocAucComparison",
    "RocAucInterval",
    "RoutingReport",
    "ScoreDistributions",
    "SegmentPoints",
    "SegmentThresholds",
    "ThresholdSelection",
    "WorstSlice",
    "accepted_risk",
    "alert_precision",
    "augrc_score",
    "aurc_score",
    "average_precision",
    "average_precision_at_prevalence_score",
    "binomial_interval",
    "bootstrap_interval",
    "compare_roc_auc",
    "evaluate_both",
    "evaluate_detector",
    "evaluate_operating_point",
    "excess_aurc_score",
    "expected_calibration_error",
    "expected_cost",
    "false_acceptance_rate",
    "false_rejection_rate",
    "gate",
    "max_far_scorer",
    "operating_curve",
    "prevalence_stress",
    "probability_report",
    "reliability_curve",
    "report_schema",
    "required_unsupported",
    "response_labels",
    "response_scores",
    "risk_coverage_curve",
    "roc_auc_interval",
    "route",
    "routing_report",
    "rows_digest",
    "score_distributions",
    "select_segment_thresholds",
    "select_threshold",
    "supported_acceptance_rate",
    "worst_slice",
]
