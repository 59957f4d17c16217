"""Addresses of tables in HBase, and the names they give."""

import pytest

from weibo_crawler import config
from weibo_crawler.errors import BadConfig
from weibo_crawler.store.hbase.address import Address, parse_address


@pytest.mark.parametrize(
    ("url", "address", "posts"),
    [
        ("hbase://h", Address((("h", 9090),)), "posts"),
        ("hbase://h:9/", Address((("h", 9),)), "posts"),
        ("hbase://h:9/dev", Address((("h", 9),), "", "dev"), "dev_posts"),
        ("hbase://h:9/weibo:", Address((("h", 9),), "weibo"), "weibo:posts"),
        ("hbase://h:9/weibo:dev/", Address((("h", 9),), "weibo", "dev"), "weibo:dev_posts"),
        ("hbase://a:9,b/w", Address((("a", 9), ("b", 9090)), "", "w"), "w_posts"),
        (
            "hbase://h/w:?transport=framed&protocol=compact",
            Address((("h", 9090),), "w", "", "framed", "compact"),
            "w:posts",
        ),
        (
            "hbase://h?transport=http&ssl_ca=/ca&ssl_cert=/we&ssl_key=/key",
            Address((("h", 9090),), "", "", "http", "binary", "/ca", "/we", "/key"),
            "posts",
        ),
        (
            "hbase://h?auth=kerberos&service=thrift&keytab=/key",
            Address((("h", 9090),), auth="kerberos", service="thrift", keytab="/key"),
            "posts",
        ),
    ],
)
def test_what_an_address_names(url: str, address: Address, posts: str) -> None:
    """Host, port, namespace and prefix; the tables are called as the schema script calls them."""
    assert parse_address(url) == address
    assert address.table("posts") == posts
    names = address.schema_environment()
    assert names.get("WEIBO_TABLE_PREFIX", "") == address.prefix
    assert names.get("WEIBO_TABLE_NAMESPACE", "") == address.namespace


@pytest.mark.parametrize(
    "url",
    [
        *(
            "hbase://",
            "hbase://h:no",
            "hbase://h:99999",
            "mysql://h",
            "hbase:///p",
            "hbase://h/a/b",
        ),
        *("hbase://h/a b", "hbase://h/a:b:c", "hbase://h/ä", "hbase://h/-a", "hbase://h?x=1"),
        *("hbase://me@h", "hbase://me:secret@h/p", "hbase://h/a;drop", "hbase://h/$(x)"),
        *("hbase://a,", "hbase://a,b:no", "hbase://a,me:secret@b", "hbase://h#x", "hbase://h?x"),
        *("hbase://h?transport=secret", "hbase://h?protocol=framed", "hbase://h?transport="),
        *("hbase://h?ssl_cert=/we", "hbase://h?ssl_ca=/ca&ssl_key=/key", "hbase://h?socket=/s"),
        *("hbase://h?auth=secret", "hbase://h?keytab=/key", "hbase://h?service=hbase"),
        *("hbase://h?auth=kerberos&transport=http", "hbase://h?auth=kerberos&transport=framed"),
    ],
)
def test_what_is_no_address_is_told(url: str) -> None:
    """Without its text, which may hold a password; with the form that is expected."""
    with pytest.raises(BadConfig, match=r"store\.tables.*use hbase://host:port") as told:
        parse_address(url)
    assert "secret" not in str(told.value)


def test_the_setting_takes_it() -> None:
    """`store.tables` may be SQLite or HBase; what else there is names both."""
    for url in ("hbase://h:9090/p", "hbase://a:9090,b:9091/n:p?transport=framed&ssl_ca=/ca"):
        assert config.load(environ={"WEIBO_STORE__TABLES": url}).store.tables == url
    with pytest.raises(BadConfig, match=r"store\.tables: .*sqlite.*hbase://host:port"):
        config.load(environ={"WEIBO_STORE__TABLES": "cassandra://h"})
