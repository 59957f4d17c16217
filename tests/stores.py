"""Tables by their names; what lies beside the users in their database, by the address alone."""

from weibo_crawler.config import Store
from weibo_crawler.store import Table, Tables
from weibo_crawler.store.homes import open_claims, open_leases
from weibo_crawler.store.sql.egresses import EgressLeases
from weibo_crawler.store.sql.visits import VisitClaims


def table_of(tables: Tables, name: str) -> Table:
    """One of `FAMILIES`."""
    own: Table = tables.echoes[name] if name in tables.echoes else getattr(tables, name)
    return own


def leases_at(url: str, owner: str | None = None, *, password: str | None = None) -> EgressLeases:
    """The leases of egresses."""
    return open_leases(Store(users=url, password=password), owner)


def claims_at(url: str, owner: str, run_id: str, *, password: str | None = None) -> VisitClaims:
    """The claims of visits."""
    return open_claims(Store(users=url, password=password), owner, run_id)
