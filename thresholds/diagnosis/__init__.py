"""Which labels may I trust, which not, and what would mend them?"""

from thresholds.diagnosis.annotation import plan_annotation
from thresholds.diagnosis.plan import AnnotationPlan
from thresholds.diagnosis.repair import Repair
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.states import diagnose
from thresholds.diagnosis.verdicts import Verdicts
from thresholds.diagnosis.without_labels import ExpectedDiagnosis, diagnose_expected

__all__ = [
    "AnnotationPlan",
    "Diagnosis",
    "ExpectedDiagnosis",
    "Repair",
    "Verdicts",
    "diagnose",
    "diagnose_expected",
    "plan_annotation",
]
