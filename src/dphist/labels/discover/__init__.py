"""Labels without counts: who has which label decides where weight goes, look by look."""
