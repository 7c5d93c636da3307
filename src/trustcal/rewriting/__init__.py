"""Files and frames with one more column, written whole or not at all."""

from trustcal.rewriting.classes import ClassFileFix, ClassQuality, fix_classes_file
from trustcal.rewriting.files import Rewritten, rewrite
from trustcal.rewriting.fix import FileFix, Quality, fix_file
from trustcal.rewriting.frames import fix_frame, perturb_frame

__all__ = [
    "ClassFileFix",
    "ClassQuality",
    "FileFix",
    "Quality",
    "Rewritten",
    "fix_classes_file",
    "fix_file",
    "fix_frame",
    "perturb_frame",
    "rewrite",
]
