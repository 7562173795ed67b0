"""Judging a rule label by label: which labels are platypuses, and what would mend them."""

from thresholds.diagnosis.believed import ExpectedDiagnosis, diagnose_expected
from thresholds.diagnosis.repair import Repair
from thresholds.diagnosis.result import Diagnosis
from thresholds.diagnosis.verdicts import diagnose

__all__ = ["Diagnosis", "ExpectedDiagnosis", "Repair", "diagnose", "diagnose_expected"]
