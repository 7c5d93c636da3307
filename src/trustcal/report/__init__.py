"""The faces of an audit.  Numbers come from `auditing`; nothing here computes any."""
