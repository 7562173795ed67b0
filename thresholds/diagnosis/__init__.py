"""Judging a rule label by label: which labels are platypuses, and what would mend them."""

from thresholds.diagnosis.repair import Repair
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.states import diagnose
from thresholds.diagnosis.without_labels import ExpectedDiagnosis, diagnose_expected

__all__ = ["Diagnosis", "ExpectedDiagnosis", "Repair", "diagnose", "diagnose_expected"]
