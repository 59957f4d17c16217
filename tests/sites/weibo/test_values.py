"""Values as the site writes them: counts, dates, texts, ids."""

from datetime import UTC, datetime, timedelta, timezone
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.weibo.helpers import NOON, at
from weibo_crawler.sites.weibo.bid import bid_in_scheme, bid_of
from weibo_crawler.sites.weibo.counts import optional_count
from weibo_crawler.sites.weibo.dates import date_of, read_date
from weibo_crawler.sites.weibo.drift import Drift, identity
from weibo_crawler.sites.weibo.text import reader_text

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
NO_MID = 1  # made long before any day of these tests


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, 0),
        (63357736, 63357736),
        ("6905", 6905),
        ("145.5万", 1_455_000),
        ("1.51亿", 151_000_000),
        ("2万", 20_000),
        ("100万+", 1_000_000),
        ("4.35万", 43_500),  # 4.35 * 10000 is 43499.999… in binary floats
        (" 12 ", 12),
        ("1,234", 1234),
        ("1,234,567", 1_234_567),
        ("1.2萬", 12_000),
        ("1.5億", 150_000_000),
        ("12K", 12_000),
        ("1.2k", 1_200),
        ("1.1M", 1_100_000),
        ("10w+", 100_000),
        ("１２", 12),
        ("１．２万", 12_000),
        ("1.2 万", 12_000),
    ],
)
def test_counts_are_exact(written: int | str, meant: int) -> None:
    """A count is the number meant, exactly; `+` gives the lower bound."""
    assert optional_count(written, 10**15) == meant


@pytest.mark.parametrize(
    "written",
    [
        -1,
        "-1",
        "",
        "万",
        "1.5",
        "1.234",
        "12,34",
        "1,2345",
        ",123",
        "1.2.3万",
        "1.2万万",
        "²",
        "abc",
        "九",
        10**30,
        "9" * 5000,
        "1e5",
        "万1",
    ],
)
def test_nonsense_is_no_count(written: int | str) -> None:
    """What is negative, absurdly large or no count is refused, never guessed."""
    assert optional_count(written, 10**15) is None


@pytest.mark.parametrize(
    ("written", "iso", "precision"),
    [
        ("刚刚", "2019-06-15T12:00:00+08:00", "minute"),
        ("30秒前", "2019-06-15T11:59:30+08:00", "minute"),
        ("5分钟前", "2019-06-15T11:55:00+08:00", "minute"),
        ("15小时前", "2019-06-14T21:00:00+08:00", "hour"),
        ("今天 08:05", "2019-06-15T08:05:00+08:00", "minute"),
        ("昨天 12:01", "2019-06-14T12:01:00+08:00", "minute"),
        ("06-14", "2019-06-14T00:00:00+08:00", "day"),
        ("06-15", "2019-06-15T00:00:00+08:00", "day"),
        ("06-16", "2018-06-16T00:00:00+08:00", "day"),
        ("2018-06-14", "2018-06-14T00:00:00+08:00", "day"),
        ("前天 10:00", "2019-06-13T10:00:00+08:00", "minute"),
        ("昨天 12:01:09", "2019-06-14T12:01:09+08:00", "second"),
        ("3天前", "2019-06-12T12:00:00+08:00", "day"),
        ("2019-06-01 13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("2019-06-01 13:12:05", "2019-06-01T13:12:05+08:00", "second"),
        ("06-01 13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("06月01日 13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("12月31日 13:12", "2018-12-31T13:12:00+08:00", "minute"),
        ("6月1日", "2019-06-01T00:00:00+08:00", "day"),
        ("2018/06/14", "2018-06-14T00:00:00+08:00", "day"),
        ("2019/6/1 13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("2019.06.01 13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("2018.6.14", "2018-06-14T00:00:00+08:00", "day"),
        ("半小时前", "2019-06-15T11:30:00+08:00", "hour"),
        ("1周前", "2019-06-08T12:00:00+08:00", "day"),
        ("1个月前", "2019-05-16T12:00:00+08:00", "day"),
        (" 2019-06-01\u00a0 13:12 ", "2019-06-01T13:12:00+08:00", "minute"),
        ("2019-06-01T13:12", "2019-06-01T13:12:00+08:00", "minute"),
        ("2019-06-01T13:12:05", "2019-06-01T13:12:05+08:00", "second"),
        ("2019-06-01T05:12:05.678Z", "2019-06-01T13:12:05+08:00", "second"),
        ("2019-06-01T13:12:05+0800", "2019-06-01T13:12:05+08:00", "second"),
        ("2018年06月25日 13:12", "2018-06-25T13:12:00+08:00", "minute"),
        ("Thu Jun 17 11:00:31 +0800 2021", "2021-06-17T11:00:31+08:00", "second"),
        ("Thu Jun 17 03:00:31 +0000 2021", "2021-06-17T11:00:31+08:00", "second"),
    ],
)
def test_forms_of_date(written: str, iso: str, precision: str) -> None:
    """Each form of the site, on its own clock; `06-16` on the 15th of June is last year's."""
    assert read_date(written, NOON, NO_MID) == (iso, precision)


@pytest.mark.parametrize(
    ("written", "now", "iso"),
    [
        ("昨天 23:59", "2020-01-01T00:00:30", "2019-12-31T23:59:00+08:00"),
        ("12-31", "2020-01-01T00:00:30", "2019-12-31T00:00:00+08:00"),
        ("02-29", "2021-02-10T10:00:00", "2020-02-29T00:00:00+08:00"),
        ("3分钟前", "2020-01-01T00:01:00", "2019-12-31T23:58:00+08:00"),
        # by a clock that is a little behind
        ("02-29", "2024-02-28T23:59:50", "2024-02-29T00:00:00+08:00"),
        ("06-15", "2019-06-14T23:59:58", "2019-06-15T00:00:00+08:00"),
        ("01-01", "2019-12-31T23:55:00", "2020-01-01T00:00:00+08:00"),
        ("01-01 00:01", "2019-12-31T23:59:58", "2020-01-01T00:01:00+08:00"),
        ("12-31", "2019-12-31T23:59:58", "2019-12-31T00:00:00+08:00"),
    ],
)
def test_dates_over_the_end_of_a_year(written: str, now: str, iso: str) -> None:
    """Days are counted on the site's calendar, over the end of a year and over a leap day, also
    where our clock is still on the day before."""
    assert read_date(written, at(now), NO_MID)[0] == iso


@pytest.mark.parametrize(
    "written",
    ["", "soon", "02-30", "2019-02-29", "13-01", "Thu Foo 17 11:00:31 +0800 2021", "06-14 x",
     "Thu Jun 31 11:00:31 +0800 2021", "今天 25:00", "99999小时前", "02-31", "0000-01-01",
     "Fri Dec 31 23:00:31 +0000 9999", "Mon Jan 01 00:00:00 +0800 0001", "٠٦-١٤",
     "2019-06-01 24:00", "2019-06-01 13:60", "06月32日", "2019-06", "昨天", "9999天前", "13:12",
     "6.14", "2019.06.1.2",
     "Thu Jan 01 08:00:00 +0800 1970", "2009-07-31", "2101-01-01", "2019-06-01T25:12:05",
     "2019-06-01T13", "2019-06-01T13:12:05+24:00"],
)  # fmt: skip
def test_what_is_no_date(written: str) -> None:
    """An unknown form, or a day that does not exist, is refused."""
    with pytest.raises(ValueError, match=r".+"):
        read_date(written, NOON, NO_MID)


@given(st.datetimes(datetime(2010, 1, 1), datetime(2037, 1, 1)), st.integers(-12, 12))
def test_full_dates_keep_their_instant(naive: datetime, hours: int) -> None:
    """A full date in any zone is the same instant in the site's zone, whatever the locale."""
    moment = naive.replace(microsecond=0, tzinfo=timezone(timedelta(hours=hours)))
    month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][
        moment.month - 1
    ]
    written = f"Thu {month} {moment:%d %H:%M:%S %z %Y}"
    iso, precision = read_date(written, NOON, NO_MID)
    assert datetime.fromisoformat(iso) == moment
    assert (iso[-6:], precision) == ("+08:00", "second")


@given(st.integers(int(at("2010-01-01T00:00:00")), int(at("2036-01-01T00:00:00"))), st.booleans())
def test_the_mid_holds_the_second(posted: int, with_year: bool) -> None:
    """Where the site names only the day, the second comes from the mid made on that day."""
    mid = (posted - 515483463) << 22 | 5
    day = datetime.fromtimestamp(posted, UTC).astimezone(timezone(timedelta(hours=8)))
    written = f"{day:%Y-%m-%d}" if with_year else f"{day:%m-%d}"
    expected = day.replace(tzinfo=timezone(timedelta(hours=8))).isoformat()
    assert read_date(written, posted + 3600.5, mid) == (expected, "mid")


@given(
    st.integers(int(at("2013-01-01T00:00:00")), int(at("2036-01-01T00:00:00"))),
    st.integers(0, 10 * 86_400),
)
def test_relative_words_take_the_second_from_the_mid(posted: int, age: int) -> None:
    """Whatever relative form the site writes at the time of reading, with the second of the mid
    that agrees with it."""
    mid = (posted - 515483463) << 22 | 5
    now = posted + age
    zone = timezone(timedelta(hours=8))
    then, here = datetime.fromtimestamp(posted, zone), datetime.fromtimestamp(now, zone)
    days = (here.date() - then.date()).days
    forms = [
        f"{then:%m-%d}",
        f"{then:%m-%d %H:%M}",
        f"{then:%m月%d日 %H:%M}",
        f"{age // 86400}天前",
    ]
    forms += [f"{then:%Y-%m-%d}", f"{then:%Y-%m-%d %H:%M}", f"{then:%Y年%m月%d日 %H:%M}"]
    if age < 60:
        forms += ["刚刚", f"{age}秒前"]
    if age < 7200:
        forms.append(f"{age // 60}分钟前")
    if age < 172_800:
        forms += [f"{age // 3600}小时前", f"{round(age / 3600)}小时前"]
    if days < 3:
        forms.append(f"{('今天', '昨天', '前天')[days]} {then:%H:%M}")
    for words in forms:
        assert read_date(words, now, mid) == (then.isoformat(), "mid"), words


@pytest.mark.parametrize(
    ("words", "posted"),
    [
        ("今天 23:58", "2019-06-14T23:58:10"),
        ("刚刚", "2019-06-14T23:59:10"),
        ("昨天 12:01", "2019-06-13T12:01:59"),
        ("1分钟前", "2019-06-14T23:56:00"),
    ],
)
def test_a_page_made_before_midnight_and_read_after(words: str, posted: str) -> None:
    """The words count from when the page was made; the mid says which day that was."""
    mid = (int(at(posted)) - 515483463) << 22
    read = read_date(words, at("2019-06-15T00:01:00"), mid)
    assert read == (f"{posted}+08:00", "mid")


@pytest.mark.parametrize(
    ("words", "mid_s", "iso", "precision"),
    [
        # within a day the site's own second stands
        ("Thu Jun 13 11:00:31 +0800 2019", "2019-06-13T11:00:30", "2019-06-13T11:00:31", "second"),
        # coarse words that disagree a little stand, too
        ("06-15 11:55", "2019-06-15T11:00:00", "2019-06-15T11:55:00", "minute"),
        # but for those that count from our clock, or from that of a page that somebody had kept
        ("5分钟前", "2019-06-15T08:00:10", "2019-06-15T08:00:10", "mid"),
        ("刚刚", "2019-06-15T20:00:10", "2019-06-15T20:00:10", "mid"),
        ("半小时前", "2019-06-15T03:00:10", "2019-06-15T03:00:10", "mid"),
        ("2小时前", "2019-06-15T18:00:10", "2019-06-15T18:00:10", "mid"),
        ("5分钟前", "2010-06-15T08:00:10", "2019-06-15T11:55:00", "minute"),
        # two times of our days: the id decides
        ("Thu Jun 13 11:00:31 +0800 2013", "2019-06-13T11:00:30", "2019-06-13T11:00:30", "mid"),
        ("2099-01-01", "2019-06-13T11:00:30", "2019-06-13T11:00:30", "mid"),
        ("06-13", "2019-05-01T11:00:30", "2019-05-01T11:00:30", "mid"),
        # mids of the first years hold no time, and neither do those far off
        ("Sun Jun 13 11:00:31 +0800 2010", "2019-06-13T11:00:30", "2010-06-13T11:00:31", "second"),
        ("2010-06-13 11:00", "2017-06-13T11:00:30", "2010-06-13T11:00:00", "minute"),
        ("Thu Jun 13 11:00:31 +0800 2013", "2001-06-13T11:00:30", "2013-06-13T11:00:31", "second"),
        ("Thu Jun 13 11:00:31 +0800 2013", "2190-06-13T11:00:30", "2013-06-13T11:00:31", "second"),
    ],
)
def test_words_and_mid_that_disagree(words: str, mid_s: str, iso: str, precision: str) -> None:
    """Neither is lost without a reason: see `dates`."""
    mid = (int(at(mid_s)) - 515483463) << 22
    assert read_date(words, NOON, mid) == (f"{iso}+08:00", precision)


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("2011-12-31T23:59:59", False),
        ("2012-01-01T00:00:00", True),
        ("2019-06-16T12:00:00", True),
        ("2019-06-16T12:00:01", False),
    ],
)
def test_an_id_alone_tells_when_it_was_made(made: str, is_told: bool) -> None:
    """Since ids hold the time, and up to now, our clock being a day behind at most."""
    mid = (int(at(made)) - 515483463) << 22
    assert date_of(mid, NOON) == ((f"{made}+08:00", "mid") if is_told else None)


def test_the_mid_decides_the_year_when_our_clock_is_behind() -> None:
    """A post of the first second of a day, read by a clock that is still on the day before."""
    mid = (int(at("2019-06-15T00:00:01")) - 515483463) << 22
    assert read_date("06-15", at("2019-06-14T23:59:58"), mid)[0] == "2019-06-15T00:00:01+08:00"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain", "plain"),
        ("one<br />two<br>three<br/>four", "one\ntwo\nthree\nfour"),
        (
            '<span class="url-icon"><img alt=[笑cry] src="//h5/x.png" style="" /></span>!',
            "[笑cry]!",
        ),
        ("<img alt=[doge]/>", "[doge]"),
        ("<img src='x' alt='[a b]'>", "[a b]"),
        ('<img alt="[心]">', "[心]"),
        ("<span><img style='width: 1rem' src='https://h5/web.png'></span>link", "link"),
        ("<img alt= src=x>", ""),
        ("<img data-alt=[no] src=x>", ""),
        ("<a href='/n/某人'>@某人</a> hi", "@某人 hi"),
        ("&lt;b&gt;bold&lt;/b&gt; &amp;amp; 1 &lt; 2", "<b>bold</b> &amp; 1 < 2"),
        ("a <3 b > c", "a <3 b > c"),
        ("  blank \n", "blank"),
        ("nul\0 and \ud83d half", "nul\ufffd and \ufffd half"),
        ("&#0;&#xD800;&#" + "9" * 9000 + ";", "\ufffd\ufffd\ufffd"),
        ("<a href='/x'>全文</a>", "全文"),
        ("全文", "全文"),
        ("""<b title="x>y">c</b>""", "c"),
        ("<img src=x alt='[>]'>d", "[>]d"),
        ("<a title=it's>isn't</a> it's", "isn't it's"),
        ("""<a href="x>y</a> "quoted">""", """y "quoted">"""),
        ("<a href='/status/1'><span class='surl-text'>网页链接</span></a>", "网页链接"),
        ("<a href='/status/1'>this</a> one", "this one"),
        ("<a href='https://m.weibo.cn/u/1'>this</a>", "this"),
        ("we know the 全文", "we know the 全文"),
    ],
)
def test_a_reader_sees(html: str, text: str) -> None:
    """Tags go, breaks are newlines, images their alt text, entities come last."""
    assert reader_text(html) == (text, False)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('start ...<a href="/status/4803408242409549">全文</a>', "start ..."),
        ("start…<a  href='https://m.weibo.cn/status/LAbc'>全文</a> ", "start…"),
        ("start…<a href='/status/LAbc'>展开</a> ", "start…"),
        ("start<a class='more' href=/status/48034082424>…</a>", "start"),
        ("start...<a href='//m.weibo.cn/detail/48034082424'>more</a>", "start..."),
        ("start…<span class='expand'>展开全文</span>", "start…"),
        ("start... 全文", "start..."),
    ],
)
def test_the_link_to_the_whole_is_a_cut(html: str, text: str) -> None:
    """The trailing link says that a text is cut, whatever its word where the site itself made it;
    the text before it stays as it is."""
    assert reader_text(html) == (text, True)


@given(st.text())
def test_escaped_text_comes_back(text: str) -> None:
    """What the site escapes is what the reader sees, tags and entities in it included."""
    as_seen = text.replace("\0", "\ufffd").strip()
    assert reader_text(escape(text)) == (as_seen, False)


@given(st.text(st.sampled_from("<>&#;/ab全文\"'=\0\ud800 imgltx0"), max_size=60))
def test_any_html_gives_text_that_can_be_written(html: str) -> None:
    """Whatever the HTML, the text encodes to UTF-8 and holds no NUL."""
    text, _ = reader_text(html)
    assert b"\0" not in text.encode()


@pytest.mark.parametrize(
    "piece",
    [
        *("<a", "<img", "<img alt=", ' alt="', "<br ", "&#", "&", "<a /status/", "<!--", "\0"),
        *(" alt=x", "<a='", """<a='\"""", """<a x="<a y='""", "=\"=' ", "= "),
    ],
)
def test_no_text_takes_quadratic_time(piece: str) -> None:
    """A hostile text is read in one go: the time limit of the suite is the judge."""
    html = "<img " + piece * 200_000 + "全文</a>"
    assert isinstance(reader_text(html)[0], str)


@pytest.mark.parametrize(("bid", "mid"), [("z0JH2lOMb", 3501756485200075), ("0", 0)])
def test_bid_of_a_known_post(bid: str, mid: int) -> None:
    """The example of weibo_api.md."""
    assert bid_of(mid) == bid


@given(st.integers(0, 2**63 - 1))
def test_bids_are_unique(mid: int) -> None:
    """A bid leads back to its mid: groups of four digits in base 62, each of seven decimals."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    bid, back, factor = bid_of(mid), 0, 1
    while bid:
        bid, group = bid[:-4], bid[-4:]
        back += factor * sum(digits.index(c) * 62**n for n, c in enumerate(reversed(group)))
        factor *= 10**7
    assert back == mid


@pytest.mark.parametrize(
    ("scheme", "bid"),
    [
        ("https://m.weibo.cn/status/HyTZc60ew?mblogid=HyTZc60ew&luicode=1", "HyTZc60ew"),
        ("https://m.weibo.cn/status/4383183661430868", ""),
        ("https://m.weibo.cn/u/1", ""),
        (None, ""),
        ({}, ""),
    ],
)
def test_bid_in_scheme(scheme: object, bid: str) -> None:
    """The address of a card names the bid, or a mid, which is none."""
    assert bid_in_scheme(scheme) == bid


@pytest.mark.parametrize("value", [7, "7", "0007"])
def test_ids_are_numbers_or_digits(value: int | str) -> None:
    """Ids of posts are strings, ids of users numbers."""
    assert identity(value, ".id") == 7


@pytest.mark.parametrize("value", [None, "", "x7", 0, -7, "-7", "７", 2**63, "9" * 19, "9" * 9000])
def test_what_is_no_id(value: int | str | None) -> None:
    """What is no positive number of 64 bits names the path where it stood."""
    with pytest.raises(Drift) as caught:
        identity(value, ".id")
    assert caught.value.path == ".id"
