"""What people say of a data product, for tests."""

from typing import Any

ABOUT: dict[str, Any] = {
    "name": "Drugs dispensed in 2026",
    "data_curators": ["County Hospital", "Health Office"],
    "intended_use": "Planning the stock of the pharmacies.",
    "description": "How many patients got each drug.",
    "publication_date": "2026-11-30",
    "data_product_region": "Example County",
    "data_product_sector": "Healthcare",
    "sources": "Report 7 of the hospital.",
    "registry_authors": ["Ana Example"],
}
TIER_3 = {
    "data_domain": "All visits of 2026.",
    "actors": "The pharmacy and the public.",
    "preprocessing": "None.",
    "justification": "Set by the review board.",
}
