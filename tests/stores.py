"""What lies beside the users in their database, opened by the address alone."""

from weibo_crawler.config import Store
from weibo_crawler.store.homes import open_claims, open_leases
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sql.visits import VisitClaims


def leases_at(url: str, owner: str | None = None, *, password: str | None = None) -> EgressLeases:
    """The leases of egresses."""
    return open_leases(Store(users=url, password=password), owner)


def claims_at(url: str, owner: str, run_id: str, *, password: str | None = None) -> VisitClaims:
    """The claims of visits."""
    return open_claims(Store(users=url, password=password), owner, run_id)
