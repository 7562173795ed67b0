"""Which labels may I trust, which not, and what would mend them?"""

from thresholds.diagnosis.annotation import plan_annotation
from thresholds.diagnosis.diagnosing import diagnose
from thresholds.diagnosis.plan import AnnotationPlan
from thresholds.diagnosis.result import Diagnosis, Repair
from thresholds.diagnosis.verdicts import Verdicts
from thresholds.diagnosis.without_labels import ExpectedDiagnosis

__all__ = [
    "AnnotationPlan",
    "Diagnosis",
    "ExpectedDiagnosis",
    "Repair",
    "Verdicts",
    "diagnose",
    "plan_annotation",
]
