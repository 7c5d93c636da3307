"""Files and frames with one more column, written whole or not at all."""

from trustcal.rewriting.files import Rewritten, rewrite
from trustcal.rewriting.fix import FileFix, Quality, fix_file
from trustcal.rewriting.frames import perturb_frame

__all__ = ["FileFix", "Quality", "Rewritten", "fix_file", "perturb_frame", "rewrite"]
