"""How well properties of a population are told from its profile, exact or released."""
