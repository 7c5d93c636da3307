"""The paper as code: instances with known answers, hard instances, and every claim recomputed."""

from trustcal.paper import claims, hardness, instances

__all__ = ["claims", "hardness", "instances"]
