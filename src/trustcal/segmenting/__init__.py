"""Who is hurt: the segments of a population that lose most by believing the predictions."""

from trustcal.segmenting.finding import segments, segments_of
from trustcal.segmenting.record import Detectable, Segment, Segments

__all__ = ["Detectable", "Segment", "Segments", "segments", "segments_of"]
