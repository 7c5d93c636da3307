"""Files and frames with one more column, written whole or not at all."""

from trustcal.rewriting.fixing import fix_file
from trustcal.rewriting.perturbing import perturb_frame
from trustcal.rewriting.rewriting import rewrite

__all__ = ["fix_file", "perturb_frame", "rewrite"]
