"""Which addresses of pictures and videos are the site's."""

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weibo_crawler.sites.weibo.media import read_media
from weibo_crawler.sites.weibo.site import Weibo

LIVE = Weibo("https://m.weibo.cn", "", "agent")
LOCAL = Weibo("http://127.0.0.1:8800", "", "agent")


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("https://wx3.sinaimg.cn/orj360/63885668gy1.jpg", "https://wx3.sinaimg.cn/large/63885668gy1.jpg"),
        ("http://ww2.sinaimg.cn/thumbnail/a_b-c.gif", "http://ww2.sinaimg.cn/large/a_b-c.gif"),
        ("https://wx3.sinaimg.cn/large/63885668gy1.jpg", None),
        ("https://tvax1.sinaimg.cn/crop.0.0.9.9.1/a.jpg?KID=x&Expires=1645010805&ssig=y", None),
        ("http://f.video.weibocdn.com/o0/a.mp4?label=mp4_720p&Expires=1623923456", None),
        ("http://f.us.sinaimg.cn/a.mp4", None),
        ("https://video.weibo.com/media/play?livephoto=https%3A%2F%2Fus.sinaimg.cn%2Fa.mov", None),
    ],
)  # fmt: skip
def test_addresses_of_the_site(address: str, asked: str | None) -> None:
    """They are asked for, pictures in their large form, with the site as Referer."""
    media = LIVE.media(address)
    assert media is not None
    assert media.request.url == (asked or address)
    assert media.request.headers == (("Referer", "https://m.weibo.cn/"),)
    assert not media.is_gone


@pytest.mark.parametrize(
    "address",
    [
        *("", "wx1.sinaimg.cn/large/a.jpg", "//wx1.sinaimg.cn/large/a.jpg", "https://wx1.sinaimg.cn"),
        *("file:///etc/passwd", "ftp://wx1.sinaimg.cn/a.jpg", "javascript:alert(1)"),
        *("http://127.0.0.1/a.jpg", "http://localhost/a.jpg", "http://[::1]/a.jpg"),
        *("http://10.0.0.7/a.jpg", "http://169.254.169.254/latest/meta-data", "http://0x7f000001/a"),
        *("https://sinaimg.cn.evil.example/a.jpg", "https://evilsinaimg.cn/a.jpg"),
        *("https://wx1.sinaimg.cn:22/a.jpg", "https://wx1.sinaimg.cn@evil.example/a.jpg"),
        *("https://evil.example/wx1.sinaimg.cn/a.jpg", "https://evil.example#.sinaimg.cn/a.jpg"),
        *("https://evil.example\\.sinaimg.cn/a.jpg", "https://wx1.sinaimg.cn\\@evil.example/a.jpg"),
        *("https://wx1.sinaimg.cn/a b.jpg", "https://wx1.sinaimg.cn/a.jpg\r\nHost: evil.example"),
        *("https://wx1.sinaimg.cn/\u00e4.jpg", "https://wx1.sinaimg.cn./a.jpg", "https://.sinaimg.cn/a"),
        "https://wx1.sinaimg.cn/a.jpg\n",
    ],
)  # fmt: skip
def test_other_addresses(address: str) -> None:
    """Nothing is sent there."""
    assert LIVE.media(address) is None
    assert LOCAL.media(address) is None


@given(st.text() | st.from_regex(r"https?://[\x21-\x7e]{0,60}", fullmatch=True))
def test_whatever_an_address_holds_its_host_is_the_site_s(address: str) -> None:
    """As another reader of addresses sees it, too."""
    for own in (None, "127.0.0.1:8800"):
        media = read_media(address, "", own)
        if media is not None:
            parts = urlsplit(media.request.url)
            host = parts.netloc
            assert host == own or host.endswith((".sinaimg.cn", ".weibocdn.com", "video.weibo.com"))
            assert parts.scheme in ("http", "https")
            assert media.key


def test_a_simulated_site_has_its_own_host_alone() -> None:
    """It names real ones, of which nothing is asked."""
    assert LOCAL.media("https://wx1.sinaimg.cn/large/a.jpg") is None
    assert LOCAL.media("http://127.0.0.1:8801/large/a.jpg") is None
    assert LOCAL.media("http://127.0.0.1:8800/large/a.jpg") is not None
    assert LIVE.media("http://127.0.0.1:8800/large/a.jpg") is None


def test_what_a_file_is_does_not_hang_on_where_it_lies() -> None:
    """Hosts, sizes and signatures differ from one page to the other."""
    sizes = ["https://wx1.sinaimg.cn/orj360/a.jpg", "http://ww4.sinaimg.cn/large/a.jpg"]
    assert {media.key for media in map(LIVE.media, sizes) if media} == {"a.jpg"}
    signed = [
        "http://f.video.weibocdn.com/o0/a.mp4?Expires=1&ssig=x",
        "https://f.us.sinaimg.cn/a.mp4",
    ]
    assert {media.key for media in map(LIVE.media, signed) if media} == {"a.mp4"}
    live = "https://video.weibo.com/media/play?livephoto=//us.sinaimg.cn/{}.mov"
    assert len({media.key for n in "ab" if (media := LIVE.media(live.format(n)))}) == 2


def test_the_time_of_an_address_and_the_picture_for_missing_ones() -> None:
    video = LIVE.media("http://f.video.weibocdn.com/a.mp4?label=x&Expires=1623923456&ssig=y")
    assert video is not None
    assert video.expires_at == 1623923456
    gone = LIVE.media("https://ww1.sinaimg.cn/images/default_d_h_mw600.gif#101")
    assert gone is not None
    assert gone.is_gone
